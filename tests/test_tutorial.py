"""The tutorial's short half: its bots, its red gate and its green one, by the page's own lines on a smaller pack.

`python -m tests.tutorial` runs the whole page, with its installation, in an empty folder.
"""

import os
import sys
from pathlib import Path

import pytest

from harness.gate.attainable import trials
from harness.gate.budgets import Limit
from harness.store.run_store import RunStore
from tests.tutorial import PAGE, Done, blocks_of, run_lines, written

SMALLER = "heart-mini"


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.models
def test_the_gate_of_the_page_is_red_and_then_green(tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(sys.prefix)
    lines = [line for block in blocks_of(PAGE.read_text(encoding="utf-8")) for line in block]
    first = next(k for k, line in enumerate(lines) if " init " in line)
    short = [line.replace("heart-open", SMALLER) for line in lines[first:] if "pipecat_bot" not in line and "/pip " not in line]
    short[0] += f" --pack {SMALLER} --ci none"
    done = list(run_lines(short, tmp_path, os.environ))
    if "The run is invalid" in done[-1].said or "does not have this figure" in done[-1].said:
        pytest.skip("this machine cannot pace twelve calls at once")
    assert all(one.code in one.expected for one in done), done[-1].said + done[-1].complained
    assert len(done) == len(short)
    assert {one.expected for one in done} == {(0,), (1,)}, "a red gate, and a green one"
    store = RunStore.open(tmp_path / "runs" / "green")
    found = [turn.endpointing.pauses for s in store.sessions() for turn in s.turn_timings[-1:] if turn.endpointing is not None]
    planned = trials(Limit(figure="pauses_cut_share", at_most=0.5), store.contexts_as_played(), "seeded")
    assert planned is not None
    # The limits were worked out from pauses in the text; the call finds those, and now and then a silence between words.
    assert planned.sum() == pytest.approx(sum(map(len, found)), rel=0.1)


@pytest.mark.models
@pytest.mark.long
def test_the_pipecat_bot_of_the_page_answers(tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(sys.prefix)
    done = list(run_lines(
        [".venv/bin/harness init demo --kind demo --ci none", ".venv/bin/harness try demo/pipecat_bot.toml"],
        tmp_path, os.environ,
    ))  # fmt: skip
    assert [one.code for one in done] == [0, 0], done[-1].said + done[-1].complained


def test_the_page_shows_what_its_lines_printed_and_nothing_else() -> None:
    page = "x\n```sh\nfirst\nsecond\n```\n```text\nold\n```\ny\n```sh\nthird\n```\n<!-- seconds -->\nold\n<!-- /seconds -->\n"
    ran = [
        [Done("first", (0,), 0, 1.4, "one\n", ""), Done("second", (0,), 0, 2.0, "two\n", "")],
        [Done("third", (0,), 0, 61.0, "", "")],
    ]
    shown = written(page, ran)
    assert "```text\none\n\ntwo\n```" in shown
    assert "old" not in shown
    assert "| `third` | 61 |" in shown
    assert "| all | 64 |" in shown
    assert blocks_of(shown) == blocks_of(page)
