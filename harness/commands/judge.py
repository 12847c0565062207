"""`harness judge`: judge a finished run, again or by another judge; verdicts of earlier judges stay."""

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer

from harness.judgment import JudgeCheck
from harness.progress import RunProgress


def judge(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    judge: Annotated[
        list[str] | None, typer.Option(help="Judge: a shipped name or a .toml file; may be repeated.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only put the judges through pairs with known answers.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of pairs and orders.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> int:
    """Judge the replies of a run pairwise, blind."""
    from harness.judge_run import RunJudging, check_judges, judge_run, load_judges
    from harness.store import RunStore

    names = tuple(judge) if judge else ("embedded",)
    load_judges(names)
    store = RunStore.open(run)
    with RunProgress() as progress, store.lock():
        how = RunJudging(judges=names, seed=seed)
        outcomes = [] if check else asyncio.run(judge_run(store, how, progress))
        if check:
            asyncio.run(check_judges(store, how, progress))
    checks = store.judge_checks()
    totals = {
        "comparisons": sum(o.comparisons for o in outcomes),
        "calls": sum(o.calls for o in outcomes),
        "cached": sum(o.cached for o in outcomes),
        "missing": sum(len(o.missing) for o in outcomes),
    }
    if as_json:
        rows = [{**c.model_dump(exclude={"judge"}), "id": c.judge} for c in checks]
        print(json.dumps({"schema": 1, **totals, "judges": rows}, indent=2))
    else:
        if not check:
            print(", ".join(f"{name} {count}" for name, count in totals.items()))
        for row in checks:
            print(_in_words(row))
    return 3 if totals["missing"] else 0


def _in_words(check: JudgeCheck) -> str:
    interval = check.accuracy_interval
    between = f" (95 % interval {interval[0]:.0%}–{interval[1]:.0%})" if interval else ""
    trusted = "trusted" if check.trusted else "not trusted"
    return (
        f"{check.judge}: {trusted}; right on {check.accuracy:.0%} of {check.pairs} pairs with known answers{between}, "
        f"changes its mind with the order on {check.flip_rate:.0%}"
    )
