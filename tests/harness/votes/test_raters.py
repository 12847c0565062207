"""People's votes become rows; who is excluded is computed, said why, and can be taken back."""

from pathlib import Path

import numpy as np
import pytest

from harness.errors import UserError
from harness.votes.rater_exclusion import Given, least_reading_s, rater_quality
from harness.votes.vote import Vote, raters_of, read_votes, to_judgments

HEADER = "context,subset,system_a,system_b,rater,vote,reason,shown_first,seconds,words,check\n"


def line(rater: str, vote: str, *, seconds: int = 20, words: int = 60, check: str = "", n: int = 0) -> str:
    return f"c-{n},regular,x,y,{rater},{vote},because,a,{seconds},{words},{check}\n"


@pytest.fixture
def votes(tmp_path: Path) -> tuple[Vote, ...]:
    text = HEADER
    for k, rater in enumerate(["ann", "ben", "cas", "dee", "eve", "fay"]):
        text += "".join(line(rater, "a_much", seconds=18 + k, n=n) for n in range(4))
        text += line(rater, "b_slightly", check="b_much") + line(rater, "same", check="same")
    text += "".join(line("hasty", "b_much", seconds=1, n=n) for n in range(4))
    text += (
        line("careless", "a_much", n=1) + line("careless", "a_much", check="b_much") + line("careless", "same", check="same")
    )
    path = tmp_path / "votes.csv"
    path.write_text(text)
    return read_votes(path)


