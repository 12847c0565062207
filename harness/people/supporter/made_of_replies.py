"""Files in a run's folder that were made of its replies, and their removal when a person withdraws.

A page, a table or an export of a whole run can be written again in a minute, so these are deleted whole and not searched.
Sheets on which people have marked replies cannot: of them the rows of the withdrawn replies go, and the items from their key.
What lies outside the run's folder is out of reach.
"""

import json
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.files import write_whole
from harness.reports.listening.export import FILE as ANSWERS
from harness.reports.listening.material import FOLDER as LISTENING
from harness.reports.listening.people import FILE as COMPLETIONS
from harness.store.paths import LABELS, VOTE_SOUNDS
from harness.tables.csv_rows import CsvRows
from harness.tables.csv_text import csv_text, safe_cell, without_guard

_TABLES: Final = "tables.json"
"""The file by which the folder of an export is known; its keys are the names of the tables beside it."""
_PICTURES: Final = ("*.svg", "*.png")


def remove_made(run: Path, sessions: Collection[str]) -> None:
    """Delete pages, figures and exports of the run, the sounds of these sessions, and stimuli of listening tests."""
    for tables in sorted(run.rglob(_TABLES)):
        _remove_export(tables)
    for pattern in ("*.html", "*.htm", "summary.json", f"{VOTE_SOUNDS}/*.mp3"):
        for path in sorted(run.rglob(pattern)):
            path.unlink(missing_ok=True)
    shutil.rmtree(run / LISTENING / "stimuli", ignore_errors=True)
    for path in sorted(_sounds(run, sessions)):
        path.unlink(missing_ok=True)


def _remove_export(tables: Path) -> None:
    try:
        names = list(json.loads(tables.read_text(encoding="utf-8")))
    except ValueError:
        names = []
    made = [tables.with_name(f"{name}.csv") for name in names]
    made += [tables.with_name(name) for name in ("summary.md", ANSWERS, COMPLETIONS)]
    made += [path for pattern in _PICTURES for path in tables.parent.glob(pattern)]
    for path in (*made, tables):  # Last, because the rest is found by it.
        path.unlink(missing_ok=True)


def _sounds(run: Path, sessions: Collection[str]) -> Iterator[Path]:
    for folder in run.rglob("report-audio"):
        for path in folder.rglob("*"):
            if any(path.name.startswith(f"{name}.") for name in sessions):
                yield path


def remove_from_sheets(run: Path, replies: Collection[tuple[str, str]], texts: Collection[str]) -> None:
    """Delete these replies (context, system), whose words are `texts`, from labellers' sheets and their keys."""
    shown = {*texts, *(without_guard(str(safe_cell(text))) for text in texts)}
    for key in sorted((run / LABELS).rglob("key.json")):
        items = json.loads(key.read_text(encoding="utf-8"))
        gone = {item for item, reply in items.items() if tuple(reply) in replies}
        if gone:
            for sheet in sorted(run.rglob("*.csv")):
                _without_rows(sheet, gone, shown)
            _write(key, json.dumps({item: reply for item, reply in items.items() if item not in gone}) + "\n")


def _without_rows(sheet: Path, items: Collection[str], texts: Collection[str]) -> None:
    try:
        reader = CsvRows(sheet, ("item", "reply"))
    except UserError:
        return  # No sheet: labelling wrote the first line of those.
    if not {"item", "reply"} <= set(reader.columns):
        return
    rows = [row.cells for row in reader]
    kept = [row for row in rows if row["item"] not in items or row["reply"] not in texts]
    if len(kept) < len(rows):
        _write(sheet, csv_text(reader.columns, ([row[name] for name in reader.columns] for row in kept)))


def _write(path: Path, text: str) -> None:
    write_whole(path, text)
