"""The figures of one turn, as `harness.timing` computes them and everything later reads them.

All `_ms` values are relative to the *spoken end* of the caller's turn unless the name says otherwise; None means "not
known", never zero. Definitions: docs/measurement.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from harness.servers.split import ServerSplit

OF_A_FILE: Final = "reported-by-file-1"
"""`TurnTiming.method` of a reply in a file: its latencies are its author's, and nothing else of it is timed."""
ROUND_A_TURN_MS: Final = 1_200.0
"""An older run counted from 1 s before the spoken end, between two samples a tenth of a second apart at either side."""


@dataclass(frozen=True, slots=True)
class Contention:
    """The part of one turn that others on the agent's machine could have caused. Derivation: `harness.timing.contention`."""

    others_cores: float
    """Number of the processors that the agent may use which others used, on average."""
    waited_cores: float | None
    """Number of the agent's threads that were ready without a processor, on average, for any reason; None: not counted."""
    stolen_cores: float
    """Number of these processors that a hypervisor had taken, on average."""
    throttled: int | None = None
    """Number of times that cores were slowed down for heat; None where the machine does not state it."""
    slowest_mhz: float | None = None
    at_most_ms: Mapping[str, float] = field(default_factory=dict)
    """Figure → the most of it that others could have caused. Empty in an older run, for which `owed_ms` derives a bound."""
    others_ms: float = 0.0
    """The three parts of what others could have caused of the first sound (or the silence): other programs, …"""
    stolen_ms: float = 0.0
    quota_ms: float | None = None
    """… the host, and the quota of the agent's control group; None where no quota was read."""
    cpus: int | None = None
    """Number of processors that the agent may use, over which this is counted; None: the whole machine (an older run)."""
    stalled_share: float | None = None
    """Share of the time in which some process of the agent's control group, or of the machine, waited; None where not known."""
    others: tuple[tuple[str, float], ...] = ()
    """The programs that ran most beside the agent, and how many cores each had on average; the busiest first."""

    def owed_ms(self, figure: str, waited_ms: float) -> float | None:
        """The most of one figure that others could have caused; None where it was not measured. `waited_ms`: the first figure.

        An older run stored only averages over the turn, which bound all its figures alike.
        """
        if self.at_most_ms:
            return self.at_most_ms.get(figure)
        by_others = min(self.others_cores, self.waited_cores if self.waited_cores is not None else self.others_cores)
        return (by_others + self.stolen_cores) * (ROUND_A_TURN_MS + max(0.0, waited_ms))


StageName = Literal[
    "endpointing", "asr", "turn_score", "turn_decision", "llm", "first_clause", "tts", "transport", "network", "unexplained"
]
StagesFrom = Literal["marks", "reported", "traces"]
"""Source of TTFT and the stages: stamps that the agent takes where a thing happens; reports of an unmodified bot over its
wire (RTVI, the Realtime protocol); or its spans (OpenTelemetry)."""
IN_FULL: Final[Mapping[StagesFrom, str]] = MappingProxyType(
    {
        "marks": "stamped by the agent where they happen",
        "reported": "reported by the bot over its wire",
        "traces": "from traces (the agent's OpenTelemetry spans)",
    }
)
NO_REPLY_MS = 15_000.0
"""Nothing within 15 s of the spoken end is *no reply*: it ranks last, and means are restricted here."""
SILENCED_MS: Final = NO_REPLY_MS / 2
"""A silence may be others' where they could have had the agent's processors for longer. With less, the agent had 7.5 s of its
own, fifteen times the budget."""
NO_REPLY_TEXT = f"{NO_REPLY_MS / 1000:.0f} s"
OVER_LIMIT_TEXT = f"> {NO_REPLY_TEXT}"
"""Text that is printed for a percentile that falls on a turn without reply."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the critical path from spoken end to audible."""

    name: StageName
    start_ms: float
    duration_ms: float


