"""An agent as a process that the harness starts, waits for, watches and ends.

The agent under test shares nothing with the harness: not the interpreter's path (the names of our packages can never meet
those of a user's bot), not the terminal's Ctrl-C, not a pipe that would block it. Its output goes into a file,
which the harness reads until the agent is ready and then leaves alone, so that a chatty agent costs a call nothing and
its last words survive any crash. `harness.agents.supervise` is between the two: it keeps keys out of that file and ensures
that no orphan is left.
"""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from harness.agents import supervise
from harness.agents.connections.diagnosis import serves
from harness.agents.cuda import why_no_cuda, with_libraries
from harness.agents.process_log import NewLines, last_lines
from harness.agents.profile import AgentProfile, CascadeProfile, ProcessSettings, TextProfile
from harness.agents.profile_base import filled
from harness.agents.secrets import learn_environment, learn_settings, redact_foreign, redactor
from harness.agents.this_machine import free_port, is_loopback
from harness.errors import UserError
from harness.local_programs import launch_environment, local_python, named_python
from harness.local_programs.interpreter import MODULES

AgentFailure = Literal["start_failed", "start_timeout", "unreachable", "died"]

_NOT_INHERITED: Final = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONSAFEPATH", "PYTHONEXECUTABLE")
_POLL_S: Final = 0.02
_PROBE_S: Final = 0.1
"""Interval between tries of a `ready_url`: each is a connection that the agent has to serve while it loads."""
_OWN_READY_TIMEOUT_S: Final = 180.0
"""Loading a recogniser, a language model and a voice takes seconds on two cores; a cold disk is slower."""
_KILL_MARGIN_S: Final = 3.0
IMPATIENT_S: Final = 1.5
"""Time for an agent to end after Ctrl-C, when a user waits."""


