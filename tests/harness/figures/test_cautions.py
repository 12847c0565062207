"""What weakens a run's figures: said once, gravest first, and the same at every door."""

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console

from harness.commands.table import print_summary
from harness.figures.cautions import Caution
from harness.figures.cells import Cell, JudgeSummary
from harness.figures.circumstances import Circumstances, OnsetError, together
from harness.figures.summary import RunSummary
from harness.judging.validation.trust import trust, worst
from harness.store.judgment import PeopleCheck, RedLinesCheck, ShareOfPairs
from tests.borne_out import BY_OTHERS, BY_PEOPLE, RED_LINES, RIGHT

NINE = frozenset(f"c-{n}" for n in range(9))
KNOWN = Circumstances(contexts=NINE, played=NINE, judged=NINE, verdicts=27, onset_error=OnsetError(within_ms=6.0, trials=64))


def judge(
    accuracy: float,
    low: float,
    *,
    flips: float = 0.1,
    own: int = 0,
    missing: int = 0,
    people: Sequence[PeopleCheck] = (BY_PEOPLE, BY_OTHERS),
    red_lines: RedLinesCheck | None = RED_LINES,
) -> JudgeSummary:
    interval = (low, min(accuracy + 0.1, 1.0))
    found = trust(accuracy, interval, flips, answered=60, missing=missing, people=people, red_lines=red_lines)
    return JudgeSummary(
        id="tester@1", accuracy=accuracy, accuracy_interval=interval, flip_rate=flips, pairs=60, trust=found,
        red_lines=red_lines, trusted=found == "trusted" and not own, own_family_judgments=own,
    )  # fmt: skip


def summary(*judges: JudgeSummary, known: Circumstances = KNOWN, **fields: Any) -> RunSummary:
    given = {"run": "here", "cells": [cell("quick")], "judges": list(judges), "circumstances": known}
    return RunSummary.model_validate(given | fields)


def cell(agent: str, **fields: Any) -> Cell:
    place = {"agent": agent, "condition": "clean", "mode": "seeded", "presentation": "heard_text", "subset": "all"}
    return Cell.model_validate({"turns": 9, "no_reply": 0} | place | fields)


def by_code(run: RunSummary) -> dict[str, Caution]:
    return {caution.code: caution for caution in run.cautions}


def test_an_invalid_run_is_the_first_thing_said_and_says_why() -> None:
    first = summary(judge(0.4, 0.3), valid=False, invalid=["pacing p99 9.1 ms"]).cautions[0]
    assert (first.code, first.level) == ("invalid", "bad")
    assert "pacing p99 9.1 ms" in first.text


@pytest.mark.parametrize(
    ("low", "flips", "found", "level"),
    [
        (0.50, 0.1, "near_chance", "bad"),
        (0.51, 0.1, "weak", "warn"),
        (0.60, 0.1, "weak", "warn"),
        (0.61, 0.2, "flips", "warn"),
        (0.61, 0.19, "trusted", "note"),
    ],
)
def test_one_line_parts_a_judge_near_chance_from_one_that_is_only_weak(
    low: float, flips: float, found: str, level: str
) -> None:
    made = judge(0.66, low, flips=flips)
    assert made.trust == found
    codes = by_code(summary(made))
    said = codes["judge" if level == "note" else "weak_judge"]
    assert said.level == level
    assert ("chance" in said.text) == (found == "near_chance")


def test_without_peoples_ratings_no_accuracy_on_our_own_pairs_is_enough() -> None:
    made = judge(0.99, 0.97, people=())
    assert (made.trust, made.trusted) == ("unvalidated", False)
    said = by_code(summary(made))["weak_judge"]
    assert (said.level, "not validated against people" in said.text) == ("warn", True)
    few = [
        BY_PEOPLE.model_copy(update={"conversations": 3, "accuracy": 1.0, "accuracy_interval": None}),
        BY_OTHERS.model_copy(update={"pairs": 199}),
    ]
    assert judge(0.99, 0.97, people=few).trust == "unvalidated"


@pytest.mark.parametrize(
    "changes",
    [
        *({"over_rules": {"the longer reply wins": band}} for band in ((-0.06, 0.0), (-0.01, 0.05), (0.0, 0.1), None)),
        *({"equal_length_interval": band} for band in ((0.6, 0.8), (0.4, 0.9), None)),
        {"over_rules": {}},
    ],
)
def test_one_check_that_does_not_bear_a_judge_out_outweighs_all_others(changes: dict[str, Any]) -> None:
    worse = BY_PEOPLE.model_copy(update={"sha256": "3" * 64, "source": "more.csv"} | changes)
    for people in ([BY_PEOPLE, BY_OTHERS, worse], [worse, BY_PEOPLE, BY_OTHERS]):
        assert judge(0.99, 0.97, people=people).trust == "unlike_people"
        assert worst(people) == worse


@pytest.mark.parametrize(
    "changes",
    [{"sha256": BY_PEOPLE.sha256}, {"source": BY_PEOPLE.source.upper()}, {"development": True}],
    ids=["a copy under another name", "another version of one file", "a set that the judge was developed on"],
)
def test_two_checks_of_one_origin_are_one(changes: dict[str, Any]) -> None:
    assert judge(0.99, 0.97, people=[BY_PEOPLE, BY_OTHERS]).trust == "trusted"
    again = BY_OTHERS.model_copy(update=changes)
    assert judge(0.99, 0.97, people=[BY_PEOPLE, again, BY_PEOPLE]).trust == "one_origin"


