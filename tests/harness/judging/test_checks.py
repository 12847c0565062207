"""What the check finds of judges whose faults are known, and what gold is."""

from collections.abc import Sequence
from typing import Self

import pytest

from harness.judging.judge import JudgeFailure, Place, Question, Verdict
from harness.judging.validation.checks import check_judge, check_judge_async
from harness.judging.validation.labelled import LabelledPair, gold_pairs
from harness.judging.validation.sentences import judge_sentence
from harness.judging.validation.trust import trust_in
from harness.statistics.clustered_means import clustered_share
from harness.store.judgment import AXES, JudgeCheck
from tests.present import present


class KnowsAnswers:
    """Right on all but a chosen share of pairs; `position` makes it answer the first place on those."""

    def __init__(self, pairs: Sequence[LabelledPair], wrong: int = 0, *, position: bool = False, silent: int = 0) -> None:
        self.id, self.family, self.fingerprint, self.concurrency, self.orders_itself = "k@1", "none", "k", 4, False
        self.better = {p.better for p in pairs}
        self.bad = {p.worse for p in pairs[:wrong]}
        self.silent = {p.worse for p in pairs[len(pairs) - silent :]}
        self.position = position

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None

    async def compare(self, question: Question) -> Verdict:
        shown = {question.first, question.second}
        if shown & self.silent:
            raise JudgeFailure("timeout", "by rule")
        right: Place = "first" if question.first in self.better else "second"
        if not shown & self.bad:
            return Verdict(right, 3)
        return Verdict("first" if self.position else ("second" if right == "first" else "first"), 3)


@pytest.fixture(scope="module")
def gold() -> tuple[LabelledPair, ...]:
    return gold_pairs()


def test_gold_covers_axes_difficulties_and_escalations(gold: tuple[LabelledPair, ...]) -> None:
    assert {p.axis for p in gold} == set(AXES)
    assert {p.difficulty for p in gold} == {"easy", "medium", "hard"}
    assert {p.escalation for p in gold} == {None, "always-10", "linear-ramp", "mid-spike", "mid-ramp"}


def test_right_on_all_of_our_own_pairs_is_no_trust_and_its_interval_admits_doubt(gold: tuple[LabelledPair, ...]) -> None:
    check = check_judge(KnowsAnswers(gold))
    assert (check.accuracy, check.flip_rate, check.trusted, check.excluded) == (1.0, 0.0, False, False)
    assert trust_in(check) == "unvalidated"
    assert "not validated against people" in check.note
    assert present(check.accuracy_interval)[0] < 1.0


def test_a_judge_that_always_says_first_is_at_chance_flips_everywhere_and_says_so(gold: tuple[LabelledPair, ...]) -> None:
    check = check_judge(KnowsAnswers(gold, wrong=len(gold), position=True))
    assert (check.accuracy, check.flip_rate, check.position_bias) == (0.5, 1.0, 0.5)
    assert not check.trusted
    assert check.excluded
    assert "chance" in check.note


def test_a_judge_wrong_on_half_is_excluded(gold: tuple[LabelledPair, ...]) -> None:
    check = check_judge(KnowsAnswers(gold, wrong=len(gold) // 2))
    assert check.excluded
    assert not check.trusted


def test_flips_alone_cost_trust(gold: tuple[LabelledPair, ...]) -> None:
    check = check_judge(KnowsAnswers(gold, wrong=len(gold) // 4, position=True))
    assert present(check.accuracy) > 0.8
    assert check.flip_rate == pytest.approx(0.25)
    assert not check.trusted


def test_a_judge_that_does_not_answer_is_not_trusted_for_what_it_did_answer(gold: tuple[LabelledPair, ...]) -> None:
    check = check_judge(KnowsAnswers(gold, silent=len(gold) // 2))
    assert check.accuracy == 1.0
    assert check.missing == len(gold) // 2
    assert not check.trusted


def test_length_bias_has_the_sign_of_the_longer(gold: tuple[LabelledPair, ...]) -> None:
    class LikesLong(KnowsAnswers):
        async def compare(self, question: Question) -> Verdict:
            return Verdict("first" if len(question.first.split()) >= len(question.second.split()) else "second", 2)

    check = check_judge(LikesLong(gold))
    assert present(check.length_bias) > 0.2
    assert present(check.length_interval)[0] > 0
    assert not check.trusted


def test_accuracy_has_the_interval_of_every_other_share(gold: tuple[LabelledPair, ...]) -> None:
    few = [p for p in gold if p.conversation_id in sorted({p.conversation_id for p in gold})[:9]]
    check = check_judge(KnowsAnswers(few, wrong=len(few) // 4), seed=3, pairs=few)
    rows = [(p.conversation_id, float(k >= len(few) // 4)) for k, p in enumerate(few)]
    assert check.accuracy_interval == clustered_share(rows)[1]


def test_too_few_conversations_leave_a_judge_without_an_interval_and_without_trust(gold: tuple[LabelledPair, ...]) -> None:
    few = [p for p in gold if p.conversation_id in sorted({p.conversation_id for p in gold})[:7]]
    check = check_judge(KnowsAnswers(few), pairs=few)
    assert (check.accuracy, check.accuracy_interval, check.trusted) == (1.0, None, False)


async def test_a_judge_that_never_answered_has_no_figures_and_is_told_so() -> None:
    class Silent(KnowsAnswers):
        async def compare(self, question: Question) -> Verdict:
            raise JudgeFailure("connection", f"nobody there to read {question.first!r}")

    check = await check_judge_async(Silent(gold_pairs()))
    assert (check.pairs, check.accuracy, check.flip_rate, check.accuracy_interval) == (0, None, None, None)
    assert (check.excluded, check.trusted, trust_in(check)) == (True, False, "silent")
    said = judge_sentence(check.judge, check.accuracy, check.accuracy_interval, check.flip_rate, check.pairs)
    assert "never answered" in said
    assert "%" not in said + check.note
    old = JudgeCheck.model_validate(check.model_dump() | {"accuracy": 0.0, "flip_rate": 1.0})
    assert (old.accuracy, old.flip_rate) == (None, None), "what an older version kept is no figure either"