class AgentFailed(Exception):
    """An agent could not start, or died. The message is one line; `log_lines` are the last that the agent wrote."""

    def __init__(self, message: str, kind: AgentFailure, log_lines: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.kind: AgentFailure = kind
        self.log_lines = log_lines


@dataclass(frozen=True, slots=True)
class _Launch:
    """The command to start, and its sign of readiness."""

    settings: ProcessSettings
    cwd: Path
    env: Mapping[str, str]
    url: str | None


class AgentProcess:
    """One agent of a run. `weights` maps the names that its profile asks for to files on this machine.

    An agent that already runs elsewhere (a profile with a `url`, a text endpoint with a `base_url`) is one too: nothing is
    started, and `pid` is None.
    """

    def __init__(
        self,
        profile: AgentProfile,
        weights: Mapping[str, Path],
        log_path: Path,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Make the process. `environment`: more variables for a user's agent; its profile and our environment come first."""
        self._profile = profile
        self._environment = environment
        self._weights = dict(weights)
        self._log_path = log_path
        self._port = str(free_port())
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._launch: _Launch | None = None
        self._status = b""
        self._status_fd = -1
        self._facts: dict[str, Any] = {}
        self._url: str | None = None
        self._stopped = False

    @property
    def url(self) -> str:
        """The agent's address; known once it has started."""
        if self._url is None:
            raise RuntimeError(f'agent "{self._profile.name}" has not started')
        return self._url

    def at_its_port(self, text: str) -> str:
        """A text of the profile with the port of the program that its `[process]` starts."""
        return filled(text, self._port, self._profile.python or sys.executable)

    @property
    def metrics_url(self) -> str | None:
        """The address of its model server's metrics, if it printed one when it was ready."""
        said = self._facts.get("metrics")
        return str(said) if said is not None else None

    @property
    def pid(self) -> int | None:
        """The agent's own process (the first of its group); None for one that the harness did not start."""
        self._read_status()
        pid = self._facts.get("pid")
        return int(pid) if pid is not None else None

    @property
    def alive(self) -> bool:
        """False once the agent has ended; one that runs elsewhere counts as alive until a call fails."""
        if self._supervisor is None:
            return self._url is not None and not self._stopped
        self._read_status()
        return "exit" not in self._facts and self._supervisor.poll() is None

    @property
    def log_path(self) -> Path:
        """The file with the agent's standard output and error."""
        return self._log_path

    def last_log_lines(self, count: int = 10) -> tuple[str, ...]:
        """The last lines that the agent wrote, safe to print."""
        return last_lines(self._log_path, 0, count)

    def log_end(self) -> int:
        """The current size of the log, for `log_lines_since`."""
        with contextlib.suppress(OSError):
            return self._log_path.stat().st_size
        return 0

    def log_lines_since(self, end: int, count: int = 10) -> tuple[str, ...]:
        """The last lines that the agent wrote after `log_end` was `end`, safe to print."""
        # A log over its limit is restarted, and everything in it is newer.
        return last_lines(self._log_path, end if end <= self.log_end() else 0, count)

    def failure(self) -> AgentFailed | None:
        """The error if the agent has died by itself; None while it lives and after `stop`."""
        if self.alive or self._stopped or self._supervisor is None:
            return None
        return self._failed(f"died ({self._how_it_ended()})", "died")

    async def start(self) -> None:
        """Start the agent and return when it is ready for a call, its models loaded.

        Raises:
            AgentFailed: it cannot be started, ends before it is ready, or is not ready in time.
        """
        self._refuse_without_cuda()
        launch = self._plan()
        if launch is None:
            await self._reach_running_agent()
            return
        self._launch = launch
        try:
            await self._start(launch)
        except BaseException as error:
            await self.stop(at_once=isinstance(error, asyncio.CancelledError))
            raise

    async def dial(self) -> None:
        """Check that an agent which is not started here can be reached, and that one which is has the GPU that it needs.

        Raises:
            AgentFailed: nothing listens at its address on this machine (an address elsewhere is tried by its first call), or
                its settings need CUDA and there is none.
        """
        self._refuse_without_cuda()
        if self._plan() is None:
            await self._reach_running_agent()

    async def stop(self, *, at_once: bool = False) -> None:
        """End the agent and everything that it started: SIGTERM, then SIGKILL. Safe to call twice.

        `at_once`: a user waits for the end, so SIGKILL follows after `IMPATIENT_S` at the latest.
        """
        self._stopped = True
        supervisor, launch = self._supervisor, self._launch
        if supervisor is None or launch is None:
            return
        if supervisor.stdin is not None and not supervisor.stdin.closed:
            supervisor.stdin.close()
        # A process forked from this one may hold the life line open too, so the end of the line alone is not enough.
        with contextlib.suppress(ProcessLookupError):
            supervisor.terminate()
        try:
            if at_once and launch.settings.stop_timeout_s > IMPATIENT_S:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    await asyncio.to_thread(supervisor.wait, IMPATIENT_S)
                supervisor.terminate()  # a second time: no more grace
            await asyncio.to_thread(supervisor.wait, launch.settings.stop_timeout_s + _KILL_MARGIN_S)
        except subprocess.TimeoutExpired:
            supervisor.kill()
            supervisor.wait()
            if self.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.pid, signal.SIGKILL)
        self._read_status()
        if self._status_fd >= 0:
            os.close(self._status_fd)
            self._status_fd = -1

    def _plan(self) -> _Launch | None:
        profile = self._profile
        if isinstance(profile, CascadeProfile):
            weights = json.dumps({name: str(path) for name, path in self._weights.items()})
            arguments = ("--profile", str(profile.source), "--weights", weights, "--model-server-port", self._port)
            return self._our_own("harness.agents.cascade", arguments)
        if isinstance(profile, TextProfile) and profile.base_url is None:
            model = self._weights.get(profile.model, profile.folder / profile.model)
            return self._our_own("harness.agents.text_server", ("--model", str(model)), ("xllamacpp",))
        settings = profile.process_settings
        if settings is None:
            return None
        return self._users_own(settings)

    def _our_own(self, module: str, arguments: tuple[str, ...], needs: Sequence[str] = MODULES) -> _Launch:
        try:
            if (named := self._profile.python) is not None:
                python = named_python(shutil.which(named) or named, f"{self._profile.name}: process.python", needs)
            else:
                python = local_python(f'agent "{self._profile.name}"', modules=needs)
        except UserError as error:
            raise self._failed(f"cannot start: {error}", "start_failed") from error
        command = (python, "-m", module, *arguments)
        settings = ProcessSettings(command=command, ready_timeout_s=_OWN_READY_TIMEOUT_S + self._profile.ready_after_s)
        env = launch_environment(python)
        if self._profile.cuda_settings:
            env = with_libraries(env, python)
        return _Launch(settings, self._profile.folder, env, url=None)

    def _users_own(self, settings: ProcessSettings) -> _Launch:
        url = self._profile.running_url
        given = settings.model_copy(
            update={
                "command": tuple(self.at_its_port(word) for word in settings.command),
                "ready_url": self.at_its_port(settings.ready_url) if settings.ready_url else None,
            }
        )
        inherited = {**self._environment, **_clean_environment()}
        env = {**inherited, **{name: self.at_its_port(value) for name, value in settings.env.items()}}
        return _Launch(given, self._profile.folder / settings.cwd, env, self.at_its_port(url) if url else None)

    def _refuse_without_cuda(self) -> None:
        if (asking := self._profile.cuda_settings) and (why := why_no_cuda()) is not None:
            what = f"needs CUDA ({', '.join(asking)}), and {why}: change these settings, or use a machine with a GPU"
            raise self._failed(what, "start_failed")

    async def _reach_running_agent(self) -> None:
        url = self._profile.running_url or ""
        if is_loopback(url) and not await serves(url):
            raise self._failed(f"does not answer: nothing listens at {url}", "unreachable")
        self._url = url

    async def _start(self, launch: _Launch) -> None:
        await self._refuse_a_taken_address(launch)
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        self._log_path.touch()
        written = self._log_path.stat().st_size
        self._spawn(launch)
        deadline = time.monotonic() + launch.settings.ready_timeout_s
        log = NewLines(self._log_path, written)
        while True:
            if not self.alive:
                raise self._failed(f"could not start ({self._how_it_ended()})", "start_failed")
            self._url = await self._ready_url(launch, log)
            if self._url is not None:
                return
            if time.monotonic() > deadline:
                waited = f"{launch.settings.ready_timeout_s:g} s"
                raise self._failed(f"was not ready within {waited} ({_awaited(launch.settings)})", "start_timeout")
            await asyncio.sleep(_PROBE_S if launch.settings.ready_url else _POLL_S)

    async def _refuse_a_taken_address(self, launch: _Launch) -> None:
        """Refuse an address in use: the program there would be measured in place of the agent."""
        for url in (launch.url, launch.settings.ready_url):
            if url is not None and is_loopback(url) and await serves(url):
                what = f"cannot start: something else already listens at {url}; stop it, or use {{port}} for a free port"
                raise self._failed(what, "start_failed")

    def _spawn(self, launch: _Launch) -> None:
        learn_environment()
        self._status_fd, theirs = os.pipe()
        os.set_blocking(self._status_fd, False)
        orders = supervise.Orders(
            command=list(launch.settings.command),
            cwd=str(launch.cwd),
            log=str(self._log_path.resolve()),
            nice=launch.settings.nice,
            grace_s=launch.settings.stop_timeout_s,
            status_fd=theirs,
            harness_pid=os.getpid(),
            secrets=list(redactor().values),
        )
        try:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", supervise.__file__],
                env=launch.env,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs,),
                start_new_session=True,
            )
        finally:
            os.close(theirs)
        assert self._supervisor.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._supervisor.stdin.write(orders.to_json().encode() + b"\n")
            self._supervisor.stdin.flush()

    async def _ready_url(self, launch: _Launch, log: NewLines) -> str | None:
        """The agent's address if it is ready; otherwise None."""
        settings = launch.settings
        if settings.ready_url is not None:
            return launch.url if await _answers(settings.ready_url) else None
        if settings.ready_pattern is not None:
            return launch.url if any(re.search(settings.ready_pattern, line) for line in log.read()) else None
        self._read_status()
        if (said := self._facts.get("url")) is None:
            return None
        learn_settings({"url": said})
        return launch.url or str(said)

    def _read_status(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._status_fd >= 0 and (piece := os.read(self._status_fd, 4096)):
                self._status += piece
        *lines, self._status = self._status.split(b"\n")
        for line in lines:
            self._facts.update(json.loads(line))

    def _how_it_ended(self) -> str:
        self._read_status()
        if "error" in self._facts:
            return str(self._facts["error"])
        code = self._facts.get("exit")
        if code is None:
            return "its supervisor was killed"
        return f"exit code {code}" if code >= 0 else f"killed by {_signal_name(-code)}"

    def _failed(self, what: str, kind: AgentFailure) -> AgentFailed:
        what = redact_foreign(what)
        lines = self.last_log_lines()
        where = f"; its log is {self._log_path}" if self._supervisor is not None else ""
        return AgentFailed(f'agent "{self._profile.name}" {what}{where}', kind, lines)


def _clean_environment() -> dict[str, str]:
    """The harness's environment without variables that would affect the agent's interpreter.

    A Python agent writes into a file, where its output would be held back in blocks; unbuffered, its words are there when
    they matter.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    return {**kept, "PYTHONUNBUFFERED": "1"}


def _awaited(settings: ProcessSettings) -> str:
    if settings.ready_url is not None:
        return f"waited for {settings.ready_url} to answer"
    if settings.ready_pattern is not None:
        return f"waited for a line that matches {settings.ready_pattern!r}"
    return 'waited for the line {"event": "ready", "url": …}'


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


async def _answers(url: str) -> bool:
    """True if an address is served: HTTP with a 2xx, others by accepting a connection."""
    parts = urlsplit(url)
    if parts.scheme in ("http", "https"):
        import httpx2

        try:
            async with httpx2.AsyncClient(timeout=2.0, trust_env=not is_loopback(url)) as client:
                return (await client.get(url)).is_success
        except httpx2.HTTPError:
            return False
    return await serves(url)
