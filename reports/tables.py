"""The report's tables for other programs: plain rows, each with its evaluation conditions.

A table is often copied into a slide. So the conditions and the human baseline (or its absence) are a column,
not a footnote, and a missing figure is an empty cell.
"""

from collections.abc import Iterator

from harness.figures.cells import AgentSummary
from harness.reports.conditions import conditions
from harness.reports.failures import losses
from harness.reports.session_view import TurnView
from harness.reports.verdict import fast, kind
from harness.reports.view import AXIS_NAMES, METRICS, SUBSETS, Estimate, PageView, RatingView, SliceView, percentile
from harness.turns.catalogue import OTHERS

Value = str | float | int | bool | None
Row = dict[str, Value]
_SHARES = tuple(f.key for f in OTHERS if f.unit == "share" and f.key in AgentSummary.model_fields and f.key != "win_rate")
_OF_A_TURN = (*METRICS, "first_byte", "signed", "greeting")
_OF_EACH_TURN = (
    "ttfa", "answer", "signed", "first_sound", "first_speech", "first_word", "first_substance", "dead_air", "yield",
)  # fmt: skip


def tables(view: PageView) -> dict[str, list[Row]]:
    """Name → rows: `systems`, `head_to_head`, `endpointing`, `turns`, `each_turn`, `judgments`, `losses`, `audits`,
    `listening`."""
    made: dict[str, list[Row]] = {
        "systems": list(_systems(view)),
        "head_to_head": list(_head_to_head(view)),
        "endpointing": list(_endpointing(view)),
        "turns": list(_turns(view)),
        "each_turn": list(_each_turn(view)),
        "judgments": list(_judgments(view)),
        "losses": [dict(zip(("what", "agent", "context", "why"), loss, strict=True)) for loss in losses(view)],
        "audits": list(_audits(view)),
        "listening": list(_listening(view)),
    }
    words = conditions(view)
    return {name: [{**row, "made_under": words} for row in rows] for name, rows in made.items()}


