"""The report of a test call: does the profile work, which figures will be measured, and what do the others need.

Each line follows directly from the recording. A figure that cannot be measured is reported *before* a night of calls is
spent, with the one line of profile or bot that would add it.
"""

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Final, Literal

from harness.agent_check.call import WORDS_SPOKEN, Trial
from harness.agent_check.wrong_sound import OF_THE_SOUND, paced_rate_hz, why_no_answer
from harness.agents.connection import ENDS_TURNS, FELL_BACK, IGNORED, ODD_SOUND, OF_THE_CONNECTION
from harness.agents.connections.inbox import NOTED
from harness.agents.connections.spec import about
from harness.agents.profile import AgentProfile, TextProfile
from harness.agents.text import IT_THINKS
from harness.audio.level import first_sample
from harness.audio.vocal import silero
from harness.figures.circumstances import OnsetError
from harness.figures.latency import MUCH_LOST, line_words
from harness.recording.record import Recording
from harness.recording.why_silent import with_words
from harness.replies.agent_words import understood
from harness.run.greetings import FIND_OUT_S
from harness.timeline import NS_PER_MS, samples_to_ns
from harness.timing.figures import IN_FULL, Duplex, TurnTiming
from harness.timing.interruptions import SILENT_S
from harness.timing.utterances import TALK
from harness.wording import counted, milliseconds

Verdict = Literal["ok", "failed", "not so", "unknown"]
"""`not so`: the agent works without it; `unknown`: the call does not show it."""
HEARD_SHARE: Final = 0.4
"""Share of the spoken words that a transcript must contain: a choice, above chance and below what a weak recogniser reaches
on a clean line."""

MOST_QUOTED: Final = 5
"""Ignored messages that are shown: enough to see which protocol it is."""
TELEPHONE: Final = "sip"
"""The kind whose marks `sip.…` are the connection's own; those of any other agent are whatever it sends."""

_NO_WAY: Final = "not possible with this protocol"
_TRACES: Final = (
    "this protocol carries none; from traces: OpenTelemetry spans of the bot (enable_tracing=True and an OTLP exporter; "
    "docs/agents.md, Traces)"
)
_TRACES_IF_STARTED: Final = f"{_TRACES}, once the harness starts it ([process]) and so gives it the address for them"


@dataclass(frozen=True, slots=True)
class Check:
    """One check, with its result."""

    name: str
    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Measurable:
    """One figure of a run: if it will be measured, and what it needs if not."""

    figure: str
    there: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class OneCall:
    """The first figure of an agent, from one call: no more than a first look, because the next call may take longer."""

    figure: Literal["TTFA", "TTFT"]
    ms: float
    within_ms: float | None = None
    """The error of its measurement on this machine; None where this machine was not calibrated, and for TTFT."""
    words: str = ""


@dataclass(frozen=True, slots=True)
class TrialReport:
    """The report. `works`: a run with this profile will have answers to measure. `takes_history`: it can be played seeded."""

    works: bool
    checks: tuple[Check, ...]
    figures: tuple[Measurable, ...]
    log: str = ""
    takes_history: bool = True
    one_call: OneCall | None = None


def report_of(profile: AgentProfile, trial: Trial, error: OnsetError | None = None) -> TrialReport:
    """The report of a test call. `error`: that of this machine's measurements, where it was calibrated."""
    if trial.reply is not None:
        ttft_ms = trial.timing.ttft_ms if trial.timing else None
        answered = Check("answers", "ok", f'"{_short(trial.reply)}", first token after {ttft_ms:,.0f} ms')
        heard = Measurable("TTFA", False, "a text model has no sound")
        unknown = trial.thought and isinstance(profile, TextProfile) and not profile.thinks
        thinks = (Check("thinks", "not so", IT_THINKS),) if unknown else ()
        first = (
            OneCall("TTFT", ttft_ms, None, f"TTFT {milliseconds(ttft_ms)} in this one request") if ttft_ms is not None else None
        )
        said = (Check("reached", "ok"), answered, *thinks)
        return TrialReport(True, said, (Measurable("TTFT", True), heard), one_call=first)
    checks = tuple(_checks(profile, trial))
    works = not any(check.verdict == "failed" for check in checks)
    figures = tuple(_figures(profile, trial)) if works else ()
    first = _first_figure(trial.timing, error) if works and trial.timing is not None else None
    return TrialReport(works, checks, figures, "" if works else trial.log, trial.history_given, first)


def _first_figure(timing: TurnTiming, error: OnsetError | None) -> OneCall | None:
    if timing.ttfa_ms is None:
        return None
    known = (
        f"measured to within {error.words}" if error is not None else "the first run finds out how well this machine measures"
    )
    words = f"TTFA {milliseconds(timing.ttfa_ms)} in this one call ({known}); the next call may take longer, or less"
    return OneCall("TTFA", timing.ttfa_ms, error.within_ms if error is not None else None, words)


