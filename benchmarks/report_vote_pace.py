"""Votes that a reader gives in five minutes on a run's page: `python -m benchmarks.report_vote_pace RUN [--decide-s 2]`.

A real browser of a phone's width shows the page from disk, and a script reads what is shown at four words a second (people
read English prose silently at about 240 words a minute: Brysbaert 2019), waits as long as somebody decides, and answers by
key at random. Waiting is real time. The votes are nobody's, so they are not saved.
"""

import argparse
import random
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

WORDS_PER_S = 4.0
SHOWN = "#vote .hint:visible, #vote .dialogue:visible li, #vote .reply"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--decide-s", type=float, default=2.0)
    given = parser.parse_args()
    rng = random.Random(4)
    words: list[int] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto((given.run / "report.html").resolve().as_uri())
        begun_s = time.monotonic()
        page.fill("#vote [name=rater]", "a script")
        page.locator("#vote button[type=submit]").click()
        heading = page.locator("#vote h3")
        while (asked := heading.inner_text()).startswith("Vote "):
            page.locator("#vote .options").wait_for()
            words.append(sum(len(text.split()) for text in page.locator(SHOWN).all_inner_texts()))
            time.sleep(words[-1] / WORDS_PER_S + given.decide_s)
            page.keyboard.press(rng.choice("12234"))
            while heading.inner_text() == asked:
                page.wait_for_timeout(20)
        took_s = time.monotonic() - begun_s
        print(f"{len(words)} votes in {took_s:.0f} s, {sum(words) / len(words):.0f} words each")
        print(page.locator("#vote p").nth(1).inner_text())
        browser.close()


if __name__ == "__main__":
    main()
