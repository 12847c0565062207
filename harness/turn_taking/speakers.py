"""How far the recordings of known speakers carry: their number, their pauses, and what follows from both.

Turns of one speaker are not independent: who pauses long once does so again. So shares of pauses have intervals over
*speakers*, as those of a run have over conversations, and with one speaker nothing about people follows, however many turns.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.scenarios.context import Context
from harness.scenarios.pause_law import LawName, distances
from harness.scenarios.speakers import Speaker, speaker_of
from harness.statistics.bounds import share_of
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.turn_taking.scores import SHARES_MS, Share


@dataclass(frozen=True, slots=True)
class Carries:
    """The recorded turns of known speakers. `automatic`: the speakers that are programs."""

    speakers: Mapping[str, int]
    """Turns by speaker."""
    automatic: frozenset[str]
    turns: int
    without_pause: int
    pauses_ms: tuple[int, ...]
    longer: Mapping[int, Share]
    """Share of pauses longer than the given ms, with its interval over speakers."""
    law_distance: Mapping[LawName, float | None]
    """Distance (KS) of the pauses from each law of people's lengths."""

    def follows(self) -> tuple[str, ...]:
        """What may be concluded from recordings of these speakers, one sentence each."""
        if self.automatic:
            return ("automatic speakers are no people: nothing about people follows",)
        people = len(self.speakers)
        if people == 1:
            said = "one speaker: nothing about people can be generalised; every figure is this speaker's own"
        elif people < FEWEST_CLUSTERS:
            said = f"{people} speakers: under {FEWEST_CLUSTERS} no interval is given; every figure is of these speakers alone"
        else:
            said = f"{people} speakers: intervals are over speakers, and hold for speakers recruited as these were"
        if not self.pauses_ms:
            return said, "no pause: ends can be timed, but an agent cannot be seen to cut a pause"
        n = len(self.pauses_ms)
        return said, (
            f"{n} pauses: an agent's share of cut pauses is known to ±{100 * _half_width(n):.0f} points at best, and less well "
            "the more the speakers differ"
        )

    def as_json(self) -> dict[str, Any]:
        """The result for programs; shares are 0 to 1, unknown values are null."""
        return {
            "speakers": len(self.speakers),
            "automatic_speakers": len(self.automatic),
            "turns": self.turns,
            "turns_a_speaker": dict(self.speakers),
            "turns_without_pause": self.without_pause,
            "pauses": len(self.pauses_ms),
            **{f"over_{ms}_ms": share.value for ms, share in self.longer.items()},
            "intervals": {f"over_{ms}_ms": share.interval for ms, share in self.longer.items()},
            "distance_from_law": self.law_distance["to-agents"],
            "distance_from_laws": dict(self.law_distance),
            "follows": list(self.follows()),
        }


def how_far(contexts: Sequence[Context]) -> Carries | None:
    """The recorded last turns whose speakers are known; None if there is none."""
    of_speaker: dict[Speaker, list[tuple[int, ...]]] = defaultdict(list)
    for context in contexts:
        speaker = speaker_of(context.source) if context.spoken.audio is not None else None
        if speaker is not None:
            of_speaker[speaker].append(tuple(round(1000 * (b - a)) for a, b in context.spoken.pauses_s or ()))
    if not of_speaker:
        return None
    pauses = {s.name: [ms for turn in turns for ms in turn] for s, turns in of_speaker.items()}
    every = tuple(ms for lengths in pauses.values() for ms in lengths)
    return Carries(
        speakers={s.name: len(turns) for s, turns in of_speaker.items()},
        automatic=frozenset(s.name for s in of_speaker if s.automatic),
        turns=sum(map(len, of_speaker.values())),
        without_pause=sum(not turn for turns in of_speaker.values() for turn in turns),
        pauses_ms=every,
        longer={
            limit: Share(*share_of({name: [ms > limit for ms in lengths] for name, lengths in pauses.items()}), len(every))
            for limit in SHARES_MS
        },
        law_distance=distances(every),
    )


def _half_width(n: int) -> float:
    """Half of the 95 % interval of a share of one half of `n` independent pauses, the widest there is."""
    return float(1.96 * (0.25 / n) ** 0.5)
