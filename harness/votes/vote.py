"""People's votes: five options, a reason, the rater, the time taken, quality checks; from CSV to `Judgment` rows.

A vote is the same row as a judge's verdict, so that later steps need no distinction, and it counts the same whatever its
source: votes from a file and from a listening test become rows here. The file contains every vote; the raters that are left out
(`rater_exclusion`) are computed, and this is reversible: calling again with `keep_excluded` gives all rows back.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from harness.errors import UserError
from harness.store.judgment import Judgment, Presentation, Winner
from harness.tables.csv_rows import CsvRows
from harness.tables.json_rows import validated
from harness.tables.names import NamesRead
from harness.votes.rater_exclusion import Given, RaterQuality, least_reading_s, rater_quality

Option = Literal["a_much", "a_slightly", "same", "b_slightly", "b_much"]
Skip = Literal["skip"]
"""Answer of somebody who saw a pair and would not choose: neither a vote nor a tie."""
_STEPS: Final[Mapping[Option, int]] = {"a_much": -2, "a_slightly": -1, "same": 0, "b_slightly": 1, "b_much": 2}
_STRENGTH: Final = {0: 1, 1: 2, 2: 5}
"""Strength by steps from the tie, on the judges' scale of five: `slightly` is their 2, `much` their 5. The rating uses only the
order, so what matters is that it is the same for every vote.
"""
LONGEST_ABOUT: Final = 20_000
"""Thirty answers of five hundred characters, with their names."""
_NAMES: Final = {"context": "context", "system_a": "system", "system_b": "system", "rater": "rater"}
_Name = Annotated[str, StringConstraints(min_length=1, max_length=120, strip_whitespace=True)]


class Vote(BaseModel):
    """One answer: a line of the CSV, or one of a vote file. `shown_first` is the side that the rater heard or read first; words
    are those of both replies, if they were read; `seconds` are without the time for hearing them once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context: _Name
    subset: Literal["regular", "adversarial"]
    system_a: _Name
    system_b: _Name
    rater: _Name
    vote: Option | Skip
    reason: Annotated[str, StringConstraints(max_length=5_000, strip_whitespace=True)] = ""
    shown_first: Literal["a", "b"] | None = None
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    words: Annotated[int, Field(ge=0)] | None = None
    check: Option | None = None
    """For a quality check, the right answer; such a vote is not a verdict on systems."""
    presentation: Presentation = "written"
    condition: Annotated[str, StringConstraints(max_length=500)] = ""
    """The line condition that the replies were heard in; empty: the run's only one."""
    draw_rate: Annotated[float, Field(gt=0, le=1_000, allow_inf_nan=False)] | None = None
    """How often this pair was to be drawn, as `Judgment.draw_rate`; None: not drawn at random."""
    run: Annotated[str, StringConstraints(max_length=64)] = ""
    """The id of the run whose page asked; empty where nothing says so."""
    consent: Annotated[str, StringConstraints(max_length=64)] = ""
    """The version of what the rater had agreed to."""
    about: Annotated[str, StringConstraints(max_length=LONGEST_ABOUT)] = ""
    """What the rater said of themselves, as a JSON object, with their first vote of a file."""

    @property
    def is_vote(self) -> bool:
        """True for a verdict on two systems; False for a check and for a skipped pair."""
        return self.vote != "skip" and self.check is None


