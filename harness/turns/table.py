"""The table of turns: one row a turn, with its keys and the figures of the catalogue as columns.

A load test has a million turns, and a turn as an object takes two kilobytes; as columns it takes two or three hundred bytes,
and a group of rows is one mask. `given` decides which rows of a group give a figure, for every reader:

* Discarded turns are unknown and take no part. Where over 5 % of a group had to be discarded by a fault of the method, the
  group has no figure that is taken from the sound: what was left out is then no accident.
* Turns that lack a transcript have no word, and turns timed before fillers were known have no answer; where they are over 5 %
  nothing has.

Calls of a load test that overlap share one queue, so their waits rise and fall together. Stretches of time are their clusters,
as batch means do for simulated queues (Law and Kelton, "Simulation Modeling and Analysis"), each about as long as a call.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from harness.experiment import BUDGET_MS
from harness.statistics.arrays import Bools, Floats, Ints
from harness.store.load_part import FILLING
from harness.store.selection import NOT_TIMED
from harness.timeline import NS_PER_S
from harness.timing.figures import TurnTiming
from harness.timing.unknown_waits import CALL_ENDED, NO_LATENCY, ON_HOLD
from harness.turns.bounded import bounded
from harness.turns.catalogue import CATALOGUE, HEARD

Cluster = Literal["conversation", "speaker", "stretch", "person"]
"""The key of rows that are not independent of each other. Only whole clusters are."""
KeyName = Literal[
    "run", "agent", "condition", "step", "mode", "context", "repeat", "speaker", "stretch", "person", "machine", "session"
]
KEYS: Final[tuple[KeyName, ...]] = (
    "run", "agent", "condition", "step", "mode", "context", "repeat", "speaker", "stretch", "person", "machine", "session"
)  # fmt: skip
COLUMN_OF: Final[Mapping[Cluster, KeyName]] = {
    "conversation": "context", "speaker": "speaker", "stretch": "stretch", "person": "person",
}  # fmt: skip
DEFAULT_BUDGETS_MS: Final[Mapping[str, float]] = {"ttft": BUDGET_MS, "ttfa": BUDGET_MS}
MOST_DISCARDED: Final = 0.05
NOT_ASKED: Final = frozenset({NO_LATENCY, CALL_ENDED, ON_HOLD, FILLING})
"""Reasons of discarded turns for which neither the agent nor the method can be at fault."""
LATENCY_KEYS: Final = tuple(key for key, figure in CATALOGUE.items() if figure.read is not None)
CHANCE_KEYS: Final = tuple(key for key, figure in CATALOGUE.items() if figure.chances is not None)
FLAGS: Final = (
    "discarded", "asked", "answered", "filler", "slowest", "silenced", "no_words", "no_answer", "decides", "watched", "full",
    "unknown",
)  # fmt: skip
"""Of each row: it was discarded; not for a reason of `NOT_ASKED`; it has a TTFA; its reply begins with a
filler; it ranks slowest; its silence may be others';
its transcript is missing; its answer is not known; its agent reports decisions; others'
part of it was measured; the load was full; it may have had any value (`with_unknown`)."""


@dataclass(frozen=True, slots=True)
class TurnKey:
    """The identity of one turn. `speaker` is the context where no speaker is known."""

    agent: str
    context: str
    run: str = ""
    condition: str = "clean"
    step: str = ""
    mode: str = "seeded"
    repeat: str = "0"
    speaker: str = ""
    stretch: str = ""
    person: str = ""
    machine: str = ""
    session: str = ""
    began_ns: int = 0
    """The instant from which its latencies count, on the clock of its machine."""


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """A key as a column: (rows,) codes into its names."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    def among(self, wanted: Collection[str]) -> Bools:
        """(rows,): True where the name is one of `wanted`."""
        return np.isin(self.codes, [k for k, name in enumerate(self.names) if name in wanted])

    def of_rows(self, rows: Ints) -> list[str]:
        """The names in these rows."""
        return [self.names[code] for code in self.codes[rows]]


