"""The view of a page, made from runs on disk: the only module of this room that knows the layout of a store and a summary.

Figures over a whole run are taken from its summary, so that the page, the terminal and `--json` cannot disagree; what the
summary does not contain (subsets, single turns, verdicts) is read from the store.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import fmean

import numpy as np

from harness.experiment import BUDGET_MS
from harness.figures.cells import Cell
from harness.figures.circumstances import largest
from harness.figures.in_a_sentence import found, how_sure
from harness.figures.summary import RunSummary
from harness.gate.stored import read_of, stored_check
from harness.ranking.ranking import MANY
from harness.reports import audits, strategies, telemetry
from harness.reports.gate_shown import ShownGate
from harness.reports.head import date_of, setting_of, title_of
from harness.reports.listening.section import listening_views
from harness.reports.provenance import provenance
from harness.reports.quick_vote import quick_vote
from harness.reports.runs_differ import onset_error_of
from harness.reports.session_view import SessionView
from harness.reports.sessions import first_start_ns, sessions
from harness.reports.shown_runs import ShownRuns, quoted_rows, reply_texts
from harness.reports.view import (
    SUBSETS,
    UNKNOWN,
    AgentView,
    ContextView,
    Estimate,
    JudgmentView,
    ListeningView,
    PageView,
    Preference,
    RatingView,
    ReferenceView,
    SeriesView,
    SliceView,
    Subset,
)
from harness.scenarios.context import Context
from harness.statistics.clustered_means import clustered_share
from harness.store.judgment import Judgment, is_reference, reference_name
from harness.store.judgment_table import JudgmentTable
from harness.store.manifest import SEAT_KINDS
from harness.study.study import Study
from harness.wording import when

Won = list[tuple[str, float]]


def assemble(
    page_runs: ShownRuns, page_folder: Path, *, audio: bool = True, bundle: bool = False, study: Study | None = None
) -> PageView:
    """The complete view of a page.

    With `audio`, it has each session's stereo file that `session_audio` drew under `page_folder/report-audio`; with `bundle`,
    the view contains the sound itself instead of its path. `study`: what whoever votes on the page reads before.
    """
    summary = page_runs.summary
    manifests = [part.store.manifest for part in page_runs.parts]
    shown = sessions(page_runs, page_folder, audio=audio, bundle=bundle)
    verdicts = _verdicts(page_runs)
    planned: dict[str, list[str]] = defaultdict(list)
    for part, manifest in zip(page_runs.parts, manifests, strict=True):
        for context in manifest.context_ids:
            planned[context] += [
                part.names.of(agent.name, condition) for agent in manifest.played for condition in manifest.conditions
            ]
    spoken = [part for part in page_runs.parts if any(a.kind != "text" for a in part.store.manifest.played)]
    quoted = [part.quoted_table() for part in page_runs.parts]
    few = [row for part in page_runs.parts for row in quoted_rows(part)] if sum(map(len, quoted)) <= MANY else []
    return PageView(
        run=page_runs.title,
        title=title_of(manifests, people=any(seat.is_people for seat in summary.seats)),
        finding=found(summary),
        sure=how_sure(summary),
        setting=setting_of(manifests),
        created=date_of(manifests),
        valid=summary.valid,
        invalid_reasons=_invalid(page_runs),
        pacing_p99_error_ms=summary.pacing.p99_error_ms,
        realtime_ratio=summary.pacing.realtime_ratio,
        head_to_head=tuple(summary.head_to_head),
        quality=summary.quality,
        ways=_ways(summary),
        elo_method=next((b.method for b in summary.boards if b.presentation == summary.quoted(b.condition)), ""),
        agents=tuple(_agent(cell, page_runs, quoted) for cell in summary.whole),
        references=_references(page_runs.contexts, summary),
        judges=tuple(summary.judges),
        failures=tuple(summary.failures),
        contexts=tuple(
            _context(context, planned[context.id], shown[context.id], verdicts.get(context.id, ()))
            for context in page_runs.contexts
        ),
        timed=dict(chain.from_iterable(part.timed() for part in page_runs.parts)),
        cautions=summary.cautions,
        agreement=audits.agreements(few),
        audits=audits.audits(few, reply_texts(page_runs)) if few else (),
        strategies=strategies.used(page_runs),
        listening=_listening(page_runs),
        telemetry=_telemetry(page_runs),
        vote=quick_vote(page_runs, shown, study),
        seats=tuple(summary.seats),
        folder="RUN" if page_runs.several else str(page_runs.parts[0].store.folder),
        provenance=provenance(page_runs.parts),
        differences=page_runs.differences,
        onset_error=largest([onset_error_of(part) for part in spoken]),
        machines=tuple(machine.words for machine in summary.machines),
        gates=tuple(_gates(page_runs)),
        budget_ttft_ms=summary.budgets_ms.get("ttft", BUDGET_MS),
        budget_ttfa_ms=summary.budgets_ms.get("ttfa", BUDGET_MS),
    )


def _ways(summary: RunSummary) -> tuple[str, ...]:
    known = [summary.way_to_people, *(board.way_to_people for board in summary.boards), summary.why_unrated]
    return tuple(way for way in dict.fromkeys(known) if way in summary.quality)


def _verdicts(page_runs: ShownRuns) -> Mapping[str, Sequence[JudgmentView]]:
    """Context → its verdicts, without audits of a judge."""
    found: dict[str, list[JudgmentView]] = defaultdict(list)
    marks: dict[tuple[tuple[str, str, int], ...], Mapping[str, tuple[str, int]]] = {}
    for part in page_runs.parts:
        for row in part.every_verdict():
            if row.purpose == "main":
                # A few combinations of marks repeat; a separate map for each row would take most of the memory.
                axes: dict[str, tuple[str, int]] = {axis: (mark.winner, mark.strength) for axis, mark in row.axes.items()}
                key = tuple((axis, *mark) for axis, mark in axes.items())
                found[row.context].append(
                    _judgment(row, marks.setdefault(key, axes), counts=row.judge not in part.selection.excluded_judges)
                )
    return found


def _invalid(page_runs: ShownRuns) -> tuple[str, ...]:
    stored = [
        f"{part.label}: {reason}" if page_runs.several else reason
        for part in page_runs.parts
        for reason in part.store.manifest.invalid
    ]
    return tuple(dict.fromkeys([*page_runs.summary.invalid, *stored]))


def _gates(page_runs: ShownRuns) -> Iterator[ShownGate]:
    """The last check of each run of the page that has one, with the names that agents have on the page."""
    for part in page_runs.parts:
        if (check := stored_check(part.store.folder)) is None:
            continue
        limits = tuple(one.model_copy(update={"agent": part.names.of(one.agent, one.condition)}) for one in check.limits)
        label = part.label if page_runs.several else ""
        is_of_now = check.read == read_of(part.selection)
        yield ShownGate(label, check.verdict, when(check.checked), check.sentences, limits, is_of_now)


def _listening(page_runs: ShownRuns) -> tuple[ListeningView, ...]:
    return tuple(
        replace(found, title=f"{found.title} ({part.label})") if page_runs.several else found
        for part in page_runs.parts
        for found in listening_views(part.store)
    )


def _telemetry(page_runs: ShownRuns) -> tuple[SeriesView, ...]:
    return tuple(
        replace(line, name=f"{part.label}: {line.name}") if page_runs.several else line
        for part in page_runs.parts
        for line in telemetry.series(part.store.telemetry_file, first_start_ns(part))
    )


def _agent(whole: Cell, page_runs: ShownRuns, quoted: Sequence[JudgmentTable]) -> AgentView:
    mine = [rows.where(rows.of_system(whole.agent)) for rows in quoted]
    of_judges = [rows.where(rows["human"] == 0) for rows in mine]
    cells = [c for c in page_runs.summary.cells if (c.agent, c.presentation) == (whole.agent, whole.presentation)]
    judged = Counter({"all": sum(map(len, mine))})
    for rows in mine:
        judged.update({name: int(rows.named("subset", name).sum()) for name in rows.subsets})
    hashes = (s.key.profile_hash for part in page_runs.parts for s in part.sessions if s.key.agent == whole.agent)
    return AgentView(
        name=whole.agent,
        family=whole.family or "",
        spoken=whole.kind != "text",
        condition=whole.condition,
        slices=_every_subset({c.subset: _slice(c, judged[c.subset]) for c in cells}, page_runs.contexts),
        profile_hash=next(hashes, ""),
        own_family_judgments=int(sum(rows["own_family"].sum() for rows in of_judges)),
        total_judgments=sum(map(len, of_judges)),
        common_opening=whole.common_opening,
        flags=whole.flags,
        valid=whole.valid,
        against=preferences(whole.agent, mine),
        seat=SEAT_KINDS.get(whole.kind, ""),
        beside=whole.beside_seat,
    )


def preferences(agent: str, tables: Sequence[JudgmentTable]) -> dict[str, Preference]:
    """Reference → share of verdicts that preferred the agent to it, a tie counting half.

    An Elo difference is right for a decision, but not intuitive; "preferred in 62 % of 48 verdicts" says the same in
    words. Verdicts on one conversation are not independent, so the interval draws whole conversations. Judges' verdicts
    and people's votes are counted separately, each row once: people's need no proof that a judge recognises a kind reply.
    """
    judges: dict[str, Won] = defaultdict(list)
    people: dict[str, Won] = defaultdict(list)
    for rows in tables:
        references = np.array([is_reference(name) for name in rows.systems], dtype=bool)
        me = rows.systems.index(agent) if agent in rows.systems else -1
        as_first = (rows["first"] == me) & references[rows["second"]]
        as_second = (rows["second"] == me) & references[rows["first"]]
        for k in np.flatnonzero(as_first | as_second):
            other, sign = (rows["second"][k], 1) if as_first[k] else (rows["first"][k], -1)
            won = rows.contexts[rows["context"][k]], (1 + sign * int(rows["winner"][k])) / 2
            (people if rows["human"][k] else judges)[rows.systems[other]].append(won)
    return {
        other: Preference(_share_of(judges[other]), len(judges[other]), _share_of(people[other]), len(people[other]))
        for other in dict.fromkeys([*judges, *people])
    }


def _share_of(won: Won) -> Estimate:
    return Estimate.of(*clustered_share(won)) if won else UNKNOWN


def _every_subset(slices: Mapping[Subset, SliceView], contexts: Sequence[Context]) -> dict[Subset, SliceView]:
    """The slices of all subsets. A run of one subset has no cells for them: one is the whole, the other empty."""
    return {
        subset: slices.get(subset) or (slices["all"] if all(c.subset == subset for c in contexts) else SliceView())
        for subset in SUBSETS
    }


def _slice(cell: Cell, judgments: int) -> SliceView:
    return SliceView(
        cell,
        RatingView(
            elo=Estimate.of(cell.elo, cell.elo_interval),
            win_rate=cell.win_rate,
            elo_with_length=cell.elo_with_length,
            axes={axis: value for axis, value in cell.axes.items() if value is not None},
            judgments=judgments,
            over={name: Estimate.of(found.value, found.interval) for name, found in cell.elo_over.items()},
        ),
    )


def _references(contexts: Sequence[Context], summary: RunSummary) -> tuple[ReferenceView, ...]:
    authors: dict[str, list[str]] = defaultdict(list)
    for context in contexts:
        for reference in context.references:
            if reference.author not in authors[reference_name(reference.id)]:
                authors[reference_name(reference.id)].append(reference.author)
    meant: dict[str, list[int]] = defaultdict(list)
    for reference in (r for context in contexts for r in context.references if r.quality is not None):
        meant[reference_name(reference.id)].append(reference.quality or 0)
    several = len(summary.conditions) > 1
    found: dict[tuple[str, str], dict[Subset, RatingView]] = defaultdict(dict)
    for board in summary.boards:
        if board.presentation == summary.quoted(board.condition):
            for system, row in board.references.items():
                found[system, board.condition][board.subset] = RatingView(
                    elo=Estimate.of(row.elo, row.elo_interval),
                    win_rate=row.win_rate,
                    axes={axis: value for axis, value in row.axes.items() if value is not None},
                )
    return tuple(
        ReferenceView(
            f"{system} ({condition})" if several else system,
            ", ".join(authors.get(system, ["unknown author"])),
            ratings,
            condition,
            system,
            fmean(meant[system]) if meant[system] else None,
        )
        for (system, condition), ratings in found.items()
    )


def _context(
    context: Context,
    planned: Sequence[str],
    shown: Sequence[SessionView],
    rows: Sequence[JudgmentView],
) -> ContextView:
    return ContextView(
        id=context.id,
        subset=context.subset,
        escalation=context.escalation or "",
        emotion=context.emotion,
        problem=context.problem,
        situation=context.situation,
        history=tuple((turn.role, turn.text) for turn in context.turns),
        references=tuple((reference_name(r.id), r.author, r.text) for r in context.references),
        sessions=tuple(shown),
        planned=tuple(planned),
        judgments=tuple(rows),
        source=context.source,
        licence=context.licence,
    )


def _judgment(row: Judgment, axes: Mapping[str, tuple[str, int]], *, counts: bool) -> JudgmentView:
    return JudgmentView(
        system_a=row.system_a,
        system_b=row.system_b,
        judge=row.judge,
        human=row.source == "human",
        winner=row.winner,
        strength=row.strength,
        shown_first=row.shown_first or "",
        presentation=row.presentation,
        rationale=row.rationale,
        axes=axes,
        own_family=row.own_family,
        condition=row.condition,
        replicate=row.replicate,
        repeat=row.repeat,
        counts=counts,
        draw_rate=row.draw_rate,
    )
