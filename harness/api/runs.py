"""Runs from a program: `harness run` as a function, and access to the folder of a finished run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from harness.api.loops import outside_any_loop
from harness.experiment import Experiment
from harness.figures.cells import Cell
from harness.figures.summarise import summarise
from harness.figures.summary import RunSummary
from harness.gate.budgets import read_budgets
from harness.gate.check import CheckResult, check_run
from harness.progress import RunProgress
from harness.recording.record import Recording
from harness.reports.listening.results import human_rows
from harness.run.phases import RunRequest
from harness.run.phases import run as run_all
from harness.store.judgment import Judgment
from harness.store.run_store import RunStore
from harness.store.session import Session


@dataclass(frozen=True, slots=True)
class Run:
    """An open run: its figures and the data behind them. Use as `with load_run(…) as run:`.

    >>> import harness
    >>> with harness.load_run("first-run") as run:
    ...     for session in run.sessions:
    ...         print(session.key.context_id, len(session.turn_timings), "turn")
    exam 1 turn
    """

    store: RunStore
    summary: RunSummary
    """Every figure, as `harness report --json` prints it."""

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self.store.folder

    @property
    def sessions(self) -> list[Session]:
        """All calls, with the timings of their turns (`turn_timings`) and their transcripts."""
        return self.store.sessions()

    @property
    def judgments(self) -> list[Judgment]:
        """All verdicts, of judges and of people in listening tests."""
        return [*self.store.judgments(), *human_rows(self.store)]

    def cell(self, agent: str, condition: str | None = None) -> Cell:
        """The figures of one agent; `condition` is needed if the run has several line conditions.

        Raises:
            KeyError: the run has no such agent or condition.
        """
        for cell in self.summary.whole:
            if cell.agent == agent and condition in (None, cell.condition):
                return cell
        raise KeyError(f"{self.folder} has no agent {agent!r}" + (f" in condition {condition!r}" if condition else ""))

    def recording(self, session: Session) -> Recording:
        """Both sides of one call, sample by sample, with the time of each message."""
        return self.store.recording(session)

    def check(self, budgets: str | Path) -> CheckResult:
        """The verdicts of a budgets file on the run, as `harness check` gives them.

        Raises:
            UserError: the file is wrong, or limits a figure that this run cannot have.
        """
        return check_run(self.store, read_budgets(Path(budgets)), votes=human_rows(self.store))

    def close(self) -> None:
        """Close the folder. Safe to call twice."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def run_agents(
    agents: str | Path | Sequence[str | Path] | Experiment,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool = False,
    **options: Any,
) -> Run:
    """Play a pack's contexts to agents, then time, transcribe, judge and rank: `harness run` without its page.

    Args:
        agents: names of shipped profiles, or paths of `.toml` files; or an `Experiment` with all settings.
        out: the run's folder; None: a new one under `runs/`.
        resume: continue the run in `out`; no finished call is played again.
        progress: print progress to standard error.
        options: fields of `Experiment` by name, as in `limit=2, judges=()`; without judges nothing is judged.

    A failed call does not raise: it is listed in `summary.failures`.

    Raises:
        UserError: an argument is wrong; nothing has been started.
        AgentError: an agent could not start; finished calls are saved.
        StorageError: the disk is full; finished calls are saved.

    >>> import harness
    >>> with harness.run_agents("my.toml", pack="exam.yaml", judges=(), out="first-run") as run:
    ...     figures = run.cell("my")
    ...     print(figures.turns, "turn,", figures.no_reply, "without reply")
    1 turn, 0 without reply
    """
    named = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    if isinstance(agents, Experiment):
        experiment = agents.with_named(named)
    else:
        several = (agents,) if isinstance(agents, str | Path) else agents
        experiment = Experiment.of({"agents": [str(agent) for agent in several], **named})
    request = RunRequest(experiment, out=None if out is None else Path(out), resume=resume)

    def play() -> tuple[Path, RunSummary]:
        with RunProgress(quiet=not progress) as shown:
            store, summary = run_all(request, shown, human_rows)
        # SQLite ties a connection to its thread, which may differ from the caller's.
        store.close()
        return store.folder, summary

    folder, summary = outside_any_loop(play)
    return Run(RunStore.open(folder), summary)


def load_run(folder: str | Path) -> Run:
    """A finished run, opened; one of an older harness is converted first.

    Raises:
        UserError: there is no run, it is damaged, or a newer harness wrote it.

    >>> import harness
    >>> with harness.load_run("first-run") as run:
    ...     print(list(run.summary.agents), run.summary.failures)
    ['my'] []
    """
    store = RunStore.open(Path(folder))
    return Run(store, summarise(store, human_rows(store)))
