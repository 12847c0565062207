"""Several runs on one page: which runs are allowed, which differences are listed, and when a ranking is joint.

Latencies of two runs can always be shown side by side, with the differences between the runs. Ratings cannot: an Elo is
relative to the systems it was fitted with. Runs are ranked together only if verdicts connect them, which means that a
common judge compared replies of both with the *same reference reply to the same conversation*, or if people's votes on all
runs give one people's axis. Otherwise the page has no Elo at all, because two scales in one column would be read as one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from pathlib import Path

from harness.errors import UserError
from harness.figures import circumstances
from harness.figures.board_figures import board_summary, quality_figures, refusals
from harness.figures.cells import JudgeSummary, PacingSummary
from harness.figures.head_to_head import preferred
from harness.figures.one_reply import is_one_for_all
from harness.figures.paired_runs import same_caller
from harness.figures.quality_state import state_of
from harness.figures.rank import Place, Rated, axis_or_why, pairs_of, rated_table
from harness.figures.rated_on import RatedOn, rated_on
from harness.figures.seat import Bounded
from harness.figures.summary import RunSummary
from harness.figures.validity import votes_to_quote
from harness.figures.way_to_people import way_to_people_together
from harness.ranking.peoples_axis import Pairs, PeoplesAxis
from harness.ranking.question import RatingQuestion
from harness.reports.runs_differ import differences
from harness.reports.shown_runs import Part, ShownRuns, measured_on_page, names_of, part, quoted_on_page
from harness.reports.view import NOT_JOINT, SUBSETS
from harness.scenarios.context import Context, by_a_person
from harness.store.judgment import Judgment, is_reference, is_rule, no_reply_rule, reference_name
from harness.store.judgment_table import table_of
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, board_rows
from harness.wording import milliseconds

Run = tuple[RunStore, RunSummary]


def together(runs: Sequence[Run]) -> ShownRuns:
    """Two or more runs combined for one page.

    Raises:
        UserError: a run is named twice, or two runs cannot share a page.
    """
    labels = _labels([store.folder for store, _ in runs])
    _refuse(dict(zip(labels, runs, strict=True)))
    names = names_of({label: store for label, (store, _) in zip(labels, runs, strict=True)})
    parts = tuple(part(store, summary, label, names[label]) for label, (store, summary) in zip(labels, runs, strict=True))
    contexts = _contexts(parts)
    ranked: dict[str, list[Judgment]] = {}
    reasons: list[str] = []
    for condition in dict.fromkeys(c for p in parts for c in p.selection.conditions):
        ranked[condition], why_not = joint_rows(parts, condition)
        by_people, _ = peoples_axis(parts, condition, frozenset(c.id for c in contexts))
        reasons += [why_not] if why_not and by_people is None else []
    return ShownRuns(
        title=" + ".join(labels),
        parts=parts,
        summary=_summary(parts, ranked, contexts),
        contexts=contexts,
        differences=(*differences(parts), *((NOT_JOINT, why_not) for why_not in dict.fromkeys(reasons))),
    )


def joint_rows(parts: Sequence[Part], condition: str, inside: Set[str] | None = None) -> tuple[list[Judgment], str]:
    """The verdicts that rank all judged runs together in one condition; or none, with the reason. `inside`: only these
    conversations; None: all."""
    quoted = quoted_on_page(parts, condition)
    others = [p for p in parts if condition in p.selection.conditions and p.selection.presentations(condition)]
    others = [p for p in others if quoted not in p.selection.presentations(condition)]
    if others:
        return [], (
            f"{others[0].label} was judged on {' and '.join(others[0].selection.presentations(condition))}, and the page is of "
            f"{quoted}; presentations never share a ranking, so there is no joint Elo. Judge the runs alike."
        )
    rows = {
        p.label: [row for row in board_rows(p.counted(), condition, quoted) if inside is None or row.context in inside]
        for p in parts
    }
    judged = {label: found for label, found in rows.items() if found}
    if not judged:
        return [], ""
    shared = set.intersection(*({row.judge for row in found if not is_rule(row.judge)} for found in judged.values()))
    if not shared:
        return [], (
            "The runs were judged by different judges, whose scales are not one; so there is no joint Elo. Judge the runs with "
            "the same judge, or read the rating of each in its own report."
        )
    by_rule = {no_reply_rule(judge) for judge in shared}
    kept = {label: [r for r in found if r.judge in shared | by_rule] for label, found in judged.items()}
    apart = _unconnected(
        {
            label: {(r.context, system) for r in found for system in (r.system_a, r.system_b) if is_reference(system)}
            for label, found in kept.items()
        }
    )
    if apart:
        return [], (
            f"No verdict connects {apart[0]} with {apart[1]}: their replies were never compared with the same reference reply "
            "to the same conversation. So there is no joint Elo; each run's own report has one."
        )
    return [row for found in kept.values() for row in found], ""


def peoples_axis(parts: Sequence[Part], condition: str, inside: Set[str]) -> tuple[PeoplesAxis | None, str]:
    """People's axis over the votes on all runs in one condition, or why they give none; no reason where nobody voted."""
    having = [p for p in parts if condition in p.selection.conditions]
    pairs = [pairs_of(p.selection, condition, frozenset(inside)) for p in having]
    if not any(p.selection.presentations(condition, human=True) for p in having):
        return None, "; ".join(f"{p.label}: {of.all_excluded}" for p, of in zip(having, pairs, strict=True) if of.all_excluded)
    if apart := _without_a_reference_in_common(having):
        return None, f"{apart[0]} and {apart[1]} have no reference reply to the same conversation in common"
    table = table_of([row for p in having for row in (*p.counted(), *p.silences(condition))])
    unheard = frozenset[str]().union(*(p.unheard for p in pairs))
    skipped = sum((Counter(p.skipped) for p in pairs), Counter[str]())
    of_agents = sum(p.read_of_agents or 0 for p in pairs)
    together = Pairs(sum(p.heard for p in pairs), sum(p.read for p in pairs), unheard, skipped, read_of_agents=of_agents)
    read = next((words for p in having if (words := votes_to_quote(p.selection, condition))), None)
    axis, refused = axis_or_why(table, condition, frozenset(inside), together, read)
    if axis is not None and axis.board.parts > 1:
        return None, "no vote connects the runs, directly or over a reference reply"
    return axis, refused


