"""The run's handle on its caller process: start it, give it plans, receive recordings.

A process and not a thread, because pacing to a millisecond next to a busy interpreter is not possible in Python, and
because only a process can be given a priority of its own. If it dies, the sessions it was playing are failures of the
caller, not of the agent, and the next session starts a new one.
"""

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from harness.agents.secrets import redactor
from harness.caller.exchange import remove, take_raw, write_plan
from harness.caller.plan import NOT_WRITTEN, SessionOutcome, SessionPlan
from harness.errors import AgentError, StorageError
from harness.recording.files import save
from harness.with_parent import command

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 5.0


class CallerProcess:
    """A separate process that plays sessions, any number at once."""

    def __init__(self, *, ordinary_priority: bool = False, log_path: Path | None = None) -> None:
        self.priority = ""
        """The priority that the system granted, in words for the manifest; known once started."""
        self._ordinary = ordinary_priority
        self._log_path = log_path
        self._process: asyncio.subprocess.Process | None = None
        self._answers: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[SessionOutcome]] = {}
        self._last_id = 0
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._alive() and self._process else None

    async def start(self) -> None:
        """Start the process and wait until it can play. Does nothing when it already can.

        Raises:
            AgentError: the process does not come up.
        """
        async with self._starting:
            if not self._alive():
                await self._start()

    async def play(self, plan: SessionPlan, folder: Path, *, at_ns: int | None = None, packed: bool = True) -> SessionOutcome:
        """Play one plan; its recording (see `harness.recording.files`) is in `folder` when this returns.

        A failed session leaves the recording until it failed; `caller_died` and `caller_error` leave nothing.

        Args:
            at_ns: when to dial, on the monotonic clock; None: at once. The plan is read before, so that nothing delays it.
            packed: False leaves the recording as the caller wrote it (`harness.caller.exchange.take_raw`): compressing takes
                the processor from calls that go on.

        Raises:
            StorageError, OSError: the plan or the recording could not be written.
        """
        await self.start()
        await asyncio.to_thread(write_plan, plan, folder)
        assert self._process is not None
        assert self._process.stdin is not None
        self._last_id += 1
        session = self._last_id
        outcome: asyncio.Future[SessionOutcome] = asyncio.get_running_loop().create_future()
        self._waiting[session] = outcome
        if self._answers is None or self._answers.done():  # it died while the plan was written
            outcome.set_result(SessionOutcome("failed", "caller_died", "the caller process ended before the session"))
        try:
            with contextlib.suppress(ConnectionError):
                self._process.stdin.write(json.dumps(self._order(session, plan, folder, at_ns)).encode() + b"\n")
                await self._process.stdin.drain()
            result = await outcome
        finally:
            self._waiting.pop(session, None)
        if result.failure_kind == NOT_WRITTEN:
            raise StorageError(result.detail)
        if result.failure_kind in ("caller_died", "caller_error"):
            remove(folder)
        elif packed:
            try:
                await asyncio.to_thread(lambda: save(take_raw(folder), folder))
            except OSError:
                raise  # the disk's fault, and the next session would fail too
            except Exception as error:
                remove(folder)
                return SessionOutcome("failed", "caller_error", f"{type(error).__name__}: {error}")
        return result

    async def stop(self, within_s: float = STOP_TIMEOUT_S) -> None:
        """End the process, by force if it has not ended within that time. Safe to call twice."""
        process = self._process
        if process is None:
            return
        if process.returncode is None and process.stdin is not None:
            process.stdin.close()
            try:
                async with asyncio.timeout(within_s):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
        if self._answers is not None:
            await self._answers

    def _order(self, session: int, plan: SessionPlan, folder: Path, at_ns: int | None) -> dict[str, object]:
        secrets = list(redactor().values)
        connection = plan.connection.to_json()
        return {"id": session, "folder": str(folder), "connection": connection, "secrets": secrets, "at_ns": at_ns}

    def _alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def _start(self) -> None:
        arguments = command([sys.executable, "-m", "harness.caller", *(["--ordinary"] if self._ordinary else [])])
        # One thread is all it may use: a maths library's pool would compete with the agent under test.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
        with contextlib.ExitStack() as stack:
            log: Any = asyncio.subprocess.DEVNULL
            if self._log_path is not None:
                log = stack.enter_context(self._log_path.open("ab"))
            self._process = await asyncio.create_subprocess_exec(
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                line = await self._process.stdout.readline()
        except TimeoutError:
            line = b""
        if not line:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            where = f"; see {self._log_path}" if self._log_path else ""
            raise AgentError(f"the caller process did not start (exit {self._process.returncode}){where}")
        self.priority = json.loads(line)["priority"]
        self._answers = asyncio.create_task(self._read_answers(self._process))

    async def _read_answers(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            answer = json.loads(line)
            waiting = self._waiting.get(answer.pop("id"))
            if waiting is not None and not waiting.done():
                waiting.set_result(SessionOutcome(**answer))
        code = await process.wait()
        for waiting in self._waiting.values():
            if not waiting.done():
                detail = f"the caller process ended during the session (exit {code})"
                waiting.set_result(SessionOutcome("failed", "caller_died", detail))
