"""How far a run is, read from its folder while another process may be writing it.

A run says three things by itself: its plan (the manifest), its finished calls (the rows of sessions), and whether a process
works on it (the lock). From these follows whether it plays, was stopped, or has a report of all its calls. The first figures
are computed as the report's are, of the calls that are over.
"""

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from harness.errors import UserError
from harness.figures.latency import quantiles
from harness.reports.head import title_of
from harness.store.database import DATABASE
from harness.store.manifest import RunManifest
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.timing.figures import OVER_LIMIT_TEXT
from harness.turns.table import TurnTable
from harness.wording import command, milliseconds

PAGE: Final = "report.html"
REST: Final = 30.0
"""Times the last reading until the next one while a run plays: a large one has ten thousand calls, on a machine that times
agents."""
State = Literal["playing", "after_the_calls", "stopped", "unreported", "reported"]
"""`after_the_calls`: all calls are over and somebody still works on the run; `unreported`: nobody does, and its report is not
there, which is so for seconds at the end of every run."""


@dataclass(frozen=True, slots=True)
class SoFar:
    """One agent's calls that are over, with the figure of its turns."""

    agent: str
    condition: str
    measure: Literal["TTFA", "TTFT"]
    turns: int
    median: str
    interval: str
    """Empty where the conversations are too few for one."""


@dataclass(frozen=True, slots=True)
class RunNow:
    """A run at one instant. `planned`: None where the number of calls is not known beforehand."""

    state: State
    title: str
    done: int
    planned: int | None
    failed: int
    sentence: str
    next_step: str = ""
    agents: tuple[SoFar, ...] = ()


REPORTED: Final = RunNow("reported", "", 0, None, 0, "")


class Watched:
    """A run's folder that is looked at again and again; its database is read only where it has changed."""

    def __init__(self, folder: Path) -> None:
        """Open the run in a folder, or a report of several runs, which has no database.

        Raises:
            UserError: the folder holds neither.
        """
        self.folder = folder
        self._store = None if _is_report_of_several(folder) else RunStore.open(folder)
        self._read: tuple[int, RunNow] | None = None
        self._read_again_s = 0.0
        self._seen_at_work_s = 0.0

    @property
    def page(self) -> Path:
        return self.folder / PAGE

    def now(self) -> RunNow:
        """The run as it is now."""
        if self._store is None:
            return REPORTED
        at_work = self._store.being_written
        found = self._calls(self._store, at_work=at_work)
        state = self._state(found, at_work=at_work)
        if state in ("playing", "after_the_calls"):
            self._seen_at_work_s = time.time()
        sentence, following = _in_words(state, found, self._store.manifest, self.folder)
        return RunNow(state, found.title, found.done, found.planned, found.failed, sentence, following, found.agents)

    def _calls(self, store: RunStore, *, at_work: bool) -> RunNow:
        try:
            changes, now_s = store.changes, time.monotonic()
            if self._read is None or (self._read[0] != changes and (not at_work or now_s >= self._read_again_s)):
                self._read = changes, _read(store)
                took_s = time.monotonic() - now_s
                self._read_again_s = now_s + REST * took_s
        except sqlite3.OperationalError:  # a long write: what was read before is still true
            if self._read is None:
                raise
        return self._read[1]

    def _state(self, found: RunNow, *, at_work: bool) -> State:
        over = found.planned is not None and found.done >= found.planned
        if at_work and not over:
            return "playing"
        try:
            written_s = self.page.stat().st_mtime
        except OSError:
            written_s = 0.0
        # A resumed run still has the report from before: it counts once it is written after the work, of all calls.
        there = written_s > self._seen_at_work_s
        whole = not at_work and (over or found.planned is None)
        if there and (whole or _covers(self.folder / "summary.json", found)):
            return "reported"
        if at_work:
            return "after_the_calls"
        return "unreported" if over else "stopped"