@dataclass(frozen=True, slots=True, eq=False)
class Chances:
    """The chances of all rows, one after another: 1 taken, 0 not, −1 nobody could choose; of row k from `starts[k]` to
    `starts[k + 1]`."""

    flags: NDArray[np.int8]
    starts: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """The values of a figure: `row` (values,) is the row of each, `chance` its number among the chances of that row. A share
    has 0 and 1; a chance of an unknown row is 0 … 1."""

    row: Ints
    chance: Ints
    low: Floats
    high: Floats
    measured: Floats


NOTHING: Final = Given(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0))


@dataclass(frozen=True, slots=True, eq=False)
class TurnTable:
    """Rows of turns. `low` and `high`: latency → (rows,) ms, NaN where the turn does not have it; one array where they are
    equal."""

    keys: Mapping[KeyName, Names]
    began_ns: Ints
    low: Mapping[str, Floats]
    high: Mapping[str, Floats]
    chances: Mapping[str, Chances]
    flags: Mapping[str, Bools]
    budgets_ms: Mapping[str, float]

    @classmethod
    def of(cls, rows: Iterable[tuple[TurnKey, TurnTiming]], budgets_ms: Mapping[str, float] | None = None) -> "TurnTable":
        """The table of these turns, which are read once, one after another."""
        building = _Building()
        for key, turn in rows:
            building.add(key, turn)
        return building.table(budgets_ms if budgets_ms is not None else DEFAULT_BUDGETS_MS)

    @classmethod
    def of_groups(
        cls, groups: Mapping[str, Sequence[TurnTiming]], budgets_ms: Mapping[str, float] | None = None
    ) -> "TurnTable":
        """The table of turns that are grouped by their conversation, or by whatever else is independent; in this order."""
        return cls.of(((TurnKey(agent="", context=name), t) for name, group in groups.items() for t in group), budgets_ms)

    def __len__(self) -> int:
        return len(self.began_ns)

    def where(self, by: Mapping[KeyName, str | Collection[str]]) -> "TurnTable":
        """The rows with these keys. `by`: key → its name, or several. Raises KeyError: there is no such key."""
        mask = np.ones(len(self), dtype=bool)
        for key, wanted in by.items():
            mask &= self.keys[key].among({wanted} if isinstance(wanted, str) else frozenset(wanted))
        return self if mask.all() else self.take(mask)

    def take(self, mask: Bools) -> "TurnTable":
        """The rows at which `mask` (rows,) is True."""
        low = {name: column[mask] for name, column in self.low.items()}
        return TurnTable(
            keys={name: Names(key.codes[mask], key.names) for name, key in self.keys.items()},
            began_ns=self.began_ns[mask],
            low=low,
            high={n: low[n] if column is self.low[n] else column[mask] for n, column in self.high.items()},
            chances={name: _taken(column, mask) for name, column in self.chances.items()},
            flags={name: column[mask] for name, column in self.flags.items()},
            budgets_ms=self.budgets_ms,
        )

    def groups(self, *by: KeyName) -> Iterator[tuple[tuple[str, ...], "TurnTable"]]:
        """(names of the keys, the rows with them) of each group that has rows, in the order of the first row."""
        if not len(self):
            return
        codes = np.stack([self.keys[key].codes for key in by], axis=1)
        kinds, first, which = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        for kind in np.argsort(first):
            names = tuple(self.keys[key].names[code] for key, code in zip(by, kinds[kind], strict=True))
            yield names, self.take(which.ravel() == kind)

    def in_stretches(self) -> "TurnTable":
        """The table with the stretch of time of each turn of a step of a load test, from `began_ns`; turns while the load was
        not full are in none."""
        step = self.keys["step"]
        codes = np.zeros(len(self), np.int32)
        names = [""]
        for kind, name in enumerate(step.names):
            rows = np.flatnonzero((step.codes == kind) & self.flags["full"]) if name else NOTHING.row
            if rows.size:
                place = stretches_of(self.began_ns[rows])
                codes[rows] = len(names) + place
                names += [f"{name} {k}" for k in range(int(place.max()) + 1)]
        return replace(self, keys={**self.keys, "stretch": Names(codes, tuple(names))})

    def with_unknown(self, sessions: Collection[str]) -> "TurnTable":
        """The table with the turns of these sessions, in which the harness was at fault, at any value whatever."""
        unknown = self.keys["session"].among(sessions) & ~self.flags["discarded"]
        return replace(self, flags={**self.flags, "unknown": self.flags["unknown"] | unknown})

    def given(self, figure: str) -> Given:
        """The values of a figure of the catalogue in the rows that give it; of a share, one value for each chance.

        Raises KeyError: no turn has such a figure.
        """
        entry = CATALOGUE[figure]
        if entry.latency is not None:
            return self._within(entry.latency)
        if entry.chances is not None:
            return self._chances(figure)
        rows = self._rows_of(figure)
        rows = rows[~np.isnan(self.high[figure][rows])]
        high = self.high[figure][rows]
        if figure in HEARD and not self._was_measured(figure, rows, high):
            return NOTHING
        unknown = self.flags["unknown"][rows]
        low = np.where(unknown, -np.inf, self.low[figure][rows])
        return Given(rows, np.zeros_like(rows), low, np.where(unknown, np.inf, high), high)

    def _within(self, latency: str) -> Given:
        found, budget_ms = self.given(latency), self.budgets_ms["ttft" if latency == "ttft" else "ttfa"]
        # The slower end gives the smaller share.
        low, high, measured = (np.asarray(end <= budget_ms, np.float64) for end in (found.high, found.low, found.measured))
        return Given(found.row, found.chance, low, high, measured)

    def _chances(self, figure: str) -> Given:
        of_sound = figure in ("no_reply_rate", "pauses_cut_share")
        rows = self.heard() if of_sound else np.flatnonzero(~self.flags["discarded"])
        column = self.chances[figure]
        counts = np.diff(column.starts)[rows]
        row = np.repeat(rows, counts)
        ends = np.cumsum(counts)
        chance = np.arange(int(ends[-1]) if ends.size else 0) - np.repeat(ends - counts, counts)
        flags = column.flags[np.repeat(column.starts[rows], counts) + chance]
        chosen = flags >= 0
        row, chance, measured = row[chosen], chance[chosen], flags[chosen].astype(np.float64)
        unknown = self.flags["unknown"][row]
        low, high = np.where(unknown, 0.0, measured), np.where(unknown, 1.0, measured)
        if figure == "no_reply_rate":
            low = np.where(self.flags["silenced"][row], 0.0, low)
        return Given(row, chance, low, high, measured)

    def _rows_of(self, figure: str) -> Ints:
        if figure == "decision_delay" and not self.flags["decides"][self.heard()].any():
            return NOTHING.row
        if figure not in (*HEARD, "dead_air", "decision_delay"):
            return np.flatnonzero(~self.flags["discarded"])
        rows = self.heard()
        lacks = "no_answer" if figure == "answer" else "no_words" if "words" in CATALOGUE[figure].needs else None
        if lacks is None:
            return rows
        lacking = self.flags[lacks][rows]
        return rows[~lacking] if lacking.sum() <= MOST_DISCARDED * len(rows) else NOTHING.row

    def heard(self) -> Ints:
        """The rows that give the figures taken from the sound; none where too many were discarded."""
        asked = self.flags["asked"]
        if (self.flags["discarded"] & asked).sum() > MOST_DISCARDED * asked.sum():
            return NOTHING.row
        return np.flatnonzero(~self.flags["discarded"])

    def _was_measured(self, figure: str, rows: Ints, high: Floats) -> bool:
        """False for a figure that no turn has, though replies were heard, or silence was never asked for (a text model)."""
        answered = self.flags["answered"][rows].any()
        if np.isfinite(high).any() or (answered and figure == "answer"):  # Fillers alone: their callers waited in vain.
            return True
        return not answered and bool(self.flags["slowest"][rows].any())


