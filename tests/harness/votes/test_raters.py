"""People's votes become rows; who is excluded is computed, said why, and can be taken back."""

from pathlib import Path

import pytest

from harness.errors import UserError
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
