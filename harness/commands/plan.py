"""`harness plan`: fix a run once, so that many machines can play parts of it."""

import json
import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from harness.commands import asked
from harness.errors import UserError


def plan(
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the plan is written.")],
    agent: asked.Agent = None,
    pack: asked.Pack = None,
    limit: asked.Limit = None,
    mode: asked.Mode = None,
    condition: asked.Condition = None,
    repeats: asked.Repeats = None,
    concurrency: asked.Concurrency = None,
    seed: asked.Seed = None,
    barge_in: asked.BargeIn = None,
    events: asked.Events = None,
    budget_ttfa: asked.BudgetTtfa = None,
    budget_ttft: asked.BudgetTtft = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Fix what a run plays (seeds, hashes, versions, weights) in a file, for `harness run --plan FILE --shard I/N`."""
    from harness.run.fixed_plan import fixed
    from harness.run.plan import RunOptions, make_plan
    from harness.run.room import calls_last_s, room_needed

    named = asked.named(
        agent=agent, pack=pack, limit=limit, mode=mode, condition=condition, repeats=repeats, concurrency=concurrency,
        seed=seed, barge_in=barge_in, events=events, budget_ttfa=budget_ttfa, budget_ttft=budget_ttft,
    )  # fmt: skip
    made = make_plan(RunOptions(**named))  # type: ignore[arg-type]
    found = fixed(made)
    _write(out, found.model_dump_json(by_alias=True, indent=2) + "\n")
    keys = made.session_keys()
    hours, megabytes = calls_last_s(made, keys) / 3600, room_needed(made, keys) / 1e6
    if as_json:
        told = {"schema": 1, "plan": str(out), "id": found.id, "contexts": len(found.contexts), "calls": len(keys)}
        print(json.dumps({**told, "hours": round(hours, 3), "megabytes": round(megabytes, 1)}, indent=2))
        return
    print(f"plan {found.id}: {len(keys):,} calls, about {hours:,.1f} hours on one line and {megabytes:,.0f} MB")
    print(
        f"play a part of it:  harness run --plan {shlex.quote(str(out))} --shard 1/N --out DIR   (1/N to N/N, on any machines)"
    )
    print("lay them together:  harness merge DIR… --out RUN, then harness judge RUN and harness report RUN")


def _write(path: Path, text: str) -> None:
    """Whole or not at all: another machine may be waiting for the file."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise UserError(f"--out {path}: cannot be written ({error.strerror}); choose another path") from error
