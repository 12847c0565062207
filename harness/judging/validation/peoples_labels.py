"""Replies that people rated, from a file made by others: the only ground on which a judge may be called trusted.

A judge that is right on pairs of this project knows the taste of their author. So it is compared with ratings by others: one
row is the score that one rater gave one reply to one conversation on one dimension. A reply's worth is the mean over raters and
dimensions, on a scale from 0 to 1; unkind dimensions are reversed. Two replies to the same conversation make a pair, the better
one the one with the higher worth. *Clear* is a gap of a third of the scale or more: below that raters differ among themselves.

It reads CSV and JSON Lines with `context, reply, rater, dimension, score`, or, where people compared two replies,
`context, reply_a, reply_b, rater, preferred` (`a`, `b` or `tie`), and the published folder of Kumar et al. 2025
("When LLMs are reliable for judging empathic communication"), whose `lend_an_ear` rates whole conversations on three prompts:
conversations on one prompt are pairs, the supporter's turns joined.
"""

import csv
import hashlib
import io
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.scenarios.context import Turn

COLUMNS: Final = ("context", "reply", "rater", "dimension", "score")
UNKIND: Final = frozenset({"dismissing_emotions", "dismissing", "self_oriented", "advice_giving", "dismissive", "hostile"})
"""Dimensions on which a high score is bad; advice that nobody asked for is one of them to those who published the ratings. Any
other is marked so in the file by a minus before its name."""
PREFERENCES: Final = ("context", "reply_a", "reply_b", "rater", "preferred")
PREFERRED: Final[Mapping[str, float]] = {"a": 1.0, "b": 0.0, "tie": 0.5}
"""Values of `preferred`, and the share of the vote that each gives to `reply_a`."""
CLEAR: Final = 1 / 3
"""Share of the scale: closer replies depend on the rater, and their figures are shown separately."""
EXPERTS: Final = "expert"
"""Files of people with training begin so in the published folder; files of crowd raters and models are beside them and are not
read."""
ROUNDS: Final = 4
"""Times that each reply meets two others where there is one reply a context: eight opponents separate nine shares of pairs won,
for four questions a reply."""
PUBLISHED: Final = Path("annotations") / "lend_an_ear"
PUBLISHED_SCALE: Final = (1.0, 5.0)


@dataclass(frozen=True, slots=True)
class Rating:
    """One rater's score for one reply on one dimension, as in the file."""

    context: str
    reply: str
    rater: str
    dimension: str
    score: float


@dataclass(frozen=True, slots=True)
class Preference:
    """One rater's preference between two replies to one conversation: 1 the first, 0 the second, ½ neither."""

    context: str
    first: str
    second: str
    rater: str
    for_first: float

    def as_ratings(self) -> tuple[Rating, Rating]:
        """The vote as a share of pairs won, which is a reply's worth in such a file."""
        given = (self.first, self.for_first), (self.second, 1 - self.for_first)
        first, second = (Rating(self.context, reply, self.rater, "preferred", score) for reply, score in given)
        return first, second


@dataclass(frozen=True, slots=True)
class PeoplesPair:
    """Two replies to one conversation of which people rated one higher; `gap` is a share of the scale, above 0 and up to 1."""

    context: str
    turns: tuple[Turn, ...]
    better: str
    worse: str
    gap: float
    worse_turns: tuple[Turn, ...] | None = None
    """The conversation that the worse reply answers, if it differs from the better one's; `worse_context` is its text."""
    worse_context: str = ""

    @property
    def clear(self) -> bool:
        return self.gap >= CLEAR


