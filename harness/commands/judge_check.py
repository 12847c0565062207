"""`harness judge check`: judges beside people's ratings, and several judges in one table."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import UserError
from harness.progress import RunProgress

if TYPE_CHECKING:
    from harness.judging.validation.peoples_labels import PeoplesLabels


def read_ratings(path: Path, scale: str) -> "PeoplesLabels":
    """People's ratings in a file, whose scores lie on `scale`, as in 1-5."""
    from harness.judging.validation.label_files import read_labels

    return read_labels(path, _scale(scale))


def _scale(text: str) -> tuple[float, float]:
    try:
        low, high = (float(edge) for edge in text.split("-", 1))
    except ValueError:
        low = high = 0.0
    if low >= high:
        raise UserError(f"--scale {text}: must be the lowest and the highest score, as in 1-5")
    return low, high


def against_people(labels: "PeoplesLabels", names: tuple[str, ...], seed: int, as_json: bool) -> int:
    """Compare judges with people's ratings, print the result, and return the exit code."""
    from harness.judging.validation.against_people import kept
    from harness.judging.validation.sentences import people_details, people_sentence
    from harness.verdicts.judge import check_against_people
    from harness.verdicts.red_lines import validations_folder

    with RunProgress() as progress:
        checks = asyncio.run(check_against_people(names, labels, seed, progress))
    if as_json:
        print(json.dumps({"schema": 1, "checks": [check.model_dump() for check in checks]}, indent=2))
    for check in () if as_json else checks:
        print(f"{people_sentence(check)}.")
        for line in people_details(check):
            print(line)
        if check.missing:
            print(f"{check.missing} pairs were not answered{f': {check.why_missing}' if check.why_missing else ''}")
        for before in kept(check.fingerprint, validations_folder()):
            if before != check:
                print(f"known of this judge, and counts too: {people_sentence(before)}.")
    return 3 if any(check.missing for check in checks) else 0


def compared(names: Sequence[str], labels: "PeoplesLabels | None", seed: int, as_json: bool) -> int:
    """Check several judges, print a table of them, and return the exit code."""
    from harness.judging.validation.judge_table import markdown
    from harness.verdicts.compare import compare_judges
    from harness.verdicts.text_board import as_object

    with RunProgress() as progress:
        rows = asyncio.run(compare_judges(names, labels, seed, progress))
    if as_json:
        shown = as_object((), [row.check for row in rows if row.check is not None])
        shown["checks"] = [row.people.model_dump() for row in rows if row.people is not None]
        print(json.dumps(shown | {"table": [row.as_object() for row in rows]}, indent=2))
    else:
        print(markdown(rows))
    return 0 if all(row.complete for row in rows) else 3
