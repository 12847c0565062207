"""Judging of completions of any origin, without a run: check the judges, judge the pairs, return rows and sums.

The same core as for a run, so that the whole board can be run on text alone (`harness judge run FILE.jsonl`).
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.judging.batch import JudgingOutcome, Missing, Progress, judge_pairs, reference_completions
from harness.judging.cache import VerdictCache, keys_of
from harness.judging.completion import Completion, read_completions
from harness.judging.load_judge import fingerprint_of, open_judge
from harness.judging.mend import by_kind, why_missing
from harness.judging.record import Stop, stop_of
from harness.judging.settings import load_judge_settings
from harness.judging.validation.checks import check_judge, not_answered
from harness.judging.validation.labelled import gold_pairs
from harness.judging.validation.sentences import standing
from harness.ranking.stopping import UntilSeparated
from harness.scenarios.context import Context
from harness.store.judgment import JudgeCheck, Judgment
from harness.verdicts.estimate import Estimate, estimate, with_check
from harness.verdicts.judge import RunJudging, load_judges
from harness.verdicts.red_lines import with_all_known


@dataclass(frozen=True, slots=True)
class TextBoard:
    """Result of judging a file of completions. Judges that failed the check are in `checks` and were not asked."""

    judgments: tuple[Judgment, ...]
    checks: tuple[JudgeCheck, ...]
    outcomes: tuple[JudgingOutcome, ...]
    stop: Stop | None = None
    notes: tuple[str, ...] = ()
    """Sentences on the names in the file."""


def judge_completions(
    path: Path,
    contexts: Sequence[Context],
    how: RunJudging,
    weights: Mapping[str, Path] | None = None,
    progress: Progress | None = None,
    *,
    cache_path: Path | None = None,
    canaries: int = 0,
) -> TextBoard:
    """Check each judge, then judge the file's completions (and the contexts' references) pairwise.

    Raises:
        UserError: a bad file, judge or pack.
    """
    load_judges(how.judges)
    used, competing, notes = _material(path, contexts)
    opened = [open_judge(name, weights) for name in how.judges]
    rule = UntilSeparated.of(how.until, ((c.context_id, c.system) for c in competing)) if how.until else None
    with VerdictCache(cache_path) as cache:
        checks = tuple(with_all_known(judge, check_judge(judge, how.seed, progress, cache=cache)) for judge in opened)
        judges = [j for j, check in zip(opened, checks, strict=True) if how.keep_excluded or not check.excluded]
        if not judges:
            return TextBoard((), checks, (), notes=notes)
        outcome = judge_pairs(
            used, competing, judges, how.design, how.seed, progress, cache=cache, canaries=canaries, enough=rule
        )
    return TextBoard(outcome.judgments, checks, (outcome,), stop_of(rule, outcome.unasked) if rule else None, notes)


def dry_run(
    path: Path, contexts: Sequence[Context], how: RunJudging, *, cache_path: Path | None = None, canaries: int = 0
) -> tuple[Estimate, ...]:
    """The questions that `judge_completions` would ask, per judge, without asking. Answers in the cache count only for the
    judge's check; own-family exclusion is not counted."""
    load_judges(how.judges)
    used, competing, _ = _material(path, contexts)
    known, early = keys_of(cache_path), how.until is not None

    def of(name: str) -> Estimate:
        settings = load_judge_settings(name)
        plan = estimate(used, competing, settings, how.design, how.seed, canaries=canaries, may_end_early=early)
        return with_check(plan, settings, not_answered(fingerprint_of(name), gold_pairs(), known))

    return tuple(of(name) for name in how.judges)


def _material(path: Path, contexts: Sequence[Context]) -> tuple[list[Context], list[Completion], tuple[str, ...]]:
    file = read_completions(path, contexts)
    completions = list(file.completions)
    spoken_of = {c.context_id for c in completions}
    used = [c for c in contexts if c.id in spoken_of]
    return used, completions + reference_completions(used), file.notes


def as_object(
    outcomes: Sequence[JudgingOutcome],
    checks: Sequence[JudgeCheck],
    estimates: Sequence[Estimate] = (),
    *,
    stop: Stop | None = None,
    heard_wer: Mapping[str, float | None] | None = None,
    asked: Collection[str] | None = None,
) -> dict[str, Any]:
    """The object that `harness judge --json` prints. `missing_by_kind` counts pairs of checks too: of the judges `asked`, None:
    of all."""
    watches = {w.judge: w for o in outcomes for w in o.canaries}
    judges = []
    for check in checks:
        watched = watches.get(check.judge)
        judges.append(
            {
                "id": check.judge,
                **check.model_dump(exclude={"judge"}),
                "standing": standing(check),
                "drifted": watched.drifted(check.accuracy) if watched and check.accuracy is not None else None,
            }
        )
    kinds = Counter(by_kind([m for o in outcomes for m in o.missing]))
    for check in checks:
        if asked is None or check.judge in asked:
            kinds.update(check.missing_by_kind)
    found: dict[str, Any] = {
        "schema": 1,
        "comparisons": sum(o.comparisons for o in outcomes),
        "calls": sum(o.calls for o in outcomes),
        "cached": sum(o.cached for o in outcomes),
        "missing": sum(len(o.missing) for o in outcomes),
        "unasked": sum(o.unasked for o in outcomes),
        "without_sound": sum(o.without_sound for o in outcomes),
        "missing_by_kind": dict(sorted(kinds.items())),
        "why_missing": _why(outcomes),
        "judges": judges,
        "stop": None if stop is None else stop.model_dump(),
        "heard_wer": dict(heard_wer or {}),
    }
    if estimates:
        found["dry_run"] = [asdict(e) for e in estimates]
    return found


def _why(outcomes: Sequence[JudgingOutcome]) -> dict[str, str]:
    """Judge → why questions of the batches have no answer, for judges that left some."""
    missing: dict[str, list[Missing]] = {}
    for one in (m for outcome in outcomes for m in outcome.missing):
        missing.setdefault(one.judge, []).append(one)
    answered = Counter(row.judge for outcome in outcomes for row in outcome.judgments)
    return {judge: why_missing(mine, answered[judge]) for judge, mine in missing.items()}
