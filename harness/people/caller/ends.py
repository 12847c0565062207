"""The end and the pauses of a recorded turn, by the analyser and by the speaker's own key press together.

Neither is enough alone. The analyser is exact (to some 20 ms), but cannot know if a speaker is done or is thinking. The key
press says that the turn is over, but comes when a finger comes. So the press chooses the end and the analyser places it: the
turn ends with the last stretch of speech that began before the press. Where the two disagree, or something is heard that the
analyser takes for no speech, the speaker is shown the instant and decides.

Pure: no file, no clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.audio.onset import CLOSURE_S
from harness.audio.pcm import Int16, resample_float, to_float
from harness.audio.recorded_edges import audible, true_edges
from harness.audio.recorded_turns import LEAST_PAUSE_S, LONGEST_PAUSE_S, NoTurn, RecordedTurn, Span, one_turn, speech_in
from harness.audio.vocal import RATE_HZ, VocalDetector
from harness.errors import UserError
from harness.study.texts import Texts, texts

LATE_PRESS_S: Final = 1.6
"""Longest silence before the press that needs no question: 19 of 20 of people's pauses inside a turn are shorter
(`harness.scenarios.pause_law`), so after a longer one a last soft word was missed, or the speaker hesitated."""
EDGE_S: Final = 0.03
"""Part of a pause beside speech in which sound is the speech's own: the error that a turn's end may have."""
ROUNDING_S: Final = 0.001
"""Tolerance for instants from the page, which shows milliseconds."""

DisagreementCode = Literal["speech_after_press", "late_press", "no_press", "sound_in_pause", "long_pause", "cut"]


class Impossible(UserError):
    """A correction that cannot be; the message is one line for the speaker."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Something for the speaker to decide, in words, at `at_s` of the recording."""

    code: DisagreementCode
    at_s: float
    words: str


@dataclass(frozen=True, slots=True)
class FoundEnds:
    """The turn as found, in seconds of the recording, and the disagreements in the order of their instants."""

    turn: RecordedTurn
    pressed_s: float | None
    lasts_s: float
    disagreements: tuple[Disagreement, ...]
    left_out: tuple[Span, ...] = ()
    """Speech that began after the press. If the speaker moves the end into it, the gaps before it are pauses too."""


