"""How large the report of 20 agents × 300 conversations is, how soon its first chart stands, how long it blocks the reader, how
long another theme takes, and how much memory the browser holds for it.

Run: PYTHONPATH=. python benchmarks/report_scale.py [AGENTS CONVERSATIONS [PAGE.html …]]. Needs Chromium and the extra `test`.
Further pages (of another version of this project, say) are measured in turn with the one that is built here, so that a busy
machine hits all alike. Each figure is the median of `REPEATS` visits in a fresh browser.

- *first chart*: from the start of the navigation to the frame that has the points of the joint chart
- *blocking*: what tasks of the main thread take beyond 50 ms each (the sum, as Lighthouse's total blocking time) until the
  page has been still for two seconds; beside it the longest task
- *theme*: after a walk down the page, from the click to the end of the last task it sets off, or to the second frame
- *memory*: private memory of the page's own process, and the script heap in it, at the end
"""

import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from harness.reports.html import render
from tests.reports.invented import invented_view

REPEATS = 3
_WATCH = """
(() => {
  window.tasks = [];
  new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((e) => [e.startTime, e.startTime + e.duration])))
    .observe({ type: "longtask", buffered: true });
  const look = () => {
    const points = document.querySelector("#chart-elo_latency svg .point, #chart-elo_latency svg .mark-symbol path");
    if (points) window.firstChart = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""
_THEME = """
() => new Promise((done) => {
  const before = performance.now();
  document.querySelector('[data-theme-choice="dark"]').click();
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const frame = performance.now();
    setTimeout(() => done(Math.max(frame, ...window.tasks.filter((t) => t[0] >= before - 5).map((t) => t[1])) - before), 6000);
  }));
})
"""  # fmt: skip


@dataclass(frozen=True, slots=True)
class Visit:
    """What one visit measured."""

    first_chart_ms: float
    blocking_ms: float
    longest_task_ms: float
    opened_ms: float
    theme_ms: float
    private_mb: float
    heap_mb: float


def visit(playwright: Any, page: Path) -> Visit:
    """Open a page in a browser of its own and use it as a reader would."""
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.add_init_script(_WATCH)
    tab.goto(page.as_uri())
    while True:
        tab.wait_for_timeout(500)
        if tab.evaluate("performance.now() - Math.max(0, ...window.tasks.map((t) => t[1])) > 2000 && window.firstChart > 0"):
            break
    first, tasks = tab.evaluate("[window.firstChart, window.tasks.map((t) => t[1] - t[0])]")
    tab.locator("#c-1 > summary").click()
    clicked = time.perf_counter()
    tab.locator("#c-1 .turn").first.wait_for()
    opened_ms = 1_000 * (time.perf_counter() - clicked)
    for _ in range(60):
        tab.mouse.wheel(0, 800)
        tab.wait_for_timeout(60)
    tab.wait_for_timeout(2_000)
    theme_ms = tab.evaluate(_THEME)
    metrics = {m["name"]: m["value"] for m in _metrics(tab)}
    found = Visit(
        first_chart_ms=first, blocking_ms=sum(max(0.0, t - 50) for t in tasks), longest_task_ms=max(tasks, default=0.0),
        opened_ms=opened_ms, theme_ms=theme_ms, private_mb=_private_mb(browser), heap_mb=metrics["JSHeapUsedSize"] / 1e6,
    )  # fmt: skip
    browser.close()
    return found


def _metrics(tab: Any) -> Any:
    session = tab.context.new_cdp_session(tab)
    session.send("Performance.enable")
    return session.send("Performance.getMetrics")["metrics"]


def _private_mb(browser: Any) -> float:
    """Private memory of the renderer that holds the page: the largest of the browser's renderers."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    found = []
    for process in processes:
        if process["type"] == "renderer":
            lines = Path(f"/proc/{process['id']}/smaps_rollup").read_text(encoding="utf-8").splitlines()
            found.append(sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1_000)
    return max(found)


def main() -> None:
    agents, conversations = (int(a) for a in sys.argv[1:3]) if len(sys.argv) > 2 else (20, 300)
    view = invented_view(agents=agents, contexts=conversations)
    began = time.perf_counter()
    page = render(view)
    built_s = time.perf_counter() - began
    print(f"{agents} agents × {conversations} conversations, {view.verdicts} verdicts: built in {built_s:.1f} s")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        own = Path(folder) / "report.html"
        own.write_text(page, encoding="utf-8")
        pages = [own, *(Path(name).resolve() for name in sys.argv[3:])]
        visits: dict[Path, list[Visit]] = {path: [] for path in pages}
        for _ in range(REPEATS):
            for path in pages:
                visits[path].append(visit(playwright, path))
        for path, found in visits.items():
            each = [asdict(one) for one in found]
            middle = {name: statistics.median(one[name] for one in each) for name in each[0]}
            print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB; " + ", ".join(f"{n} {v:.0f}" for n, v in middle.items()))


if __name__ == "__main__":
    main()