def read_votes(
    path: Path,
    presentation: Presentation = "written",
    problem: Callable[[Vote], str | None] | None = None,
    names: NamesRead | None = None,
) -> tuple[Vote, ...]:
    """Read a CSV of votes with a header line.

    `presentation` is that of lines that name none; `problem` returns what is wrong with a vote whose format is right;
    `names` collects how names are spelled.

    Raises:
        UserError: unreadable, a column unknown or missing, a bad value, nothing in it; names file, line and column.
    """
    rows = CsvRows(path, Vote.model_fields)
    rows.must_have(("context", "vote"), Vote.model_fields)
    names = names or NamesRead()
    votes = []
    for row in rows:
        given = {name: cell for name, cell in row.cells.items() if cell}
        for name, kind in _NAMES.items():
            if name in given:
                given[name] = names.one(kind, given[name], f"{row.where}: {name}")
        vote = validated(Vote, {"presentation": presentation} | given, row.where)
        wrong = problem(vote) if problem is not None else None
        if vote.system_a == vote.system_b:
            wrong = f"system_b: {vote.system_b!r} is set against itself"
        if wrong:
            raise UserError(f"{row.where}: {wrong}")
        votes.append(vote)
    if not votes:
        raise UserError(f"{path}: holds no votes; the first line names the columns, each further line is one vote")
    return tuple(votes)


def verdict_in_steps(steps: int) -> tuple[Winner, int]:
    """Winner and strength of a vote, from −2 (a is much better) to 2 (b is)."""
    return "tie" if steps == 0 else "a" if steps < 0 else "b", _STRENGTH[abs(steps)]


def last_counts(rows: Sequence[Judgment]) -> tuple[Judgment, ...]:
    """The rows; of a rater's votes on one pair, presentation and condition the last counts, and the earlier ones are numbered
    and only show how consistent the rater is."""
    later: Counter[tuple[str, ...]] = Counter()
    found = []
    for row in reversed(rows):
        key = (row.context, row.condition, row.presentation, row.judge, *sorted((row.system_a, row.system_b)))
        found.append(row.model_copy(update={"repeat": later[key], "purpose": "repeat"}) if later[key] else row)
        later[key] += 1
    return tuple(reversed(found))


def _row(vote: Vote) -> Judgment:
    winner, strength = verdict_in_steps(0 if vote.vote == "skip" else _STEPS[vote.vote])
    same = vote.model_dump(exclude={"vote", "rater", "reason", "seconds", "words", "check", "run", "consent", "about"})
    return Judgment(source="human", judge=vote.rater, winner=winner, strength=strength, rationale=vote.reason, **same)


def raters_of(votes: Iterable[Vote]) -> tuple[RaterQuality, ...]:
    """Every rater of a file's votes, with the reasons that leave them out."""
    return rater_quality(_given(vote) for vote in votes)


def to_judgments(votes: Sequence[Vote], *, keep_excluded: bool = False) -> tuple[Judgment, ...]:
    """The votes as rows, without quality checks and (unless `keep_excluded`) without excluded raters."""
    return rows_and_skips(votes, keep_excluded=keep_excluded)[0]


def rows_and_skips(votes: Sequence[Vote], *, keep_excluded: bool = False) -> tuple[tuple[Judgment, ...], tuple[Vote, ...]]:
    """The rows of `to_judgments`, and the pairs that the same raters skipped and have not voted on since.

    Whoever skips a pair that they had voted on takes that vote back.
    """
    excluded = set() if keep_excluded else {q.rater for q in raters_of(votes) if q.excluded}
    given = [vote for vote in votes if vote.check is None and vote.rater not in excluded]
    both = list(zip(given, last_counts([_row(vote) for vote in given]), strict=True))
    return (
        tuple(row for vote, row in both if vote.is_vote),
        tuple(vote for vote, row in both if not vote.is_vote and row.purpose == "main"),
    )


def _given(vote: Vote) -> Given:
    if vote.vote == "skip":  # A check asks for an answer, so none is a wrong one.
        return Given(vote.rater, counts=False, passed=None if vote.check is None else False)
    steps = _STEPS[vote.vote]
    return Given(
        rater=vote.rater,
        passed=None if vote.check is None else steps * (right := _STEPS[vote.check]) > 0 or steps == right == 0,
        counts=vote.is_vote,
        seconds=vote.seconds,
        least_s=least_reading_s(vote.words or 0),
        chosen=None if vote.shown_first is None else -steps if vote.shown_first == "b" else steps,
        preferred=None if steps == 0 else vote.system_a if steps < 0 else vote.system_b,
    )
