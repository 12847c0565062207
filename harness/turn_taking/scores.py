"""Cues for the end of a turn, computed from the instants of a pack as they were heard, and the limit at which a pack is unfit.

Every cue is one number, signed so that more of it should mean an end, and is judged separately: the area under the curve needs
no model of the caller that could be fitted to the pack at hand. A pack whose turns all have about the same length gives the
end away by length: the area is then 0.92 to 0.95, with people of all lengths about one half (0.546 of 2,390 turns of
counselling clients, 0.465 of 2,495 of patients).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from harness.scenarios.context import Context
from harness.scenarios.pause_law import LawName, distances
from harness.scenarios.turn_ends import Instant, InstantKind, instants
from harness.statistics.auc import Separation, separation
from harness.statistics.bounds import share_of
from harness.statistics.interval import Interval

FINISHED: Final = 0.5
"""The probability at which pipecat takes a turn for finished."""
SHARES_MS: Final = (300, 600, 1_000, 1_600)
"""Lengths at which the shares of people's pauses are published (eot-bench), and those of Switchboard were read."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One instant with its sound. Falls are positive when the last stretch is lower than the sound before."""

    instant: Instant
    seconds: float
    pitch_fall_st: float | None
    """Fall of pitch in semitones; None where nothing voiced is before the silence."""
    level_fall_db: float | None
    finished: float


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its interval over conversations, of `of` instants."""

    value: float | None
    interval: Interval | None
    of: int


@dataclass(frozen=True, slots=True)
class TurnTaking:
    """All results of `harness scenarios check --turn-taking` on a pack's callers."""

    every_turn: bool
    turns: int
    recordings: int
    """Turns that are recordings: their pauses are in the sound and not in a text, so they are left out."""
    auc: Mapping[str, Separation]
    """Separation of ends from pauses by cue: 0.5 is none, over 0.5 an end has more of it."""
    finished: Mapping[InstantKind, Share]
    smart_turn: Separation
    longer: Mapping[int, Share]
    """Share of marked pauses longer than the given ms."""
    law_distance: Mapping[LawName, float | None]
    """Distance (KS) of the marked pauses from each law of people's lengths."""
    words: tuple[float, ...]
    """Words per turn at 10, 25, 50, 75 and 90 %."""
    without_pause: int
    """Turns without a marked pause."""
    pauses_ms: tuple[int, ...]
    words_a_turn: tuple[int, ...]

    def problems(self) -> tuple[str, ...]:
        """Reasons why the pack is unfit for comparing endpointing; none where it is fit."""
        said = length_gives_it_away(self.auc["words"])
        return (said,) if said else ()

    def as_json(self) -> dict[str, Any]:
        """The result for programs; shares and areas are 0 to 1, unknown values are null."""
        longer = {f"over_{ms}_ms": share.value for ms, share in self.longer.items()}
        return {
            "turns": "every" if self.every_turn else "last",
            "n_turns": self.turns,
            "recordings_left_out": self.recordings,
            "auc": {cue: found.auc for cue, found in self.auc.items()},
            "auc_interval": {cue: found.interval for cue, found in self.auc.items()},
            "smart_turn": {
                "ends": self.finished["end"].value,
                "mid_sentence": self.finished["mid_sentence"].value,
                "after_sentence": self.finished["after_sentence"].value,
                "auc": self.smart_turn.auc,
                "intervals": {
                    "ends": self.finished["end"].interval,
                    "mid_sentence": self.finished["mid_sentence"].interval,
                    "after_sentence": self.finished["after_sentence"].interval,
                    "auc": self.smart_turn.interval,
                },
                "of": {kind: share.of for kind, share in self.finished.items()},
            },
            "pauses": {
                "n": len(self.pauses_ms),
                **longer,
                "intervals": {f"over_{ms}_ms": share.interval for ms, share in self.longer.items()},
                "distance_from_law": self.law_distance["to-agents"],
                "distance_from_laws": dict(self.law_distance),
                "turns_without": self.without_pause,
            },
            "words": dict(zip(("p10", "p25", "p50", "p75", "p90"), self.words, strict=True)),
            "fit_for_endpointing": not self.problems(),
        }


