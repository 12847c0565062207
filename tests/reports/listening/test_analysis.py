"""From answers to rows and figures, against answers with known outcomes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from harness.figures.summary import RunSummary
from harness.reports.listening.analysis import delay_effects, judgments, opinions
from harness.reports.listening.answers import Answer, VoteStore
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.plan import Item, Slot
from harness.reports.listening.results import human_rows, listening_results, raters_of
from harness.reports.write import write_joint_report
from harness.statistics.clustered_means import clustered_mean
from harness.store.run_store import RunStore


def pair(
    rater: str, n: int, choice: int, *, order: str = "ab", delayed: bool = False, role: str = "main", **more: object
) -> Answer:
    gaps = {"a": 400.0, "b": 1_500.0} if delayed else {"a": 200.0, "b": 200.0}
    item = Item.model_validate(
        {
            "role": role, "context": f"c{n}", "with_delay": delayed,
            "slots": tuple(Slot(context=f"c{n}", system=s, gap_ms=gaps[s]) for s in order),
        }
    )  # fmt: skip
    settings = {"passed": None, "took_s": 9.0} | more
    return Answer(rater, n, item, {"choice": choice, "reason": "so"}, at_s=0.0, **settings)  # type: ignore[arg-type]


DESIGN = ListeningDesign(delays="both")


@pytest.mark.parametrize(
    ("choice", "order", "winner", "strength"),
    [(-2, "ab", "a", 5), (1, "ab", "b", 2), (-1, "ba", "b", 2), (2, "ba", "a", 5), (0, "ba", "tie", 1)],
)
def test_a_vote_becomes_a_row_about_systems_not_about_sides(choice: int, order: str, winner: str, strength: int) -> None:
    (row,) = judgments([pair("r", 1, choice, order=order)], DESIGN, {"c1": "adversarial"})
    assert (row.system_a, row.system_b, row.winner, row.strength) == ("a", "b", winner, strength)
    assert row.shown_first == ("a" if order == "ab" else "b")
    assert (row.source, row.judge, row.subset, row.rationale) == ("human", "r", "adversarial", "so")


def test_presentations_stay_apart_and_only_votes_count() -> None:
    answers = [
        pair("r", 1, 1),
        pair("r", 2, 1, delayed=True),
        pair("r", 3, 1, role="practice"),
        pair("r", 4, 1, role="gold"),
    ]
    assert [row.presentation for row in judgments(answers, DESIGN, {})] == ["audio", "audio_with_delay"]


def test_a_row_has_the_rate_of_its_item_and_an_older_plans_row_has_none() -> None:
    old, new = pair("r", 1, 1), pair("r", 2, 1)
    drawn = replace(new, item=new.item.model_copy(update={"draw_rate": 1.5}))
    assert [row.draw_rate for row in judgments([old, drawn], DESIGN, {})] == [None, 1.5]
    without = old.item.model_dump_json(exclude={"draw_rate"})
    assert Item.model_validate_json(without) == old.item


def test_the_cost_of_waiting_is_found_in_steps_towards_the_sooner_reply() -> None:
    answers = []
    for rater in range(10):
        for n in range(4):
            order = "ab" if n % 2 else "ba"
            sign = 1 if order == "ab" else -1
            # Without delay b is slightly better; with it, a: two steps towards the sooner one.
            answers += [pair(f"r{rater}", n, sign, order=order), pair(f"r{rater}", n, -sign, order=order, delayed=True)]
    (effect,) = delay_effects(answers)
    assert effect.shift.value == 2
    assert (effect.shift.low, effect.shift.high) == (2, 2)
    assert (effect.pairs, effect.raters) == (40, 10)


def test_an_item_judged_one_way_alone_says_nothing_about_delay() -> None:
    assert delay_effects([pair("r", n, 1, delayed=n % 2 == 0) for n in range(8)]) == ()


def rated(rater: str, n: int, empathy: int) -> Answer:
    item = Item(role="main", context=f"c{n}", slots=(Slot(context=f"c{n}", system="a"),))
    return Answer(rater, n, item, {"empathy": empathy, "naturalness": 3}, None, 9.0, 0.0)


def test_opinion_scores_are_means_and_few_raters_give_no_interval() -> None:
    few = {o.scale: o for o in opinions([rated("r1", 1, 2), rated("r1", 2, 5), rated("r2", 1, 5)])}
    assert few["empathy"].mean.value == 4
    assert few["empathy"].mean.low is None
    assert (few["empathy"].votes, few["empathy"].raters) == (3, 2)


def test_the_interval_over_raters_covers_the_truth() -> None:
    """Raters differ, and votes of one are alike: an interval over votes would cover far too seldom."""
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(200):
        lean = rng.normal(3, 0.6, 14)
        interval = clustered_mean([(f"r{k}", float(rng.normal(lean[k], 0.5))) for k in range(14) for _ in range(12)])[1]
        assert interval is not None
        hits += interval[0] <= 3 <= interval[1]
    assert 0.89 <= hits / 200 <= 0.99


def test_quality_control_names_each_reason() -> None:
    careless = [pair("fast", n, n % 3 - 1, took_s=0.4) for n in range(8)]
    constant = [pair("constant", n, 1, order="ab" if n % 2 else "ba") for n in range(8)]
    loyal = [pair("loyal", n, 1) for n in range(8)]
    failing = [pair("failing", n, n % 3 - 1, role="gold", passed=n > 1) for n in range(4)] + [pair("failing", 9, 1)]
    good = [pair("good", n, n % 3 - 1) for n in range(8)] + [pair("good", 20, 1, role="gold", passed=True)]
    found = {q.rater: q for q in raters_of([*careless, *constant, *loyal, *failing, *good])}
    assert "beyond hearing" in found["fast"].reasons[0]
    assert "same answer to all 8" in found["constant"].reasons[0]
    assert "failed 2 of 4 checks" in found["failing"].reasons[0]
    assert not found["good"].excluded
    # Always the second, which always was the same system: an opinion, as far as anybody can tell.
    assert not found["loyal"].excluded


def test_votes_reach_the_report_and_the_rows_with_and_without_the_excluded(
    played: Callable[..., tuple[RunStore, RunSummary]],
) -> None:
    store, summary = played(contexts=2)
    folder = store.folder / "listening" / "ab-text-without"
    votes = VoteStore(folder)
    design = ListeningDesign(medium="text")
    for person, choice, passes in (("kind", -1, True), ("careless", 2, False)):
        main = Item(role="main", context="talk-0", slots=tuple(Slot(context="talk-0", system=s) for s in ("quick", "slow")))
        check = main.model_copy(update={"role": "gold", "expected": -1})
        rater = votes.begin(person, "rater", design.model_dump_json(), (main, check))
        votes.answer(rater, 0, {"choice": choice, "reason": "<script>alert(1)</script>"}, None, 9.0)
        votes.answer(rater, 1, {"choice": choice, "reason": "x"}, passes, 9.0)
    for person in ("curious", "passing by"):
        rater = votes.begin(person, "rater", design.model_dump_json(), (check,))
        votes.answer(rater, 0, {"choice": 2, "reason": "x"}, False, 9.0)
    votes.close()
    (found,) = listening_results(store)
    assert [q.excluded for q in found.quality if q.answers] == [False, True]
    rows = human_rows(store)
    assert [(row.winner, row.presentation, row.judge) for row in rows] == [("a", "heard_text", "ab-text-without/rater-0001")]
    page = write_joint_report([(store, summary)], store.folder).page.read_text(encoding="utf-8")
    assert "rater-0002 is left out: failed 1 of 1 checks." in page
    assert "2 raters, 2 votes; 2 more began and rated nothing; 1 rater left out after quality control." in page
    assert "rater-0003" not in page