def _taken(column: Chances, mask: Bools) -> Chances:
    counts = np.diff(column.starts)
    return Chances(column.flags[np.repeat(mask, counts)], np.append(0, np.cumsum(counts[mask])))


class _Building:
    """The columns of a table that grows row by row."""

    def __init__(self) -> None:
        self._codes: dict[KeyName, array[int]] = {name: array("i") for name in KEYS}
        self._names: dict[KeyName, dict[str, int]] = {name: {} for name in KEYS}
        self._began = array("q")
        self._low = {name: array("d") for name in LATENCY_KEYS}
        self._high = {name: array("d") for name in LATENCY_KEYS}
        self._owes = dict.fromkeys(LATENCY_KEYS, False)
        self._chances = {name: array("b") for name in CHANCE_KEYS}
        self._starts = {name: array("q", [0]) for name in CHANCE_KEYS}
        self._flags = {name: array("b") for name in FLAGS}

    def add(self, key: TurnKey, turn: TurnTiming) -> None:
        """Add one row."""
        for column in KEYS:
            value = getattr(key, column) or (key.context if column == "speaker" else "")
            self._codes[column].append(self._names[column].setdefault(value, len(self._names[column])))
        self._began.append(key.began_ns)
        for name in LATENCY_KEYS:
            ends = bounded(turn, name)
            low_ms, high_ms = ends if ends is not None else (float("nan"), float("nan"))
            self._low[name].append(low_ms)
            self._high[name].append(high_ms)
            self._owes[name] |= low_ms < high_ms
        for name in CHANCE_KEYS:
            chances = CATALOGUE[name].chances
            assert chances is not None
            self._chances[name].extend(-1 if taken is None else int(taken) for taken in chances(turn))
            self._starts[name].append(len(self._chances[name]))
        for name, flag in _flags_of(turn).items():
            self._flags[name].append(flag)

    def table(self, budgets_ms: Mapping[str, float]) -> TurnTable:
        """The rows so far."""
        # `asarray` takes the growing array's own memory, so that no column is there twice.
        low = {name: np.asarray(column) for name, column in self._low.items()}
        high = {n: np.asarray(column) if self._owes[n] else low[n] for n, column in self._high.items()}
        return TurnTable(
            keys={name: Names(np.asarray(self._codes[name]), tuple(self._names[name])) for name in KEYS},
            began_ns=np.asarray(self._began),
            low=low,
            high=high,
            chances={
                name: Chances(np.asarray(column), np.asarray(self._starts[name])) for name, column in self._chances.items()
            },
            flags={name: np.array(column, dtype=bool) for name, column in self._flags.items()},
            budgets_ms=budgets_ms,
        )


