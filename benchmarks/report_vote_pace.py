"""Seconds that the votes take which a run's page asks for: `python -m benchmarks.report_vote_pace RUN [--hear]`.

A real browser of a phone's width shows the page from disk. A script reads what is shown at four words a second (people read
English prose silently at about 240 words a minute: Brysbaert 2019), with `--hear` plays both replies to their ends, waits as
long as somebody decides, and answers by key at random. Reading, listening and waiting take real time. The votes are nobody's:
`--download FOLDER` is for trying the rest of the way to a board, in a copy of the run that is thrown away.
"""

import argparse
import random
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

WORDS_PER_S = 4.0
SHOWN = "#vote .hint:visible, #vote .dialogue:visible li, #vote .reply"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--decide-s", type=float, default=2.0)
    parser.add_argument("--hear", action="store_true", help="listen to the replies instead of reading them")
    parser.add_argument("--download", type=Path, metavar="FOLDER", help="where the file of votes goes; default: nowhere")
    given = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--autoplay-policy=no-user-gesture-required"]
        )
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto((given.run / "report.html").resolve().as_uri())
        page.fill("#vote [name=rater]", "a script")
        if given.hear:
            page.select_option("#vote [name=presentation]", "audio")
        page.locator("#vote button[type=submit]").click()
        page.check("#vote .agree input")
        page.get_by_role("button", name="Begin").click()
        begun_s = time.monotonic()
        words, heard_s, widest = vote(page, given.decide_s)
        took_s = time.monotonic() - begun_s
        print(f"{len(words)} votes in {took_s:.0f} s, each {mean(words):.0f} words read and {mean(heard_s):.0f} s heard")
        print(f"widest page: {widest} of 390 pixels")
        print(page.locator("#vote").inner_text())
        if given.download is not None:
            with page.expect_download() as waiting:
                page.get_by_role("button", name="Download votes").click()
            waiting.value.save_as(given.download / waiting.value.suggested_filename)
            print(page.locator("#vote [role=status]").last.inner_text())
        browser.close()


def vote(page: Any, decide_s: float) -> tuple[list[int], list[float], int]:
    """Of each vote that is asked for: words read, seconds heard; and the greatest width of the page."""
    rng = random.Random(4)
    words: list[int] = []
    heard_s: list[float] = []
    widest = 0
    heading = page.locator("#vote h3")
    while (asked := heading.inner_text()).startswith("Vote "):
        page.locator("#vote .options").wait_for()
        words.append(sum(len(text.split()) for text in page.locator(SHOWN).all_inner_texts()))
        widest = max(widest, page.evaluate("document.documentElement.scrollWidth"))
        time.sleep(words[-1] / WORDS_PER_S)
        begun_s = time.monotonic()
        for reply in page.locator("#vote article:has(.hear)").all():
            reply.get_by_role("button").click()
            reply.get_by_role("button", name="Again").or_(reply.get_by_text("Again")).wait_for(timeout=120_000)
        heard_s.append(time.monotonic() - begun_s)
        time.sleep(decide_s)
        page.keyboard.press(rng.choice("12234"))
        while heading.inner_text() == asked:
            page.wait_for_timeout(20)
    return words, heard_s, widest


def mean(values: list[int] | list[float]) -> float:
    return sum(values) / max(len(values), 1)


if __name__ == "__main__":
    main()