def leads_on(instant: Instant) -> float:
    """1 where the last word shows that the speaker goes on ("and", "the", "um"), by the cascade's own list; else 0."""
    from harness.agents.cascade.turn_scorers import leads_on as word_leads_on

    return float(word_leads_on(" ".join(instant.said)))


def summarised(heard: Sequence[Heard], *, every_turn: bool, recordings: int = 0, seed: int = 0) -> TurnTaking:
    """The figures of a pack from its instants. Every cue is signed so that more of it should mean an end."""
    by_instant = {id(h.instant): h for h in heard}
    found = [h.instant for h in heard]
    cues: dict[str, Callable[[Instant], float | None]] = {
        "words": lambda i: float(len(i.said)),
        "seconds": lambda i: by_instant[id(i)].seconds,
        "last_word": lambda i: 1 - leads_on(i),
        "closing_punctuation": lambda i: float(i.said[-1].rstrip("\"'”’)").endswith((".", "?", "!"))),
        "level_fall": lambda i: by_instant[id(i)].level_fall_db,
        "pitch_fall": lambda i: by_instant[id(i)].pitch_fall_st,
    }
    pauses = [(i.context, i.pause_ms) for i in found if i.pause_ms is not None]
    words = tuple(len(i.said) for i in found if i.kind == "end")
    p10, p25, p50, p75, p90 = (float(p) for p in np.percentile(words, (10, 25, 50, 75, 90)))
    paused = {(i.context, i.turn) for i in found if i.kind != "end"}
    kinds: tuple[InstantKind, ...] = ("end", "mid_sentence", "after_sentence")
    return TurnTaking(
        every_turn=every_turn,
        turns=len(words),
        recordings=recordings,
        auc={cue: separated(found, value, seed) for cue, value in cues.items()},
        finished={
            kind: _share([(h.instant.context, h.finished >= FINISHED) for h in heard if h.instant.kind == kind])
            for kind in kinds
        },
        smart_turn=separated(found, lambda i: by_instant[id(i)].finished, seed),
        longer={limit: _share([(c, ms > limit) for c, ms in pauses]) for limit in SHARES_MS},
        law_distance=distances(ms for _, ms in pauses),
        words=(p10, p25, p50, p75, p90),
        without_pause=len(words) - len(paused),
        pauses_ms=tuple(ms for _, ms in pauses),
        words_a_turn=words,
    )


def _share(rows: Sequence[tuple[str, bool]]) -> Share:
    groups: dict[str, list[bool]] = defaultdict(list)
    for context, held in rows:
        groups[context].append(held)
    return Share(*share_of(groups), len(rows))


UNFIT_AUC: Final = 0.65
"""Above this the words said so far separate ends from pauses better than they do with people."""


def separated(found: Iterable[Instant], value: Callable[[Instant], float | None], seed: int = 0) -> Separation:
    """Separation of ends from pauses by a value, clustered by context; instants without a value are left out."""
    ends: dict[str, list[float]] = defaultdict(list)
    pauses: dict[str, list[float]] = defaultdict(list)
    for instant in found:
        if (number := value(instant)) is not None:
            (ends if instant.kind == "end" else pauses)[instant.context].append(number)
    return separation(ends, pauses, seed)


def words_separation(contexts: Sequence[Context], *, every_turn: bool) -> Separation:
    """Separation of the ends of a pack's turns from its marked pauses by the words said so far."""
    return separated(instants(contexts, every_turn=every_turn), lambda instant: float(len(instant.said)))


def length_gives_it_away(found: Separation) -> str | None:
    """One sentence on a set of turns whose length alone gives their end away; None where it does not, or there are no data."""
    if found.auc is None or found.auc <= UNFIT_AUC:
        return None
    within = (
        f"{found.interval[0]:.2f} to {found.interval[1]:.2f}" if found.interval else "too few conversations for an interval"
    )
    return (
        f"The number of words said so far separates the end of a turn from a pause with an AUC of {found.auc:.2f} ({within}); "
        f"with people it is about 0.5. Over {UNFIT_AUC} these callers are unfit for comparing endpointing: an agent that "
        "counts words seems better than it is."
    )