@dataclass(frozen=True, slots=True)
class PeoplesLabels:
    """A file of ratings, read and checked."""

    name: str
    sha256: str
    ratings: tuple[Rating, ...]
    scale: tuple[float, float]
    preferences: tuple[Preference, ...] = ()
    """Set where people compared replies: then only replies that they compared are a pair, and `ratings` are their votes."""

    def pairs(self, raters: frozenset[str] | None = None) -> tuple[PeoplesPair, ...]:
        """Every pair of replies to one conversation that people did not rate alike (by `raters`; None: by all)."""
        if self.preferences:
            return tuple(_preferred(p for p in self.preferences if raters is None or p.rater in raters))
        worth = worths((r for r in self.ratings if raters is None or r.rater in raters), self.scale)
        by_context: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for (context, reply), value in worth.items():
            by_context[context].append((reply, value))
        return tuple(
            PeoplesPair(context, conversation(context), *((a, b) if worth_a > worth_b else (b, a)), abs(worth_a - worth_b))
            for context, replies in by_context.items()
            for (a, worth_a), (b, worth_b) in combinations(sorted(replies), 2)
            if worth_a != worth_b
        )

    def across(self, seed: int) -> tuple[PeoplesPair, ...]:
        """Pairs of replies to different conversations, each reply in about `2 * ROUNDS` of them, at random.

        For files with one reply per context: the winner is the reply that serves its own conversation better, and only the
        order of all replies has a meaning.
        """
        worth = worths(self.ratings, self.scale)
        rng, found = random.Random(f"across {seed}"), {}
        for _ in range(ROUNDS):
            order = rng.sample(sorted(worth), len(worth))
            for one, other in zip(order, order[1:] + order[:1], strict=True):
                better, worse = (one, other) if worth[one] > worth[other] else (other, one)
                if worth[one] != worth[other]:
                    gap = worth[better] - worth[worse]
                    found[better, worse] = PeoplesPair(
                        better[0], conversation(better[0]), better[1], worse[1], gap, conversation(worse[0]), worse[0]
                    )
        return tuple(found.values())

    def leanings_of(self, rater: str) -> Callable[[PeoplesPair], float | None]:
        """A function of a pair: 1 where this rater too rates the better reply higher, -1 lower, 0 the same; None where the
        rater did not see both."""
        if self.preferences:
            votes = {
                (p.context, *((p.first, p.second) if turned else (p.second, p.first))): (2 * p.for_first - 1)
                * (1 if turned else -1)
                for p in self.preferences
                if p.rater == rater
                for turned in (True, False)
            }
            return lambda pair: votes.get((pair.context, pair.better, pair.worse))
        own = worths((r for r in self.ratings if r.rater == rater), self.scale)

        def leaning(pair: PeoplesPair) -> float | None:
            better, worse = own.get((pair.context, pair.better)), own.get((pair.context, pair.worse))
            return None if better is None or worse is None else float((better > worse) - (better < worse))

        return leaning

    @property
    def raters(self) -> tuple[str, ...]:
        return tuple(sorted({r.rater for r in self.ratings}))


def is_unkind(dimension: str) -> bool:
    """True for a dimension on which a high score is bad."""
    return dimension.startswith("-") or dimension.lower() in UNKIND


def worths(ratings: Iterable[Rating], scale: tuple[float, float]) -> Mapping[tuple[str, str], float]:
    """(context, reply) → mean over raters and dimensions, 0 to 1, unkind dimensions reversed."""
    low, high = scale
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for rating in ratings:
        share = (rating.score - low) / (high - low)
        found[rating.context, rating.reply].append(1 - share if is_unkind(rating.dimension) else share)
    return {key: sum(values) / len(values) for key, values in found.items()}


def conversation(context: str) -> tuple[Turn, ...]:
    """A conversation from lines that begin with `Seeker:` or `Supporter:`. A line that begins with neither continues
    the turn before it, and is the seeker's where there is none."""
    turns: list[Turn] = []
    for line in context.replace("\r", "\n").split("\n"):
        who, colon, said = line.partition(":")
        if colon and who.strip().lower() == "seeker":
            role = "seeker"
        elif colon and who.strip().lower() == "supporter":
            role = "supporter"
        else:
            role, said = turns[-1].role if turns else "seeker", line
            if turns and said.strip():
                said = f"{turns.pop().text} {said.strip()}"
        if said.strip():
            turns.append(Turn.model_validate({"role": role, "text": said.strip()}))
    return tuple(turns) or (Turn(role="seeker", text=" ".join(context.split())),)


def read_labels(path: Path, scale: tuple[float, float]) -> PeoplesLabels:
    """Read a file, or the published folder, whose scores lie on `scale` (its lowest and highest score).

    Raises:
        UserError: unreadable, unknown columns, a score off the scale, or no two replies that people rated differently.
    """
    preferences: tuple[Preference, ...] = ()
    if path.is_dir():
        rows, scale, source = tuple(_published(path)), PUBLISHED_SCALE, path / PUBLISHED
        content = b"".join(file.read_bytes() for file in sorted(source.glob("*.csv")))
    else:
        try:
            content = path.read_bytes()
            text = content.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"--against {path}: cannot be read ({error})") from error
        lines = tuple(_lines(path, text))
        preferences = tuple(_preferences(path, lines)) if lines and "preferred" in lines[0][1] else ()
        scale = (0.0, 1.0) if preferences else scale
        rows = tuple(r for p in preferences for r in p.as_ratings()) if preferences else tuple(_rows(path, lines, scale))
    labels = PeoplesLabels(path.name, hashlib.sha256(content).hexdigest(), rows, scale, preferences)
    if len(set(worths(rows, scale).values())) < 2:
        raise UserError(f"--against {path}: holds no two replies that people rated differently; give a file of several replies")
    return labels