def latest_run(folder: Path) -> Path:
    """The run in a folder of runs that was written last.

    Raises:
        UserError: there is none.
    """
    found = [path.parent for path in folder.glob(f"*/{DATABASE}")] if folder.is_dir() else []
    if not found:
        raise UserError(f"{folder}: no run is in it; name a run's folder, or play one: {command('run')}")
    return max(found, key=lambda run: (run / DATABASE).stat().st_mtime)


def _is_report_of_several(folder: Path) -> bool:
    return not (folder / DATABASE).exists() and (folder / PAGE).is_file()


def _read(store: RunStore) -> RunNow:
    selection = Selection(store)
    manifest = selection.manifest
    played = {agent.name for agent in manifest.played}
    sessions = [s for s in selection.sessions if s.key.agent in played]
    planned = None
    if manifest.load is None:
        planned = len(manifest.context_ids) * len(played) * len(manifest.conditions) * manifest.repeats
    agents = [
        one
        for agent in manifest.played
        for condition in manifest.conditions
        if (one := _so_far(selection, agent.name, condition, text=agent.kind == "text")) is not None
    ]
    failed = sum(s.status == "failed" for s in sessions)
    return RunNow("playing", title_of((manifest,), people=False), len(sessions), planned, failed, "", agents=tuple(agents))


def _so_far(selection: Selection, agent: str, condition: str, *, text: bool) -> SoFar | None:
    turns = selection.turns(agent, condition)
    if not turns:
        return None
    figure = quantiles(TurnTable.of_groups(turns, selection.manifest.budgets_ms), "ttft" if text else "ttfa", 1)
    median = OVER_LIMIT_TEXT if figure.p50_over_limit else milliseconds(figure.p50)
    interval = ""
    if figure.p50_interval is not None:
        low, high = figure.p50_interval
        interval = f"{milliseconds(low)} to {milliseconds(high)} (95 %)"
    elif figure.p50_at_least is not None:
        interval = f"at least {milliseconds(figure.p50_at_least)} (95 %)"
    return SoFar(agent, condition, "TTFT" if text else "TTFA", sum(map(len, turns.values())), median, interval)


def _covers(summary: Path, found: RunNow) -> bool:
    """True if the written figures are of all turns that the run has."""
    try:
        cells: list[dict[str, Any]] = json.loads(summary.read_text(encoding="utf-8"))["cells"]
        names = {one.agent for one in found.agents}
        written = sum(int(cell["turns"]) for cell in cells if cell["subset"] == "all" and cell["agent"] in names)
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return written == sum(one.turns for one in found.agents)


def _in_words(state: State, found: RunNow, manifest: RunManifest, folder: Path) -> tuple[str, str]:
    """One sentence on the state, and the command that leads on; empty where the run goes on by itself."""
    calls = _calls_words(found)
    match state:
        case "playing":
            return f"The run plays: {calls} over.", ""
        case "after_the_calls":
            return f"{calls} over. The replies are transcribed, and judged if a judge is named; then comes the report.", ""
        case "unreported":
            return f"{calls} over, and the report is not there yet. If this stays so:", command("report", folder)
        case "stopped" if manifest.load is not None:
            # A load test locks nothing, so one that plays is not told from one that was stopped.
            return f"{calls} over. The load test's page comes at its end; one that was stopped has to be played again.", ""
        case "stopped":
            return f"The run was stopped: {calls} over, and none of them is lost. To go on:", command(
                *_to_go_on(manifest, folder)
            )
        case "reported":
            return "", ""


def _calls_words(found: RunNow) -> str:
    failed = f" ({found.failed} of them failed)" if found.failed else ""
    of = f" of {found.planned:,}" if found.planned is not None else ""
    what = "call" if (found.planned or found.done) == 1 else "calls"
    return f"{found.done:,}{of} {what}{failed} {'is' if found.done == 1 else 'are'}"


def _to_go_on(manifest: RunManifest, folder: Path) -> Sequence[object]:
    if manifest.calls is not None:
        return "measure", manifest.calls.source, "--resume", "--out", folder
    return "run", "--resume", "--out", folder