def _checks(profile: AgentProfile, trial: Trial) -> Iterator[Check]:
    outcome, recording, timing = trial.outcome, trial.recording, trial.timing
    if outcome.failure_kind is not None and (recording is None or not recording.caller.turns):
        detail = with_words(outcome.detail, recording.marks if recording is not None else ())
        yield Check("reached", "failed", f"{outcome.failure_kind}: {detail}")
        return
    yield Check("reached", "ok", _picked_up(recording) if profile.kind == TELEPHONE else "")
    if recording is None or timing is None:
        yield Check("called", "failed", outcome.detail or "the call left no recording")
        return
    for mark in recording.marks:
        if mark.name == FELL_BACK:
            yield Check("wire", "not so", str(mark.detail.get("why", "")))
        if mark.name == ENDS_TURNS:
            yield Check("turns", "not so", str(mark.detail.get("why", "")))
    if trial.history_given:
        yield Check("history", "ok", "given and acknowledged: use --mode seeded (default)")
    else:
        yield Check("history", "not so", trial.no_history or "not accepted: use --mode replay")
    heard = f"{recording.agent_rate_hz:,} Hz" if len(recording.agent_pcm) else "nothing"
    yield Check("sound", "ok" if len(recording.agent_pcm) else "failed", f"sent {recording.caller.rate_hz:,} Hz, got {heard}")
    yield from _oddities(recording, type(profile).model_fields.keys())
    if timing.line is not None:
        yield Check("line", "ok" if timing.line.lost_share <= MUCH_LOST else "not so", line_words(timing.line))
    if timing.duplex is not None:
        yield _full_duplex(timing.duplex)
    yield _greeting(profile, timing)
    settings = type(profile).model_fields.keys()
    wire = about(profile.kind)
    yield _answer(trial, recording, timing, settings, wire.silent if wire else "")
    yield _hears_us(understood(recording), settings)
    yield _interruption(recording, timing)
    # Marks of the telephone network are not the agent's own.
    of_network = ("sip.",) if profile.kind == TELEPHONE else ()
    names = {mark.name for mark in recording.marks if not mark.name.startswith((OF_THE_CONNECTION, *of_network))}
    yield Check(
        "says of itself",
        "ok" if names else "not so",
        f"{counted(len(names), 'kind')} of marks" if names else "no marks received",
    )


def _oddities(recording: Recording, settings: Set[str]) -> Iterator[Check]:
    """What the connection noticed of the sound and the messages."""
    if (paced_hz := paced_rate_hz(recording)) is not None:
        named = next((setting for setting in OF_THE_SOUND if setting in settings), "the rate that it states")
        paced = f"{paced_hz:,} samples a second come at an even pace, and it states {recording.agent_rate_hz:,} Hz"
        yield Check("rate", "not so", f"{paced}: if it sounds slow or quick, check {named}")
    for mark in recording.marks:
        if mark.name == ODD_SOUND:
            yield Check("channels", "not so", str(mark.detail.get("why", "")))
    ignored = [str(mark.detail.get("message", "")) for mark in recording.marks if mark.name == IGNORED]
    if ignored:
        count = f"{len(ignored)} messages or more" if len(ignored) >= NOTED else counted(len(ignored), "message")
        yield Check("messages", "not so", f"ignored {count} that this wire does not know: {'; '.join(ignored[:MOST_QUOTED])}")


def _picked_up(recording: Recording | None) -> str:
    """How a telephone was answered; empty for other wires."""
    answered = next((mark.detail for mark in recording.marks if mark.name == "sip.answered"), None) if recording else None
    if answered is None:
        return ""
    return f"answered after {answered['after_ms']} ms, of which it rang {answered['rang_ms']} ms; codec {answered['codec']}"


def _full_duplex(found: Duplex) -> Check:
    if found.cadence_ms is None:
        return Check("full duplex", "not so", "its sound stops while it is silent: no unit of it can be late")
    late = f"{len(found.unit_gaps_ms):,} of {counted(found.units, 'unit')} of {found.cadence_ms:,.0f} ms late"
    return Check("full duplex", "ok", f"sends all the time; {late}")


def _greeting(profile: AgentProfile, timing: TurnTiming) -> Check:
    found = timing.greeting
    if found is None and profile.speaks_first is None and (timing.cut_in or timing.backchannels) and not timing.duplex:
        late = f"none within {FIND_OUT_S:g} s; if its speech during the caller's turn is one, set greets = true"
        return Check("greeting", "unknown", late)
    if found is None:
        missed = profile.speaks_first is True
        return Check("greeting", "unknown" if missed else "not so", "greets = true, but none was heard" if missed else "none")
    said = "" if profile.speaks_first else "; greets = true in the profile saves this wait"
    over = ", and the caller had to begin during it" if found.talked_over else ""
    return Check("greeting", "ok", f"after {found.latency_ms:,.0f} ms, {found.length_ms / 1000:.1f} s long{over}{said}")


