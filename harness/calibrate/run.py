"""`harness calibrate`: the error of this harness on this machine, over a real socket, against a truth it cannot see.

Nothing is simulated: the caller's process paces real frames, another process answers over a socket, the recording is
measured by the analyser. The true TTFA is the agent's own send stamp, plus where in its audio the voice begins, minus when the
caller's last sample was spoken; both processes read the same monotonic clock. The rest is the error: the way
through the socket, the stamping of arrivals, the playout model and the onset.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from harness.agents.connections import ConnectionSpec
from harness.calibrate.agent_process import RunningAgent, metrology_agent
from harness.calibrate.result import (
    METHOD,
    Calibration,
    Independent,
    LoopLag,
    PacingError,
    TtfaError,
    keep,
    machine_id,
)
from harness.calibrate.voice import synthetic_voice
from harness.caller import CallerProcess, CallerTurn, Limits, SessionPlan
from harness.errors import AgentError
from harness.recording.files import load
from harness.recording.playout import HEARD_RATE_HZ, stereo
from harness.recording.record import FRAME_MS, Recording
from harness.timeline import NS_PER_MS, samples_to_ns
from harness.timing import measure
from harness.timing.figures import TurnTiming
from harness.timing.pacing import errors_ms

TRIALS = 64
"""A few may be discarded, and a 95th percentile still has the 60 that it needs (`harness.statistics.interval`)."""
AT_ONCE = 4
RATE_HZ = 16_000
TURN_S = 1.2
LEAD_IN_MS = 300.0
LIMITS = Limits(quiet_s=0.3, no_reply_s=4.0, total_s=8.0)
NO_ANSWER = "no answer measured"
DETECTOR_DB_BELOW = 40.0
_FRAME = 480

Progress = Callable[[int, int], None]
"""Trials done, trials in all."""


@dataclass(frozen=True, slots=True)
class _Trial:
    recording: Recording
    timing: TurnTiming
    truth: dict[str, Any]
    starts_s: list[float]

    @property
    def true_ms(self) -> float:
        return true_ttfa_ms(self.recording, self.truth)


async def calibrate(
    trials: int = TRIALS,
    *,
    at_once: int = AT_ONCE,
    seed: int | None = None,
    progress: Progress | None = None,
    store: bool = True,
    caller: CallerProcess | None = None,
) -> Calibration:
    """Run the trials, store the result as this machine's newest, and return it. Takes about 3 s × trials ÷ `at_once`.

    `caller` is a process that plays other calls as well and goes on running; without one, one is started and ended.

    Raises:
        AgentError: the metrology agent or the caller does not start or dies, or hardly any trial could be measured.
        StorageError, OSError: the recordings or the result could not be written.
    """
    drawn = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
    calling = caller if caller is not None else CallerProcess()
    await calling.start()
    try:
        result = _result(await _played(calling, drawn, trials, at_once, progress), calling.priority)
    finally:
        if caller is None:
            await calling.stop()
    if store:
        keep(result)
    return result


async def _played(caller: CallerProcess, seed: int, trials: int, at_once: int, progress: Progress | None) -> Sequence[_Trial]:
    turn = caller_turn(seed)
    lanes = asyncio.Semaphore(at_once)
    done = Counter[str]()

    async def play(agent: RunningAgent, folder: Path) -> None:
        async with lanes:
            spec = ConnectionSpec("raw-pcm", f"{agent.url}/{folder.name}")
            outcome = await caller.play(SessionPlan(spec, (turn,), RATE_HZ, lead_in_ms=LEAD_IN_MS, limits=LIMITS), folder)
        if outcome.failure_kind in ("caller_died", "caller_error"):
            raise AgentError(f"the caller failed: {outcome.detail}")
        done["played"] += 1
        if progress is not None:
            progress(done["played"], trials)

    with tempfile.TemporaryDirectory(prefix="calibrate-", ignore_cleanup_errors=True) as parent:
        folders = _folders(Path(parent), trials)
        async with metrology_agent(seed, trials, keep_arrivals=True) as agent:
            calls = [asyncio.create_task(play(agent, folder)) for folder in folders]
            try:
                await asyncio.gather(*calls)
            finally:
                for call in calls:
                    call.cancel()
                await asyncio.gather(*calls, return_exceptions=True)
            truths = await agent.truth()
        # In a thread, one after the other: Ctrl-C waits for one trial at most, and calls made later are not slowed.
        return [await asyncio.to_thread(_measured, folder, truths[f"/{folder.name}"]) for folder in folders]


def _folders(parent: Path, trials: int) -> list[Path]:
    folders = [parent / str(k) for k in range(trials)]
    for folder in folders:
        folder.mkdir()
    return folders


def true_ttfa_ms(recording: Recording, truth: Mapping[str, Any]) -> float:
    """The true TTFA of a call to the metrology agent, from the agent's own stamp."""
    caller = recording.caller
    spoken_end_ns = caller.t0_ns + samples_to_ns(caller.speech_end_sample, caller.rate_hz)
    return float((truth["sent_ns"] - spoken_end_ns) / NS_PER_MS + truth["onset_ms"])