def _preferred(preferences: Iterable[Preference]) -> Iterator[PeoplesPair]:
    """Pairs of which more than half of the votes went to one side; the gap is the share of these votes minus that of the
    others, so that three raters who agree give 1 and two against one a third."""
    votes: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for p in preferences:
        turned = p.first > p.second
        key = (p.context, p.second, p.first) if turned else (p.context, p.first, p.second)
        votes[key].append(1 - p.for_first if turned else p.for_first)
    for (context, first, second), given in votes.items():
        ahead = 2 * sum(given) / len(given) - 1
        if ahead:
            better, worse = (first, second) if ahead > 0 else (second, first)
            yield PeoplesPair(context, conversation(context), better, worse, abs(ahead))


def _lines(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    return _json_lines(path, text) if path.suffix in (".jsonl", ".ndjson") else _csv(path, text)


def _preferences(path: Path, lines: Sequence[tuple[int, Mapping[str, object]]]) -> Iterator[Preference]:
    for number, row in lines:
        context, first, second, rater = (str(row[name]).strip() for name in PREFERENCES[:4])
        said = str(row["preferred"]).strip().lower()
        if said not in PREFERRED:
            raise UserError(f"--against {path}:{number}: preferred {said!r} is none of {', '.join(PREFERRED)}")
        if not context or not first or not second:
            raise UserError(f"--against {path}:{number}: context, reply_a and reply_b must all say something")
        if first == second:
            raise UserError(f"--against {path}:{number}: reply_a and reply_b are the same")
        yield Preference(context, first, second, rater, PREFERRED[said])


def _rows(path: Path, lines: Sequence[tuple[int, Mapping[str, object]]], scale: tuple[float, float]) -> Iterator[Rating]:
    for number, row in lines:
        try:
            score = float(str(row["score"]))
        except ValueError:
            raise UserError(f"--against {path}:{number}: score {row['score']!r} is no number") from None
        if not scale[0] <= score <= scale[1]:
            raise UserError(
                f"--against {path}:{number}: score {score:g} is off the scale {scale[0]:g} to {scale[1]:g}; "
                "give the file's own with --scale LOW-HIGH"
            )
        context, reply, rater, dimension = (str(row[name]).strip() for name in COLUMNS[:4])
        if not context or not reply:
            raise UserError(f"--against {path}:{number}: context and reply must both say something")
        yield Rating(context, reply, rater, dimension, score)


def _csv(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    _hold_columns(f"--against {path}", reader.fieldnames or ())
    for row in reader:
        if None in row or None in row.values():
            raise UserError(f"--against {path}:{reader.line_num}: has more or fewer fields than the first line")
        yield reader.line_num, row


def _json_lines(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UserError(f"--against {path}:{number}: is no JSON ({error})") from None
        if not isinstance(row, dict):
            raise UserError(f"--against {path}:{number}: is no JSON object")
        _hold_columns(f"--against {path}:{number}", tuple(row))
        yield number, row


def _hold_columns(place: str, found: Sequence[str]) -> None:
    columns = PREFERENCES if "preferred" in found else COLUMNS
    missing, strange = [c for c in columns if c not in found], [c for c in found if c not in columns]
    if missing or strange:
        told = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"has the unknown {', '.join(strange)}"] * bool(strange)
        raise UserError(f"{place}: {' and '.join(told)}; the columns are {', '.join(COLUMNS)}, or {', '.join(PREFERENCES)}")


def _published(folder: Path) -> Iterator[Rating]:
    place = folder / PUBLISHED
    texts = {}
    for file in sorted(place.glob("*.csv")):
        texts.update({r["conversation_id"]: r["full_conversation"] for r in _table(file) if r.get("full_conversation")})
    experts = sorted(place.glob(f"{EXPERTS}*_ratings.csv"))
    if not texts or not experts:
        raise UserError(
            f"--against {folder}: is no folder of published ratings that is known here ({PUBLISHED} with expert*_ratings.csv "
            f"and the conversations' texts); write a CSV of {', '.join(COLUMNS)} instead"
        )
    for file in experts:
        for row in _table(file):
            turns = conversation(texts[row["conversation_id"]])
            said = " ".join(turn.text for turn in turns if turn.role == "supporter")
            for dimension, score in row.items():
                if dimension not in ("", "Unnamed: 0", "conversation_id", "full_conversation") and score and said:
                    yield Rating(turns[0].text, said, file.stem.partition("_")[0], dimension, float(score))


def _table(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        return list(csv.DictReader(lines))
