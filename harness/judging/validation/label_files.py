"""Files of people's labels (CSV or JSON Lines), told apart by their columns: scores, comparisons, or ranks.

A row is one rater's score for a reply on one dimension; one rater's vote between two replies (`a`, `b` or `tie`); or one
rater's rank of a reply among those to a conversation, 1 the best. A rank says nothing of how much better a reply was, so every
two replies that one rater ranked are a comparison. Folders and files as others published them are read in `published_labels`.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.judging.validation.peoples_labels import PeoplesLabels, Preference, Rating, worths
from harness.judging.validation.published_labels import read_published
from harness.tables.csv_rows import CsvRows, number
from harness.tables.json_rows import json_rows

SCORES: Final = ("context", "reply", "rater", "dimension", "score")
PREFERENCES: Final = ("context", "reply_a", "reply_b", "rater", "preferred")
RANKS: Final = ("context", "reply", "rater", "rank")
PREFERRED: Final[Mapping[str, float]] = {"a": 1.0, "b": 0.0, "tie": 0.5}
"""Values of `preferred`, and the share of the vote that each gives to `reply_a`."""
SHARE_OF_VOTES: Final = (0.0, 1.0)
_MOST_DIGITS: Final = 6
"""Nobody ranks a million replies, and Python reads no number of thousands of digits."""

_Lines = Sequence[tuple[str, Mapping[str, object]]]


def read_labels(path: Path, scale: tuple[float, float]) -> PeoplesLabels:
    """Read a file whose scores lie on `scale` (its lowest and highest score), or a published folder or file.

    Raises:
        UserError: unreadable, unknown columns, a score off the scale, ranks with ties or gaps, or no two replies that people
        found different.
    """
    labels = read_published(path) or _table(path, scale)
    if len(set(worths(labels.ratings, labels.scale).values())) < 2:
        raise UserError(f"--against {path}: holds no two replies that people rated differently; give a file of several replies")
    return labels


def _table(path: Path, scale: tuple[float, float]) -> PeoplesLabels:
    lines = tuple(_json_lines(path) if path.suffix in (".jsonl", ".ndjson") else _csv(path))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    columns = _columns(lines[0][1] if lines else ())
    if columns is SCORES:
        return PeoplesLabels(path.name, sha256, tuple(_scores(lines, scale)), scale)
    preferences = tuple((_preferences if columns is PREFERENCES else _ranks)(lines))
    votes = tuple(rating for preference in preferences for rating in preference.as_ratings())
    return PeoplesLabels(path.name, sha256, votes, SHARE_OF_VOTES, preferences)


def _preferences(lines: _Lines) -> Iterator[Preference]:
    for where, row in lines:
        context, first, second, rater = (str(row[name]).strip() for name in PREFERENCES[:4])
        said = str(row["preferred"]).strip().lower()
        if said not in PREFERRED:
            raise UserError(f"{where}: preferred {said!r} is none of {', '.join(PREFERRED)}")
        if not context or not first or not second:
            raise UserError(f"{where}: context, reply_a and reply_b must all say something")
        if first == second:
            raise UserError(f"{where}: reply_a and reply_b are the same")
        yield Preference(context, first, second, rater, PREFERRED[said])


def _ranks(lines: _Lines) -> Iterator[Preference]:
    given: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    last_line: dict[tuple[str, str], str] = {}
    for where, row in lines:
        context, reply, rater, rank = (str(row[name]).strip() for name in RANKS)
        if not context or not reply:
            raise UserError(f"{where}: context and reply must both say something")
        if not (rank.isdecimal() and len(rank) <= _MOST_DIGITS and int(rank)):
            raise UserError(f"{where}: rank {rank[:20]!r} is none of 1 (the best), 2, 3 and so on")
        of_rater = given[context, rater]
        if int(rank) in of_rater:
            raise UserError(
                f"{where}: rater {rater!r} gives rank {rank} a second time in one conversation; ranks have "
                "no ties, so leave out replies that a rater found alike, or write comparisons with `tie`"
            )
        if reply in of_rater.values():
            raise UserError(f"{where}: rater {rater!r} ranks this reply a second time; keep one")
        of_rater[int(rank)], last_line[context, rater] = reply, where
    for (context, rater), of_rater in given.items():
        absent = next((rank for rank in range(1, len(of_rater) + 1) if rank not in of_rater), None)
        if absent is not None:
            found = ", ".join(map(str, sorted(of_rater)))
            raise UserError(
                f"{last_line[context, rater]}: rater {rater!r} gives ranks {found} in one conversation and no "
                f"{absent}; number each rater's replies 1, 2, 3 without gaps"
            )
        for one, other in combinations(sorted(of_rater), 2):
            yield Preference(context, of_rater[one], of_rater[other], rater, 1.0)


def _scores(lines: _Lines, scale: tuple[float, float]) -> Iterator[Rating]:
    for where, row in lines:
        score = number(row["score"], f"{where}: score")
        if not scale[0] <= score <= scale[1]:
            raise UserError(
                f"{where}: score {score:g} is off the scale {scale[0]:g} to {scale[1]:g}; "
                "give the file's own with --scale LOW-HIGH"
            )
        context, reply, rater, dimension = (str(row[name]).strip() for name in SCORES[:4])
        if not context or not reply:
            raise UserError(f"{where}: context and reply must both say something")
        yield Rating(context, reply, rater, dimension, score)


def _csv(path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    rows = CsvRows(path, {*SCORES, *PREFERENCES, *RANKS}, f"--against {path}")
    _hold_columns(rows.where, rows.columns, _columns(rows.columns), f" {rows.read_as}")
    for row in rows:
        yield row.where, row.cells


def _json_lines(path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    first: tuple[str, ...] = ()
    for row, where in json_rows(path, f"--against {path}"):
        _hold_columns(where, tuple(row), first or _columns(row))
        first = first or _columns(row)
        yield where, row


def _columns(found: Sequence[str] | Mapping[str, object]) -> tuple[str, ...]:
    return PREFERENCES if "preferred" in found else RANKS if "rank" in found else SCORES


def _hold_columns(place: str, found: Sequence[str], columns: tuple[str, ...], read: str = "") -> None:
    missing, strange = [c for c in columns if c not in found], [c for c in found if c not in columns]
    if missing or strange:
        wrong = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"has the unknown {', '.join(strange)}"] * bool(strange)
        known = ", or ".join(", ".join(names) for names in (SCORES, PREFERENCES, RANKS))
        raise UserError(f"{place}: {' and '.join(wrong)}; the columns are {known}{read}")