def way_to_people(parts: Sequence[Part], contexts: int) -> str:
    """The way from these runs to one axis of people's, in one sentence; or why there is none."""
    if apart := _without_a_reference_in_common(parts):
        return f"People's votes cannot rate {apart[0]} and {apart[1]} together: they have no reference reply in common."
    lacking = [
        p.label for p in parts if not any(b.people_votes and b.people_votes.presentation == HEARD for b in p.summary.boards)
    ]
    return way_to_people_together(lacking or [p.label for p in parts], contexts)


def _without_a_reference_in_common(parts: Sequence[Part]) -> tuple[str, str] | None:
    """Two runs that no vote can connect; None if all can be."""
    return _unconnected({p.label: {(c.id, r.id) for c in p.store.contexts() for r in c.references} for p in parts})


def _unconnected(anchors: Mapping[str, Set[object]]) -> tuple[str, str] | None:
    """Two runs without a chain of shared reference replies between them; None if all are connected."""
    first, *others = anchors
    reached, known = {first}, set(anchors[first])
    while more := [label for label in others if label not in reached and anchors[label] & known]:
        reached.update(more)
        known.update(*(anchors[label] for label in more))
    missing = [label for label in others if label not in reached]
    return (first, missing[0]) if missing else None


def _labels(folders: Sequence[Path]) -> list[str]:
    """The folders' names, with as many parents as are needed to distinguish them.

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
    """Check that the runs fit on one page.

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
                "their own; report each mode separately"
            )
        if manifest.budgets_ms != base.budgets_ms:
            raise UserError(
                f"{label}: has the budgets {_budgets(manifest.budgets_ms)} and {first} has {_budgets(base.budgets_ms)}, so "
                '"within budget" would mean two things; report them separately'
            )
        for context in other.contexts():
            if context.id in known and not same_caller(context, known[context.id]):
                raise UserError(
                    f"{label}: conversation {context.id} has another text than in {first} (packs "
                    f"{manifest.pack_hash[:8]} and {base.pack_hash[:8]}), so they cannot share a page; report them separately"
                )
            known.setdefault(context.id, context)


def _budgets(budgets_ms: Mapping[str, float]) -> str:
    return ", ".join(f"{name.upper()} {milliseconds(value)}" for name, value in sorted(budgets_ms.items()))


def _contexts(parts: Sequence[Part]) -> tuple[Context, ...]:
    """All conversations, each once, with the references of all runs."""
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


