"""Measurement of a recording's turns, exactly by the definitions of docs/measurement.md.

Both ends of TTFA come from one recording and one clock: from the last sample of the dry caller signal that is still speech to
the beginning of the agent's reply as heard. Marks explain the time between; they never change it. Negative times stay
negative: a zero would make an interruption the agent's best result. Pure: no clock is read, no file opened, nothing random.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.agents import marks
from harness.audio.level import last_sample
from harness.audio.vocal import VocalDetector, silero
from harness.recording.playout import HEARD_RATE_HZ, HeardTrack, Piece, heard
from harness.recording.record import Arrival, CallerTrack, Recording, SpokenTurn
from harness.recording.why_silent import why_silent
from harness.replies.kinds import Word as TimedWord
from harness.servers.samples import ServerSample
from harness.timeline import NS_PER_MS, NS_PER_S, samples_to_ns
from harness.timing import endpointing, waterfall
from harness.timing.chain import Reply, between, heard_reply, source, streaming
from harness.timing.duplex import Units, duplex_of, speech_of, units_of
from harness.timing.echo import agent_alone, sent_without_echo
from harness.timing.endpointing import judge_overlap
from harness.timing.figures import NO_REPLY_MS, Duplex, Endpointing, Greeting, TurnTiming, Utterance, Waterfall
from harness.timing.interruptions import heard_sample, judge_barge_in, judge_event
from harness.timing.pacing import pacing
from harness.timing.rtp_line import line_quality, network_share
from harness.timing.served import Served
from harness.timing.session_stamps import SessionStamps, stamps_in
from harness.timing.utterances import BLOCK_S, REPLIES, TALK, Sound, find_sounds, first_sound, labelled, tool_spans
from harness.timing.words import Word, with_words

METHOD: Final = "timing-8"
SILENT_TURN: Final = "the caller's turn holds no speech"
"""Reason why a turn without a spoken end gives no figure: it is not known what its answer responds to."""


@dataclass(frozen=True, slots=True)
class _Session:
    """The data that all turns of a recording share."""

    recording: Recording
    track: HeardTrack
    sounds: tuple[Sound, ...]
    clears: tuple[int, ...]
    """Samples of the heard track at which the agent dropped audio that it had sent."""
    stamped: SessionStamps
    served: Served
    words: Sequence[Word] | None
    units: Units | None
    """None of an agent that is not full duplex."""


@dataclass(frozen=True, slots=True)
class _Times:
    """Conversion to ms relative to one turn's spoken end."""

    spoken_end_ns: int
    t0_ns: int

    def of_ns(self, at_ns: int) -> float:
        return (at_ns - self.spoken_end_ns) / NS_PER_MS

    def of_heard(self, sample: int) -> float:
        return self.of_ns(self.ns_of_heard(sample))

    def ns_of_heard(self, sample: int) -> int:
        return _ns_of_heard(self.t0_ns, sample)


def _ns_of_heard(t0_ns: int, sample: int) -> int:
    return t0_ns + samples_to_ns(sample, HEARD_RATE_HZ)


def measure(recording: Recording, vocal: VocalDetector | None = None, samples: Sequence[ServerSample] = ()) -> TurnTiming:
    """The figures of the last caller turn that is neither barge-in nor event. `samples`: as for `measure_turns`.

    Raises ValueError: the recording contains no caller turn.
    """
    turns = measure_turns(recording, vocal, samples)
    if not turns:
        raise ValueError("the recording holds no caller turn to measure")
    return turns[-1]


