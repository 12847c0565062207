"""A short test call to an agent, to find out if its profile works and which figures a run can measure.

The agent is dialled first, for what is wrong with its address or its key. The call is then a small version of a run's call: the
agent is started as a run starts it, gets a history if it takes one, greets, is spoken to, interrupted, and measured by the same
methods. So the result is valid for a run. Only the agent's log is saved.
"""

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness import models
from harness.agents.connection import ConnectionFailed
from harness.agents.connections import make
from harness.agents.message import Message
from harness.agents.profile import AgentProfile, TextProfile
from harness.agents.secrets import redact_foreign
from harness.agents.text import TextFailed
from harness.agents.text import ask as ask_endpoint
from harness.audio.pcm import resample
from harness.audio.speech import RenderedTurn
from harness.audio.vocal import silero
from harness.caller import CallerProcess, CallerTurn, Limits, SessionOutcome, SessionPlan
from harness.clock import now_ns
from harness.errors import AgentError
from harness.local_programs import local_python
from harness.progress import RunProgress
from harness.recording.files import load
from harness.recording.record import Recording
from harness.recording.span_file import SPANS_FILE, save_spans
from harness.run.greetings import Greetings
from harness.run.running_agents import RunningAgents
from harness.scenarios.context import Turn
from harness.scenarios.pack import load_pack
from harness.timing import measure_turns
from harness.timing.figures import TurnTiming
from harness.voices.choice import open_voices
from harness.voices.event_turns import WORDS

WORDS_SPOKEN = "Hello, can you hear me? My brother moved out on Sunday morning."
HISTORY = (
    Message("user", "I cannot sleep these days."),
    Message("assistant", "I am sorry to hear that. What keeps you awake?"),
)
INTO_REPLY_MS = 700.0
"""Time into the speech of the reply at which the caller interrupts: late enough to be sure of it, early enough for a short
reply."""
_LIMITS = Limits(quiet_s=1.5, no_reply_s=15.0, total_s=20.0)
_VOICE = "clear"


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one call. `recording` is None if the agent could not be called at all."""

    outcome: SessionOutcome
    recording: Recording | None = None
    timing: TurnTiming | None = None
    history_given: bool = False
    no_history: str = ""
    """Why an agent that takes a history by its profile was given none; empty for any other."""
    log: str = ""
    """The last lines of the agent's log from the call."""
    reply: str | None = None
    """The reply of a text model."""
    thought: bool = False
    """True if that model reasoned before it replied."""


async def try_agent(profile: AgentProfile, logs: Path, progress: RunProgress) -> Trial:
    """Start the agent, call it once (or send a request to a text model), and stop it. `logs` is a folder for its output.

    Raises:
        AgentError: it cannot be started, or does not answer at its profile's address.
        UserError: a package for speech is not installed.
    """
    weights = {name: models.resolve(name) for name in profile.weights}
    if isinstance(profile, TextProfile):
        return await _ask(profile, weights, logs, progress)
    local_python("speaking to an agent and hearing it", progress)
    async with RunningAgents((profile,), weights, logs, progress) as running:
        # Before any voice is rendered: a wrong address or key is then said in a second.
        history, dialled = await _dialled(profile, running, progress)
        if dialled is not None and dialled.failure_kind is not None:
            return Trial(dialled, log=running.words_since(profile.name, 0))
        no_history = dialled.detail if dialled is not None else ""
        progress.phase("Rendering the caller", 2)
        spoken = await asyncio.to_thread(_rendered, profile)
        caller = CallerProcess()
        await caller.start()
        try:
            trial = await _call(profile, running, caller, spoken, history, progress)
            return replace(trial, no_history=no_history)
        finally:
            await caller.stop()


async def _dialled(
    profile: AgentProfile, running: RunningAgents, progress: RunProgress
) -> tuple[tuple[Message, ...], SessionOutcome | None]:
    """Open a call and close it again. The history to give in the next one, and what is wrong: a failure, or in `detail` alone
    the reason why the agent takes no history after all; None if nothing is."""
    progress.phase("Dialling", 1)
    history = HISTORY if profile.accepts_a_history else ()
    connection = make(running.connection(profile.name))
    try:
        await connection.open(history)
    except ConnectionFailed as error:
        if error.kind == "no_history":
            return (), SessionOutcome("dialled", None, redact_foreign(str(error)))
        return history, SessionOutcome("failed", error.kind, redact_foreign(str(error)))
    finally:
        await connection.close()
    progress.step("dialled")
    return history, None


def _rendered(profile: AgentProfile) -> list[RenderedTurn]:
    voices = open_voices(load_pack("heart-mini"), taken=profile.own_voices)
    return [voices.render(Turn(role="seeker", text=text), _VOICE) for text in (WORDS_SPOKEN, WORDS["interruption"])]


async def _call(
    profile: AgentProfile,
    running: RunningAgents,
    caller: CallerProcess,
    spoken: list[RenderedTurn],
    history: tuple[Message, ...],
    progress: RunProgress,
) -> Trial:
    progress.phase("Calling", 1)
    connection = running.connection(profile.name)
    rate_hz = int(connection.options.get("input_rate_hz", 16_000))
    first, second = (resample(turn.samples, turn.rate_hz, rate_hz) for turn in spoken)
    plan = SessionPlan(
        connection=connection,
        turns=(CallerTurn(first), CallerTurn(second, start="into_reply", offset_ms=INTO_REPLY_MS)),
        rate_hz=rate_hz,
        history=history,
        limits=_LIMITS,
        greeting=Greetings().of(profile),
        reply_ends_after_ms=profile.reply_silence_ms,
        full_duplex=profile.is_full_duplex,
    )
    log_end = running.log_end(profile.name)
    with tempfile.TemporaryDirectory(prefix="trial-") as parent:
        folder = Path(parent)
        started_ns = now_ns()
        outcome = await caller.play(plan, folder)
        if spans := running.spans(profile.name, started_ns, now_ns()):
            save_spans(spans, folder)
        recording = _read(folder)
    log = running.words_since(profile.name, log_end)
    turns = measure_turns(recording, silero()) if recording is not None and recording.caller.turns else ()
    progress.step("called")
    return Trial(outcome, recording, turns[0] if turns else None, bool(plan.history), log)


def _read(folder: Path) -> Recording | None:
    return load(folder) if any(path.name != SPANS_FILE for path in folder.iterdir()) else None


async def _ask(profile: TextProfile, weights: Mapping[str, Path], logs: Path, progress: RunProgress) -> Trial:
    async with RunningAgents((profile,), weights, logs, progress) as running:
        progress.phase("Asking", 1)
        try:
            reply = await ask_endpoint(profile, [*HISTORY, Message("user", WORDS_SPOKEN)], running.url(profile.name))
        except TextFailed as failed:
            raise AgentError(f'agent "{profile.name}": {failed}') from failed
    timing = TurnTiming(method="trial", spoken_end_ms=0.0, ttfa_ms=None, ttft_ms=reply.ttft_ms)
    return Trial(SessionOutcome("answered"), None, timing, True, reply=reply.text, thought=reply.thought)
