"""Endpointing of a turn: the inner pauses that the agent cut, and the dead air that it left after the true end.

An agent can buy a short wait with cut pauses and few cut pauses with a long wait, so neither has a meaning without the other.
A list of *marked* pauses is not enough either: every gap that a detector could take for the end counts. The terms are those of
eot-bench, a benchmark of end-of-turn detectors (each inner pause of 200 ms and more is one chance to be wrong, each true end
one wait), so that an agent as deployed can be compared with detectors alone.

* A pause is *cut* when the agent begins to speak in it, or within the 300 ms that marked pauses have (`overlap`): an agent that
  decided in the pause is about to speak when speech resumes. Speech over the caller is charged once, to the pause in which
  it began. In the pauses through which it goes on talking it has nothing left to decide: they are counted separately and are no
  part of the share, or an agent that talks through four pauses would seem to have been careful in three of them.
* *Dead air* runs to the first utterance that begins after the spoken end. Earlier speech answered a pause; a turn that
  was answered only there counts with the agent's next speech, or as no reply.
* A *decision* counts for the end when it came after the last pause and its 300 ms. One before the end is right, and
  negative. Of several the last before the reply is the one that led to it.

A backchannel takes no floor: it cuts no pause, ends no dead air, and is no speech at the turn's end (`harness.replies.kinds`).

The method has its own version, since it changes none of the figures by which machines are calibrated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.audio.level import quiet_spans
from harness.recording.record import CallerTrack, SpokenTurn
from harness.timing.figures import NO_REPLY_MS, Fate, InnerPause
from harness.timing.overlap import RESUME_GRACE_MS, Span

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
