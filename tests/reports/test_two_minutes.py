"""Two scripted agents, really played, three programmed voters on a phone, and the answer at every door.

The voters are the test's own, who prefer the kind reply each time: a simulation, of nobody.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.conftest import Finished, harness_command, harness_here
from tests.reports.test_page_for_everybody import grave_faults
from tests.reports.test_vote import PHONE, begin, downloaded

__all__ = ["harness_command", "harness_here"]

CONVERSATIONS = 8
PACK = "pack: eight\nsource: tests\nlicence: Apache-2.0\ncontexts:\n" + "".join(
    f"  - {{id: c{n}, subset: regular, emotion: sadness, problem: work, turns: [{{role: seeker, text: Day {n} went badly.}}],\n"
    "     references: [{id: good, author: authored, quality: 5, text: What was the worst of it for you?}]}\n"
    for n in range(CONVERSATIONS)
)
PROFILE = """kind = "plugin"
greets = false
connection = "scripted"
accepts_history = true
[[options.replies]]
delay_ms = {delay}
text = "{text}"
sound = [{{ kind = "voice", ms = 300 }}]
"""
SAYS = {"kind-bot": "That sounds hard.", "curt-bot": "Noted."}


def vote_for_the_kind_one(page: Any) -> None:
    """One vote: the kind agent's words are much better than any, and a reference's than the curt agent's."""
    count = page.locator("#vote h3").inner_text()
    first, second = page.locator("#vote .pair .reply").all_inner_texts()
    worth = {SAYS["kind-bot"]: 2, SAYS["curt-bot"]: 0}
    page.clock.fast_forward(9_000)
    page.keyboard.press("1" if worth.get(first, 1) > worth.get(second, 1) else "5")
    page.locator("#vote h3", has_text=count).wait_for(state="detached")


@pytest.mark.long
def test_three_people_on_phones_answer_which_of_two_agents_is_kinder(
    tmp_path: Path,
    harness_command: Callable[..., Finished],
    harness_here: Callable[..., Finished],
    open_page: Callable[..., Any],
) -> None:
    (tmp_path / "eight.yaml").write_text(PACK, encoding="utf-8")
    for name, delay in (("kind-bot", 900), ("curt-bot", 300)):
        (tmp_path / f"{name}.toml").write_text(PROFILE.format(delay=delay, text=SAYS[name]), encoding="utf-8")
    run = tmp_path / "run"
    agents = ("--agent", "kind-bot.toml", "--agent", "curt-bot.toml")
    budgets = tmp_path / "budgets.yaml"
    limit = {"agent": "kind-bot", "preferred_over": {"agent": "curt-bot", "at_least": 0.4}}
    budgets.write_text(json.dumps({"schema": 1, "limits": [limit]}))
    # Tones are no words, so the replies are read as written: a check whose limits need no words transcribes none.
    played = ("--pack", "eight.yaml", "--judge", "none", "--budgets", budgets, "--out", run)
    assert harness_command("check", *agents, *played).code == 4, "nobody has voted"
    files = []
    for person in ("ann", "ben", "cleo"):
        page = open_page("about:blank", **PHONE)
        page.clock.install()
        page.goto((run / "report.html").as_uri())
        begin(page, person)
        asked = int(page.locator("#vote h3").inner_text().rpartition(" ")[2])
        for _ in range(asked):
            vote_for_the_kind_one(page)
        page.locator("#vote h3", has_text=f"These were the {asked} votes").wait_for()
        files += [downloaded(page, tmp_path)]
        one = harness_here("add-votes", run, files[-1])
        assert one.code == 0, one.err
        (row,) = harness_here("report", run, "--json").json["head_to_head"]
        assert (row["agent"], row["over"], row["raters"], row["at_least"] > 0.5) == ("kind-bot", "curt-bot", len(files), True)
    assert row["whose"] is None
    assert harness_here("rank", run, "--json").json["head_to_head"] == [row]
    assert harness_here("check", run, "--budgets", budgets).code == 0
    page = open_page((run / "report.html").as_uri(), **PHONE)
    sentence = page.get_by_text(row["in_words"])
    assert sentence.is_visible()
    assert sentence.bounding_box()["y"] < PHONE["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert not grave_faults(page)
