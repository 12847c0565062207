"""The runs of an index as plain values: one row for each run, agent and line condition, with its change since the run before.

Runs are read from the oldest to the newest, and of each agent only its last run is in memory, since two hundred runs of all
turns would not fit. A change is paired turn by turn (`harness.statistics.paired`), because two versions that hear the same
callers differ by far less than two callers do. It is called worse or better only between valid runs that were measured alike:
on another machine, with other voices or by another method, the difference is shown and may be theirs.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from harness.errors import UserError
from harness.figures.glance import Glance, glance, state_at_a_glance
from harness.figures.judges import judge_summaries
from harness.figures.quality_state import QUOTED
from harness.figures.rank import Place
from harness.figures.summarise import summarise
from harness.gate.evidence import Cells
from harness.ranking.board import QualityState
from harness.reports.assemble import assemble
from harness.reports.index.found import find_runs
from harness.reports.listening.results import human_rows
from harness.reports.shown_runs import alone
from harness.reports.verdict import Answer, kind
from harness.reports.view import Estimate
from harness.store.judgment import Judgment
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection
from harness.timing.quantiles import finite
from harness.wording import command, counted

TAIL: Final = 0.025
"""Chance of each end of a change's interval to miss."""


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

    The parts of `estimate` are None where they are infinite (no reply in one of the runs). `unlike`: what else differs between
    the two runs.
    """

    figure: Literal["latency", "pauses_cut"]
    since: str
    estimate: Estimate
    conversations: int
    verdict: Literal["worse", "better", "unclear"]
    unlike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CellRow:
    """One agent in one line condition of a run. `kind`: the answer on the run's own page; empty where nothing was judged."""

    series: Series
    figures: Glance
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
    cells: Cells
    manifest: RunManifest
    methods: frozenset[str]


def _row(folder: Path, root: Path, before: dict[Series, _Last]) -> RunRow:
    """The row of a run. It takes its place in `before` as the last one of each of its series, if it is valid."""
    with closing(RunStore.open(folder)) as store:
        votes = human_rows(store)
        selection = Selection(store, votes)
        cells = Cells(selection)
        rows = tuple(_cells(selection, votes, cells, _name(folder, root), before))
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


def _cells(
    selection: Selection, votes: list[Judgment], cells: Cells, run: str, before: dict[Series, _Last]
) -> Iterator[CellRow]:
    manifest = selection.manifest
    judges = judge_summaries(selection)
    states = {condition: state_at_a_glance(selection, condition, judges) for condition in selection.conditions}
    kinds = _kinds(selection.store, votes) if QUOTED & set(states.values()) else {}
    for entry in manifest.played:
        for condition in selection.conditions:
            series, state = _series(manifest, entry.name, condition), states[condition]
            figures = glance(selection, entry, condition)
            last = before.get(series)
            methods = frozenset(s.timing.method for s in selection.of(entry.name, condition) if s.timing is not None)
            now = _Last(run, cells, manifest, methods)
            changes = _changes(now, last, entry, condition, figures.measure) if last and not manifest.invalid else ()
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


def _changes(now: _Last, last: _Last, entry: AgentEntry, condition: str, measure: str) -> Iterator[Change]:
    place = Place(condition, HEARD)
    unlike = tuple(_unlike(now, last, entry))
    paths: dict[Literal["latency", "pauses_cut"], str] = {"latency": f"{measure}_ms.p50", "pauses_cut": "pauses_cut_share"}
    for figure, path in paths.items():
        evidence = now.cells.change_from(last.cells, path, entry.name, place)
        if evidence is None:
            continue
        low, high = evidence.bounds(TAIL)
        verdict: Literal["worse", "better", "unclear"] = "worse" if low > 0 else "better" if high < 0 else "unclear"
        yield Change(
            figure=figure,
            since=last.name,
            estimate=Estimate(finite(evidence.value), finite(low), finite(high)),
            conversations=evidence.contexts,
            verdict="unclear" if unlike else verdict,
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
        yield "timed by another method (`harness remeasure` brings both to one)"
