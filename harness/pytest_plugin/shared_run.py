"""The single run of a test session, played by the first worker that needs it.

Workers are processes that share only the session's id, so they agree through a folder: the one that has the lock on it
plays, the others wait and read. A folder with a finished run is never played again.
"""

import fcntl
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import pytest

from harness.api.reports import write_report
from harness.api.runs import Run, load_run, run_agents
from harness.errors import AgentError, StorageError, UserError
from harness.experiment import Experiment
from harness.gate.budgets import CellLimit, limits_for, read_budgets
from harness.gate.check import Checked, check_run
from harness.pytest_plugin.call import Call
from harness.run.plan import make_plan, new_manifest

RUNS = Path("voice-runs")
_FOLDER = "HEART_VOICE_TEST_RUN"
"""Environment variable with the folder of the session's run, set by the main process and inherited by its workers."""

Place = tuple[str, str]
"""Agent, context."""


@dataclass
class SharedRun:
    """The run of a test session: first its settings, after playing its results."""

    experiment: Experiment
    agents: tuple[str, ...]
    contexts: tuple[str, ...]
    folder: Path
    budgets: Path | None
    limits: tuple[CellLimit, ...]
    wanted: frozenset[str] = frozenset()
    """Contexts that the chosen tests need; empty: all."""
    _run: Run | None = None
    _failure: str = ""
    _checked: Sequence[Checked] = field(default_factory=tuple)

    @classmethod
    def of(cls, config: pytest.Config) -> Self:
        """The run that a session's options ask for, checked before tests are collected.

        Raises:
            pytest.UsageError: an option is wrong; the message is one line about the first.
        """
        asked = {
            "agents": config.getoption("--agent"),
            "pack": config.getoption("--agent-pack"),
            "limit": config.getoption("--agent-limit"),
            "mode": config.getoption("--agent-mode"),
            "concurrency": config.getoption("--agent-concurrency"),
            "budget_ttfa_ms": config.getoption("--budget-ttfa"),
            "budget_ttft_ms": config.getoption("--budget-ttft"),
            "judges": (),
        }
        budgets = config.getoption("--agent-budgets")
        try:
            experiment = Experiment.of({name: value for name, value in asked.items() if value is not None})
            plan = make_plan(experiment)
            limits = limits_for(read_budgets(budgets), new_manifest(plan), plan.contexts, judged=False) if budgets else ()
        except UserError as error:
            raise pytest.UsageError(str(error)) from error
        return cls(
            experiment,
            tuple(profile.name for profile in plan.profiles),
            tuple(context.id for context in plan.contexts),
            _folder(config),
            budgets,
            limits,
        )

    def places(self, named: Sequence[object] = ()) -> list[Place]:
        """Every agent in every context, or in the named contexts.

        Raises:
            pytest.UsageError: the pack has no such context.
        """
        unknown = [name for name in named if name not in self.contexts]
        if unknown:
            known = ", ".join(self.contexts[:5])
            raise pytest.UsageError(f"marker contexts: {self.experiment.pack} has no {unknown[0]!r}; it has {known}, …")
        return [(agent, context) for agent in self.agents for context in self.contexts if not named or context in named]

    def call(self, place: Place) -> Call:
        """The results of one agent in one context, after playing the run if necessary. Fails the test if there are none, and if
        the run is invalid: none of its figures can be trusted, so no test on one may pass."""
        run, (agent, context) = self._played(), place
        if run.store.manifest.invalid:
            pytest.fail(_not_the_agent(run), pytrace=False)
        for session in run.sessions:
            if (session.key.agent, session.key.context_id) == place:
                if session.status == "failed":
                    pytest.fail(f"{agent} in {context}: {session.failure_kind}: {session.failure_detail}", pytrace=False)
                sound = run.folder / "report-audio" / f"{session.id}.flac"
                return Call(agent, context, session, sound.absolute(), (run.folder / "report.html").absolute())
        why = next((f.detail for f in run.summary.failures if (f.agent, f.context) == place), "it was not played")
        return pytest.fail(f"{agent} in {context}: {why}", pytrace=False)

    def checked(self, limit: CellLimit) -> tuple[Checked, tuple[str, ...], Path]:
        """The verdict on one limit, the reasons why the run is invalid (if it is), and the page."""
        run = self._played()
        if not self._checked:
            assert self.budgets is not None
            self._checked = check_run(run.store, read_budgets(self.budgets)).checked
        found = next(checked for checked in self._checked if checked.asked == limit)
        return found, tuple(run.store.manifest.invalid), (run.folder / "report.html").absolute()

    def _played(self) -> Run:
        if self._failure:
            pytest.fail(self._failure, pytrace=False)
        if self._run is None:
            try:
                self._run = self._play_or_read()
            except (UserError, AgentError, StorageError) as error:
                self._failure = str(error)
                pytest.fail(self._failure, pytrace=False)
        return self._run

    def _play_or_read(self) -> Run:
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with self.folder.with_name(f".{self.folder.name}.lock").open("a+", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.seek(0)
            failed = lock.read()
            if failed:  # another worker failed already, and an agent that cannot start is not tried again by each
                raise AgentError(failed)
            if (self.folder / "report.html").exists():
                return load_run(self.folder)
            try:
                run = run_agents(self.experiment, contexts=sorted(self.wanted), out=self.folder, progress=True)
                write_report(run)
            except (UserError, AgentError, StorageError) as error:
                lock.write(str(error))
                raise
            return run


def _not_the_agent(run: Run) -> str:
    """The failure message for every call of an invalid run."""
    page = (run.folder / "report.html").absolute()
    return "\n".join(
        (
            "INVALID RUN: The harness was at fault, not the agent, so no call of this run decides anything",
            *(f"  {problem}" for problem in run.store.manifest.invalid),
            "  to fix it: stop other programs (harness doctor lists them) and run the tests again",
            "  (a folder given with --agent-out is read and not played again: name a new one)",
            f"  page: {page}",
        )
    )


def _folder(config: pytest.Config) -> Path:
    """The run's folder, the same for the main process and all its workers."""
    asked = config.getoption("--agent-out")
    if asked is not None:
        return Path(asked)
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None:
        os.environ[_FOLDER] = str(config.rootpath / RUNS / datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f"))
    return Path(os.environ[_FOLDER])
