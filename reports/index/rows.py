"""The runs of an index as plain values: one row for each run, agent and line condition, with its change since the run before.

Runs are read from the oldest to the newest, and of each agent only its last run is in memory, since two hundred runs of all
turns would not fit. A change is paired turn by turn (`harness.turns.change`), because two versions that hear the same
callers differ by far less than two callers do. It is called worse or better only between valid runs that were measured alike:
on another machine, with other voices or by another method, the difference is shown and may be theirs.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.errors import UserError
from harness.figures.judges import judge_summaries
from harness.figures.listed_run import ListedRun, figures_in_a_list, state_in_a_list
from harness.figures.quality_state import QUOTED
from harness.figures.summarise import summarise
from harness.ranking.board import QualityState
from harness.reports.assemble import assemble
from harness.reports.changes import changed
from harness.reports.listening.results import human_rows
from harness.reports.shown_runs import alone
from harness.reports.verdict import Answer, kind
from harness.reports.view import Estimate
from harness.statistics.interval import TAIL
from harness.store.database import DATABASE
from harness.store.judgment import Judgment
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.timing.quantiles import finite
from harness.turns import TurnTable
from harness.turns.change import Verdict, verdict_of
from harness.turns.of_run import table_of_run
from harness.wording import command, counted


@dataclass(frozen=True, slots=True)
class Series:
    """Runs of one agent that ask the same: same pack, mode, line condition, interruptions, events and callers at once."""

    agent: str
    pack: str
    pack_hash: str
    mode: str
    condition: str
    concurrency: int
    barge_in_ms: float | None
    events: str


@dataclass(frozen=True, slots=True)
class Change:
    """A figure against the run before of the same series, positive being worse: ms, or a share from −1 to 1.

    The parts of `estimate` and `ends` are None where they are infinite (no reply in one of the runs). `ends`: the least and the
    greatest change had both machines been their own; `unlike`: what else differs between the two runs.
    """

    figure: Literal["latency", "pauses_cut"]
    since: str
    estimate: Estimate
    ends: tuple[float | None, float | None]
    conversations: int
    verdict: Verdict
    unlike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CellRow:
    """One agent in one line condition of a run. `kind`: the answer on the run's own page; empty where nothing was judged."""

    series: Series
    figures: ListedRun
    budget_ms: float
    quality_state: QualityState
    kind: Answer | Literal[""]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run. `name`: its folder as seen from the index; `page`: its report, None where none was written."""

    name: str
    folder: Path
    page: Path | None
    created: str
    pack: str
    mode: str
    invalid: tuple[str, ...]
    cells: tuple[CellRow, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A folder that has no row, and the reason, in one line."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Index:
    """The finished runs below a folder, newest first, and the folders that are left out."""

    root: Path
    runs: tuple[RunRow, ...]
    left_out: tuple[LeftOut, ...]


Progress = Callable[[int, int], None]
"""(runs read, runs to read)."""


def read_index(root: Path, progress: Progress = lambda _, __: None) -> Index:
    """The index of all runs below a folder.

    Raises:
        UserError: no finished run is there.
    """
    found = find_runs(root)
    finished: list[tuple[str, Path]] = []
    left_out = [LeftOut(_name(folder, root), "not a run, and none is below it") for folder in found.foreign]
    for folder in found.runs:
        try:
            with closing(RunStore.open(folder)) as store:
                why = _unfinished(store)
                finished += [(store.manifest.created, folder)] if not why else []
        except UserError as error:
            why = str(error)
        left_out += [LeftOut(_name(folder, root), why)] if why else []
    before: dict[Series, _Last] = {}
    rows: list[RunRow] = []
    for number, (_, folder) in enumerate(sorted(finished), 1):
        try:
            rows.append(_row(folder, root, before))
        except UserError as error:
            left_out.append(LeftOut(_name(folder, root), str(error)))
        progress(number, len(finished))
    if not rows:
        first = left_out[0]
        raise UserError(f"{root}: has no finished run ({counted(len(left_out), 'folder')} left out; {first.name}: {first.why})")
    return Index(root, tuple(reversed(rows)), tuple(sorted(left_out, key=lambda each: each.name)))


def _name(folder: Path, root: Path) -> str:
    return folder.relative_to(root).as_posix()


def _unfinished(store: RunStore) -> str:
    """The reason why a run is not finished, in words; empty for a finished one."""
    manifest = store.manifest
    whole = manifest.fleet is not None and manifest.fleet.shard is None
    contexts = len(manifest.planned_contexts if whole else manifest.context_ids)
    planned = contexts * len(manifest.played) * len(manifest.conditions) * manifest.repeats
    played = len(Selection(store).of_the_plan)
    if played >= planned:
        return ""
    how = ("run",) if manifest.calls is None else ("measure", manifest.calls.source)
    done = "played" if manifest.calls is None else "measured"
    return (
        f"unfinished, {played} of {counted(planned, 'call')} {done}; continue with "
        f"{command(*how, '--resume', '--out', store.folder)}"
    )


@dataclass(frozen=True, slots=True)
class _Last:
    """The last valid run of a series."""

    name: str
    turns: TurnTable
    manifest: RunManifest
    methods: frozenset[str]


def _row(folder: Path, root: Path, before: dict[Series, _Last]) -> RunRow:
    """The row of a run. It takes its place in `before` as the last one of each of its series, if it is valid."""
    with closing(RunStore.open(folder)) as store:
        votes = human_rows(store)
        selection = Selection(store, votes)
        rows = tuple(_cells(selection, votes, _name(folder, root), before))
        manifest = selection.manifest
        page = folder / "report.html"
        return RunRow(
            name=_name(folder, root),
            folder=folder,
            page=page if page.is_file() else None,
            created=manifest.created,
            pack=manifest.pack,
            mode=manifest.mode,
            invalid=tuple(manifest.invalid),
            cells=rows,
        )


def _cells(selection: Selection, votes: list[Judgment], run: str, before: dict[Series, _Last]) -> Iterator[CellRow]:
    manifest, table = selection.manifest, table_of_run(selection)
    judges = judge_summaries(selection)
    states = {condition: state_in_a_list(selection, condition, judges) for condition in selection.conditions}
    kinds = _kinds(selection.store, votes) if QUOTED & set(states.values()) else {}
    for entry in manifest.played:
        for condition in selection.conditions:
            series, state = _series(manifest, entry.name, condition), states[condition]
            figures = figures_in_a_list(selection, entry, condition)
            last = before.get(series)
            methods = frozenset(s.timing.method for s in selection.of(entry.name, condition) if s.timing is not None)
            now = _Last(run, table.where({"agent": entry.name, "condition": condition}), manifest, methods)
            changes = _changes(now, last, entry, figures.measure) if last and not manifest.invalid else ()
            yield CellRow(
                series=series,
                figures=figures,
                budget_ms=manifest.budgets_ms[figures.measure],
                quality_state=state,
                kind=kinds.get((entry.name, condition), "no verdict") if state != "none" else "",
                changes=tuple(changes),
            )
            if not manifest.invalid:
                before[series] = now


def _series(manifest: RunManifest, agent: str, condition: str) -> Series:
    return Series(
        agent=agent,
        pack=manifest.pack,
        pack_hash=manifest.pack_hash,
        mode=manifest.mode,
        condition=condition,
        concurrency=manifest.concurrency,
        barge_in_ms=manifest.barge_in_ms,
        events=manifest.events.model_dump_json() if manifest.events is not None else "",
    )


def _kinds(store: RunStore, votes: list[Judgment]) -> Mapping[tuple[str, str], Answer]:
    """(agent, condition) → the answer to "kind" on the run's own page."""
    page = alone(store, summarise(store, votes))
    view = assemble(page, store.folder, audio=False)
    answers = {agent.name: kind(agent, view).answer for agent in view.agents}
    names = page.parts[0].names
    return {
        (entry.name, condition): answers[names.of(entry.name, condition)]
        for entry in store.manifest.played
        for condition in store.manifest.conditions
        if names.of(entry.name, condition) in answers
    }