def measure_turns(
    recording: Recording,
    vocal: VocalDetector | None = None,
    samples: Sequence[ServerSample] = (),
    words: Sequence[Word] | None = None,
) -> tuple[TurnTiming, ...]:
    """The figures of every caller turn that is neither barge-in nor event, in order.

    `vocal` decides what is a voice (default: silero). `samples`: readings of the agent's model servers during the call.
    `words`: the agent's, of the whole call; None if it was not transcribed.
    """
    detector = vocal or silero()
    recording = sent_without_echo(recording)
    track = heard(recording)
    track = replace(track, samples=agent_alone(track, recording))
    told = stamps_in(recording)
    clears = tuple(round((at_ns - track.t0_ns) * HEARD_RATE_HZ / NS_PER_S) for at_ns in recording.clears_ns)
    beside = [heard_sample(turn.start_sample, recording.caller) for turn in _turns(recording) if turn.kind != "turn"]
    sounds = find_sounds(track, detector, clears, beside)
    session = _Session(recording, track, sounds, clears, told, Served(told, samples), words, units_of(recording))
    turns = [turn for turn in _turns(recording) if turn.kind == "turn"]
    starts = [samples_to_ns(turn.start_sample, recording.caller.rate_hz) + recording.caller.t0_ns for turn in turns]
    ends = [*starts[1:], None][: len(turns)]
    measured = [_measure_turn(session, turn, end_ns) for turn, end_ns in zip(turns, ends, strict=True)]
    if measured:
        measured[0] = replace(measured[0], greeting=_greeting(session, starts[0]))
    if words is not None:
        measured = [with_words(turn, words) for turn in measured]
    line = line_quality(recording)
    return tuple(measured) if line is None else tuple(replace(turn, line=line) for turn in measured)


def _greeting(session: _Session, first_turn_ns: int) -> Greeting | None:
    t0_ns = session.recording.caller.t0_ns
    spans = [(_ns_of_heard(t0_ns, s.start), _ns_of_heard(t0_ns, s.end)) for s in session.sounds if _is_said(s)]
    greeting = [(start, end) for start, end in spans if start < first_turn_ns]
    if not greeting:
        return None
    start_ns, end_ns = greeting[0][0], greeting[-1][1]
    return Greeting((start_ns - t0_ns) / NS_PER_MS, (end_ns - start_ns) / NS_PER_MS, end_ns > first_turn_ns)


def _turns(recording: Recording) -> Sequence[SpokenTurn]:
    caller = recording.caller
    if caller.turns or caller.speech_end_sample <= caller.speech_start_sample:
        return caller.turns
    return (SpokenTurn(caller.speech_start_sample, caller.speech_end_sample, caller.pauses),)


def spoken_end_sample(recording: Recording, turn: SpokenTurn) -> int:
    """Index of the last sample of a turn that is speech, in the caller's track; of its last sample where none is."""
    caller = recording.caller
    last = _last_of(caller, turn)
    return turn.start_sample + (len(caller.dry[turn.start_sample : turn.end_sample]) - 1 if last is None else last)


def _last_of(caller: CallerTrack, turn: SpokenTurn) -> int | None:
    return last_sample(caller.dry[turn.start_sample : turn.end_sample], caller.rate_hz)


