"""`harness doctor`: what of this machine is fine, what will disturb a measurement, and how to mend it. Exit 1 on trouble."""

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from harness.progress import RunProgress
from harness.wording import counted

SIGNS = {"fine": "fine", "without": "without", "disturbs": "DISTURBS", "broken": "BROKEN"}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> int:
    """Look at this machine before it measures anything; takes a few seconds. Exit codes: 0 well, 1 something will disturb."""
    from harness.doctor import LOOKS, examine

    with RunProgress() as progress:
        progress.phase("Looking at this machine", len(LOOKS))
        found = examine(tell=progress.status)
    trouble = [f for f in found if f.is_trouble]
    if as_json:
        print(json.dumps({"schema": 1, "well": not trouble, "findings": [asdict(f) for f in found]}, indent=2))
        return 1 if trouble else 0
    console = Console(markup=False, highlight=False)
    width = max(len(f.part) for f in found)
    for f in found:
        console.print(f"{SIGNS[f.state]:9} {f.part:{width}}  {f.seen}", soft_wrap=True)
        if f.mend and f.state != "fine":
            console.print(f"{'':9} {'':{width}}  → {f.mend}", soft_wrap=True)
    told = f"{counted(len(trouble), 'thing')} to mend before figures are quoted." if trouble else "Well: measure."
    console.print(f"\n{told}", soft_wrap=True)
    return 1 if trouble else 0