def _changes(now: _Last, last: _Last, entry: AgentEntry, measure: str) -> Iterator[Change]:
    unlike = tuple(_unlike(now, last, entry))
    paths: dict[Literal["latency", "pauses_cut"], str] = {"latency": f"{measure}_ms.p50", "pauses_cut": "pauses_cut_share"}
    for figure, path in paths.items():
        found = changed(now.turns, last.turns, path)
        if found is not None:
            low, high = bounds = found.bounds(TAIL)
            yield Change(
                figure=figure,
                since=last.name,
                estimate=Estimate(finite(found.value), finite(low), finite(high)),
                ends=(finite(found.ends[0]), finite(found.ends[1])),
                conversations=found.contexts,
                verdict="unclear" if unlike else verdict_of(bounds),
                unlike=unlike,
            )


def _unlike(now: _Last, last: _Last, entry: AgentEntry) -> Iterator[str]:
    """What differs between two runs of a series and is not the agent."""
    ids = {now.manifest.machine_id, last.manifest.machine_id}
    if len(ids - {""}) > 1:
        yield "another machine" if entry.runs_here is not False else "another machine for the caller"
    if now.manifest.voices != last.manifest.voices:
        yield "other callers' voices"
    if now.methods != last.methods:
        yield "timed by another method (`harness measure` brings both to one)"


@dataclass(frozen=True, slots=True)
class Found:
    """Folders of runs, and the topmost folders with no run in or below them."""

    runs: tuple[Path, ...]
    foreign: tuple[Path, ...]


def find_runs(root: Path) -> Found:
    """The runs below `root`. Links to folders are followed when they lead to a run; hidden folders are not searched.

    Raises:
        UserError: `root` is no folder, is a run itself, or has no run below it.
    """
    if not root.is_dir():
        raise UserError(f"{root}: is no folder; name the folder that the runs are in")
    if (root / DATABASE).is_file():
        raise UserError(
            f"{root}: is a run itself; name the folder that it is in, or write its page with {command('report', root)}"
        )
    found = _below(root)
    if not found.runs:
        raise UserError(f"{root}: has no run in it or below it; name the folder that `harness run --out` wrote runs into")
    return found


def _below(folder: Path) -> Found:
    runs: list[Path] = []
    foreign: list[Path] = []
    for entry in sorted(_folders(folder)):
        if (entry / DATABASE).is_file():
            runs.append(entry)
            continue
        inside = Found((), ()) if entry.is_symlink() else _below(entry)
        runs += inside.runs
        foreign += inside.foreign if inside.runs else (entry,)
    return Found(tuple(runs), tuple(foreign))


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
    except OSError:
        return []