@dataclass(frozen=True, slots=True)
class HiddenWork:
    """Work done behind a wait (speculation): drawn beside the waterfall, never summed into it."""

    name: str
    start_ms: float
    duration_ms: float


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The critical path. The stages sum to TTFA; time that no mark explains is a separate stage."""

    stages: tuple[Stage, ...]
    hidden: tuple[HiddenWork, ...] = ()
    refused: tuple[str, ...] = ()
    """Names of impossible values (an effect stamped before its cause), which are not used."""
    clock_uncertainty_ms: float = 0.0
    """Half the range of the offset of a remote agent's clock: borders between the agent's stages and the caller's
    (endpointing, transport) may be wrong by this much. Zero for an agent on the caller's machine."""
    network_uncertainty_ms: float | None = None
    """Uncertainty of the network's share; None where nothing of the network was measured."""


UtteranceKind = Literal["answer", "filler", "backchannel", "speech", "breath", "withdrawn", "nonvocal"]
"""`speech`: an answer, as runs timed before `timing-7` store it."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One stretch of agent sound as heard, and its kind."""

    start_ms: float
    end_ms: float
    kind: UtteranceKind


Fate = Literal["kept", "cut", "already_talking"]
"""The agent's behaviour in a pause of its caller: silent, began to speak, or was speaking when the pause began."""
PauseKind = Literal["mid_sentence", "after_sentence", "unknown"]


@dataclass(frozen=True, slots=True)
class InnerPause:
    """A gap of 200 ms and more inside the caller's turn, marked or not."""

    start_ms: float
    end_ms: float
    fate: Fate
    marked: bool
    place: int
    """Number of the turn's marked pauses before it, which is a marked pause's own index."""
    decided: bool | None = None
    """True if the agent reports that it took the turn for finished here; None where it never reports this."""
    kind: PauseKind = "unknown"
    """Kind by the turn's text (`harness.timing.endpointing`), which a recording does not contain."""

    @property
    def length_ms(self) -> float:
        return self.end_ms - self.start_ms


@dataclass(frozen=True, slots=True)
class Endpointing:
    """The agent's endpointing of one turn. Definitions: docs/measurement.md."""

    method: str
    pauses: tuple[InnerPause, ...]
    dead_air_ms: float | None
    """Spoken end → the first utterance that begins after it; None without one in 15 s, or where it is not trusted."""
    decision_ms: float | None = None
    """Spoken end → the decision that the turn is over, as the agent reports it; negative if before the end."""
    says_decisions: bool = False
    talking_at_end: bool = False
    """True if the agent was speaking when the turn ended: it took the turn too early, whatever it said afterwards."""
    discarded: str | None = None
    """Reason why the utterance after the end is not trusted."""


EventFate = Literal["went_on", "stopped", "spoke_again", "ended", "not_sounding"]
"""Reaction to an event: the agent talked on; fell silent for good, or spoke again; had finished; or was silent already."""


