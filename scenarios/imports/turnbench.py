"""Rows of TurnBench's published schema: two people's talks on separate channels, with three annotators' labels for each.

Source: SesameAILabs/turnbench, `eval/data.py` at 3e1ef53, `eval/gold.py` at a797752, `turnbench/README.md` at 5456220. By the
benchmark's rule a stretch of speech that claims the floor counts if two of three annotators have it within 200 ms at both ends,
and its edges are the median of theirs. An end that is none makes every agent seem too fast, so a turn is left out, and counted
by reason, where anything about it is in doubt. The labels of the test split are blank: only the dev split has turns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from harness.scenarios.imports.imported import ImportFault
from harness.scenarios.imports.sound_rows import Row, Sound, checked_row, sound_rows

SPEAKERS: Final = (1, 2)
ANNOTATORS: Final = ("a", "b", "c")
AUDIO: Final = tuple(f"speaker_{speaker}_audio" for speaker in SPEAKERS)
TRACKS: Final = tuple(f"speaker_{speaker}_annotation_{annotator}" for speaker in SPEAKERS for annotator in ANNOTATORS)
COLUMNS: Final = ("conversation_id", *AUDIO, *TRACKS)
CLAIMS_FLOOR: Final = frozenset(
    (
        "Normal Turn", "Regular Turn", "Strong Floor Hold", "Bounded Response", "Filler", "Overlap",
        "Floor-taking Competitive Interruption", "Floor-taking Cooperative Interruption",
    )
)  # fmt: skip
"""Labels of speech that holds or takes the floor; other labels are backchannels, attempts, laughter and noise."""
SAME_EDGE_S: Final = 0.2
"""Most difference between annotators on a start or an end (the benchmark's own)."""
LEAST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 5.0
"""Both as for other recordings (`harness.audio.recorded_turns`)."""
Doubt = Literal[
    "labels without a majority in or after it",
    "a sound of its own speaker in a pause",
    "over five seconds of silence after it that nobody else broke",
]
DISPUTED: Final[Doubt] = "labels without a majority in or after it"
OWN_SOUND: Final[Doubt] = "a sound of its own speaker in a pause"
LEFT_OPEN: Final[Doubt] = "over five seconds of silence after it that nobody else broke"


class Event(Row):
    """One annotated stretch of a channel, in seconds of the talk."""

    start_s: Annotated[float, Field(ge=0)]
    end_s: Annotated[float, Field(ge=0)]
    label: str
    text: str | None = None


class Talk(Row):
    """One row: a talk of two people."""

    conversation_id: str
    speaker_1_audio: Sound
    speaker_2_audio: Sound
    speaker_1_annotation_a: tuple[Event, ...] = ()
    speaker_1_annotation_b: tuple[Event, ...] = ()
    speaker_1_annotation_c: tuple[Event, ...] = ()
    speaker_2_annotation_a: tuple[Event, ...] = ()
    speaker_2_annotation_b: tuple[Event, ...] = ()
    speaker_2_annotation_c: tuple[Event, ...] = ()

    def sound(self, speaker: int) -> Sound:
        """The channel of one speaker."""
        found: Sound = getattr(self, f"speaker_{speaker}_audio")
        return found

    def tracks(self, speaker: int) -> tuple[tuple[Event, ...], ...]:
        """The events of one speaker by each annotator."""
        return tuple(getattr(self, f"speaker_{speaker}_annotation_{annotator}") for annotator in ANNOTATORS)


@dataclass(frozen=True, slots=True)
class TalkTurn:
    """One turn of a talk, in seconds. `doubt` is the reason to leave it out."""

    speaker: int
    start_s: float
    end_s: float
    pauses: tuple[tuple[float, float], ...]
    text: str
    doubt: Doubt | None


@dataclass(frozen=True, slots=True)
class _Agreed:
    """Stretches that claim the floor by a majority, in order, and those of single annotators that no majority covers."""

    stretches: tuple[Event, ...]
    disputed: tuple[Event, ...]
    others: tuple[Event, ...]
    """Any annotator's events with another label."""


def talks(path: Path) -> Iterator[tuple[str, Path, Talk]]:
    """Each talk with its place and the folder of its sound. Raises `ImportFault` for the first wrong row."""
    for where, folder, raw in sound_rows(path, COLUMNS, AUDIO):
        yield where, folder, _talk(raw, where)


def turns_of(talk: Talk) -> tuple[TalkTurn, ...]:
    """All turns of both speakers, by start."""
    agreed = {speaker: _agreed(talk.tracks(speaker)) for speaker in SPEAKERS}
    found = [turn for speaker in SPEAKERS for turn in _turns(speaker, agreed[speaker], agreed[3 - speaker])]
    return tuple(sorted(found, key=lambda turn: (turn.start_s, turn.speaker)))


def _talk(raw: Any, where: str) -> Talk:
    talk = checked_row(Talk, {name: value for name, value in raw.items() if value is not None}, where, COLUMNS)
    events = [event for speaker in SPEAKERS for track in talk.tracks(speaker) for event in track]
    if not events:
        raise ImportFault(
            f"{where}: talk {talk.conversation_id[:80]!r} has no labels, as in the test split; give the dev split"
        )
    for event in events:
        if event.end_s < event.start_s:
            raise ImportFault(
                f"{where}: talk {talk.conversation_id[:80]!r}: the event at {event.start_s:.3f} s ends before that"
            )
    return talk


def _agreed(tracks: Sequence[Sequence[Event]]) -> _Agreed:
    claims = [(k, event) for k, track in enumerate(tracks) for event in track if event.label in CLAIMS_FLOOR]
    claims.sort(key=lambda row: (row[1].start_s, row[0]))
    used: set[int] = set()
    stretches: list[Event] = []
    for n, (annotator, event) in enumerate(claims):
        if n in used:
            continue
        group = _same_stretch(n, annotator, event, claims, used)
        if len(group) > 1:
            used.update(group)
            members = [claims[m][1] for m in group]
            edges = {"start_s": median(e.start_s for e in members), "end_s": median(e.end_s for e in members)}
            stretches.append(event.model_copy(update=edges))
    left = [event for n, (_, event) in enumerate(claims) if n not in used]
    return _Agreed(
        tuple(sorted(stretches, key=lambda event: event.start_s)),
        tuple(event for event in left if not any(_overlap(event, one.start_s, one.end_s) for one in stretches)),
        tuple(event for track in tracks for event in track if event.label not in CLAIMS_FLOOR),
    )


def _same_stretch(n: int, annotator: int, event: Event, claims: Sequence[tuple[int, Event]], used: set[int]) -> tuple[int, ...]:
    """`n` and the nearest stretch of each other annotator that has both edges in common with it and with each other."""
    nearest: dict[int, int] = {}
    for m, (other, one) in enumerate(claims):
        if other != annotator and m not in used and _apart(event, one) <= SAME_EDGE_S:
            best = nearest.get(other)
            if best is None or _apart(event, one) < _apart(event, claims[best][1]):
                nearest[other] = m
    near = sorted(nearest.values(), key=lambda m: _apart(event, claims[m][1]))
    if len(near) == 2 and _apart(claims[near[0]][1], claims[near[1]][1]) > SAME_EDGE_S:
        near = near[:1]
    return (n, *near)


def _apart(one: Event, other: Event) -> float:
    return max(abs(one.start_s - other.start_s), abs(one.end_s - other.end_s))


def _overlap(event: Event, start_s: float, end_s: float) -> bool:
    return event.start_s < end_s and start_s < event.end_s


def _turns(speaker: int, own: _Agreed, other: _Agreed) -> Iterator[TalkTurn]:
    """Turns of one speaker: they end where the other takes the floor, or after five seconds of silence."""
    turn: list[Event] = []
    end_s = 0.0
    for stretch in own.stretches:
        if turn:
            passed = any(one.start_s < stretch.start_s and one.end_s > end_s for one in other.stretches)
            long = stretch.start_s - end_s > LONGEST_PAUSE_S
            if passed or long:
                yield _turn(speaker, turn, own, other, left_open=long and not passed)
                turn = []
        if not turn or stretch.end_s > end_s:
            turn.append(stretch)
            end_s = stretch.end_s
    if turn:
        yield _turn(speaker, turn, own, other, left_open=False)


def _turn(speaker: int, stretches: Sequence[Event], own: _Agreed, other: _Agreed, *, left_open: bool) -> TalkTurn:
    start_s, end_s = stretches[0].start_s, stretches[-1].end_s
    gaps = [(a.end_s, b.start_s) for a, b in pairwise(stretches)]
    pauses = tuple((a, b) for a, b in gaps if b - a >= LEAST_PAUSE_S)
    doubt: Doubt | None = None
    if any(_overlap(event, start_s, end_s + LEAST_PAUSE_S) for event in (*own.disputed, *other.disputed)):
        doubt = DISPUTED
    elif any(_overlap(event, *pause) for pause in pauses for event in own.others):
        doubt = OWN_SOUND
    elif left_open:
        doubt = LEFT_OPEN
    text = " ".join(stretch.text.strip() for stretch in stretches if stretch.text and stretch.text.strip())
    return TalkTurn(speaker, start_s, end_s, pauses, text, doubt)
