"""A run's last check, in the run's folder: the page of a run that a gate has read begins with the gate's own verdict.

The verdicts are saved and not decided again, because a check may have compared the run with a baseline, or have looked several
times: whoever draws the page later has neither. It counts as the run's verdict only as long as the run is the one that it read.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.files import write_whole
from harness.gate.budgets import Budgets, Comparison
from harness.gate.check import Checked, CheckResult
from harness.gate.decide import Verdict
from harness.gate.words import interval_words, plain_limit, reason, sentences, shown_value
from harness.printable import printable, visible_json
from harness.store.selection import Selection
from harness.timing.quantiles import finite
from harness.wording import UNKNOWN_TEXT

FILE: Final = "gate.json"


class StoredLimit(BaseModel):
    """One limit of a check, with its figure and interval in words. `condition` and `subset` are those of its cell."""

    model_config = ConfigDict(frozen=True)

    agent: str
    condition: str
    subset: str
    figure: str
    comparison: Comparison
    bound: float
    words: str
    """The limit as its file has it."""
    plain: str
    """The limit in the words of a page."""
    verdict: Verdict | Literal["ignored"]
    by_figure: bool
    """True if it passes by its figure alone, and its interval contains the limit."""
    value: float | None
    shown: str
    interval: str
    reason: str


class StoredCheck(BaseModel):
    """One check. `read` are the sessions and the verdicts that it read: with others, the run is no longer the same."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    verdict: Verdict
    checked: str
    budgets_ms: Mapping[Literal["ttfa", "ttft"], float]
    read: tuple[int, int]
    sentences: tuple[str, ...]
    limits: tuple[StoredLimit, ...]


def read_of(selection: Selection) -> tuple[int, int]:
    """The number of sessions of a run, and of its verdicts by judges and people."""
    return len(selection.sessions), len(selection.verdicts)


def store_check(result: CheckResult, budgets: Budgets, selection: Selection, ended: str = "") -> None:
    """Write a check into its run's folder. Raises OSError if that fails."""
    check = StoredCheck(
        verdict=result.verdict,
        checked=datetime.now(UTC).isoformat(timespec="seconds"),
        budgets_ms=budgets.budgets_ms,
        read=read_of(selection),
        sentences=tuple(printable(sentence) for sentence in sentences(result, ended)),
        limits=tuple(map(_stored, result.checked)),
    )
    text = json.dumps(check.model_dump(mode="json", by_alias=True), ensure_ascii=False, indent=1)
    write_whole(result.run / FILE, visible_json(text) + "\n")


def stored_check(folder: Path) -> StoredCheck | None:
    """The last check of a run; None if there was none, or its file is not whole."""
    try:
        return StoredCheck.model_validate_json((folder / FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def _stored(checked: Checked) -> StoredLimit:
    limit, decision = checked.asked.limit, checked.decision
    return StoredLimit(
        agent=checked.asked.agent,
        condition=checked.asked.condition,
        subset=limit.subset,
        figure=limit.figure,
        comparison=limit.comparison,
        bound=limit.bound,
        words=printable(limit.words),
        plain=printable(plain_limit(limit)),
        verdict=checked.verdict,
        by_figure=decision is not None and decision.by_figure,
        value=finite(decision.value) if decision is not None else None,
        shown=UNKNOWN_TEXT if decision is None else shown_value(limit.figure, decision.value),
        interval=UNKNOWN_TEXT if decision is None else interval_words(checked),
        reason=printable(reason(checked)),
    )
