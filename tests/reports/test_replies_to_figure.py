"""A researcher's whole path: replies in a file → a run → three people vote in their browsers → people's board → a figure.

The commands are those of docs/calls.md, so the page is tested with them.
"""

import glob
import json
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from harness.cli import _run
from harness.scenarios.pack import load_pack
from tests.reports.test_vote_file import PHONE, READING_MS, begin, sent, vote_all

Open = Callable[..., Any]
PAGE: Final = Path(__file__).parents[2] / "docs" / "calls.md"
MOST_COMMANDS: Final = 8


def commands() -> list[list[str]]:
    """The commands of the page's section on replies in a file."""
    section = PAGE.read_text(encoding="utf-8").split("## Replies in a file")[1]
    block = re.search(r"```sh\n(.*?)```", section, re.S)
    assert block is not None
    return [shlex.split(line, comments=True)[1:] for line in block[1].splitlines() if line.startswith("harness ")]


def likes_warmth(texts: Sequence[str]) -> int:
    """A much better, if A alone asks how it is for the caller; a little worse between two of one kind."""
    one, other = ("wears you down" in text for text in texts)
    return 1 if one and not other else 5 if other and not one else 4


def test_from_a_file_of_replies_to_a_figure_of_peoples_board(
    open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["context,agent,response"]
    for n, context in enumerate(load_pack("heart-mini").contexts):
        last = context.turns[-1].plain.replace('"', "").split()
        rows.append(f'{context.id},warm-model,"{" ".join(last[:8])}: I hear that it wears you down. What was today like?"')
        rows.append(f'{context.id},curt-model,"{" ".join(last[-6:])} is what {n + 2} others have too, and they manage."')
    Path("replies.csv").write_text("\n".join(rows), encoding="utf-8")
    asked = commands()
    assert 0 < len(asked) <= MOST_COMMANDS
    said: list[str] = []
    for words in asked:
        if words[0] == "add-votes":
            for name in ("ada", "ben", "cyd"):
                page = open_page("about:blank", **PHONE)
                page.clock.install()
                page.goto(f"{(tmp_path / 'vote.html').as_uri()}?rater={name}")
                begin(page)
                vote_all(page, likes_warmth, READING_MS)
                assert sent(page, tmp_path).completion_code
        assert _run([part for word in words for part in (sorted(glob.glob(word)) if "*" in word else [word])]) == 0, words
        said.append(capsys.readouterr().out)
    ranked = next(out for words, out in zip(asked, said, strict=True) if words[0] == "rank")
    assert "people" in ranked
    board = [line.split("|")[1].strip() for line in ranked.splitlines() if line.startswith("| ")]
    assert board.index("warm-model") < board.index("curt-model")
    assert _run(["rank", "runs/study", "--people", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["quality_state"] == "people"
    assert found["people_votes"]["raters"] == 3
    tables = json.loads(Path("figures/tables.json").read_text(encoding="utf-8"))
    systems = {row["system"]: row for row in tables["systems"] if row["subset"] == "all"}
    assert systems["warm-model"]["elo"] > systems["curt-model"]["elo"]
    assert list(Path("figures").glob("*.png"))
    assert list(Path("figures").glob("*.svg"))
