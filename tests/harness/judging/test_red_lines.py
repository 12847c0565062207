"""Red lines: every judge's accuracy by family, in both orders, asked once of a judge in one version."""

from collections import Counter
from pathlib import Path

import pytest

from harness.judging.cache import VerdictCache
from harness.judging.judge import JudgeFailure, Question, Verdict
from harness.judging.validation.red_lines import (
    RedLine,
    check_red_lines,
    hash_of,
    keep_red_lines,
    kept_red_lines,
)
from harness.judging.validation.sentences import red_lines_details, red_lines_sentence
from harness.store.judgment import RedLinesCheck
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


async def check(judge: Rater, pairs: tuple[RedLine, ...] = PAIRS) -> RedLinesCheck:
    with VerdictCache() as cache:
        return await check_red_lines(judge, pairs, cache)


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


async def test_a_stored_check_is_of_one_judge_and_one_set_and_whole(tmp_path: Path) -> None:
    found = await check(Rater())
    assert keep_red_lines(found, "f", PAIRS, tmp_path) == found
    assert kept_red_lines("f", PAIRS, tmp_path) == found
    assert kept_red_lines("another", PAIRS, tmp_path) is None
    assert kept_red_lines("f", PAIRS[1:], tmp_path) is None
    assert keep_red_lines(await check(Rater(mute="harm")), "f", PAIRS, tmp_path).missing == 10
    assert kept_red_lines("f", PAIRS, tmp_path) == found
    (tmp_path / "red_lines" / "f.json").write_text("{")
    assert kept_red_lines("f", PAIRS, tmp_path) is None
    assert hash_of(PAIRS[1:]) != hash_of(PAIRS)


async def test_asking_again_until_it_passes_gains_a_judge_nothing(tmp_path: Path) -> None:
    passed, failed = await check(Rater()), await check(Rater(blind="abuse"))
    for order in ((passed, failed, passed), (failed, passed)):
        for found in order:
            counted = keep_red_lines(found, str(len(order)), PAIRS, tmp_path)
        assert counted == kept_red_lines(str(len(order)), PAIRS, tmp_path) == failed