def test_five_options_become_winner_and_strength(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    options = ["a_much", "a_slightly", "same", "b_slightly", "b_much"]
    path.write_text(HEADER + "".join(line("r", o, n=n) for n, o in enumerate(options)))
    rows = to_judgments(read_votes(path))
    assert [r.winner for r in rows] == ["a", "a", "tie", "b", "b"]
    assert rows[0].strength == rows[4].strength > rows[1].strength == rows[3].strength
    assert {r.source for r in rows} == {"human"}
    assert {r.rationale for r in rows} == {"because"}


def test_failed_checks_and_impossible_times_exclude_and_say_why(votes: tuple[Vote, ...]) -> None:
    reasons = {q.rater: q.reasons for q in raters_of(votes) if q.excluded}
    assert set(reasons) == {"hasty", "careless"}
    assert any("checks" in r for r in reasons["careless"])
    assert any("faster" in r for r in reasons["hasty"])


def timed(rater: str, seconds: float, count: int = 4, *, least_s: float = 0.0, counts: bool = True) -> list[Given]:
    return [Given(rater, seconds=seconds, chosen=n, least_s=least_s, counts=counts) for n in range(count)]


def excluded(answers: list[Given]) -> dict[str, tuple[str, ...]]:
    return {q.rater: q.reasons for q in rater_quality(answers) if q.excluded}


@pytest.mark.parametrize(("failed", "of", "out"), [(1, 2, True), (1, 3, False), (2, 4, True), (2, 5, False), (0, 1, False)])
def test_half_of_the_checks_failed_is_too_many(failed: int, of: int, out: bool) -> None:
    checks = [Given("r", passed=n >= failed, counts=False) for n in range(of)]
    assert excluded([*checks, Given("r")]) == ({"r": (f"failed {failed} of {of} checks",)} if out else {})
    (quality,) = rater_quality([*checks, Given("r", seconds=3.0), Given("r", seconds=5.0)])
    assert (quality.answers, quality.checks, quality.failed, quality.median_s) == (2, of, failed, 4.0)


def test_nobody_decides_in_under_two_seconds_beyond_reading() -> None:
    assert least_reading_s(25) == 2.0
    for count, seconds, least_s, out in ((4, 1.9, 0.0, True), (4, 2.0, 0.0, False), (3, 1.0, 0.0, False), (4, 9.9, 8.0, True)):
        assert ("r" in excluded(timed("r", seconds, count, least_s=least_s))) == out
    # The times of checks say nothing of how somebody votes.
    assert excluded([*timed("r", 20.0), *timed("r", 0.5, 20, counts=False)]) == {}


def test_a_time_far_from_all_others_is_no_rater_s_and_needs_five_others() -> None:
    others = [answer for k in range(5) for answer in timed(f"o{k}", 10.0)]
    # Others who are alike still have a spread of .3 in log time, so five deviations are a factor of e^1.5 = 4.48.
    for seconds, word in ((45.5, "longer"), (44.0, None), (2.3, None), (2.2, "less")):
        found = excluded([*others, *timed("r", seconds)])
        assert set(found) == ({"r"} if word else set())
        assert word is None or f"far {word} than all others" in found["r"][0]
    assert excluded([*others[:16], *timed("r", 500.0)]) == {}
    wide = [answer for k, s in enumerate((2.5, 5.0, 10.0, 20.0, 40.0)) for answer in timed(f"o{k}", s)]
    assert excluded([*wide, *timed("r", 500.0)]) == {}, "others differ more than that among themselves"


@pytest.mark.parametrize(
    ("count", "chosen", "preferred", "seconds", "out"),
    [
        (8, 1, ("x", "y"), 9.0, True), (7, 1, ("x", "y"), 9.0, False), (8, 1, ("x",), 9.0, False),
        (8, 0, (None,), None, True), (8, 0, (None,), 9.0, False), (8, None, ("x", "y"), 9.0, False),
        (8, None, (None,), None, False),
    ],
)  # fmt: skip
def test_one_answer_to_eight_items_is_a_habit_unless_one_system_was_always_better(
    count: int, chosen: int | None, preferred: tuple[str | None, ...], seconds: float | None, out: bool
) -> None:
    given = [Given("r", seconds=seconds, chosen=chosen, preferred=preferred[n % len(preferred)]) for n in range(count)]
    assert excluded(given) == ({"r": (f"gave the same answer to all {count} items",)} if out else {})


@pytest.mark.parametrize(("check", "vote", "passed"), [
    ("a_much", "a_slightly", True), ("a_much", "same", False), ("a_much", "b_much", False), ("same", "same", True),
    ("same", "b_slightly", False), ("b_slightly", "b_much", True),
])  # fmt: skip
def test_a_check_is_passed_on_its_side(check: str, vote: str, passed: bool) -> None:
    asked = {"context": "c", "subset": "regular", "system_a": "x", "system_b": "y", "rater": "r", "vote": vote, "check": check}
    (quality,) = raters_of([Vote.model_validate(asked)])
    assert (quality.checks, quality.failed, quality.excluded) == (1, 1 - passed, not passed)


def test_the_place_on_the_page_and_the_system_are_told_apart(tmp_path: Path) -> None:
    """Always the reply shown first, of either system, is a habit; always system x, in either place, is a taste."""
    path = tmp_path / "v.csv"
    sides = ("a", "b")
    first = "".join(f"c-{n},regular,x,y,place,{sides[n % 2]}_much,,{sides[n % 2]},20,9,\n" for n in range(8))
    taste = "".join(f"c-{n},regular,x,y,taste,a_much,,{sides[n % 2]},20,9,\n" for n in range(6))
    path.write_text(HEADER + first + taste)
    assert {q.rater for q in raters_of(read_votes(path)) if q.excluded} == {"place"}


def test_who_prefers_one_agent_every_time_counts_wherever_chance_puts_it(tmp_path: Path) -> None:
    """Two minutes are eight votes, and of 128 honest people with a clear preference one meets it always in the same place."""
    path = tmp_path / "v.csv"
    unanimous = "".join(f"c-{n},regular,curt,kind,unanimous,b_much,,b,15,60,\n" for n in range(8))
    # Seven votes for `kind` and one for a reference over the other agent, all shown first by chance.
    also = "".join(f"c-{n},regular,curt,kind,seven,b_much,,b,15,60,\n" for n in range(6))
    also += "c-6,regular,curt,ref:good,seven,b_much,,b,15,60,\n"
    path.write_text(HEADER + unanimous + also)
    assert [q for q in raters_of(read_votes(path)) if q.excluded] == []


def test_few_honest_raters_meet_their_preference_always_in_one_place() -> None:
    """Simulated: preferences of 80 % between two agents, one vote in eight on a reference that beats one of them, seed 571."""
    out, draw = 0, np.random.default_rng(571)
    for _ in range(2_000):
        pairs = [("kind", "curt") if draw.random() < 7 / 8 else ("ref", "curt") for _ in range(8)]
        better = [pair[0] if draw.random() < 0.8 else pair[1] for pair in pairs]
        places = np.where(draw.random(8) < 0.5, -2, 2)
        given = [Given("r", seconds=15.0, least_s=5.0, chosen=int(c), preferred=p) for c, p in zip(places, better, strict=True)]
        out += rater_quality(given)[0].excluded
    assert out / 2_000 < 0.01


def test_of_votes_on_one_pair_the_last_counts_and_earlier_ones_are_numbered() -> None:
    asked = {"context": "c", "subset": "regular", "system_a": "x", "system_b": "y", "rater": "r"}
    turned = asked | {"system_a": "y", "system_b": "x"}
    votes = [Vote.model_validate(given | {"vote": vote}) for given, vote in (
        (asked, "a_much"), (turned, "a_much"), (asked, "same"), (asked | {"rater": "s"}, "b_much"),
        (asked | {"condition": "noisy"}, "b_much"), (asked | {"presentation": "audio"}, "b_much"),
    )]  # fmt: skip
    assert [(row.repeat, row.purpose) for row in to_judgments(votes)] == [
        (2, "repeat"), (1, "repeat"), (0, "main"), (0, "main"), (0, "main"), (0, "main"),
    ]  # fmt: skip


def test_somebody_who_sees_no_difference_and_took_the_time_to_look_counts(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    looked = "".join(line("looked", "same", n=n) for n in range(8))
    untimed = "".join(f"c-{n},regular,x,y,untimed,same,because,a,,,\n" for n in range(8))
    path.write_text(HEADER + looked + untimed)
    found = {q.rater: q.reasons for q in raters_of(read_votes(path))}
    assert found["looked"] == ()
    assert "same answer to all 8" in found["untimed"][0]


def test_exclusion_is_reversible_and_checks_are_never_verdicts(votes: tuple[Vote, ...]) -> None:
    kept, everything = to_judgments(votes), to_judgments(votes, keep_excluded=True)
    assert {r.judge for r in everything} - {r.judge for r in kept} == {"hasty", "careless"}
    assert len(everything) == sum(v.check is None for v in votes)


def test_a_bad_value_names_file_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text(HEADER + line("r", "a_much") + line("r", "a_lot"))
    with pytest.raises(UserError, match=r"v\.csv:3: vote"):
        read_votes(path)
