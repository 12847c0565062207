"""Endpointing of a turn: the inner pauses that the agent cut, and the dead air that it left after the true end.

An agent can buy a short wait with cut pauses and few cut pauses with a long wait, so neither has a meaning without the other.
The terms are those of eot-bench, a benchmark of end-of-turn detectors: each inner pause of 200 ms and more, marked or not, is
one chance to be wrong, each true end one wait.

* A pause is *cut* when the agent begins to speak in it, or within 300 ms after it: an agent that decided in the pause is about
  to speak when speech resumes. Speech over the caller is charged once, to the pause in which it began; pauses through which it
  goes on are counted separately, or an agent that talks through four pauses would seem careful in three of them.
* *Dead air* runs to the first utterance that begins after the spoken end. Earlier speech answered a pause.
* A *decision* counts for the end when it came after the last pause and its 300 ms; the last before the reply led to it.

A backchannel takes no floor: it cuts no pause, ends no dead air, and is no speech at the turn's end (`harness.replies.kinds`).
The kind of a pause, in mid-sentence or after a sentence, is by the caller's text: a gap without a mark is *unknown* where a
sentence ends between the two marks around it. The method has its own version, since it changes no figure by which machines are
calibrated.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.audio.level import quiet_spans
from harness.recording.record import CallerTrack, SpokenTurn
from harness.scenarios.pauses import PAUSE
from harness.timing.figures import NO_REPLY_MS, Endpointing, Fate, InnerPause, PauseKind, TurnTiming

RESUME_GRACE_MS: Final = 300.0
MIN_OVERLAP_MS: Final = 20.0
"""Shorter overlaps are within the error of measurement."""
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Overlaps:
    """The pauses that were cut, and whether the agent talked over the caller outside them."""

    pause_was_cut: tuple[bool, ...]
    cut_in: bool


METHOD: Final = "endpointing-2"
LEAST_PAUSE_S: Final = 0.2
"""As in eot-bench. Shorter gaps are closures of plosives and the joints of fluent speech, at which no detector here decides."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A pause of the dry signal, in samples of the caller's track. `place`: number of marked pauses before it."""

    start_sample: int
    end_sample: int
    marked: bool
    place: int


def inner_gaps(caller: CallerTrack, turn: SpokenTurn) -> list[Gap]:
    """Every gap of 200 ms and more inside a turn, in order.

    A marked pause is as long as the silence around it. One that contains a sound (a breath, room noise) is still one pause
    from end to end.
    """
    dry = caller.dry[turn.start_sample : turn.end_sample]
    quiet = [(turn.start_sample + a, turn.start_sample + b) for a, b in quiet_spans(dry, caller.rate_hz, 0.0)]
    marked: list[Gap] = []
    for place, pause in enumerate(turn.pauses):
        around = [(a, b) for a, b in quiet if a < pause.end_sample and pause.start_sample < b]
        start = min([pause.start_sample, *(a for a, _ in around)])
        end = max([pause.end_sample, *(b for _, b in around)])
        if marked and start < marked[-1].end_sample:
            # Nothing is said between the two marks.
            marked[-1] = Gap(marked[-1].start_sample, max(end, marked[-1].end_sample), True, marked[-1].place)
        else:
            marked.append(Gap(start, end, True, place))
    free = [
        Gap(a, b, False, sum(pause.end_sample <= a for pause in turn.pauses))
        for a, b in quiet
        if not any(a < gap.end_sample and gap.start_sample < b for gap in marked)
    ]
    least = LEAST_PAUSE_S * caller.rate_hz
    return sorted((g for g in [*marked, *free] if g.end_sample - g.start_sample >= least), key=lambda gap: gap.start_sample)


def judge_pauses(
    pauses: Sequence[tuple[Span, Gap]], utterances: Sequence[Span], decisions: Sequence[float] | None
) -> tuple[InnerPause, ...]:
    """The inner pauses with their results. Times in ms relative to the spoken end; `decisions` is None for an agent that
    reports none."""
    windows = windows_of([span for span, _ in pauses])
    return tuple(
        InnerPause(
            start_ms=start,
            end_ms=end,
            fate=_fate(window, utterances),
            marked=gap.marked,
            place=gap.place,
            decided=None if decisions is None else any(window[0] <= at < window[1] for at in decisions),
        )
        for ((start, end), gap), window in zip(pauses, windows, strict=True)
    )