def caller_turn(seed: int) -> CallerTurn:
    """The caller's turn of a trial, in a synthetic voice."""
    voice = synthetic_voice(TURN_S, RATE_HZ, np.random.default_rng(seed)) * 0.08 * 32768
    return CallerTurn(np.clip(voice, -32768, 32767).astype(np.int16))


def _measured(folder: Path, truth: dict[str, Any]) -> _Trial:
    recording = load(folder)
    timing = measure(recording)
    starts: list[float] = []
    if truth["program"]["snr_db"] is None and find_spec("av") is not None:
        exported = folder / "heard.flac"
        soundfile.write(exported, stereo(recording), HEARD_RATE_HZ)
        starts = sound_starts_s(exported, truth["program"]["level_db"] - DETECTOR_DB_BELOW)
    return _Trial(recording, timing, truth, starts)


def sound_starts_s(path: Path, threshold_db: float, channel: int = 1, shortest_silence_s: float = 0.05) -> list[float]:
    """Times at which the silences of one channel of a file end, in seconds, by ffmpeg's `silencedetect`.

    It is an independent check of the onset by code from elsewhere, without windows, models or noise floors: it reports the
    first sample over a level. On a clean reply it must find the onset where the analyser does. ffmpeg's own code is used
    through PyAV, which the extra `local` brings (faster-whisper needs it), so that no program has to be installed.
    """
    import av
    import av.logging

    samples, rate_hz = soundfile.read(path, dtype="float32", always_2d=True)
    graph = av.filter.Graph()
    source = graph.add_abuffer(sample_rate=rate_hz, format="fltp", layout="mono")
    detector = graph.add("silencedetect", f"noise={threshold_db:.2f}dB:d={shortest_silence_s}")
    sink = graph.add("abuffersink")
    source.link_to(detector)
    detector.link_to(sink)
    graph.configure()
    before = av.logging.get_level()
    av.logging.set_level(av.logging.INFO)
    try:
        with av.logging.Capture() as lines:
            for at in range(0, len(samples), _FRAME):
                part = np.ascontiguousarray(samples[None, at : at + _FRAME, channel])
                frame = av.AudioFrame.from_ndarray(part, format="fltp", layout="mono")
                frame.sample_rate, frame.pts = rate_hz, at
                source.push(frame)
                while True:
                    try:
                        sink.pull()
                    except (av.BlockingIOError, EOFError):
                        break
    finally:
        av.logging.set_level(before)
    return [float(text.split("silence_end:")[1].split("|")[0]) for _, _, text in lines if "silence_end" in text]


def _result(played: Sequence[_Trial], priority: str) -> Calibration:
    measured = [t for t in played if t.timing.ttfa_ms is not None]
    discarded = Counter(t.timing.discarded or NO_ANSWER for t in played if t.timing.ttfa_ms is None)
    if len(measured) < max(2, len(played) // 2):
        raise AgentError(f"only {len(measured)} of {len(played)} trials could be measured: {dict(discarded)}")
    errors = np.array([(t.timing.ttfa_ms or 0.0) - t.true_ms for t in measured])
    size = np.abs(errors)
    lags = np.array([lag for t in played for lag in t.recording.loop_lag_ms])
    return Calibration(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine_id(),
        method=METHOD,
        priority=priority,
        trials=len(played),
        discarded=dict(discarded),
        ttfa_error_ms=TtfaError(
            bias=float(errors.mean()),
            p50=float(np.percentile(size, 50)),
            p95=float(np.percentile(size, 95)),
            p99=float(np.percentile(size, 99)),
            max=float(size.max()),
        ),
        pacing_error_ms=_pacing(np.concatenate([errors_ms(t.recording.caller) for t in played])),
        arrival_error_ms=_pacing(np.concatenate([_arrival_errors_ms(t) for t in played])),
        loop_lag_ms=LoopLag(p99=float(np.percentile(lags, 99)), max=float(lags.max())),
        independent=_independent(measured),
    )


def _pacing(errors: NDArray[np.float64]) -> PacingError:
    size = np.abs(errors)
    return PacingError(p99=float(np.percentile(size, 99)), p999=float(np.percentile(size, 99.9)), max=float(size.max()))


def _arrival_errors_ms(trial: _Trial) -> NDArray[np.float64]:
    arrivals = np.array(trial.truth["arrivals_ns"], np.int64)
    due = trial.recording.caller.t0_ns + (np.arange(len(arrivals), dtype=np.int64) + 1) * FRAME_MS * NS_PER_MS
    late: NDArray[np.float64] = (arrivals - due) / NS_PER_MS
    return late


def _independent(measured: list[_Trial]) -> Independent | None:
    """Distance between ffmpeg's first sound after the spoken end and ours, on clean trials."""
    apart = []
    for trial in measured:
        onset_s = (trial.timing.spoken_end_ms + (trial.timing.ttfa_ms or 0.0)) / 1000
        if trial.starts_s:
            apart.append(min(abs(start - onset_s) for start in trial.starts_s) * 1000)
    if not apart:
        return None
    return Independent(
        tool="ffmpeg silencedetect", trials=len(apart), p95_ms=float(np.percentile(apart, 95)), max_ms=max(apart)
    )
