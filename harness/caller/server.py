"""The caller's own process: waits for plans on standard input, plays them, answers in JSON lines on standard output.

Everything that could delay a frame is done before the first one: modules are imported, the garbage collector is frozen
and stopped (it runs between sessions, when no frame is due), the interpreter switches threads often enough that a thread
writing a finished recording cannot delay the pacer. When standard input ends, the run that owned this process is gone,
and this process ends too.

In:  {"id": 1, "folder": "/run/session", "connection": {…}, "secrets": […]}      a folder with a plan; texts to mask
Out: {"event": "ready", "priority": "SCHED_FIFO 20"}
     {"id": 1, "ended": "quiet", "failure_kind": null, "detail": ""}   its recording is in the folder
"""

import asyncio
import contextlib
import gc
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from harness.agents.connections import ConnectionSpec, make
from harness.agents.secrets import RedactedOutput, learn
from harness.caller.exchange import read_plan, write_raw
from harness.caller.pacer import Pacer, precise_loop
from harness.caller.plan import NOT_WRITTEN, SessionOutcome
from harness.caller.priority import raise_priority
from harness.caller.rates import at_rate
from harness.caller.session import play_session
from harness.recording.record import Recording

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
        folder = Path(request["folder"])
        learn(request["secrets"])
        try:
            async with self._disk:
                plan = await asyncio.to_thread(read_plan, folder, ConnectionSpec.from_json(request["connection"]))
                connection = make(plan.connection)
                plan = await asyncio.to_thread(at_rate, plan, connection.capabilities.input_rate_hz)
            recording, outcome = await play_session(plan, connection, self._pacer)
            async with self._disk:
                outcome = await asyncio.to_thread(_written, recording, folder, outcome)
        except Exception as error:
            # The log may be on the very disk that is full, and the run waits for an answer.
            with contextlib.suppress(OSError):
                traceback.print_exc()
            outcome = SessionOutcome("failed", "caller_error", f"{type(error).__name__}: {error}")
        self.answer(
            {
                "id": request["id"],
                "ended": outcome.ended,
                "failure_kind": outcome.failure_kind,
                "detail": outcome.detail,
            }
        )


def _written(recording: Recording, folder: Path, outcome: SessionOutcome) -> SessionOutcome:
    try:
        write_raw(recording, folder)
    except OSError as error:
        return SessionOutcome("failed", NOT_WRITTEN, str(error.strerror or error))
    return outcome


async def _serve(answers: BinaryIO) -> None:
    server = _Server(answers)
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
