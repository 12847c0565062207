"""An agent with one reply for all callers is told from agents that answer, and no judge's rating of it is quoted."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli import _run
from harness.figures.one_reply import commonest_reply, is_one_for_all
from harness.scenarios.pack import load_pack

WARM = (
    "I'm so sorry you are going through this. Your feelings are completely valid, and you do not have to carry them alone. "
    "What feels heaviest right now?"
)
PACK = load_pack("heart-mini")


@pytest.mark.parametrize(
    "replies",
    [
        [WARM] * 12,
        [f"{name}, {WARM}" for name in ("Ana", "Ben", "Cal", "Dee", "Eve", "Fay", "Gus", "Hal")],
        [WARM.lower().replace(".", " …")] * 6 + [f"Number {k} is what my own answer is about." for k in range(6)],
        ["Mm-hm."] * 6,
        [f"{WARM} And {c.turns[-1].plain.split()[0]}?" for c in PACK.contexts],
    ],
)
def test_one_reply_for_all_is_found(replies: list[str]) -> None:
    assert is_one_for_all(commonest_reply(replies))
    assert is_one_for_all(commonest_reply(replies[::-1]))


@pytest.mark.parametrize(
    "replies",
    [
        [],
        [WARM] * 5,
        [WARM] * 6 + [c.turns[-1].plain for c in PACK.contexts[:7]],
        [c.references[0].text for c in PACK.contexts],
        [c.references[1].text for c in PACK.contexts],
        [f"I'm sorry. {' '.join(c.turns[-1].plain.split()[-4:])}?" for c in PACK.contexts],
        ["Oh no.", "I see.", "That hurts.", "And then?", "Who was it?", "Oh no.", "I see.", "How long?", "Really?", "Go on."],
    ],
)
def test_agents_that_answer_are_not(replies: list[str]) -> None:
    assert not is_one_for_all(commonest_reply(replies))


def test_of_thousands_the_commonest_is_found_wherever_it_is() -> None:
    honest = [f"reply{k} word{k} other{k}" for k in range(2_000)]
    for mixed in (honest + [WARM] * 2_000, [WARM] * 2_000 + honest, [text for one in honest for text in (one, WARM)]):
        assert commonest_reply(mixed) == (2_000, 4_000)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of an agent with one reply for all, and of one that answers; a judge has rated both."""
    folder = tmp_path_factory.mktemp("constant")
    rows = []
    for context in PACK.contexts:
        rows.append({"context": context.id, "system": "constant", "text": WARM})
        said = " ".join(context.turns[-1].plain.split()[:9])
        rows.append({"context": context.id, "system": "honest", "text": f"{said}: who could carry that? What do you wish for?"})
    (folder / "replies.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert _run(["import-replies", str(folder / "replies.jsonl"), "--pack", "heart-mini", "--out", str(folder / "run")]) == 0
    assert _run(["judge", "run", str(folder / "run"), "--judge", "embedded", "--pairs", "36"]) == 0
    return folder / "run"


def said(*words: object, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert _run([*map(str, words), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_judges_rating_of_it_is_not_quoted_anywhere(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = said("report", run, capsys=capsys)
    cells = {cell["agent"]: cell for cell in summary["cells"] if cell["subset"] == "all"}
    assert cells["constant"]["commonest_reply"] == [12, 12]
    assert cells["honest"]["commonest_reply"][0] < 6
    assert (cells["constant"]["quality_valid"], cells["honest"]["quality_valid"]) == (False, True)
    (caution,) = [one for one in summary["cautions"] if one["code"] == "same_reply"]
    assert caution["text"].startswith("constant: 12 of 12 conversations")
    assert _run(["report", str(run)]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines() if "not its rating" in line] == ["constant"]
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "12 of 12 conversations get nearly the same reply" in page
    assert "one reply for all" in page
    assert any(note.startswith("constant: 12 of 12") for note in said("rank", run, capsys=capsys)["warnings"])


def test_a_gate_cannot_tell_by_such_a_rating(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limits = tmp_path / "budgets.yaml"
    limits.write_text("schema: 1\nlimits:\n  - {agent: constant, figure: win_rate, at_least: 0.1}\n", encoding="utf-8")
    assert _run(["check", str(run), "--budgets", str(limits)]) == 4
    assert "the same reply to every caller" in capsys.readouterr().out
