"""The exports of a report: pictures, tables, and a summary in Markdown, in one folder."""

import csv
import json
from pathlib import Path

from harness.reports.charts.registry import charts
from harness.reports.conditions import conditions
from harness.reports.markdown import markdown
from harness.reports.pictures import write_joint_picture, write_pictures
from harness.reports.tables import Row, tables
from harness.reports.view import PageView
from harness.wording import spreadsheet_text


def write_exports(view: PageView, folder: Path, *, pictures: bool = True) -> tuple[Path, ...]:
    """Write `*.png`, `*.svg`, `*.csv`, `tables.json` and `summary.md` into `folder`; returns their paths.

    A table without rows gives no file; in the JSON it is an empty list.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    if pictures:
        every = [chart for section in charts(view).values() for chart in section]
        written += [*write_joint_picture(view, folder), *write_pictures(every, conditions(view), folder)]
    made = tables(view)
    for name, rows in made.items():
        if not rows:
            continue
        path = folder / f"{name}.csv"
        _write_csv(path, rows)
        written.append(path)
    whole = folder / "tables.json"
    text = json.dumps({"schema": 1, "conditions": conditions(view), **made}, ensure_ascii=False, indent=1, allow_nan=False)
    whole.write_text(text + "\n", encoding="utf-8", errors="replace")
    summary = folder / "summary.md"
    summary.write_text(markdown(view), encoding="utf-8", errors="replace")
    return (*written, whole, summary)


def _write_csv(path: Path, rows: list[Row]) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", encoding="utf-8", errors="replace", newline="") as out:
        writer = csv.DictWriter(out, columns)
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: object) -> object:
    """A value that is safe in a spreadsheet: text that begins like a formula gets a leading quote, as spreadsheets write it."""
    return spreadsheet_text(value) if isinstance(value, str) else value
