"""Every turn of a call as the page and the exports show it: a run's figures are of all of them, so each can be looked up."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from harness.store.session import Session
from harness.store.unspoken import unspoken_of
from harness.timing.figures import TurnTiming
from harness.turns.table import begins_with_filler
from harness.wording import milliseconds


@dataclass(frozen=True, slots=True)
class EachTurn:
    """One turn. `spoken_end_ms` is on the recording's timeline, the other times are relative to it."""

    number: int
    spoken_end_ms: float
    ttfa_ms: float | None
    answer_ms: float | None
    signed_ms: float | None
    first_sound_ms: float | None
    first_speech_ms: float | None
    first_word_ms: float | None
    first_substance_ms: float | None
    dead_air_ms: float | None
    yield_ms: float | None
    inner_pauses: int
    """Pauses of 200 ms and more in which the agent could choose."""
    inner_pauses_cut: int
    backchannels: int
    cut_in: bool
    talking_at_end: bool
    no_reply: bool
    discarded: str
    """Reason why the turn gives no figure."""
    labels: tuple[str, ...]
    words: str | None
    """The reply as transcribed; None where nothing was."""


def each_turn(session: Session) -> tuple[EachTurn, ...]:
    """The turns of a call of several; none of a call that was planned to have one, which the page shows whole."""
    turns = session.turn_timings
    if len(turns) < 2 and session.key.mode != "recorded" and unspoken_of(session) is None:
        return ()
    return tuple(_each(k + 1, turn, words) for k, (turn, words) in enumerate(zip(turns, _words(session), strict=True)))


def _each(number: int, turn: TurnTiming, words: str | None) -> EachTurn:
    endpointing = turn.endpointing
    fates = [pause.fate for pause in endpointing.pauses] if endpointing is not None else []
    return EachTurn(
        number=number,
        spoken_end_ms=turn.spoken_end_ms,
        ttfa_ms=None if turn.contended else turn.ttfa_ms,
        answer_ms=None if turn.contended else turn.answer_ms,
        signed_ms=turn.signed_ms,
        first_sound_ms=turn.first_sound_ms,
        first_speech_ms=turn.first_speech_ms,
        first_word_ms=turn.first_word_ms,
        first_substance_ms=turn.first_substance_ms,
        dead_air_ms=endpointing.dead_air_ms if endpointing is not None else None,
        yield_ms=turn.yield_ms,
        inner_pauses=sum(fate != "already_talking" for fate in fates),
        inner_pauses_cut=fates.count("cut"),
        backchannels=turn.backchannels,
        cut_in=turn.cut_in,
        talking_at_end=endpointing is not None and endpointing.talking_at_end,
        no_reply=turn.no_reply,
        discarded=turn.left_out or "",
        labels=tuple(_labels(turn)),
        words=words,
    )


def _words(session: Session) -> Iterator[str | None]:
    """The words of each reply: those that begin between the end of its turn and that of the next."""
    if session.heard_words is None:
        yield from (None for _ in session.turn_timings)
        return
    ends_s = [*(turn.spoken_end_ms / 1_000 for turn in session.turn_timings), float("inf")]
    for begin_s, end_s in pairwise(ends_s):
        yield " ".join(word for word, start_s, _ in session.heard_words if begin_s <= start_s < end_s)


def _labels(turn: TurnTiming) -> Iterator[str]:
    yield from turn.labels
    if turn.answer_ms is None and begins_with_filler(turn):
        yield "a filler, and no answer"
    if turn.stalled_ms is not None:
        yield f"its stream stalled for {milliseconds(turn.stalled_ms)}"
    if turn.why_silent:
        yield turn.why_silent
