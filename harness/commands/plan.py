"""`harness plan`: a run fixed in a file, so that many machines can play parts of it."""

import json
import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from harness.commands import play_options as asked
from harness.commands.screen import AsJson
from harness.errors import UserError
from harness.experiment import FREE, Experiment


@asked.of_an_experiment(Experiment.model_fields.keys() - FREE)
def plan(
    out: Annotated[Path, typer.Option(metavar="FILE", help="File for the plan.")],
    named: asked.Named = asked.NOTHING,
    as_json: AsJson = False,
) -> None:
    """Fix what a run plays (seeds, hashes, versions, weights) in a file, for `harness run --plan FILE --shard I/N`."""
    from harness.run.disk_space import calls_last_s, room_needed
    from harness.run.fixed_plan import fixed
    from harness.run.plan import make_plan

    made = make_plan(Experiment.of(named))
    found = fixed(made)
    _write(out, found.model_dump_json(by_alias=True, indent=2) + "\n")
    keys = made.session_keys()
    hours, megabytes = calls_last_s(made, keys) / 3600, room_needed(made, keys) / 1e6
    if as_json:
        told = {"schema": 1, "plan": str(out), "id": found.id, "contexts": len(found.contexts), "calls": len(keys)}
        print(json.dumps({**told, "hours": round(hours, 3), "megabytes": round(megabytes, 1)}, indent=2))
        return
    print(f"plan {found.id}: {len(keys):,} calls, about {hours:,.1f} hours at one call at a time and {megabytes:,.0f} MB")
    print(f"play a part:  harness run --plan {shlex.quote(str(out))} --shard 1/N --out DIR   (1/N to N/N, on any machines)")
    print("merge the parts:  harness merge DIR… --out RUN, then harness judge RUN and harness report RUN")


def _write(path: Path, text: str) -> None:
    """Write a file completely or not at all: another machine may be waiting for it."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise UserError(f"--out {path}: cannot be written ({error.strerror}); choose another path") from error
