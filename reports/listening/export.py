"""All answers of a run's listening tests as one table, for statistics of one's own.

Each row is one answer, with what its rater said of themselves: whoever asks how answers depend on age or country needs both,
and a table of its own for people would only be joined again. Everything is by pseudonym. Checks and practice are rows too, as
are raters who are left out: the columns `role`, `passed` and `left_out` say so.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.files import write_whole
from harness.reports.listening.answers import Answer, VoteStore, tests_of
from harness.reports.listening.results import quality_of
from harness.store.run_store import RunStore
from harness.tables.csv_text import csv_text

FILE: Final = "listening_answers.csv"
Row = dict[str, str | float | int | bool | None]


def write_answers(store: RunStore, folder: Path) -> Path | None:
    """Write the table into a folder; returns None, and writes no file, if there are no answers."""
    rows = [row for votes in tests_of(store.folder) for row in _rows(store, votes)]
    if not rows:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    path = folder / FILE
    write_whole(path, csv_text(columns, ([row.get(name) for name in columns] for row in rows)))
    return path


def _rows(store: RunStore, votes: VoteStore) -> Iterator[Row]:
    design = votes.design()
    if design is None:
        return
    about = votes.participants.every()
    out = {quality.rater: "; ".join(quality.reasons) for quality in quality_of(store, votes)}
    for answer in votes.answers():
        if answer.item.context is not None:
            row = _row(answer) | {"left_out": out.get(answer.rater, ""), "condition": design.condition}
            said = {f"about: {label}": value for label, value in about.get(answer.rater, {}).items()}
            yield {"test": votes.folder.name, "presentation": design.presentation(answer.item.with_delay), **row, **said}


def _row(answer: Answer) -> Row:
    item, given = answer.item, answer.answer
    first, second = [*(slot.system for slot in item.slots), None, None][:2]
    values = {name: given.get(name) for name in ("choice", "reason", "empathy", "naturalness")}
    return {
        "rater": answer.rater, "position": answer.position, "role": item.role, "passed": answer.passed,
        "context": item.context, "first": first, "second": second, "seconds": round(answer.took_s, 2),
        **{name: value if isinstance(value, str | int) else None for name, value in values.items()},
    }  # fmt: skip
