"""The agents of a run, all loaded before the first call and idle during calls to another.

Loading is not part of the measurement, and an agent that works in the background would slow the others. So everything
is loaded first, and the load that waiting agents cause is measured and written into the manifest.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from harness.agents.connections import ConnectionSpec
from harness.agents.process import AgentFailed, AgentProcess
from harness.agents.profile import AgentProfile
from harness.errors import AgentError
from harness.machine.processes import family, spent_s, summed
from harness.progress import RunProgress
from harness.recording.spans import Span
from harness.servers.samples import SERVERS_FILE, ServerSample
from harness.servers.scraper import MetricsScraper, Target
from harness.traces.receiver import SpanReceiver

LOG_LINES_SHOWN = 12
"""Log lines to quote: enough for a Python traceback's last frames, few enough to read."""
MOST_DEATHS = 2
"""Most deaths of an agent: one that dies twice will die again; its other sessions are left for `--resume`."""


class RunningAgents:
    """The running agents of a run, started on entry and always stopped on exit."""

    def __init__(
        self,
        profiles: tuple[AgentProfile, ...],
        weights: Mapping[str, Path],
        logs: Path,
        progress: RunProgress,
    ) -> None:
        self._profiles = {p.name: p for p in profiles}
        self._weights = weights
        self._logs = logs
        self._progress = progress
        self._agents: dict[str, AgentProcess] = {}
        self._deaths: dict[str, int] = {}
        self._not_started: dict[str, str] = {}
        self._spans = SpanReceiver()
        self._servers = MetricsScraper(logs.parent / SERVERS_FILE, self._model_servers())
        self.idle_cpu_percent: dict[str, float] = {}
        """Worst CPU use of each waiting agent, in percent of one core."""

    async def __aenter__(self) -> Self:
        self._progress.phase("Loading agents", len(self._profiles))
        if any(profile.process_settings is not None for profile in self._profiles.values()):
            self._spans.open()
        try:
            for name in self._profiles:
                self._progress.status(name)
                await self._start_if_it_can(name)
            if len(self._not_started) == len(self._profiles):
                raise AgentError("\n".join(self._not_started.values()))
        except BaseException as error:
            await self._stop_all(at_once=_is_a_stop(type(error)))
            raise
        self._servers.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for complaint in self._servers.complaints():
            self._progress.note(complaint)
        await self._stop_all(at_once=_is_a_stop(kind))

    def spans(self, name: str, from_ns: int, until_ns: int) -> tuple[Span, ...]:
        """The spans of an agent that began in this interval of the monotonic clock and have arrived."""
        return self._spans.between(name, from_ns, until_ns)

    def connection(self, name: str, session: str = "") -> ConnectionSpec:
        """The connection of the caller to this agent, in this session."""
        profile = self._profiles[name]
        connection = profile.connection(self._agents[name].url)
        return profile.in_session(connection, session) if session else connection

    def pids(self) -> dict[str, int]:
        """The running processes that the harness started, by agent."""
        return {name: agent.pid for name, agent in self._agents.items() if agent.pid is not None and agent.alive}

    def url(self, name: str) -> str:
        """The address of this agent."""
        return self._agents[name].url

    def server_samples(self, name: str, from_ns: int, until_ns: int) -> tuple[ServerSample, ...]:
        """The samples of an agent's model servers that were taken in this interval of the monotonic clock."""
        return self._servers.between(name, from_ns, until_ns)

    def alive(self, name: str) -> bool:
        """True if its process still runs (an agent elsewhere counts as alive)."""
        return self._agents[name].alive

    def last_words(self, name: str) -> str:
        """The last lines of its log."""
        return "\n".join(self._agents[name].last_log_lines(LOG_LINES_SHOWN))

    def log_end(self, name: str) -> int:
        """The current length of its log; 0 for an agent without a process."""
        return self._agents[name].log_end() if name in self._agents else 0

    def words_since(self, name: str, log_end: int) -> str:
        """The last lines that it has logged since `log_end`."""
        return "\n".join(self._agents[name].log_lines_since(log_end, LOG_LINES_SHOWN)) if name in self._agents else ""

    def given_up(self, name: str) -> bool:
        """True if it could not start, or died too often to be started again."""
        return name in self._not_started or self._deaths.get(name, 0) >= MOST_DEATHS

    def why_given_up(self, name: str) -> str:
        """The reason in one line, followed by the end of its log."""
        return self._not_started.get(name, f"the agent died and was given up; its last log lines:\n{self.last_words(name)}")

    async def revive(self, name: str) -> bool:
        """Start a dead agent again, unless it was given up; returns False if it does not run."""
        if name not in self._not_started and self.alive(name):
            return True
        if self.given_up(name):
            return False
        self._deaths[name] = self._deaths.get(name, 0) + 1
        if self.given_up(name):
            return False
        with contextlib.suppress(Exception):
            await self._agents[name].stop()
        try:
            await self._start(name)
        except AgentError:
            self._deaths[name] = MOST_DEATHS
            return False
        return True

    @contextlib.contextmanager
    def watching_idle(self, but: str | None) -> Iterator[None]:
        """Measure the load of every agent but one during the block."""
        waiting = {n: pid for n, pid in self.pids().items() if n != but}
        before = {n: summed(family(pid), spent_s) for n, pid in waiting.items()}
        began_s = time.monotonic()
        yield
        lasted_s = time.monotonic() - began_s
        for name, pid in waiting.items():
            after = summed(family(pid), spent_s)
            if lasted_s > 0 and after >= before[name]:
                percent = 100 * (after - before[name]) / lasted_s
                self.idle_cpu_percent[name] = round(max(self.idle_cpu_percent.get(name, 0.0), percent), 2)

    def _model_servers(self) -> Iterator[Target]:
        """The servers that profiles name under `[metrics]`; an agent that prints its server's address has another after each
        start."""
        for name, profile in self._profiles.items():
            for found in profile.metrics:
                yield Target(name, found.stage, partial(self._metrics_url, name, found.url), found.server, found.model)

    def _metrics_url(self, name: str, given: str | None) -> str | None:
        if (agent := self._agents.get(name)) is None:
            return None
        return agent.metrics_url if given is None else agent.at_its_port(given)

    async def _start_if_it_can(self, name: str) -> None:
        """Start an agent; if it cannot start, report and leave it out, so that the others keep their sessions."""
        try:
            await self._start(name)
        except AgentError as error:
            self._not_started[name] = str(error)
            self._progress.step(str(error), keep=True)
        else:
            self._progress.step(name)

    async def _start(self, name: str) -> None:
        environment = self._spans.environment(name)
        agent = AgentProcess(self._profiles[name], self._weights, self._logs / f"{name}.log", environment)
        self._agents[name] = agent
        try:
            await agent.start()
        except AgentFailed as error:
            words = error.log_lines[-LOG_LINES_SHOWN:]
            told = "; its last log lines:\n" + "\n".join(words) if words else ""
            raise AgentError(f"{error}{told}") from error

    async def _stop_all(self, *, at_once: bool) -> None:
        await asyncio.gather(*(agent.stop(at_once=at_once) for agent in self._agents.values()), return_exceptions=True)
        await asyncio.to_thread(self._servers.close)
        await asyncio.to_thread(self._spans.close)


def _is_a_stop(kind: type[BaseException] | None) -> bool:
    """True if a user asked for the end and waits for it."""
    return kind is not None and issubclass(kind, asyncio.CancelledError | KeyboardInterrupt)
