"""Judging completions of any origin, with no run behind them: check the judges, judge the pairs, hand back rows and sums.

The same core as for a run, so that the whole board can be run on text alone (`harness judge --completions FILE.jsonl`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.judging.batch import JudgingOutcome, Progress, judge_pairs, reference_completions
from harness.judging.cache import VerdictCache
from harness.judging.checks import check_judge
from harness.judging.completions_file import read_completions
from harness.judging.design import Design
from harness.judging.estimate import Estimate, estimate
from harness.judging.opening import DEFAULT_JUDGE, open_judge
from harness.judging.settings import load_judge_settings
from harness.judgment import JudgeCheck, Judgment
from scenarios.context import Context


@dataclass(frozen=True, slots=True)
class TextBoard:
    """What judging a file of completions gave. Rows of excluded judges are kept and named in the checks."""

    judgments: tuple[Judgment, ...]
    checks: tuple[JudgeCheck, ...]
    outcomes: tuple[JudgingOutcome, ...]


def judge_completions(
    path: Path,
    contexts: Sequence[Context],
    judges: Sequence[str] = (DEFAULT_JUDGE,),
    weights: Mapping[str, Path] | None = None,
    design: Design | None = None,
    seed: int = 1,
    progress: Progress | None = None,
    *,
    cache_path: Path | None = None,
    with_references: bool = True,
    canaries: int = 0,
) -> TextBoard:
    """Check each judge, then judge the file's completions (and the contexts' references) pairwise.

    Raises:
        UserError: a bad file, judge or pack.
    """
    completions = list(read_completions(path, contexts).completions)
    spoken_of = {c.context_id for c in completions}
    used = [c for c in contexts if c.id in spoken_of]
    if with_references:
        completions += reference_completions(used)
    opened = [open_judge(name, weights) for name in judges]
    checks = tuple(check_judge(judge, seed, progress) for judge in opened)
    with VerdictCache(cache_path) as cache:
        outcome = judge_pairs(used, completions, opened, design, seed, progress, cache=cache, canaries=canaries)
    return TextBoard(outcome.judgments, checks, (outcome,))


def dry_run(
    path: Path,
    contexts: Sequence[Context],
    judges: Sequence[str] = (DEFAULT_JUDGE,),
    design: Design | None = None,
    seed: int = 1,
    *,
    with_references: bool = True,
) -> tuple[Estimate, ...]:
    """What `judge_completions` would ask, per judge, without asking; own-family exclusion and cache not counted."""
    completions = list(read_completions(path, contexts).completions)
    spoken_of = {c.context_id for c in completions}
    used = [c for c in contexts if c.id in spoken_of]
    if with_references:
        completions += reference_completions(used)
    return tuple(estimate(used, completions, load_judge_settings(name), design, seed) for name in judges)


def as_object(
    outcomes: Sequence[JudgingOutcome], checks: Sequence[JudgeCheck], estimates: Sequence[Estimate] = ()
) -> dict[str, Any]:
    """The object that `harness judge --json` prints."""
    watches = {w.judge: w for o in outcomes for w in o.canaries}
    judges = []
    for check in checks:
        watched = watches.get(check.judge)
        judges.append(
            {
                "id": check.judge,
                **check.model_dump(exclude={"judge"}),
                "drifted": watched.drifted(check.accuracy) if watched else None,
            }
        )
    found: dict[str, Any] = {
        "schema": 1,
        "comparisons": sum(o.comparisons for o in outcomes),
        "calls": sum(o.calls for o in outcomes),
        "cached": sum(o.cached for o in outcomes),
        "missing": sum(len(o.missing) for o in outcomes),
        "unasked": sum(o.unasked for o in outcomes),
        "missing_by_kind": _kinds(outcomes),
        "judges": judges,
    }
    if estimates:
        found["dry_run"] = [asdict(e) for e in estimates]
    return found


def _kinds(outcomes: Sequence[JudgingOutcome]) -> dict[str, int]:
    kinds = [m.kind for o in outcomes for m in o.missing]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}