def windows_of(pauses: Sequence[Span]) -> list[Span]:
    """The stretch in which a start of speech is charged to each pause: until 300 ms beyond it, but not beyond the next pause or
    the end."""
    nexts = [start for start, _ in pauses[1:]] + [0.0]
    return [
        (start, min(end + RESUME_GRACE_MS, until, 0.0))
        for (start, end), until in zip(pauses, nexts[: len(pauses)], strict=True)
    ]


def _fate(window: Span, utterances: Sequence[Span]) -> Fate:
    if any(window[0] <= start < window[1] for start, _ in utterances):
        return "cut"
    return "already_talking" if any(start < window[0] < end for start, end in utterances) else "kept"


def decision_for_the_end(decisions: Sequence[float], after_ms: float, reply_ms: float | None) -> float | None:
    """The decision that led to the reply, or the first one without a reply; None where none came after the last pause.

    `after_ms`: where the last pause's window ends. `reply_ms`: when the reply arrived. All relative to the spoken end.
    """
    counted = [at for at in decisions if after_ms <= at < (NO_REPLY_MS if reply_ms is None else reply_ms)]
    if not counted:
        return None
    return counted[0] if reply_ms is None else counted[-1]


def judge_overlap(sounds: Sequence[Span], speech: Span, pauses: Sequence[Span]) -> Overlaps:
    """The overlap. All spans are in ms on one timeline: the agent's vocal sounds, the caller's speech, its marked pauses."""
    granted = [(start, min(end + RESUME_GRACE_MS, speech[1])) for start, end in pauses]
    cut = tuple(any(_overlap(sound, pause) > 0 for sound in sounds) for pause in granted)
    spoken = _without(speech, granted)
    overlap = sum(_overlap(sound, part) for sound in sounds for part in spoken)
    return Overlaps(cut, overlap >= MIN_OVERLAP_MS)


def _overlap(one: Span, other: Span) -> float:
    return max(0.0, min(one[1], other[1]) - max(one[0], other[0]))


def _without(whole: Span, holes: Sequence[Span]) -> list[Span]:
    parts: list[Span] = []
    at = whole[0]
    for start, end in sorted(holes):
        if start > at:
            parts.append((at, start))
        at = max(at, end)
    if at < whole[1]:
        parts.append((at, whole[1]))
    return parts


_CLOSING: Final = r"[\"'”’»)\]]*"
_FINISHED: Final = re.compile(rf"(?<![.…!?。！？])[.!?。！？]++{_CLOSING}\s*$")
"""Three dots are a hesitation: the speaker means to go on."""
_TRAILS_OFF: Final = re.compile(rf"(?<!\.)\.\.++{_CLOSING}\s*$")
_ENDS_INSIDE: Final = re.compile(rf"[.!?。！？…]{_CLOSING}\s+\S")


def with_kinds(timing: TurnTiming, text: str | None) -> TurnTiming:
    """The same turn with the kind of each inner pause, by the turn's marked text (None where there is none)."""
    found = timing.endpointing
    if found is None or not found.pauses:
        return timing
    kinds = kinds_of(found, timing.pauses_marked, text)
    pauses = tuple(replace(pause, kind=kind) for pause, kind in zip(found.pauses, kinds, strict=True))
    return replace(timing, endpointing=replace(found, pauses=pauses))


def kinds_of(found: Endpointing, marked: int, text: str | None) -> tuple[PauseKind, ...]:
    """The kind of each pause. `marked`: number of pauses that the recording has marked, including short ones."""
    stretches = PAUSE.split(text)[::2] if text and any(c.isalnum() for c in PAUSE.sub("", text)) else []
    if len(stretches) == marked + 1:
        return tuple(_kind(pause, stretches[pause.place]) for pause in found.pauses)
    if len(stretches) == 1:
        # A recording's pauses were found in its sound; its text does not show their place.
        return tuple(_somewhere_in(stretches[0]) for _ in found.pauses)
    return tuple("unknown" for _ in found.pauses)


def _kind(pause: InnerPause, stretch: str) -> PauseKind:
    if not pause.marked:
        return _somewhere_in(stretch)
    return "after_sentence" if _is_finished(stretch) else "mid_sentence"


def _somewhere_in(stretch: str) -> PauseKind:
    return "unknown" if _ENDS_INSIDE.search(stretch) else "mid_sentence"


def _is_finished(stretch: str) -> bool:
    return _FINISHED.search(stretch) is not None and _TRAILS_OFF.search(stretch) is None
