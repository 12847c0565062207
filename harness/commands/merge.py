"""`harness merge`: the shards of one plan, merged into one run."""

import json
from pathlib import Path
from typing import Annotated

import typer

from harness.commands.screen import AsJson
from harness.progress import RunProgress


def merge(
    shards: Annotated[list[Path], typer.Argument(help="Folders of shards, in any order.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the merged run: a new one, or that of an earlier merge.")],
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Merge even if sessions are missing; a later merge adds them.")
    ] = False,
    pool_machines: Annotated[
        bool, typer.Option("--pool-machines", help="Pool latencies of different machines; the report mentions it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Merge the shards of one plan into one run, to be judged, ranked and reported once."""
    from harness.shards.merge import merge as lay_together
    from harness.wording import counted

    with RunProgress() as progress:
        found = lay_together(shards, out, progress, pool_machines=pool_machines, allow_missing=allow_missing)
    kinds = found.fleet.kinds
    if as_json:
        machines = {name: {"kind": kind, "shards": found.fleet.machines[name].shards} for kind in kinds for name in kinds[kind]}
        told = {"schema": 1, "run": str(found.folder), "plan": found.fleet.plan.id, "sessions": found.sessions}
        print(json.dumps({**told, "added": found.added, "left": found.left, "machines": machines}, indent=2))
        return
    print(f"{counted(found.sessions, 'session')} of plan {found.fleet.plan.id}, {found.added} of them added")
    for kind, names in kinds.items():
        shards_of = sorted(number for name in names for number in found.fleet.machines[name].shards)
        print(f"{counted(len(names), 'machine')} ({kind}): shards {', '.join(map(str, shards_of))}")
    if found.fleet.apart:
        print("machines differ, so their latencies are not pooled; to pool them: --pool-machines")
    if found.left:
        print(f"{counted(found.left, 'session')} of the plan not played yet; merge their shards later into the same --out")
    print(f"next: harness judge run {out}, then harness report {out}")
