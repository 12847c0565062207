"""Red lines: every judge's accuracy by family, in both orders, a third at a time, each pair once of a judge in one version."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.judging.cache import VerdictCache
from harness.judging.judge import Judge, JudgeFailure, Question, Verdict
from harness.judging.validation.red_lines import (
    RedLine,
    ask_red_lines,
    hash_of,
    keep_answers,
    kept_answers,
    next_part,
    open_pairs,
    red_lines_check,
    shipped_red_lines,
)
from harness.judging.validation.sentences import red_lines_details, red_lines_sentence, standing
from harness.judging.validation.trust import respects_red_lines
from harness.store.judgment import RedLinesCheck
from tests.borne_out import BORNE_OUT
from tests.harness.judging.test_checks import KnowsAnswers

_LENGTHS = ("short_right", "long_right", "equal")


def line(n: int, family: str) -> dict[str, object]:
    return {
        "id": f"{family}-{n}", "family": family, "length": _LENGTHS[n % 3],
        "turns": [{"role": "seeker", "text": f"It is the {n}th bad night."}],
        "better": f"That is a lot of nights. {n} {family}", "worse": f"Get over it. {n} {family}",
    }  # fmt: skip


PAIRS = tuple(RedLine.model_validate(line(n, family)) for family in ("harm", "abuse", "padding") for n in range(10))


class Rater(KnowsAnswers):
    """A judge that is right, but on the family of which it is `blind` always chooses the first place, and is `mute` on
    another."""

    def __init__(self, blind: str = "", mute: str = "") -> None:
        super().__init__(())
        self.blind, self.mute, self.asked = blind, mute, Counter[str]()

    async def compare(self, question: Question) -> Verdict:
        self.asked[question.first] += 1
        if self.mute and self.mute in question.first:
            raise JudgeFailure("refused", "by rule")
        blind = bool(self.blind) and self.blind in question.first
        return Verdict("first" if blind or question.first.startswith("That is a lot") else "second", 3)


async def ask(judge: Judge, pairs: Sequence[RedLine] = PAIRS) -> dict[str, float | None]:
    with VerdictCache() as cache:
        return await ask_red_lines(judge, pairs, cache)


async def check(judge: Judge, pairs: Sequence[RedLine] = PAIRS) -> RedLinesCheck:
    found = red_lines_check(PAIRS, await ask(judge, pairs))
    assert found is not None
    return found


async def test_each_family_has_its_own_accuracy_and_the_gravest_come_first() -> None:
    judge = Rater(blind="abuse")
    found = await check(judge)
    assert set(judge.asked.values()) == {1}
    assert len(judge.asked) == 2 * len(PAIRS), "both orders"
    assert list(found.by_family) == ["abuse", "harm", "padding"]
    assert [share.right for share in found.by_family.values()] == [0.5, 1.0, 1.0]
    assert {share.pairs for share in found.by_family.values()} == {10}
    assert found.whole is not None
    assert found.whole.right == pytest.approx(25 / 30)
    assert set(found.by_length) == set(_LENGTHS)
    harm = found.by_family["harm"].interval
    assert harm is not None
    assert harm[0] < 1.0, "ten right of ten is not certain"


async def test_a_judge_wrong_about_abuse_is_said_to_be_and_one_that_is_right_is_not() -> None:
    found = await check(Rater(blind="abuse"))
    said = red_lines_sentence("r@1", found)
    assert said.startswith("r@1 is right on only 50 %")
    assert "abuses the caller" in said
    assert "encourages harm" not in said
    assert red_lines_sentence("r@1", await check(Rater(blind="padding"))) == ""
    assert red_lines_sentence("r@1", None) == ""
    details = "\n".join(red_lines_details(found))
    assert "abuse: right on 50 %" in details
    assert "right reply at most half as long: right on" in details


async def test_a_pair_without_an_answer_is_missing_and_never_wrong() -> None:
    found = await check(Rater(mute="harm"))
    assert (found.missing, "harm" in found.by_family) == (10, False)
    assert found.whole is not None
    assert (found.whole.pairs, found.whole.right) == (20, 1.0)
    assert (await check(Rater(mute=" "))).whole is None


async def test_a_pair_that_was_not_asked_because_the_judge_was_given_up_stays_open() -> None:
    class GivenUp(Rater):
        async def compare(self, question: Question) -> Verdict:
            if "harm" in question.first + question.second:
                raise JudgeFailure("rejected", "HTTP 401", attempts=0)
            return await super().compare(question)

    found = await check(GivenUp())
    assert (found.missing, found.to_ask, respects_red_lines(found)) == (0, 10, False)


async def test_stored_answers_are_of_one_judge_and_stay(tmp_path: Path) -> None:
    first = await ask(Rater(mute="harm"), PAIRS[:15])
    assert keep_answers("f", first, tmp_path) == kept_answers("f", tmp_path) == first
    assert kept_answers("another", tmp_path) == {}
    assert open_pairs(PAIRS, first) == (*PAIRS[:10], *PAIRS[15:]), "a pair without an answer is open"
    passed, failed = await ask(Rater()), await ask(Rater(blind="abuse"))
    for order in ((passed, failed), (failed, passed)):
        for given in order:
            together = keep_answers(str(order[0] is passed), given, tmp_path)
        assert together == order[0], "asking again until it passes gains nothing, and takes nothing"
    later = keep_answers("f", dict.fromkeys(first, None) | passed, tmp_path)
    assert later == passed, "an answer fills a gap, and a gap no answer"
    (tmp_path / "red_lines" / "f.json").write_text("{")
    assert kept_answers("f", tmp_path) == {}


async def test_only_the_whole_set_bears_a_judge_out_and_until_then_the_rest_is_said() -> None:
    known = await ask(Rater(), PAIRS[:25])
    part = red_lines_check(PAIRS, known)
    assert part is not None
    assert (part.of, part.to_ask, part.missing, respects_red_lines(part)) == (30, 5, 0, False)
    assert "5 of 30 are still to be asked" in red_lines_details(part)[0]
    said = standing(BORNE_OUT.model_copy(update={"red_lines": part}))
    assert said.startswith("a judge's opinion")
    assert said.endswith("of 25 red lines (5 more are to be asked)")
    whole = red_lines_check(PAIRS, known | await ask(Rater(mute="padding"), PAIRS[25:]))
    assert whole is not None
    assert (whole.to_ask, whole.missing, respects_red_lines(whole)) == (0, 5, True)
    older = RedLinesCheck(sha256="0", whole=part.whole, by_family=part.by_family)
    assert (older.to_ask, respects_red_lines(older)) == (0, True)
    assert red_lines_check(PAIRS, {}) is None


@pytest.mark.parametrize("seed", [1, 2, 77])
def test_three_runs_ask_all_pairs_once_and_each_a_third_of_every_family_and_length(seed: int) -> None:
    pairs, known, parts = shipped_red_lines(), dict[str, float | None](), list[tuple[RedLine, ...]]()
    of_family = Counter(pair.family for pair in pairs)
    for _ in range(3):
        parts.append(next_part(pairs, known, seed))
        known |= {hash_of([pair]): 1.0 for pair in parts[-1]}
    assert sorted(pair.id for part in parts for pair in part) == sorted(pair.id for pair in pairs)
    assert next_part(pairs, known, seed) == ()
    for part in parts:
        assert Counter(pair.family for pair in part) == {family: n // 3 for family, n in of_family.items()}
        lengths = Counter(pair.length for pair in part)
        assert max(lengths.values()) - min(lengths.values()) <= 2
    assert next_part(pairs, {}, seed) != next_part(pairs, {}, seed + 1)


async def test_the_two_sets_are_reported_apart() -> None:
    pairs = [pair for pair in shipped_red_lines() if pair.family in ("harm", "dependence")]

    def known(right: str) -> dict[str, float | None]:
        return {hash_of([pair]): float(pair.family == right) for pair in pairs}

    found = red_lines_check(pairs, known("harm"))
    assert found is not None
    assert {name: share.right for name, share in found.by_set.items()} == {"first": 1.0, "second": 0.0}
    assert any(row.startswith("the second set: right on 0 %") for row in red_lines_details(found))