def _measure_turn(session: _Session, turn: SpokenTurn, until_ns: int | None) -> TurnTiming:
    recording, caller = session.recording, session.recording.caller
    end_sample = spoken_end_sample(recording, turn)
    times = _Times(caller.t0_ns + samples_to_ns(end_sample + 1, caller.rate_hz), caller.t0_ns)
    begin_ns = caller.t0_ns + samples_to_ns(turn.start_sample, caller.rate_hz)
    # If a greeting still sounds when the caller begins, the caller talked over it: it is no cut-in, and no reply.
    first = all(other.start_sample >= turn.start_sample for other in _turns(recording))
    sounds = [s for s in session.sounds if times.ns_of_heard(s.end) > begin_ns]
    sounds = [s for s in sounds if until_ns is None or times.ns_of_heard(s.start) < until_ns]
    sounds = [s for s in sounds if not first or times.ns_of_heard(s.start) >= begin_ns]
    vocal = [s for s in sounds if _is_said(s)]
    sounds = labelled(session.track.samples, sounds, times.of_heard, times.of_ns(begin_ns), *_context(session, times))
    # Withdrawn sound is heard, and can break into a turn; it answers nothing.
    talk = [s for s in sounds if s.kind in TALK]
    replies = [s for s in sounds if s.kind in REPLIES and times.of_heard(s.end) > 0]
    answer = replies[0] if replies and times.of_heard(replies[0].start) < NO_REPLY_MS else None
    onset_ms = times.of_heard(answer.start) if answer else None
    discarded = _discarded(session, turn) if answer else None
    early = onset_ms is not None and onset_ms < 0
    speech_ms = next((times.of_heard(s.start) for s in replies if s.kind == "answer"), None) if answer else None
    pauses = [(_caller_ms(times, caller.rate_hz, p.start_sample), _caller_ms(times, caller.rate_hz, p.end_sample))
              for p in turn.pauses]  # fmt: skip
    floor = judge_overlap(
        [(times.of_heard(s.start), times.of_heard(s.end)) for s in talk], (times.of_ns(begin_ns), 0.0), pauses
    )
    audible = _audible(session, answer, times) if answer else None
    reply = heard_reply(session.stamped.stamps, audible[1].arrival_ns, begin_ns) if audible else None
    barge_in, event = (_into_reply(session, kind, turn, until_ns) for kind in ("barge_in", "event"))
    heard_by = (session.track, vocal, session.clears, caller)
    interruption = judge_barge_in(*heard_by, barge_in) if barge_in is not None else None
    paced = pacing(caller)
    utterances = tuple(Utterance(times.of_heard(s.start), times.of_heard(s.end), s.kind) for s in sounds)
    streamed = streaming(session.stamped.stamps, reply)
    token = reply.steps.get(marks.LLM_FIRST_TOKEN) if reply else None
    return TurnTiming(
        method=METHOD,
        spoken_end_ms=(times.spoken_end_ns - caller.t0_ns) / NS_PER_MS,
        ttfa_ms=None if early or discarded else onset_ms,
        signed_ms=onset_ms if early else None,
        answer_ms=None if early or discarded else speech_ms,
        backchannels=sum(s.kind == "backchannel" for s in sounds),
        first_byte_ms=_first_byte(session, times, audible if early or recording.full_duplex else None, until_ns),
        first_sound_ms=_first_sound(session, times, until_ns),
        first_speech_ms=speech_ms,
        ttft_ms=between(reply, marks.LLM_REQUESTED, marks.LLM_FIRST_TOKEN),
        ttft_from_spoken_end_ms=times.of_ns(token.at_ns) if token is not None else None,
        withdrawn_ms=sum(s.end - s.start for s in sounds if s.kind == "withdrawn") / HEARD_RATE_HZ * 1000 or None,
        reply_end_ms=times.of_heard(replies[-1].end) if replies else None,
        utterances=utterances,
        pauses_marked=len(pauses),
        pauses_cut=sum(floor.pause_was_cut),
        pause_durations_ms=tuple(end - start for start, end in pauses),
        pause_was_cut=floor.pause_was_cut,
        endpointing=_endpointing(session, turn, times, sounds, until_ns),
        cut_in=floor.cut_in,
        no_reply=answer is None,
        underruns=sum(_during(session, u.at_ms, times.spoken_end_ns, until_ns) for u in session.track.underruns),
        stalled_ms=max(
            (g.duration_ms for g in session.track.stalls if _during(session, g.at_ms + g.duration_ms, begin_ns, until_ns)),
            default=None,
        ),
        tokens_per_s=streamed.get("tokens_per_s"),
        inter_token_gap_p95_ms=streamed.get("inter_token_gap_p95_ms"),
        tts_real_time_factor=streamed.get("real_time_factor"),
        **source(reply),
        servers=session.served.of(reply),
        waterfall=_waterfall(session, audible, reply, times) if audible and not early else None,
        refused=(*(reply.refused if reply else ()), *session.stamped.refused),
        pacing_p99_error_ms=paced.p99_error_ms if paced else None,
        pacing_max_error_ms=paced.max_error_ms if paced else None,
        realtime_ratio=paced.realtime_ratio if paced else None,
        loop_lag_max_ms=max(recording.loop_lag_ms, default=None),
        yield_ms=interruption.yield_ms if interruption else None,
        discarded=discarded,
        labels=(interruption.label,) if interruption else (),
        why_silent=why_silent(recording.marks, None if first else begin_ns, until_ns) if answer is None else None,
        event=judge_event(*heard_by, event) if event is not None else None,
        duplex=_duplex(session, turn, times, utterances, until_ns) if recording.full_duplex else None,
    )


