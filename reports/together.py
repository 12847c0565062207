"""Several runs on one page: what may be put together, what must be said about it, and when a ranking is joint.

Latencies of two runs can always stand side by side, with the differences between the runs named. Ratings cannot: an Elo is
relative to the systems it was fitted with. Runs are ranked together only where verdicts connect them, which means that a
judge they share compared replies of both with the *same reference reply to the same conversation*. Where that is not so
the page has no Elo at all, because two scales in one column would be read as one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path

from harness.errors import UserError
from harness.ranking.ranking import Ranking, rank
from harness.steps import cautions
from harness.steps.judge import HEARD, NO_REPLY_RULE
from harness.steps.summary import AgentSummary, JudgeSummary, PacingSummary, ReferenceSummary, RunSummary
from harness.store.judgment import Judgment, is_reference, reference_name
from harness.store.run_store import RunStore
from reports import ratings
from reports.runs_differ import differences
from reports.shown_runs import Gathered, Part, measured_on_page, part
from reports.view import NOT_JOINT
from scenarios.context import Context, by_a_person

Run = tuple[RunStore, RunSummary]


def together(runs: Sequence[Run]) -> Gathered:
    """Two or more runs as the material of one page.

    Raises:
        UserError: a run is named twice, or two runs cannot be put together.
    """
    labels = _labels([store.folder for store, _ in runs])
    _refuse(dict(zip(labels, runs, strict=True)))
    seen = Counter(agent.name for store, _ in runs for agent in store.manifest.agents)
    parts = tuple(
        part(
            store,
            summary,
            label,
            {a.name: a.name if seen[a.name] == 1 else f"{a.name} ({label})" for a in store.manifest.agents},
        )
        for label, (store, summary) in zip(labels, runs, strict=True)
    )
    contexts = _contexts(parts)
    ranked, why_not = joint_rows(parts)
    ranking = _ranking(parts, ranked) if ranked else None
    return Gathered(
        title=" + ".join(labels),
        parts=parts,
        summary=_summary(parts, contexts, ranked, ranking),
        contexts=contexts,
        ranked=tuple(ranked),
        differences=(*differences(parts), *([(NOT_JOINT, why_not)] if why_not else [])),
    )


def joint_rows(parts: Sequence[Part]) -> tuple[list[Judgment], str]:
    """The verdicts that rank all judged runs together; or none, and why."""
    rows = {p.label: ratings.joint_rows(p.counted) for p in parts}
    judged = {label: found for label, found in rows.items() if found}
    if not judged:
        return [], ""
    shared = set.intersection(*({row.judge for row in found} - {NO_REPLY_RULE} for found in judged.values()))
    if not shared:
        return [], (
            "The runs were judged by different judges, whose scales are not one; so this page has no Elo. Judge the runs with "
            "the same judge, or read the rating of each in its own report."
        )
    kept = {label: [r for r in found if r.judge in shared or r.judge == NO_REPLY_RULE] for label, found in judged.items()}
    apart = _unconnected(kept)
    if apart:
        return [], (
            f"No verdict connects {apart[0]} with {apart[1]}: their replies were never compared with the same reference reply "
            "to the same conversation. So this page has no Elo; each run's own report has one."
        )
    return [row for found in kept.values() for row in found], ""


def _unconnected(rows: Mapping[str, Sequence[Judgment]]) -> tuple[str, str] | None:
    """Two runs that no chain of shared reference replies joins; None where all are joined."""
    anchors = {
        label: {(row.context, system) for row in found for system in (row.system_a, row.system_b) if is_reference(system)}
        for label, found in rows.items()
    }
    first, *others = anchors
    reached, known = {first}, set(anchors[first])
    while more := [label for label in others if label not in reached and anchors[label] & known]:
        reached.update(more)
        known.update(*(anchors[label] for label in more))
    missing = [label for label in others if label not in reached]
    return (first, missing[0]) if missing else None


def _labels(folders: Sequence[Path]) -> list[str]:
    """The folders' names, with as many parents as tell them apart.

    Raises:
        UserError: a run is named twice.
    """
    paths = [folder.resolve() for folder in folders]
    twice = [path for path, count in Counter(paths).items() if count > 1]
    if twice:
        raise UserError(f"{twice[0]}: is named twice; name each run once")
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        labels = ["/".join(path.parts[-depth:]) for path in paths]
        if len(set(labels)) == len(labels):
            break
    return labels


def _refuse(runs: Mapping[str, Run]) -> None:
    """What one page cannot hold, in one line.

    Raises:
        UserError: the runs' modes, budgets or conversations contradict each other.
    """
    (first, (store, _)), *others = runs.items()
    base, known = store.manifest, {c.id: c for c in store.contexts()}
    for label, (other, _) in others:
        manifest = other.manifest
        if manifest.mode != base.mode:
            raise UserError(
                f"{label}: was played in {manifest.mode} mode and {first} in {base.mode} mode, which are judged on boards of "
                "their own; report each mode apart"
            )
        if manifest.budgets_ms != base.budgets_ms:
            raise UserError(
                f"{label}: has the budgets {_budgets(manifest.budgets_ms)} and {first} has {_budgets(base.budgets_ms)}, so "
                '"within budget" would mean two things; report them apart'
            )
        for context in other.contexts():
            if context.id in known and not _same(context, known[context.id]):
                raise UserError(
                    f"{label}: conversation {context.id} has another text than in {first} (packs "
                    f"{manifest.pack_hash[:8]} and {base.pack_hash[:8]}), so the runs cannot share a page; report them apart"
                )
            known.setdefault(context.id, context)


def _same(one: Context, other: Context) -> bool:
    """The caller says the same after the same history, and references that share a name share their words."""
    texts = {r.id: r.text for r in one.references}
    return (
        one.turns == other.turns
        and one.subset == other.subset
        and all(texts.get(r.id, r.text) == r.text for r in other.references)
    )


def _budgets(budgets_ms: Mapping[str, float]) -> str:
    return ", ".join(f"{name.upper()} {value:.0f} ms" for name, value in sorted(budgets_ms.items()))


def _contexts(parts: Sequence[Part]) -> tuple[Context, ...]:
    """Every conversation once, with the references of all runs."""
    found: dict[str, Context] = {}
    for context in (c for p in parts for c in p.store.contexts()):
        known = found.get(context.id)
        if known is None:
            found[context.id] = context
            continue
        names = {r.id for r in known.references}
        more = tuple(r for r in context.references if r.id not in names)
        found[context.id] = known.model_copy(update={"references": (*known.references, *more)})
    return tuple(found.values())


def _ranking(parts: Sequence[Part], rows: Sequence[Judgment]) -> Ranking:
    found = measured_on_page(parts)
    manifest = parts[0].store.manifest
    return rank(
        rows,
        found.ttfa,
        other_latencies=found.others,
        cut_ins=found.cut_ins,
        budget_ms=manifest.budgets_ms["ttfa"],
        presentation=HEARD,
        texts=found.texts,
        seed=manifest.seed,
    )


def _summary(
    parts: Sequence[Part], contexts: Sequence[Context], rows: Sequence[Judgment], ranking: Ranking | None
) -> RunSummary:
    """The figures of all runs in one object; ratings are those of the joint ranking, or absent."""
    board = ranking.board if ranking is not None else None
    points = {p.system: p for p in ranking.joint.points} if ranking is not None and ranking.joint is not None else {}
    rated = {row.system: row for row in board.systems} if board is not None else {}
    agents: dict[str, AgentSummary] = {}
    for p in parts:
        for name, agent in p.summary.agents.items():
            shown = p.names.get(name, name)
            row, point = rated.get(shown), points.get(shown)
            agents[shown] = agent.model_copy(
                update={
                    "elo": row.elo if row else None,
                    "elo_method": board.method if board and row else None,
                    "elo_interval": row.interval if row else None,
                    "win_rate": row.win_rate if row else None,
                    "axes": dict(row.axes) if row else {},
                    "p_frontier": point.p_frontier if point else None,
                    "p_best_within_budget": point.p_best_within_budget if point else None,
                }
            )
    pacing = [p.summary.pacing for p in parts]
    return RunSummary(
        run=" + ".join(str(p.store.folder) for p in parts),
        valid=all(p.summary.valid for p in parts),
        invalid=[f"{p.label}: {reason}" for p in parts for reason in p.summary.invalid],
        circumstances=cautions.together(
            [_by_names(p) for p in parts],
            board.warnings if board else (),
            any(reference_name(r.id) in rated and by_a_person(r.author) for c in contexts for r in c.references),
        ),
        budgets_ms=parts[0].summary.budgets_ms,
        pacing=PacingSummary(
            p99_error_ms=_worst([p.p99_error_ms for p in pacing]),
            realtime_ratio=max((p.realtime_ratio for p in pacing if p.realtime_ratio), key=lambda r: abs(r - 1), default=None),
        ),
        judges=list(_judges(parts, {row.judge for row in rows})),
        agents=agents,
        references={
            system: ReferenceSummary(elo=row.elo, elo_interval=row.interval, win_rate=row.win_rate, axes=dict(row.axes))
            for system, row in rated.items()
            if is_reference(system)
        },
        failures=[f.model_copy(update={"agent": p.names.get(f.agent, f.agent)}) for p in parts for f in p.summary.failures],
    )


def _by_names(part: Part) -> cautions.Circumstances:
    """A run's circumstances under the names that its agents have on the page."""
    known = part.summary.circumstances
    return known.model_copy(update={"idle_percent": {part.names.get(n, n): p for n, p in known.idle_percent.items()}})


def _worst(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None


def _judges(parts: Sequence[Part], ranked_by: Set[str]) -> Iterator[JudgeSummary]:
    """The judges behind the joint ranking, or all without one: each once where it did alike in all runs, else once a run."""
    found: dict[str, list[tuple[str, JudgeSummary]]] = {}
    for p in parts:
        for judge in (j for j in p.summary.judges if not ranked_by or j.id in ranked_by):
            found.setdefault(judge.id, []).append((p.label, judge))
    counted = {"judgments", "own_family_judgments", "trusted"}
    for each in found.values():
        first = each[0][1]
        if all(judge.model_dump(exclude=counted) == first.model_dump(exclude=counted) for _, judge in each):
            yield first.model_copy(
                update={
                    "judgments": sum(judge.judgments for _, judge in each),
                    "own_family_judgments": sum(judge.own_family_judgments for _, judge in each),
                    "trusted": all(judge.trusted for _, judge in each),
                }
            )
        else:
            yield from (judge.model_copy(update={"id": f"{judge.id} ({label})"}) for label, judge in each)
