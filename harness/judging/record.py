"""Record of a batch, stored beside its verdicts: seed, design, what is missing and why, and when it was ended.

A row holds an answer. The rows do not show that a question was asked and got no answer, or was left out because the batch
ended early; without that a complete board and the rest that a failing endpoint left would be the same.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.errors import UserError
from harness.files import write_whole
from harness.judging.batch import JudgingOutcome
from harness.judging.design import Design
from harness.judging.mend import why_missing
from harness.judging.schema import Strict
from harness.ranking.stopping import Look, UntilSeparated
from harness.store.judgment import Presentation
from harness.store.paths import plain_name

FOLDER = "judging"


class Stop(Strict):
    """The rule by which the batch could end early. `unasked`: questions that it left out."""

    goal: str
    looks: tuple[Look, ...]
    unasked: int

    def in_words(self) -> str:
        """One sentence for readers of a rating made of these verdicts."""
        last = self.looks[-1] if self.looks else None
        if last is None or not last.apart:
            return f"Judging was to end once the {self.goal} was separated; it never was, and every question was asked."
        if not self.unasked:
            return f"Judging was to end once the {self.goal} was separated; it was, with every question asked."
        return (
            f"Judging ended early, after {last.contexts} contexts, when the {self.goal} was separated "
            f"(interim analysis {len(self.looks)}, bands of {last.level:.1%}); see docs/statistics.md on intervals after "
            "such an end."
        )


class JudgingRecord(Strict):
    """One judge's part in one batch."""

    judge: str
    presentation: Presentation
    condition: str = ""
    """The line condition; empty in a record from before conditions were judged separately."""
    seed: int
    design: dict[str, Any]
    comparisons: int
    """Questions that were reached."""
    missing: list[dict[str, Any]]
    why_missing: str = ""
    """Why, and what mends it; empty in a record by an older version."""
    stop: Stop | None = None

    @property
    def given_up(self) -> bool:
        """True if the judge was not asked any more before the end."""
        return any(question.get("attempts") == 0 for question in self.missing)


def record_of(
    judge: str,
    outcomes: Sequence[JudgingOutcome],
    presentation: Presentation,
    condition: str,
    seed: int,
    design: Design,
    rule: UntilSeparated | None,
) -> JudgingRecord:
    """The record of one judge over the batches of one condition."""
    mine = [m for outcome in outcomes for m in outcome.missing if m.judge == judge]
    answered = sum(row.judge == judge for outcome in outcomes for row in outcome.judgments)
    return JudgingRecord(
        judge=judge,
        presentation=presentation,
        condition=condition,
        seed=seed,
        design=asdict(design),
        comparisons=answered + len(mine),
        missing=[asdict(m) for m in mine],
        why_missing=why_missing(mine, answered),
        stop=None if rule is None else stop_of(rule, sum(outcome.unasked for outcome in outcomes)),
    )


def stop_of(rule: UntilSeparated, unasked: int) -> Stop:
    """The record of a rule and of its results."""
    return Stop(goal=rule.goal, looks=tuple(rule.looks), unasked=unasked)


def write_record(run: Path, record: JudgingRecord) -> None:
    """Store it in the run's folder, in place of an earlier one of this judge, presentation and condition."""
    judge = re.sub(r"[^a-zA-Z0-9.@+-]", "-", record.judge)
    path = run / FOLDER / f"{judge}.{record.presentation}.{plain_name(record.condition) or 'any'}.json"
    path.parent.mkdir(exist_ok=True)
    write_whole(path, record.model_dump_json(indent=1) + "\n")


def read_records(run: Path) -> list[JudgingRecord]:
    """Every record of a run.

    Raises:
        UserError: a file in the folder is not a record.
    """
    found: list[JudgingRecord] = []
    for path in sorted((run / FOLDER).glob("*.json")):
        try:
            found.append(JudgingRecord.model_validate_json(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, ValidationError) as error:
            raise UserError(f"{path}: is not a record of a judging; delete it, or judge the run again") from error
    return found


def stops_in_words(records: Sequence[JudgingRecord]) -> list[str]:
    """The sentences of those that could end early, each once."""
    return list(dict.fromkeys(record.stop.in_words() for record in records if record.stop is not None))
