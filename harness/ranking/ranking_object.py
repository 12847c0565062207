"""The object of `harness rank`: made from rows, or from rows and latencies, for programs to read.

Keys are stable and more may be added; unknown values are null, and an infinite percentile (no reply) is null with its
`over_limit` true, since JSON has no infinity. An interval with one end null is a bound. The order of systems is always that
of the board.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from pydantic import TypeAdapter

from harness.ranking.agreement import Agreement
from harness.ranking.board import Board
from harness.ranking.joint import JointPoint
from harness.ranking.judge_vs_person import BesidePeople
from harness.ranking.ranking import Ranking

_SHOWN: Final = (
    "interval", "band", "win_rate", "axes", "judgments", "contexts", "bootstrap_interval", "paper_interval", "part",
)  # fmt: skip
"""Figures of a system on a board, beside its Elo."""
_CHECKED: Final = ("accuracy", "accuracy_interval", "trusted")
"""Figures of a judge, beside its consistency."""
_JSON: Final = TypeAdapter(Any)
"""Writes records by their fields, tuples as lists, and values that are not finite as null."""


def as_object(ranking: Ranking) -> dict[str, Any]:
    """The object that `harness rank --json` prints."""
    board, figure = ranking.board, ranking.joint
    elo_with_length = {row.system: row.quoted for row in ranking.with_length.systems} if ranking.with_length else {}
    whole = {
        "schema": 1,
        "method": board.method,
        "presentation": board.presentation,
        **{name: ranking.rated_on.get(name) for name in ("reads", "condition", "mode", "pack", "transcriber")},
        "quality_state": ranking.quality_state,
        "quality_words": ranking.quality_words,
        "judgments": board.judgments,
        "contexts": board.contexts,
        "warnings": board.warnings,
        "terms": board.terms,
        "parts": board.parts,
        "systems": {name: row | {"elo_with_length": elo_with_length.get(name)} for name, row in _systems(board).items()},
        "length_term": ranking.length_words,
        "agreement": _agreement(ranking.agreement),
        "beside_people": _beside_people(ranking.beside_people),
        "people_votes": _people_votes(ranking),
        "head_to_head": [one.as_object | {"condition": ranking.rated_on.get("condition")} for one in ranking.head_to_head],
        "joint": {p.system: _point(p) for p in figure.points} if figure else {},
        "joint_variants": {
            f.latency: {
                "points": {
                    p.system: {
                        "p50_ms": p.latency.p50,
                        "p50_interval": p.latency.p50_interval,
                        "p_frontier": p.p_frontier,
                        "p_best_within_budget": p.p_best_within_budget,
                        "p_frontier_range": p.p_frontier_range,
                        "p_best_within_budget_range": p.p_best_within_budget_range,
                    }
                    for p in f.points
                },
                "slope": f.slope,
            }
            for f in ranking.joint_variants
        },
        "slope": figure and figure.slope,
        "budget_ms": figure and figure.budget_ms,
        "people": ranking.people
        and {
            name: rating if rating is not None and rating.interval is not None else None
            for name, rating in _but(ranking.people).items()
        },
        "boards": {
            v.name: {
                "method": v.board.method,
                "systems": _systems(v.board),
                "exploratory": v.exploratory,
                "kendall": v.kendall,
            }
            for v in ranking.variants
        },
        "audits": {audit.name: _but(audit, "name") for audit in ranking.audits},
        "judges": {
            each.judge: _but(each, "judge") | {name: getattr(ranking.checks.get(each.judge), name, None) for name in _CHECKED}
            for each in ranking.consistency
        },
        "external": {name: {c.kind: _but(c, "kind") for c in both} for name, both in ranking.external.items()},
        "reasons": ranking.reasons
        and _but(ranking.reasons, "skills")
        | {"skills": {skill.skill: _but(skill, "skill") for skill in ranking.reasons.skills}},
    }
    found: dict[str, Any] = json.loads(_JSON.dump_json(whole))
    return found


def _but(row: Any, *names: str) -> dict[str, Any]:
    """The fields of a row by name, without some."""
    return {each.name: getattr(row, each.name) for each in fields(row) if each.name not in names}


def _systems(board: Board) -> dict[str, dict[str, Any]]:
    return {row.system: {"elo": row.quoted} | {name: getattr(row, name) for name in _SHOWN} for row in board.systems}


def _point(p: JointPoint) -> dict[str, Any]:
    return {
        "p_frontier": p.p_frontier,
        "p_best_within_budget": p.p_best_within_budget,
        "p_frontier_range": p.p_frontier_range,
        "p_best_within_budget_range": p.p_best_within_budget_range,
        "elo": p.quoted,
        "elo_interval": p.elo_interval,
        "turns": p.latency.n,
        "ttfa_p50_ms": p.latency.p50,
        "ttfa_p50_interval": p.latency.p50_interval,
        "ttfa_p50_over_limit": p.latency.p50_over_limit,
        "ttfa_p95_ms": p.latency.p95,
        "ttfa_p95_interval": p.latency.p95_interval,
        "ttfa_p95_over_limit": p.latency.p95_over_limit,
        "cut_in_rate": p.cut_in_rate,
        "cut_in_interval": p.cut_in_interval,
        "others": {name: {"p50": v.p50, "interval": v.p50_interval} for name, v in p.others.items()},
    }


def _agreement(found: Agreement) -> dict[str, Any]:
    """Figures of several judges under their names: "one | other"."""
    return {
        name: {" | ".join(key) if isinstance(key, tuple) else key: each for key, each in value.items()}
        if isinstance(value, Mapping)
        else value
        for name, value in _but(found).items()
    }


def _beside_people(found: BesidePeople) -> dict[str, Any]:
    return {
        "judges": {each.judge: _but(each, "judge") | {"at_chance": each.at_chance} for each in found.judges},
        "elo_by_people": found.people_elo,
        "elo_by_judges": found.judges_elo,
        "board_correlation": found.board_correlation,
    }


def _people_votes(ranking: Ranking) -> dict[str, Any]:
    """People's axis, or the reason why there is none under `refused`."""
    people = ranking.people_votes
    if people is None:
        return {"refused": ranking.people_refused}
    board = people.board
    return {
        "refused": None,
        "presentation": board.presentation,
        **{name: ranking.rated_on.get(name) for name in ("reads", "condition", "mode", "pack", "transcriber")},
        "method": board.method,
        "votes": people.votes,
        "skipped": people.skipped,
        "raters": people.raters,
        "contexts": board.contexts,
        "pairs": people.pairs,
        "judges": people.judges,
        "judge_weight": people.power,
        "judge_agrees": people.agrees,
        "worth": people.worth,
        "saved": people.saved,
        "warnings": board.warnings,
        "systems": _systems(board),
    }
