"""A batch may end early, by planned looks that spend 5 % together, and says afterwards that it did."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.judging import Completion, Design, judge_pairs
from harness.judging.design import plan_comparisons
from harness.judging.record import JudgingRecord, read_records, record_of, write_record
from harness.ranking import leaderboard
from harness.ranking.stopping import UntilSeparated, gaps, pairs_in_question, planned_looks
from harness.scenarios.context import Context
from harness.store.judgment import Judgment
from tests.harness.judging.conftest import RuleJudge
from tests.present import ends

from .conftest import make_context

PLAIN = Design(swapped_share=0, repeat_share=0)


def replies(count: int, **quality: str) -> list[Completion]:
    return [Completion(f"c-{n:03}", s, f"{words} ({n} {s})") for n in range(count) for s, words in quality.items()]


def contexts(count: int) -> list[Context]:
    return [make_context(f"c-{n:03}") for n in range(count)]


def coin(count: int, seed: int) -> list[Judgment]:
    """Verdicts on two equal systems."""
    wins = np.random.default_rng(seed).random(count) < 0.5
    return [
        Judgment(
            context=f"c-{n:03}", subset="regular", system_a="x", system_b="y", source="judge", judge="j",
            winner="a" if won else "b", strength=3, shown_first="a" if n % 2 else "b",
        )
        for n, won in enumerate(wins)
    ]  # fmt: skip


@pytest.mark.parametrize("count", [1, 12, 16, 31, 32, 80, 300, 2000])
def test_looks_are_few_and_the_last_is_the_whole(count: int) -> None:
    looks = planned_looks(count)
    assert looks[-1] == count
    assert len(looks) <= 5
    assert len(looks) == 1 or min(np.diff([0, *looks])) >= 15


def test_a_clear_order_ends_early_on_whole_contexts_and_unclear_ones_run_on(rule_judge: type[RuleJudge]) -> None:
    rule = UntilSeparated("order", ["best", "middle", "worst"], 5)
    done = judge_pairs(
        contexts(80), replies(80, best="good good", middle="good", worst="bad"), rule_judge(), PLAIN, enough=rule
    )
    assert done.unasked > 0
    assert len(done.judgments) == 3 * len({row.context for row in done.judgments})
    assert rule.looks[-1].apart
    equal = UntilSeparated("order", ["x", "y"], 5)
    for end in planned_looks(80):
        assert not equal(coin(80, seed=4)[:end])
    assert [look.contexts for look in equal.looks] == list(planned_looks(80))


def test_each_look_is_stricter_than_one_look_alone() -> None:
    rows = coin(60, seed=1)
    rows = [r.model_copy(update={"winner": "a"}) if n % 4 == 0 else r for n, r in enumerate(rows)]
    board = leaderboard(rows)
    (once,) = gaps(board, [("x", "y")], level=0.95)
    (of_five,) = gaps(board, [("x", "y")], level=UntilSeparated("best", ["x", "y"], 5).level)
    (wide_low, wide_high), (low, high) = ends(of_five.band), ends(once.band)
    assert wide_low < low < once.elo < high < wide_high
    # Of one pair alone, the band of all pairs is the pair's own interval.
    assert once.band == pytest.approx(board.difference("x", "y").interval, rel=0.02)


def test_the_best_is_asked_for_without_an_order_of_the_others(rule_judge: type[RuleJudge]) -> None:
    field = replies(64, best="good good", x="bad", y="poor")
    rows = judge_pairs(contexts(64), field, rule_judge(always_first=False), PLAIN).judgments
    even = [
        r.model_copy(update={"winner": "a" if int(r.context[2:]) % 2 else "b"}) if "best" not in (r.system_a, r.system_b) else r
        for r in rows
    ]  # fmt: skip
    assert UntilSeparated("best", ["best", "x", "y"], 1)(even)
    assert not UntilSeparated("order", ["best", "x", "y"], 1)(even)


def test_systems_that_never_met_are_never_apart() -> None:
    rows = [r.model_copy(update={"winner": "a"}) for r in coin(40, seed=2)]
    islands = rows + [r.model_copy(update={"system_a": "v", "system_b": "w"}) for r in rows]
    assert UntilSeparated("order", ["x", "y"], 1)(rows)
    assert not UntilSeparated("order", ["v", "w", "x", "y"], 1)(islands)


def test_one_agent_is_asked_against_the_references() -> None:
    assert pairs_in_question(["agent", "ref:good", "ref:plain"]) == [("agent", "ref:good"), ("agent", "ref:plain")]
    assert pairs_in_question(["b", "a", "ref:good"]) == [("a", "b")]


def test_the_looks_together_spend_five_percent() -> None:
    assert [UntilSeparated("best", ["x", "y"], looks).level for looks in (1, 5)] == pytest.approx([0.95, 0.99])
    of_two = UntilSeparated.of("order", [(f"c-{n}", system) for n in range(40) for system in ("x", "y")[: 1 + (n < 32)]])
    assert of_two.level == pytest.approx(0.975), "conversations with one reply give no look"


@pytest.mark.long
def test_equal_systems_are_rarely_told_apart_however_often_one_looks() -> None:
    looks = planned_looks(80)
    wrong = 0
    for seed in range(60):
        rule = UntilSeparated("order", ["x", "y"], len(looks))
        rows = coin(80, seed)
        wrong += any(rule(rows[:end]) for end in looks)
    assert wrong <= 6


def test_every_beginning_of_a_reduced_design_is_balanced(rule_judge: type[RuleJudge]) -> None:
    systems = {f"s{k}": "good" for k in range(6)}
    judged: list[list[Judgment]] = []

    def keep(rows: Sequence[Judgment]) -> bool:
        judged.append(list(rows))
        return False

    design = Design(cells=80 * 5, swapped_share=0, repeat_share=0)
    judge_pairs(contexts(80), replies(80, **systems), rule_judge(), design, seed=3, enough=keep)
    assert len(judged) == 5
    for rows in judged:
        asked = [sum(s in (r.system_a, r.system_b) for r in rows) for s in systems]
        assert max(asked) - min(asked) <= 2
    whole = plan_comparisons({f"c-{n:03}": list(systems) for n in range(80)}, design, 3)
    assert len(judged[-1]) == len(whole)


def test_what_ended_and_what_is_missing_is_kept_beside_the_verdicts(rule_judge: type[RuleJudge], tmp_path: Path) -> None:
    judge = rule_judge(breaks_on="0 worst)")
    rule = UntilSeparated("best", ["best", "worst"], 5)
    design = Design(swapped_share=0, repeat_share=0)
    done = judge_pairs(contexts(80), replies(80, best="good", worst="bad"), judge, design, seed=2, enough=rule)
    assert done.unasked > 0
    write_record(tmp_path, record_of(judge.id, [done], "written", "clean", 2, design, rule))
    (kept,) = read_records(tmp_path)
    assert isinstance(kept, JudgingRecord)
    assert kept.stop is not None
    assert kept.stop.unasked == done.unasked
    assert "ended early" in kept.stop.in_words()
    assert len(kept.missing) == len(done.missing) > 0
    assert kept.comparisons == done.comparisons
