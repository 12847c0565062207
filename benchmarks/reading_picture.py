"""The annotated picture of docs/reading-a-report.md: the first screen of a run's own page, with a number at each part.

Run: `python -m benchmarks.reading_picture runs/first/report.html`. The numbers are those of the list below the picture.
"""

import sys
from pathlib import Path
from typing import Any, Final

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "first_screen.png"
WIDTH, HEIGHT = 1_280, 720
PARTS: Final = (
    "h1",
    ".finding",
    ".lede li:nth-child(1)",
    ".lede li:nth-child(2)",
    ".lede li:nth-child(3)",
    "#answers tbody tr td:nth-of-type(1)",
    "#answers tbody tr td:nth-of-type(2)",
    "#answers tbody tr td:nth-of-type(3)",
    ".answers-side .cautions",
    "#chart-elo_latency",
)
"""The numbered parts of the first screen, in the order of the list."""
_NUMBER: Final = """(selectors) => selectors.map((selector, k) => {
  const box = document.querySelector(selector).getBoundingClientRect();
  const mark = document.createElement("b");
  mark.textContent = k + 1;
  mark.className = "numbered";
  Object.assign(mark.style, {
    position: "absolute", left: `${Math.max(1, box.left + scrollX - 24)}px`, top: `${box.top + scrollY + 2}px`,
    width: "19px", height: "19px", borderRadius: "50%", background: "#6b4fbb", color: "#fff", font: "700 12px/19px sans-serif",
    textAlign: "center",
  });
  document.body.append(mark);
  return mark.getBoundingClientRect().bottom;
})"""


def number(page: Any) -> list[float]:
    """Draws a number at each part of the page that is open; the lower edge of each number in pixels.

    Raises:
        playwright.sync_api.Error: the page has no such part.
    """
    found: list[float] = page.evaluate(_NUMBER, list(PARTS))
    return found


def main(report: Path) -> None:
    """Takes the picture of this page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.wait_for_selector("#chart-elo_latency svg")
        number(page)
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