Instant = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Corrections(BaseModel):
    """The speaker's decisions: the turn ends at `end_s`, the found pauses `no_pauses` (from 0) are none, `pauses` are more."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    end_s: Instant | None = None
    no_pauses: tuple[int, ...] = ()
    pauses: Annotated[tuple[tuple[Instant, Instant], ...], Field(max_length=200)] = ()


def found_ends(
    samples: Int16, rate_hz: int, vocal: VocalDetector, pressed_s: float | None, t: Texts | None = None
) -> FoundEnds:
    """The turn in a recording of one channel. `pressed_s`: the key press in seconds of the recording; None without one. `t`:
    the words of the disagreements, in the speaker's language.

    Raises `NoTurn` if nothing is spoken before the press, or the noise is too close to the voice.
    """
    t = t or texts()
    signal = resample_float(to_float(samples), rate_hz, RATE_HZ)
    lasts_s = samples.size / rate_hz
    every = true_edges(signal, speech_in(signal, vocal))
    speech = [span for span in every if pressed_s is None or span[0] < pressed_s]
    if not speech:
        raise NoTurn("nothing is spoken in it before the key was pressed")
    turn = one_turn(speech)
    found = [
        *_of_the_press(turn, every[len(speech) :], pressed_s, t),
        *_of_the_pauses(turn, audible(signal), t),
    ]
    if lasts_s - turn.end_s < CLOSURE_S:
        found.append(Disagreement("cut", turn.end_s, t("found.ends_unknown", at=_s(lasts_s))))
    in_order = tuple(sorted(found, key=lambda d: d.at_s))
    return FoundEnds(turn, pressed_s, lasts_s, in_order, every[len(speech) :])


def corrected(found: FoundEnds, corrections: Corrections, t: Texts | None = None) -> RecordedTurn:
    """The turn as its speaker decided. `t`: the words of what cannot be, in the speaker's language.

    Raises `Impossible` for an end outside the recording or inside a pause, and for a pause that is none, too short, outside the
    turn, or overlaps another.
    """
    t = t or texts()
    start_s, end_s = found.turn.start_s, found.turn.end_s
    if corrections.end_s is not None:
        end_s = corrections.end_s
        if end_s <= start_s:
            raise Impossible(t("caller.impossible.before", end=_cs(end_s), start=_cs(start_s)))
        if end_s > found.lasts_s + ROUNDING_S:
            raise Impossible(t("caller.impossible.after", end=_cs(end_s), lasts=_cs(found.lasts_s)))
        end_s = min(end_s, found.lasts_s)
    whole = [found.turn.span, *(span for span in found.left_out if span[0] < end_s)]
    every = (*found.turn.pauses, *one_turn(whole).pauses)
    for k in corrections.no_pauses:
        if not 0 <= k < len(every):
            raise Impossible(t("caller.impossible.none", number=k + 1, found=len(every)))
    left = [p for k, p in enumerate(every) if k not in corrections.no_pauses and p[0] < end_s - ROUNDING_S]
    pauses = sorted([*left, *corrections.pauses])
    reached: Span | None = None
    for a, b in pauses:
        if a >= b:
            raise Impossible(t("caller.impossible.backwards", a=_cs(a), b=_cs(b)))
        if b - a < LEAST_PAUSE_S - ROUNDING_S:
            raise Impossible(t("caller.impossible.short", a=_cs(a), b=_cs(b), least=f"{LEAST_PAUSE_S:g}"))
        if a <= start_s:
            raise Impossible(t("caller.impossible.outside", a=_cs(a), b=_cs(b), start=_cs(start_s)))
        if b >= end_s:
            raise Impossible(t("caller.impossible.last", a=_cs(a), b=_cs(b), end=_cs(end_s)))
        if reached is not None and a < reached[1]:
            raise Impossible(t("caller.impossible.overlap", a=_cs(a), b=_cs(b), c=_cs(reached[0]), d=_cs(reached[1])))
        reached = a, b
    return RecordedTurn(start_s, end_s, tuple(pauses))


def _s(seconds: float) -> str:
    return f"{seconds:.1f}"


def _cs(seconds: float) -> str:
    return f"{seconds:.2f}"


def _of_the_press(turn: RecordedTurn, after: Sequence[Span], pressed_s: float | None, t: Texts) -> list[Disagreement]:
    if pressed_s is None:
        return [Disagreement("no_press", turn.end_s, t("found.no_press", at=_s(turn.end_s)))]
    found = []
    if turn.end_s > pressed_s + EDGE_S:
        words = t("found.spoke_on", pressed=_s(pressed_s), at=_s(turn.end_s))
        found.append(Disagreement("speech_after_press", pressed_s, words))
    if after:
        words = t("found.spoke_again", at=_s(after[0][0]), pressed=_s(pressed_s))
        found.append(Disagreement("speech_after_press", after[0][0], words))
    if pressed_s - turn.end_s > LATE_PRESS_S:
        words = t("found.late_press", at=_s(turn.end_s), later=_s(pressed_s - turn.end_s))
        found.append(Disagreement("late_press", turn.end_s, words))
    return found


def _of_the_pauses(turn: RecordedTurn, audible: Sequence[Span], t: Texts) -> list[Disagreement]:
    found = []
    for start, end in turn.pauses:
        inside = [(a, b) for a, b in audible if a < end - EDGE_S and b > start + EDGE_S]
        if inside:
            words = t("found.sound_in_pause", at=_s(inside[0][0]), start=_s(start), end=_s(end))
            found.append(Disagreement("sound_in_pause", inside[0][0], words))
        if end - start > LONGEST_PAUSE_S:
            words = t("found.long_pause", lasts=_s(end - start), start=_s(start))
            found.append(Disagreement("long_pause", start, words))
    return found