def _during(session: _Session, at_ms: float, begin_ns: int, until_ns: int | None) -> bool:
    at_ns = session.track.t0_ns + at_ms * NS_PER_MS
    return at_ns >= begin_ns and (until_ns is None or at_ns < until_ns)


def _endpointing(
    session: _Session, turn: SpokenTurn, times: _Times, sounds: Sequence[Sound], until_ns: int | None
) -> Endpointing:
    """The agent's endpointing of this turn."""
    caller = session.recording.caller
    spans = [
        ((start, end), gap)
        for gap in endpointing.inner_gaps(caller, turn)
        for start, end in [(_caller_ms(times, caller.rate_hz, s) for s in (gap.start_sample, gap.end_sample))]
        if end <= 0
    ]
    begin_ns = caller.t0_ns + samples_to_ns(turn.start_sample, caller.rate_hz)
    stamped = [s.at_ns for s in session.stamped.stamps.all if s.name == marks.TURN_DECIDED]
    decisions = [times.of_ns(ns) for ns in stamped if ns >= begin_ns and (until_ns is None or ns < until_ns)]
    utterances = [(times.of_heard(s.start), times.of_heard(s.end)) for s in sounds if s.kind in TALK]
    answer = next((s for s in sounds if s.kind in REPLIES and 0 <= times.of_heard(s.start) < NO_REPLY_MS), None)
    audible = _audible(session, answer, times) if answer else None
    discarded = _discarded(session, turn) if answer else None
    windows = endpointing.windows_of([span for span, _ in spans])
    last_pause_ms = windows[-1][1] if windows else times.of_ns(begin_ns)
    return Endpointing(
        method=endpointing.METHOD,
        pauses=endpointing.judge_pauses(spans, utterances, decisions if stamped else None),
        dead_air_ms=times.of_heard(answer.start) if answer and discarded is None else None,
        decision_ms=endpointing.decision_for_the_end(
            decisions, last_pause_ms, times.of_ns(audible[1].arrival_ns) if audible else None
        ),
        says_decisions=bool(stamped),
        talking_at_end=any(start < 0 < end for start, end in utterances),
        discarded=discarded,
    )


def _duplex(
    session: _Session, turn: SpokenTurn, times: _Times, utterances: Sequence[Utterance], until_ns: int | None
) -> Duplex:
    """Both sides at once, in this turn."""
    caller = session.recording.caller
    begin_ns = caller.t0_ns + samples_to_ns(turn.start_sample, caller.rate_hz)
    spans = speech_of(caller, turn, spoken_end_sample(session.recording, turn) + 1)
    speech = [(_caller_ms(times, caller.rate_hz, start), _caller_ms(times, caller.rate_hz, end)) for start, end in spans]
    window = times.of_ns(begin_ns), math.inf if until_ns is None else times.of_ns(until_ns)
    return duplex_of(speech, utterances, window, session.units, (begin_ns, until_ns))


def _into_reply(session: _Session, kind: str, turn: SpokenTurn, until_ns: int | None) -> SpokenTurn | None:
    """The first sound of one kind from the caller's side during the agent's reply to a turn."""
    caller = session.recording.caller
    for spoken in caller.turns:
        begin_ns = caller.t0_ns + samples_to_ns(spoken.start_sample, caller.rate_hz)
        after = spoken.start_sample >= turn.end_sample and (until_ns is None or begin_ns < until_ns)
        if spoken.kind == kind and after:
            return spoken
    return None


def _is_said(sound: Sound) -> bool:
    """True if a sound is vocal and was not withdrawn."""
    return sound.kind not in ("nonvocal", "withdrawn")