def _flags_of(turn: TurnTiming) -> dict[str, bool]:
    lost = turn.discarded is not None
    answered = turn.ttfa_ms is not None
    return {
        "discarded": lost,
        "asked": turn.discarded not in NOT_ASKED,
        "answered": answered and not lost,
        "filler": begins_with_filler(turn),
        "slowest": not lost and (turn.no_reply or turn.signed_ms is not None),
        "silenced": turn.silence_may_be_others,
        # A first word shows that there was a transcript, also in a run that did not store whether there was one.
        "no_words": answered and not turn.transcribed and turn.first_word_ms is None,
        # Only since fillers are known apart has a reply an answer: without one, it is a filler alone.
        "no_answer": answered and turn.answer_ms is None and not begins_with_filler(turn),
        "decides": turn.endpointing is not None and turn.endpointing.says_decisions,
        "full": turn.discarded != FILLING,
        # A session that was lost before it could be timed is the agent's own fault, whatever others did.
        "watched": turn.contention is not None or turn.method == NOT_TIMED,
        "unknown": False,
    }


def begins_with_filler(turn: TurnTiming) -> bool:
    """True if a reply begins with a filler, or is one; False of every turn timed before these were known apart."""
    later = turn.answer_ms is not None and turn.answer_ms != turn.ttfa_ms
    return turn.ttfa_ms is not None and (later or (turn.answer_ms is None and any(u.kind == "filler" for u in turn.utterances)))


STRETCH_S: Final = 15.0
"""Least length of a stretch: about a call of one turn."""


def stretches_of(at_ns: Ints) -> Ints:
    """(turns,): the number of the stretch of each instant; all stretches are equally long.

    >>> stretches_of(np.array([0, 14, 16, 31]) * NS_PER_S).tolist()
    [0, 0, 1, 1]
    """
    if not at_ns.size:
        return np.zeros(0, np.int64)
    since_ns = at_ns - at_ns.min()
    lasts_ns = int(since_ns.max())
    number = max(1, int(lasts_ns / (STRETCH_S * NS_PER_S)))
    found: Ints = np.minimum(number - 1, since_ns * number // max(lasts_ns, 1))
    return found
