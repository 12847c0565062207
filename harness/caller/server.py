"""The caller's own process: waits for plans on standard input, plays them, answers in JSON lines on standard output.

Everything that could delay a frame is done before the first one: modules are imported, the garbage collector is frozen
and stopped (it runs between sessions, when no frame is due), the interpreter switches threads often enough that a thread
writing a finished recording cannot delay the pacer. When standard input ends, the run that owned this process is gone,
and this process ends too.

In:  {"id": 1, "folder": "/run/session", "connection": {…}, "secrets": […], "at_ns": null}
     a folder with a plan; texts to mask; when to dial, on the monotonic clock (null: at once)
Out: {"event": "ready", "priority": "SCHED_FIFO 20"}
     {"id": 1, "ended": "quiet", "failure_kind": null, "detail": "", "begun_ns": 1}   its recording is in the folder
"""

import asyncio
import contextlib
import gc
import json
import os
import sys
import traceback
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import numpy as np
import soxr
from numpy.typing import NDArray

from harness.agents.connections import ConnectionSpec, make
from harness.agents.secrets import RedactedOutput, learn, redact_foreign
from harness.caller.exchange import read_plan, write_raw
from harness.caller.listener import Listener
from harness.caller.pacer import Pacer, precise_loop, until
from harness.caller.plan import NOT_WRITTEN, CallerTurn, SessionOutcome, SessionPlan
from harness.caller.session import play_session
from harness.clock import now_ns
from harness.recording.record import Pause, Recording
from harness.with_parent import prctl


def at_rate(plan: SessionPlan, rate_hz: int) -> SessionPlan:
    """The same plan with its audio at `rate_hz`.

    Agents differ in their input rate (8 kHz telephony, 16 kHz pipecat, 24 kHz realtime APIs). The recording keeps the signal
    at the line's rate, the one that was really sent. A marked pause stays true silence: the resampler's ringing, a few
    milliseconds at each edge, is set to zero.
    """
    if plan.rate_hz == rate_hz:
        return plan
    turns = tuple(_turn(turn, plan.rate_hz, rate_hz) for turn in plan.turns)
    noise = None if plan.line_noise is None else _resampled(plan.line_noise, plan.rate_hz, rate_hz)
    return replace(plan, turns=turns, rate_hz=rate_hz, line_noise=noise)


def _turn(turn: CallerTurn, from_hz: int, to_hz: int) -> CallerTurn:
    pauses = tuple(Pause(p.start_sample * to_hz // from_hz, p.end_sample * to_hz // from_hz) for p in turn.pauses)
    played = _resampled(turn.played, from_hz, to_hz)
    dry = played.copy() if turn.dry is None else _resampled(turn.dry, from_hz, to_hz)
    for pause in pauses:
        dry[pause.start_sample : pause.end_sample] = 0
        if turn.dry is None:
            played[pause.start_sample : pause.end_sample] = 0
    return replace(turn, played=played, dry=None if turn.dry is None else dry, pauses=pauses)


def _resampled(samples: NDArray[np.int16], from_hz: int, to_hz: int) -> NDArray[np.int16]:
    out: NDArray[np.int16] = soxr.resample(samples, from_hz, to_hz, quality="VHQ").astype(np.int16)
    return out


FIFO_PRIORITY = 20
"""Above every ordinary process, below the kernel's own threads (interrupt threads run at 50)."""
NICE = -10
TIMER_SLACK_NS = 1
"""Linux lets an ordinary thread's timers fire up to 50 µs late unless set otherwise."""
_PR_SET_TIMERSLACK = 29


def raise_priority() -> str:
    """Take the best priority that this system grants; returns its name for the manifest.

    The caller runs before everything else on the machine, as a sound card would. The agent under test often occupies every
    core. A microphone does not slow down because of that, so the pacer must not either: a real-time scheduling class where
    the system allows it, else a negative nice value, else a statement that neither was allowed (the run's measured pacing
    error then shows the cost).
    """
    prctl(_PR_SET_TIMERSLACK, TIMER_SLACK_NS)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(FIFO_PRIORITY))
    except (AttributeError, OSError):
        try:
            return f"nice {os.nice(NICE)}"
        except OSError:
            return "ordinary (no permission for real-time scheduling or a negative nice value)"
    return f"SCHED_FIFO {FIFO_PRIORITY}"


SWITCH_INTERVAL_S = 0.0005
"""Python's default of 5 ms is a quarter of a frame: too long for the pacer to wait for another thread."""


class _Server:
    def __init__(self, answers: BinaryIO) -> None:
        self._answers = answers
        self._pacer = Pacer()
        self._playing: set[asyncio.Task[None]] = set()
        # One file at a time: a hundred threads that write at once would fight the pacer for the interpreter.
        self._disk = asyncio.Semaphore(1)

    def answer(self, message: dict[str, Any]) -> None:
        self._answers.write(json.dumps(message).encode() + b"\n")
        self._answers.flush()

    def begin(self, line: bytes) -> None:
        task = asyncio.create_task(self._play(json.loads(line)))
        self._playing.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._playing.discard(task)
        if not self._playing:
            gc.collect()

    async def _play(self, request: dict[str, Any]) -> None:
        folder, begun_ns = Path(request["folder"]), None
        learn(request["secrets"])
        try:
            async with self._disk:
                plan = await asyncio.to_thread(read_plan, folder, ConnectionSpec.from_json(request["connection"]))
                connection = make(plan.connection)
                plan = await asyncio.to_thread(at_rate, plan, connection.capabilities.input_rate_hz)
            if request["at_ns"] is not None:
                await until(request["at_ns"])
            begun_ns = now_ns()
            recording, outcome = await play_session(plan, connection, self._pacer)
            async with self._disk:
                outcome = await asyncio.to_thread(_written, recording, folder, outcome)
        except Exception as error:
            # The log may be on the very disk that is full, and the run waits for an answer.
            with contextlib.suppress(OSError):
                sys.stderr.write(redact_foreign(traceback.format_exc()))
            outcome = SessionOutcome("failed", "caller_error", f"{type(error).__name__}: {error}")
        # A token that was given for this call is known here alone.
        self.answer({"id": request["id"], **asdict(replace(outcome, begun_ns=begun_ns, detail=redact_foreign(outcome.detail)))})


def _written(recording: Recording, folder: Path, outcome: SessionOutcome) -> SessionOutcome:
    try:
        write_raw(recording, folder)
    except OSError as error:
        return SessionOutcome("failed", NOT_WRITTEN, str(error.strerror or error))
    return outcome


async def _serve(answers: BinaryIO) -> None:
    server = _Server(answers)
    Listener()  # loads the speech model, which takes longer than a frame
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    priority = raise_priority() if "--ordinary" not in sys.argv else "ordinary (asked for)"
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.collect()
    gc.freeze()
    gc.disable()
    server.answer({"event": "ready", "priority": priority})
    while line := await reader.readline():
        server.begin(line)


def main() -> None:
    """Serve until standard input ends."""
    # Standard output is for answers only: text that a library prints must not come between them.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stderr = cast(TextIO, RedactedOutput(sys.stderr))
    sys.stdout = cast(TextIO, RedactedOutput(sys.stdout))
    with asyncio.Runner(loop_factory=precise_loop) as runner:
        runner.run(_serve(answers))