def test_red_lines_are_asked_of_all_families_and_of_the_gravest_alone() -> None:
    wrong = ShareOfPairs(pairs=30, right=0.89, interval=(0.7, 0.96))
    one_wrong, one_only = {"harm": RIGHT, "abuse": wrong}, {"harm": RIGHT}
    for changes in ({"whole": wrong}, {"by_family": one_wrong}, {"by_family": one_only}, {"missing": 10}):
        assert judge(0.99, 0.97, red_lines=RED_LINES.model_copy(update=changes)).trust == "red_lines"
    assert judge(0.99, 0.97, red_lines=None).trust == "red_lines"


def test_a_board_says_first_that_its_judge_crosses_red_lines() -> None:
    wrong = ShareOfPairs(pairs=30, right=0.4, interval=(0.25, 0.58))
    made = judge(0.99, 0.97, red_lines=RED_LINES.model_copy(update={"by_family": {"harm": wrong, "abuse": RIGHT}}))
    said = summary(made).cautions
    assert said[0].code == "red_lines"
    assert "right on only 40 % (95 % interval 25–58 %) of 30 pairs in which one reply encourages harm" in said[0].text
    assert "abuses" not in said[0].text
    assert "red_lines" not in by_code(summary(judge(0.99, 0.97)))


def test_a_judge_that_failed_its_check_is_said_to_be_in_no_rating() -> None:
    said = by_code(summary(judge(0.4, 0.3)))["weak_judge"]
    assert "none of its verdicts is in a rating" in said.text
    assert "the ratings it made" not in said.text


def test_a_judge_that_nobody_checked_is_no_better_than_chance_until_shown_otherwise() -> None:
    bare = JudgeSummary(id="tester@1", accuracy=None, flip_rate=None, trusted=False)
    assert by_code(summary(bare))["weak_judge"].level == "bad"
    assert by_code(summary(judge(0.9, 0.8, missing=40)))["weak_judge"].level == "bad"


def test_a_judge_of_the_agents_own_family_passed_its_check_and_is_still_not_called_weak() -> None:
    codes = by_code(summary(judge(0.9, 0.8, own=3)))
    assert "3 verdicts" in codes["own_family"].text
    assert "weak_judge" not in codes


def test_callers_whose_length_tells_their_end_are_said_once_on_a_page_of_several_runs() -> None:
    told = KNOWN.model_copy(update={"length_tells": ("The number of words tells the end.",)})
    page = together([told, told, KNOWN], [], human_baseline=False)
    assert by_code(summary(known=page))["length_tells"].text == "The number of words tells the end."
    assert "length_tells" not in by_code(summary(known=KNOWN))


def test_what_is_not_known_is_never_claimed() -> None:
    bare = by_code(summary(judge(0.9, 0.8), known=Circumstances(contexts=NINE)))
    assert {"not_judged", "not_calibrated"} <= set(bare)
    assert not {"weak_judge", "judge", "measurement_error", "no_human_baseline"} & set(bare)
    assert "6.0 ms (95 % of 64 trials)" in by_code(summary())["measurement_error"].text
    people = KNOWN.model_copy(update={"human_baseline": True})
    assert "no_human_baseline" in by_code(summary())
    assert "no_human_baseline" not in by_code(summary(known=people))


def test_circumstances_of_several_runs_count_each_conversation_once() -> None:
    one = KNOWN.model_copy(update={"judged": frozenset({"c-1"}), "unfinished": {"one": 2}})
    two = KNOWN.model_copy(update={"contexts": frozenset({"c-8", "c-9"}), "played": frozenset({"c-9"}), "judged": frozenset()})
    both = together([one, two], ["the board is thin"], human_baseline=False)
    assert len(both.contexts) == 10
    assert both.unjudged == both.contexts - {"c-1"}
    assert (both.verdicts, both.unfinished, both.onset_error) == (54, {"one": 2}, KNOWN.onset_error)
    assert together([one, Circumstances()], [], human_baseline=False).onset_error is None


def test_terminal_and_json_give_the_same_words() -> None:
    known = KNOWN.model_copy(update={"ranking": ("s2 won every comparison [bold]",)})
    run = summary(judge(0.55, 0.45), valid=False, invalid=["pacing"], known=known)
    out = io.StringIO()
    print_summary(run, Console(file=out, width=400), verbose=True)
    told = json.loads(run.to_json())
    assert [caution["text"] for caution in told["cautions"]] == told["warnings"]
    for caution in told["cautions"]:
        shown = f"{caution['topic']}: {caution['text']}" in out.getvalue()
        assert shown == (caution["code"] not in ("no_certificate", "machines"))


def test_an_agent_whose_turns_the_harness_ends_is_compared_with_no_other() -> None:
    known = Circumstances(contexts=NINE, ends_turns={"a": "its turn detection is off"})
    found = by_code(summary(judge(0.9, 0.8), known=known))["ends_turns"]
    assert found.level == "warn"
    assert "a: its turn detection is off" in found.text