@dataclass(frozen=True, slots=True)
class EventTaken:
    """The agent's reaction to one event beside its speech. Definitions: docs/measurement.md."""

    method: str
    sound: str
    """Name of the event: `mm-hm`, `cough`, … (`harness.store.events`)."""
    at_ms: float
    """The event's onset, on the recording's timeline."""
    fate: EventFate
    stop_ms: float | None = None
    """The event's onset → the agent's last audible sample; None unless it stopped."""
    silent_ms: float | None = None
    """The quiet that followed; None unless it spoke again."""
    cleared: bool = False
    """True if the agent took back audio that it had sent."""
    lost_words: int | None = None
    """Words that the agent reports and nobody heard; None where it reports none, or nothing was transcribed."""
    repeated_words: int = 0
    """Words, heard before it stopped, with which it began again."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """The agent's own speech before the caller's first turn."""

    latency_ms: float
    """The opened line (the caller's first sample) → the first vocal sound."""
    length_ms: float
    """Time from there to the end of its last vocal sound that began before the caller did."""
    talked_over: bool
    """True if the caller began before it was over: that is caused by the harness, and no cut-in of the agent."""


@dataclass(frozen=True, slots=True)
class LineQuality:
    """The line between caller and agent in one session, where it carries a media clock. Definitions: docs/measurement.md."""

    packets: int
    """Packets of the agent's sound that arrived."""
    lost: int
    jitter_ms: float | None
    """Interarrival jitter (RFC 3550, section 6.4.1), of the agent's packets; None for too few."""
    round_trip_ms: float | None = None
    """Median over the far end's reports; None where it sent none."""
    skew_ppm: float | None = None
    """Excess speed of the agent's media clock over the caller's; None for a call too short to measure it."""
    sent_lost: int | None = None
    """Packets of the caller that the far end missed."""
    sent_jitter_ms: float | None = None

    @property
    def lost_share(self) -> float:
        return self.lost / (self.packets + self.lost) if self.packets + self.lost else 0.0


Where = Literal["over_speech", "in_pause", "after_turn"]
PLACES: Final[tuple[Where, ...]] = ("over_speech", "in_pause", "after_turn")


@dataclass(frozen=True, slots=True)
class Duplex:
    """One turn of a full-duplex agent, from the turn's first sample to that of the next. Definitions: docs/measurement.md."""

    caller_ms: float
    """Length of the caller's speech, without pauses of 200 ms and more."""
    agent_ms: float
    """Length of the agent's speech, without backchannels."""
    overlap_ms: float
    """Time in which both speak, without backchannels."""
    murmured_ms: float
    """Time of the caller's speech with a backchannel."""
    where: tuple[Where, ...] = ()
    """The place of each backchannel."""
    cadence_ms: float | None = None
    """Length of the sound of a unit; None, with no units, for an agent that did not send all the time."""
    unit_gaps_ms: tuple[float, ...] = ()
    """The time from each unit to the next, where that was late."""
    units: int = 0


@dataclass(frozen=True, slots=True)
class TurnTiming:
    """All figures of one turn."""

    method: str
    spoken_end_ms: float
    """Spoken end on the recording's timeline: ms since the caller's first sample."""
    ttfa_ms: float | None
    """Spoken end → first vocal sound heard; None when nothing was heard or the turn was discarded."""
    signed_ms: float | None = None
    """Onset of the utterance that sounded at the spoken end, when it began before it: negative."""
    answer_ms: float | None = None
    """Spoken end → onset of the first utterance that is neither backchannel nor filler; `ttfa_ms` where the reply begins with
    its answer. None where TTFA is, where only a filler was heard, or on a turn timed before `timing-7`."""
    backchannels: int = 0
    """Number of the agent's backchannels during this turn and the wait after it: they are no reply, and no cut-in."""
    first_byte_ms: float | None = None
    first_sound_ms: float | None = None
    first_speech_ms: float | None = None
    first_word_ms: float | None = None
    first_substance_ms: float | None = None
    transcribed: bool = False
    """True if the reply was transcribed: otherwise nothing is known of the two figures above."""
    ttft_ms: float | None = None
    """Agent-reported: LLM request → first answer token of the request whose words were spoken."""
    ttft_from_spoken_end_ms: float | None = None
    withdrawn_ms: float | None = None
    """Length of the withdrawn sound that was heard (taken back before it could be understood); None where there was none."""
    reply_end_ms: float | None = None
    utterances: tuple[Utterance, ...] = ()
    pauses_marked: int = 0
    pauses_cut: int = 0
    pause_durations_ms: tuple[float, ...] = ()
    pause_was_cut: tuple[bool, ...] = ()
    endpointing: Endpointing | None = None
    """None where the turn was lost, or timed before this figure existed (`harness measure RUN` computes it)."""
    cut_in: bool = False
    no_reply: bool = False
    yield_ms: float | None = None
    underruns: int = 0
    stalled_ms: float | None = None
    """Longest stall of a stream without end, from the turn's begin to the next one's: its sound was late by as much until late
    silence had been dropped. None without a stall, and for agents that send their replies alone."""
    tokens_per_s: float | None = None
    inter_token_gap_p95_ms: float | None = None
    tts_real_time_factor: float | None = None
    waterfall: Waterfall | None = None
    servers: tuple[ServerSplit, ...] = ()
    """The waits for model servers, split by their own words; none where no server says anything."""
    stages_from: StagesFrom | None = None
    """None where the reply's stages are not known, or the turn was timed before this was stored."""
    stages_resolution_ms: float | None = None
    """Uncertainty of the borders between reported stages; None for marks, which are exact to their clock."""
    discarded: str | None = None
    """Reason why the turn gives no figure (detectors disagree, …); such turns are counted in the report."""
    refused: tuple[str, ...] = ()
    pacing_p99_error_ms: float | None = None
    pacing_max_error_ms: float | None = None
    realtime_ratio: float | None = None
    loop_lag_max_ms: float | None = None
    labels: tuple[str, ...] = field(default=())
    why_silent: str | None = None
    """Reason of a turn without a reply, as far as the wire names it: the server's words, or a function call."""
    event: EventTaken | None = None
    """The event that was played into the reply; None where there was none."""
    greeting: Greeting | None = None
    """Greeting, on a session's first turn; None where the agent let the caller speak first."""
    line: LineQuality | None = None
    """Line of the whole session; None for lines without a media clock."""
    begin_ms: float | None = None
    """The turn's first sample on the recording's timeline; None where that was not stored."""
    own_ms: tuple[tuple[str, float], ...] = ()
    """(asr, llm or tts, the time that it took for the reply), also where that was hidden behind a wait; stored by `load`."""
    duplex: Duplex | None = None
    """None of an agent that is not full duplex."""
    contention: Contention | None = None
    """The part that others on the agent's machine could have caused; None for an agent elsewhere, or where it is not known."""

    @property
    def sound_at_ms(self) -> float | None:
        """Spoken end → the first sound of the reply in its recording; None where there is none. The recording of a reply that
        was in a file begins with it, whatever latency the file states."""
        return (0.0 if self.utterances else None) if self.method == OF_A_FILE else self.ttfa_ms

    @property
    def greeting_ms(self) -> float | None:
        """The opened line → the agent's greeting."""
        return self.greeting.latency_ms if self.greeting is not None else None

    @property
    def first_figure(self) -> tuple[str, float]:
        """The figure that measures the wait for a turn, and its value: the first sound (15 s where none came), or for a text
        model the first token."""
        heard = (self.ttfa_ms, self.signed_ms, NO_REPLY_MS if self.no_reply else None, self.first_sound_ms)
        waited_ms = next((ms for ms in heard if ms is not None), None)
        if waited_ms is None and self.ttft_ms is not None:
            return "ttft", self.ttft_ms
        return "ttfa", waited_ms or 0.0

    def owed_ms(self, figure: str) -> float | None:
        """The most of one figure (`ttfa`, `ttft`, …) that others could have caused; None where it was not measured.

        An older run stored only averages over the turn, which bound all its figures alike.
        """
        return None if self.contention is None else self.contention.owed_ms(figure, self.first_figure[1])

    @property
    def silence_may_be_others(self) -> bool:
        """True for a turn without reply in which others could have had the agent's processors for most of the wait."""
        return self.no_reply and self.discarded is None and (self.owed_ms("ttfa") or 0.0) > SILENCED_MS


def crosses_clocks_unsurely(turn: TurnTiming) -> bool:
    """True if a figure from the caller's clock to the agent's is smaller than the uncertainty of the agent's clock."""
    if turn.waterfall is None or not turn.waterfall.clock_uncertainty_ms:
        return False
    across = [s.duration_ms for s in turn.waterfall.stages if s.name == "endpointing"]
    if turn.ttft_from_spoken_end_ms is not None:
        across.append(abs(turn.ttft_from_spoken_end_ms))
    if turn.endpointing is not None and turn.endpointing.decision_ms is not None:
        across.append(abs(turn.endpointing.decision_ms))
    return any(figure < turn.waterfall.clock_uncertainty_ms for figure in across)