def _spread(name: str, estimate: Estimate) -> Row:
    return {
        name: _rounded(estimate.value),
        f"{name}_low": _rounded(estimate.low),
        f"{name}_high": _rounded(estimate.high),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _rating(rating: RatingView) -> Row:
    return {
        **_spread("elo", rating.elo),
        "win_rate": _rounded(rating.win_rate),
        **{f"axis_{axis}": _rounded(rating.axes.get(axis)) for axis in AXIS_NAMES},
        "judgments": rating.judgments,
    }


def _systems(view: PageView) -> Iterator[Row]:
    for agent in view.agents:
        for subset in SUBSETS:
            part = agent.slices.get(subset)
            if part is None:
                continue
            cell = part.cell
            row: Row = {
                "system": agent.name,
                "kind": agent.seat or "agent",
                "condition": agent.condition,
                "subset": subset,
                "valid": agent.valid,
                "quality_valid": cell.quality_valid,
                "turns": cell.turns,
                **_rating(part.rating),
            }
            for metric in METRICS:
                figure = part.latency(metric)
                row |= _spread(f"{metric}_p50_ms", percentile(figure, "p50"))
                row |= _spread(f"{metric}_p95_ms", percentile(figure, "p95"))
                for which, ends in (("p50", figure.p50_range), ("p95", figure.p95_range)):
                    row[f"{metric}_{which}_others_ms"] = _rounded(getattr(figure, f"{which}_others_ms"))
                    row[f"{metric}_{which}_low"], row[f"{metric}_{which}_high"] = map(_rounded, ends or (None, None))
            row["quality_state"] = cell.quality_state
            row["p_frontier"] = cell.p_frontier
            row["p_best_within_budget"] = cell.p_best_within_budget
            if subset == "all" and not agent.seat:
                row["fast"], row["kind"] = fast(agent, view).answer, kind(agent, view).answer
            if subset == "all" and agent.beside is not None:
                row["beside"] = agent.beside.seat
                row |= _spread("later_ms", Estimate.of(agent.beside.later_ms.value, agent.beside.later_ms.interval))
                row |= _spread("preferred", Estimate.of(agent.beside.preferred.value, agent.beside.preferred.interval))
            if subset == "all" and agent.seat:
                row["persons"] = sum(seat.persons for seat in view.seats if seat.agent == agent.name)
            row |= {
                "within_ttfa": cell.within_budget.ttfa, "within_answer": cell.within_budget.answer,
                "within_ttft": cell.within_budget.ttft,
                **{f"within_{name}_{end}": _rounded(at) for name, ends in _shares(cell).items()
                   for end, at in zip(("low", "high"), ends or (None, None), strict=True)},
                "undecided": cell.undecided, "backchannels": cell.backchannels,
                **{key: _rounded(getattr(cell, key)) for key in _SHARES},
                "pauses_cut": cell.pauses_cut[0], "pauses_marked": cell.pauses_cut[1], "no_reply": cell.no_reply,
                "failed": cell.failed, "discarded": sum(cell.discarded.values()), "contended": cell.contended,
                "underruns": cell.underruns,
            }  # fmt: skip
            if subset == "all" and agent.common_opening is not None:
                row["replies_opening_alike"], row["replies_heard"] = agent.common_opening
                row |= {f"replies_{flag}": count for flag, count in agent.flags.items()}
            yield row
    for reference in view.references:
        for subset, rating in reference.ratings.items():
            yield {
                "system": reference.system, "kind": reference.author, "condition": reference.condition, "subset": subset,
                **_rating(rating),
            }  # fmt: skip


def _head_to_head(view: PageView) -> Iterator[Row]:
    for found in view.head_to_head:
        low, high = map(_rounded, found.interval)
        yield {**found.model_dump(exclude={"interval"}), "low": low, "high": high}


def _shares(cell: AgentSummary) -> dict[str, tuple[float, float] | None]:
    """The two ends of each share within a budget."""
    return {name: getattr(cell.within_budget, f"{name}_range") for name in ("ttfa", "answer", "ttft")}


def _endpointing(view: PageView) -> Iterator[Row]:
    """One row per agent, subset, kind and length of pause."""
    for agent in view.agents:
        for subset in SUBSETS:
            found = agent.slices.get(subset, SliceView()).cell
            for row in found.endpointing:
                yield {
                    "agent": agent.name, "condition": agent.condition, "subset": subset, "kind": row.kind,
                    "from_ms": row.pause_ms[0], "to_ms": row.pause_ms[1], "cut": row.cut, "of": row.of,
                    **_spread("cut_share", Estimate.of(row.share, row.interval)),
                    "already_talking": row.already_talking, "decided": row.decided,
                    **_spread("dead_air_mean_ms", Estimate.of(found.dead_air_ms.mean, found.dead_air_ms.mean_interval)),
                    **_spread(
                        "decision_delay_mean_ms",
                        Estimate.of(found.decision_delay_ms.mean, found.decision_delay_ms.mean_interval),
                    ),
                }  # fmt: skip


def _turns(view: PageView) -> Iterator[Row]:
    """A row for every session, with the figures of its last turn, whose reply is judged."""
    for context in view.contexts:
        for session in context.sessions:
            turn = session.last
            yield {
                "run": session.run or view.run, "context": context.id, "subset": context.subset, "agent": session.agent,
                "session": session.session,
                "mode": session.mode, "condition": session.condition, "repeat": session.repeat, "status": session.status,
                "failure": session.failure, "no_reply": turn.no_reply, "cut_in": turn.cut_in,
                "pauses_cut": turn.marked_pauses[0], "pauses_marked": turn.marked_pauses[1],
                "discarded": turn.discarded,
                **{f"{name}_ms": _rounded(turn.ms(name)) for name in _OF_A_TURN},
                **{f"{name}_others_ms": _rounded(turn.owed_ms(name)) for name in METRICS},
                **{f"{name}_low_ms": _low_ms(turn, name) for name in METRICS},
                **{f"stage_{stage.name}_ms": _rounded(stage.end_ms - stage.start_ms) for stage in turn.stages},
                **_served(turn),
                "speaks_to_judge": session.speaks_to_judge, "written": session.written, "heard": session.heard,
            }  # fmt: skip


def _low_ms(turn: TurnView, name: str) -> float | None:
    """The low end of a time; None where others' part was not counted."""
    return _rounded(turn.times_ms[name].low_ms) if turn.owed_ms(name) is not None else None


def _each_turn(view: PageView) -> Iterator[Row]:
    """A row for every turn of calls that have several."""
    for context in view.contexts:
        for session in context.sessions:
            for turn in session.turns if session.is_call else ():
                yield {
                    "run": session.run or view.run, "context": context.id, "call": context.situation, "agent": session.agent,
                    "condition": session.condition, "repeat": session.repeat, "turn": turn.number,
                    "spoken_end_ms": _rounded(turn.spoken_end_ms),
                    **{f"{name}_ms": _rounded(turn.ms(name)) for name in _OF_EACH_TURN},
                    "inner_pauses": turn.inner_pauses[1], "inner_pauses_cut": turn.inner_pauses[0],
                    "backchannels": turn.backchannels, "cut_in": turn.cut_in, "talking_at_end": turn.talking_at_end,
                    "no_reply": turn.no_reply, "discarded": turn.discarded, "words": turn.words,
                    "labels": "; ".join(turn.labels),
                    **{f"{name}_low_ms": _low_ms(turn, name) for name in ("ttfa", "answer")},
                }  # fmt: skip


def _served(turn: TurnView) -> Row:
    """The parts of each wait for a model server, by stage."""
    row: Row = {}
    for wait in turn.served:
        row |= {f"{wait.stage}_{name}_ms": _rounded(value) for name, value in wait.parts_ms.items()}
        row[f"{wait.stage}_split_by"] = wait.source
    return row


def _judgments(view: PageView) -> Iterator[Row]:
    for context in view.contexts:
        to_judge = context.to_judge()
        for row in context.judgments:
            marks: Row = {}
            for axis in AXIS_NAMES:
                winner, strength = row.axes.get(axis, (None, None))
                marks |= {f"axes.{axis}.winner": winner, f"axes.{axis}.strength": strength}
            yield {
                "context": context.id, "subset": context.subset, "system_a": row.system_a, "system_b": row.system_b,
                "source": "human" if row.human else "judge", "judge": row.judge, "winner": row.winner, "strength": row.strength,
                "shown_first": row.shown_first, "presentation": row.presentation, "condition": row.condition,
                "replicate": row.replicate,
                "repeat": row.repeat, "draw_rate": row.draw_rate, "speaks_to_judge": "; ".join(to_judge(row)),
                "rationale": row.rationale, **marks,
            }  # fmt: skip


def _audits(view: PageView) -> Iterator[Row]:
    for finding in (*view.agreement, *view.audits):
        yield {"figure": finding.name, "unit": finding.unit, "pairs": finding.pairs, **_spread("value", finding.figure)}


def _listening(view: PageView) -> Iterator[Row]:
    """The results of each listening test, in the words of the page."""
    for test in view.listening:
        for table in test.tables:
            for cells in table.rows:
                yield {"test": test.title, "table": table.caption, **dict(zip(table.head, cells, strict=True))}