def _summary(parts: Sequence[Part], ranked: Mapping[str, Sequence[Judgment]], contexts: Sequence[Context]) -> RunSummary:
    """The figures of all runs in one object; ratings are those of the joint rankings, or absent."""
    base = parts[0].store.manifest
    subsets = {s: frozenset(c.id for c in contexts if s in ("all", c.subset)) for s in SUBSETS}
    boards: dict[Place, Rated] = {}
    shown = {condition: quoted_on_page(parts, condition) if rows else HEARD for condition, rows in ranked.items()}
    for condition, rows in ranked.items():
        for subset, inside in subsets.items():
            if any(c.subset == subset for p in parts for c in p.summary.cells):
                boards[Place(condition, shown[condition], subset)] = rated_table(
                    table_of([row for row in rows if row.context in inside]),
                    RatingQuestion(
                        measured=measured_on_page(parts, condition, inside),
                        budget_ms=base.budgets_ms["ttfa"],
                        seed=base.seed,
                    ),
                    *peoples_axis(parts, condition, inside),
                    valid=all(p.summary.valid for p in parts),
                )
    judges = list(_judges(parts, {row.judge for rows in ranked.values() for row in rows}))
    # Under the judges' own names, whatever the page calls a judge that did otherwise in another run.
    each = [judge for p in parts for judge in p.summary.judges]
    cells = []
    for p in parts:
        for cell in (c for c in p.summary.cells if c.presentation == p.summary.quoted(c.condition)):
            place = Place(cell.condition, shown[cell.condition], cell.subset)
            rated = boards.get(place)
            if rated is not None:
                name = p.names.of(cell.agent, cell.condition)
                state, same = state_of(rated.people, rated.judges, each), is_one_for_all(cell.commonest_reply)
                quality = quality_figures(rated, name, state, one_for_all=same)
                cells.append(cell.model_copy(update=dict(quality) | {"agent": name, "presentation": place.presentation}))
    pacing = [p.summary.pacing for p in parts]
    quoted = [found.board for place, found in boards.items() if found.board is not None and place.subset == "all"]
    people = {reference_name(r.id) for c in contexts for r in c.references if by_a_person(r.author)}
    people |= {p.names.of(seat.agent, seat.condition) for p in parts for seat in p.summary.seats if seat.is_people}
    way = way_to_people(parts, len(contexts))
    found = [board_summary(r, p, _rated_on(parts, p), each, "" if r.people else way) for p, r in boards.items()]
    summaries = [board for board in found if board is not None]
    return RunSummary(
        run=" + ".join(str(p.store.folder) for p in parts),
        valid=all(p.summary.valid for p in parts),
        invalid=[f"{p.label}: {reason}" for p in parts for reason in p.summary.invalid],
        circumstances=circumstances.together(
            [_by_names(p) for p in parts],
            [text for board in quoted for text in board.warnings],
            any(row.system in people for board in quoted for row in board.systems),
        ),
        budgets_ms=parts[0].summary.budgets_ms,
        pacing=PacingSummary(
            p99_error_ms=_worst([p.p99_error_ms for p in pacing]),
            realtime_ratio=max((p.realtime_ratio for p in pacing if p.realtime_ratio), key=lambda r: abs(r - 1), default=None),
        ),
        machines=[m.renamed(partial(_shown_name, p)) for p in parts for m in p.summary.machines],
        judges=judges,
        cells=cells,
        boards=summaries,
        head_to_head=[row for p in parts for row in preferred(p.selection, p.names.of)],
        seats=[
            # The rating of a mean or best person is of its own run's board.
            seat.model_copy(update={"agent": p.names.of(seat.agent, seat.condition), "mean": Bounded(), "best": Bounded()})
            for p in parts
            for seat in p.summary.seats
        ],
        people_refused=refusals(boards),
        way_to_people="" if summaries else way,
        by_machine=[
            row.model_copy(update={"agent": p.names.of(row.agent, row.condition)})
            for p in parts
            for row in p.summary.by_machine
        ],
        failures=[f.model_copy(update={"agent": p.names.of(f.agent, f.condition)}) for p in parts for f in p.summary.failures],
    )


def _rated_on(parts: Sequence[Part], place: Place) -> RatedOn:
    """The circumstances of a joint board; those that differ between its runs are all named."""
    having = [p for p in parts if place.condition in p.selection.conditions]
    each = [rated_on(p.store.manifest, p.sessions, place.condition, place.presentation) for p in having]
    ears = [one.transcriber for one in each if one.transcriber is not None]
    packs, transcribers = (dict.fromkeys(found) for found in ([one.pack for one in each], ears))
    return replace(each[0], pack=" and ".join(packs), transcriber=" and ".join(transcribers) or None)


def _shown_name(part: Part, agent: str) -> str:
    return part.names.of(agent, part.names.unsaid or "")


def _by_names(part: Part) -> circumstances.Circumstances:
    """A run's circumstances under the names of its agents on the page."""
    known, only = part.summary.circumstances, part.names.unsaid or ""
    by_agent = (
        "idle_percent",
        "reported_stages",
        "other_wires",
        "ends_turns",
        "odd_sound",
        "stalled",
        "why_silent",
        "throttled",
        "unwatched",
        "unsure_clocks",
    )
    return known.model_copy(
        update={name: {part.names.of(agent, only): found for agent, found in getattr(known, name).items()} for name in by_agent}
    )


def _worst(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None


def _judges(parts: Sequence[Part], ranked_by: Set[str]) -> Iterator[JudgeSummary]:
    """The judges of the joint ranking, or all without one: each once if it did alike in all runs, otherwise once per run."""
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