def _context(session: _Session, times: _Times) -> tuple[list[TimedWord] | None, list[tuple[float, float]]]:
    """The words of the call and the spans of its function calls, in ms relative to a turn's spoken end."""
    said_ms = (times.spoken_end_ns - times.t0_ns) / NS_PER_MS
    spans = tool_spans(session.recording.marks)
    tools = [(times.of_ns(start), math.inf if end is None else times.of_ns(end)) for start, end in spans]
    if session.words is None:
        return None, tools
    return [(w, start_s * 1000 - said_ms, end_s * 1000 - said_ms) for w, start_s, end_s in session.words], tools


def _discarded(session: _Session, turn: SpokenTurn) -> str | None:
    return SILENT_TURN if _last_of(session.recording.caller, turn) is None else None


def _caller_ms(times: _Times, rate_hz: int, sample: int) -> float:
    return times.of_ns(times.t0_ns + samples_to_ns(sample, rate_hz))


def _audible(session: _Session, answer: Sound, times: _Times) -> tuple[int, Piece] | None:
    """The onset (ns) of the answer, and the message that brought it."""
    onset_ns = times.ns_of_heard(answer.start)
    rate = session.recording.agent_rate_hz
    # Silence before the voice is a message too, where sound never stops: an onset is exact to a block of its level.
    slack_ns = round(BLOCK_S * NS_PER_S) if session.recording.full_duplex else samples_to_ns(1, HEARD_RATE_HZ)
    for piece in session.track.pieces:
        if piece.count_samples and onset_ns < piece.start_ns + samples_to_ns(piece.count_samples, rate) - slack_ns:
            return onset_ns, piece
    return None


def _first_byte(session: _Session, times: _Times, brings: tuple[int, Piece] | None, until_ns: int | None) -> float | None:
    """`brings`: the message that brings the reply, where that is not the first one after the spoken end."""
    if brings is not None:
        return times.of_ns(brings[1].arrival_ns)
    if session.recording.full_duplex:  # Its messages never stop; one is its first only if it brings the reply.
        return None
    found = next((a for a in session.recording.arrivals if a.arrival_ns >= times.spoken_end_ns), None)
    return times.of_ns(found.arrival_ns) if found and (until_ns is None or found.arrival_ns < until_ns) else None


def _first_sound(session: _Session, times: _Times, until_ns: int | None) -> float | None:
    spoken_end = round((times.spoken_end_ns - times.t0_ns) * HEARD_RATE_HZ / (1000 * NS_PER_MS))
    found = first_sound(session.track, session.sounds, spoken_end)
    if found is None or (until_ns is not None and times.ns_of_heard(found) >= until_ns):
        return None
    return times.of_heard(found)


def _waterfall(session: _Session, audible: tuple[int, Piece], reply: Reply | None, times: _Times) -> Waterfall:
    onset_ns, piece = audible
    recording = session.recording
    begun = _reply_begin(recording.arrivals, reply, piece)
    at_onset = piece.offset_samples + round((onset_ns - piece.start_ns) * recording.agent_rate_hz / (1000 * NS_PER_MS))
    lead_ns = samples_to_ns(max(0, at_onset - begun.offset_samples), recording.agent_rate_hz)
    lead_ns = min(lead_ns, max(0, onset_ns - begun.arrival_ns))
    ends = waterfall.Audible(times.spoken_end_ns, onset_ns, begun.arrival_ns, lead_ns)
    share = network_share(recording, piece.arrival_ns)
    return waterfall.build(ends, reply, session.stamped.stamps, session.stamped.clock.uncertainty_ns / NS_PER_MS, share)


def _reply_begin(arrivals: Sequence[Arrival], reply: Reply | None, piece: Piece) -> Arrival:
    """The first message of the reply: the first that arrived after the time at which the agent reports to have sent it."""
    sent = reply.steps.get(marks.AUDIO_SENT) if reply else None
    onset = next(k for k, a in enumerate(arrivals) if a.offset_samples + a.count_samples > piece.offset_samples)
    if sent is None:
        return arrivals[onset]
    return next((a for a in arrivals[: onset + 1] if a.arrival_ns >= sent.at_ns), arrivals[onset])