def _answer(trial: Trial, recording: Recording, timing: TurnTiming, settings: Set[str], usual: str) -> Check:
    if trial.outcome.failure_kind is not None:
        why = with_words(trial.outcome.detail, recording.marks)
        return Check("answers", "failed", f"{trial.outcome.failure_kind}: {why}")
    if timing.no_reply:
        spoke = any(utterance.kind in (*TALK, "backchannel") for utterance in timing.utterances)
        return Check("answers", "failed", why_no_answer(recording, silero(), settings, spoke, usual))
    if timing.signed_ms is not None:
        return Check("answers", "ok", f"began {-timing.signed_ms:,.0f} ms before the caller had finished")
    if timing.ttfa_ms is None:
        return Check("answers", "unknown", f"the reply cannot be timed: {timing.discarded}")
    return Check("answers", "ok", f"TTFA {timing.ttfa_ms:,.0f} ms in this one call")


def _hears_us(came_back: str | None, settings: Set[str]) -> Check:
    if came_back is None:
        return Check("hears us", "unknown", "it gives no transcript of the caller")
    spoken, came = _words(WORDS_SPOKEN), _words(came_back)
    back = sum(word in came for word in spoken)
    enough = back >= HEARD_SHARE * len(spoken)
    detail = f'{back} of {len(spoken)} words in its transcript: "{_short(came_back)}"'
    setting = next((name for name in ("input_rate_hz", "encoding") if name in settings), "the rate that it takes the sound for")
    rate = "" if enough else f"; if what it hears sounds wrong, check {setting}"
    return Check("hears us", "ok" if enough else "unknown", detail + rate)


def _interruption(recording: Recording, timing: TurnTiming) -> Check:
    if timing.yield_ms is None:
        label = timing.labels[0] if timing.labels else "its reply was too short to be interrupted"
        return Check("yields", "unknown", label)
    silent = f"silent {timing.yield_ms:,.0f} ms after the caller interrupted"
    if _took_back(recording, timing.yield_ms):
        return Check("yields", "ok", silent)
    # An agent that sends in real time can stop without a mark; so can one whose reply is over.
    return Check("yields", "unknown", f"{silent}, but it withdrew no sound: the reply may simply have ended")


def _took_back(recording: Recording, yield_ms: float) -> bool:
    """True if the agent dropped sound between the interruption and the end of its reply."""
    caller = recording.caller
    spoken = next((turn for turn in caller.turns if turn.kind == "barge_in"), None)
    if spoken is None:
        return False
    begun_ns = caller.t0_ns + samples_to_ns(spoken.start_sample, caller.rate_hz)
    onset_ns = samples_to_ns(
        first_sample(caller.dry[spoken.start_sample : spoken.end_sample], caller.rate_hz) or 0, caller.rate_hz
    )
    over_ns = begun_ns + onset_ns + round((yield_ms + SILENT_S * 1000) * NS_PER_MS)
    return any(begun_ns <= clear_ns <= over_ns for clear_ns in recording.clears_ns)


def _figures(profile: AgentProfile, trial: Trial) -> Iterator[Measurable]:
    recording, timing = trial.recording, trial.timing
    assert recording is not None
    assert timing is not None
    yield Measurable("TTFA, cut-ins, pauses cut, yield", True, "from the sound")
    wire = about(profile.kind)
    yield _or_what_brings("conversation so far (seeded)", trial.history_given, "", (wire and wire.brings_history) or _NO_WAY)
    source = IN_FULL[timing.stages_from] if timing.stages_from else ""
    traced = _TRACES if profile.process_settings is not None else _TRACES_IF_STARTED
    brings = (wire and wire.brings_ttft) or traced
    yield _or_what_brings("TTFT", timing.ttft_ms is not None, source, brings)
    yield _or_what_brings("waterfall", bool(timing.stages_from), _explained(timing), brings)
    words = understood(recording) is not None
    yield _or_what_brings("word errors of its recogniser", words, "", (wire and wire.brings_words) or _NO_WAY)


def _or_what_brings(figure: str, there: bool, detail: str, brings: str) -> Measurable:
    return Measurable(figure, there, detail if there else f"add: {brings}" if brings != _NO_WAY else brings)


def _explained(timing: TurnTiming) -> str:
    if timing.waterfall is None or not timing.ttfa_ms:
        return ""
    rest_ms = sum(stage.duration_ms for stage in timing.waterfall.stages if stage.name == "unexplained")
    return f"{100 * (1 - rest_ms / timing.ttfa_ms):.0f} % of the time explained"


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def _short(text: str, limit: int = 70) -> str:
    line = " ".join(text.split())
    return line[:limit] + ("…" if len(line) > limit else "")
