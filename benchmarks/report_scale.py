"""How long the report of 20 agents × 300 conversations takes to build, how big it is, and how soon a browser paints it.

Run: python benchmarks/report_scale.py [AGENTS CONVERSATIONS]. Needs Chromium and the extra `test`.
"""

import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from reports.html import render
from tests.reports.invented import invented_view


def main() -> None:
    agents, conversations = (int(a) for a in sys.argv[1:3]) if len(sys.argv) > 2 else (20, 300)
    view = invented_view(agents=agents, contexts=conversations)
    began = time.perf_counter()
    page = render(view)
    built_s = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        path.write_text(page, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page()
        tab.goto(path.as_uri())
        paint_ms = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        tab.locator("#chart-elo_latency[data-ready]").wait_for()
        chart_ms = tab.evaluate("performance.now()")
        tab.locator("#c-1 > summary").click()
        clicked = time.perf_counter()
        tab.locator("#c-1 .turn").first.wait_for()
        opened_ms = 1_000 * (time.perf_counter() - clicked)
        browser.close()
    print(f"{agents} agents × {conversations} conversations, {view.judgments} verdicts")
    print(f"built in {built_s:.1f} s; {len(page.encode()) / 1e6:.1f} MB")
    print(f"first paint {paint_ms:.0f} ms; joint chart {chart_ms:.0f} ms; a conversation opens in {opened_ms:.0f} ms")


if __name__ == "__main__":
    main()
