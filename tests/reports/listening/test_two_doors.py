"""The same people with the same answers, by a file of votes and by a listening test: the same rows, raters and figures."""

import csv
from pathlib import Path

import numpy as np
import pytest

from harness.ranking import leaderboard
from harness.ranking.agreement import agreement
from harness.reports.listening import analysis, results
from harness.reports.listening.answers import Answer
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.plan import Item, Slot
from harness.votes.vote import Vote, raters_of, read_votes, to_judgments

OPTIONS = ("a_much", "a_slightly", "same", "b_slightly", "b_much")
WORDS = 30
"""Of every reply: to read two of them takes 4.8 s at the least."""


def asked(rater: str, n: int, steps: int, *, seconds: float = 15.0, expected: int | None = None) -> dict[str, object]:
    """One answer. Every second pair is shown the other way round; `steps` goes towards the second system."""
    return {"rater": rater, "n": n, "steps": steps, "seconds": seconds, "expected": expected, "turned": n % 2 == 1}


@pytest.fixture
def everything() -> list[dict[str, object]]:
    rng = np.random.default_rng(4)
    found = []
    for n in range(12):
        lean = int(rng.integers(-2, 3))
        for k in range(6):
            steps = int(np.clip(lean + rng.integers(-1, 2), -2, 2))
            found.append(asked(f"r{k}", n, steps, seconds=float(rng.uniform(10, 25))))
        found.append(asked("hasty", n, int(rng.integers(-2, 3)), seconds=6.0))
        found.append(asked("dawdler", n, lean, seconds=4_000.0))
        found.append(asked("habit", n, -2 if n % 2 == 0 else 2))
        found.append(asked("failing", n, lean))
        found.append(asked("loyal", n, -1))
    found += [asked("failing", 20 + n, 2, expected=-1 if n else 1) for n in range(2)]
    return found


def by_file(everything: list[dict[str, object]], folder: Path) -> tuple[Vote, ...]:
    path = folder / "votes.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        head = (
            "context", "subset", "system_a", "system_b", "rater", "vote", "reason", "shown_first", "seconds", "words", "check",
        )  # fmt: skip
        lines = csv.DictWriter(out, head)
        lines.writeheader()
        for one in everything:
            check = one["expected"]
            lines.writerow(
                {
                    "context": f"c{one['n']}", "subset": "regular", "system_a": "x", "system_b": "y", "rater": one["rater"],
                    "vote": OPTIONS[int(str(one["steps"])) + 2], "reason": "so", "seconds": one["seconds"], "words": 2 * WORDS,
                    "shown_first": "b" if one["turned"] else "a",
                    "check": "" if check is None else OPTIONS[int(str(check)) + 2],
                }
            )  # fmt: skip
    return read_votes(path, "heard_text")


def by_listening(everything: list[dict[str, object]]) -> list[Answer]:
    found = []
    for one in everything:
        steps, expected = int(str(one["steps"])), one["expected"]
        item = Item.model_validate(
            {
                "role": "main" if expected is None else "gold", "context": f"c{one['n']}", "expected": expected,
                "slots": [Slot(context=f"c{one['n']}", system=s) for s in ("yx" if one["turned"] else "xy")],
            }
        )  # fmt: skip
        choice = -steps if one["turned"] else steps
        passed = None if expected is None else bool(np.sign(steps) == np.sign(int(str(expected))))
        found.append(
            Answer(str(one["rater"]), int(str(one["n"])), item, {"choice": choice, "reason": "so"}, passed,
                   float(str(one["seconds"])), 0.0)
        )  # fmt: skip
    return found


def test_the_same_raters_are_left_out_for_the_same_reasons(everything: list[dict[str, object]], tmp_path: Path) -> None:
    words = {(f"c{n}", system): WORDS for n in range(40) for system in "xy"}
    file, listening = raters_of(by_file(everything, tmp_path)), results.raters_of(by_listening(everything), words)
    assert file == listening
    out = {rater.rater: " ".join(rater.reasons) for rater in file if rater.excluded}
    assert set(out) == {"hasty", "dawdler", "habit", "failing"}
    assert "1.2 s beyond hearing or reading" in out["hasty"]
    assert "far longer" in out["dawdler"]
    assert "same answer to all 12" in out["habit"]
    assert "failed 1 of 2 checks" in out["failing"]


def test_the_same_votes_are_the_same_rows_agreement_and_ratings(everything: list[dict[str, object]], tmp_path: Path) -> None:
    file = to_judgments(by_file(everything, tmp_path), keep_excluded=True)
    main = [one for one in by_listening(everything) if one.item.role == "main"]
    listening = analysis.judgments(main, ListeningDesign(medium="text"), {})
    assert file == listening
    assert {row.strength for row in file} == {1, 2, 5}
    by_doors = [agreement(rows).krippendorff_alpha_humans for rows in (file, listening)]
    assert by_doors[0] is not None
    assert by_doors[0] == by_doors[1]
    assert leaderboard(file).systems == leaderboard(listening).systems


def test_one_person_by_both_doors_agrees_with_themselves(everything: list[dict[str, object]], tmp_path: Path) -> None:
    mine = [one for one in everything if one["rater"] == "r0"]
    file = to_judgments(by_file(mine, tmp_path), keep_excluded=True)
    listening = analysis.judgments(by_listening(mine), ListeningDesign(medium="text"), {})
    both = agreement([*file, *(row.model_copy(update={"judge": "r0 again"}) for row in listening)])
    assert both.krippendorff_alpha_humans is not None
    assert both.krippendorff_alpha_humans.value == pytest.approx(1.0)
