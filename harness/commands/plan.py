"""`harness plan`: a run fixed in a file, so that many machines can play parts of it; with `--estimate`, its time and price."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import play_options as asked
from harness.commands.screen import AsJson
from harness.errors import UserError
from harness.experiment import FREE, Experiment
from harness.files import for_others, write_whole
from harness.wording import counted

if TYPE_CHECKING:
    from harness.run.estimate import PlanEstimate
    from harness.run.plan import RunPlan


@asked.of_an_experiment(Experiment.model_fields.keys() - FREE)
def plan(
    out: Annotated[Path | None, typer.Option(metavar="FILE", show_default="none", help="File for the plan.")] = None,
    named: asked.Named = asked.NOTHING,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only print the hours, cores, judge calls and money that the run takes.")
    ] = False,
    agent_count: Annotated[
        int | None,
        typer.Option(
            metavar="A", show_default="those named", help="With --estimate: as many agents, like those that are named.", min=1
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(metavar="JUDGE", show_default="none", help="With --estimate: a judge of the run; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fix what a run plays (seeds, hashes, versions, weights) in a file, for `harness run --plan FILE --shard I/N`."""
    from harness.run.plan import make_plan

    _refuse_half_a_question(out, estimate, agent_count, judge)
    made = make_plan(Experiment.of(named))
    if out is None:
        _estimate(made, tuple(judge or ()), agent_count, as_json=as_json)
    else:
        _fix(made, out, as_json=as_json)


def _refuse_half_a_question(out: Path | None, estimate: bool, agent_count: int | None, judge: list[str] | None) -> None:
    if estimate == (out is not None):
        raise UserError("plan: give either --out FILE, for the plan, or --estimate, for the time and money that it would take")
    if not estimate and (agent_count is not None or judge):
        given = "--agent-count" if agent_count is not None else "--judge"
        raise UserError(f"{given}: is for an estimate; add --estimate, or leave it out (judges are named by harness judge run)")


def _fix(made: "RunPlan", out: Path, *, as_json: bool) -> None:
    from harness.run.disk_space import calls_last_s, room_needed
    from harness.run.fixed_plan import fixed

    found = fixed(made)
    _write(out, found.model_dump_json(by_alias=True, indent=2) + "\n")
    keys = made.session_keys()
    hours, megabytes = calls_last_s(made, keys) / 3600, room_needed(made, keys) / 1e6
    if as_json:
        told = {"schema": 1, "plan": str(out), "id": found.id, "contexts": len(found.contexts), "calls": len(keys)}
        print(json.dumps({**told, "hours": round(hours, 3), "megabytes": round(megabytes, 1)}, indent=2))
        return
    print(f"plan {found.id}: {len(keys):,} calls, about {lasting(hours)} at one call at a time and {megabytes:,.0f} MB")
    print(f"play a part:  harness run --plan {shlex.quote(str(out))} --shard 1/N --out DIR   (1/N to N/N, on any machines)")
    print("merge the parts:  harness merge DIR… --out RUN, then harness judge run RUN and harness report RUN")


def _estimate(made: "RunPlan", judges: tuple[str, ...], agent_count: int | None, *, as_json: bool) -> None:
    from harness.run.estimate import estimate_plan
    from harness.verdicts.judge import load_judges

    asked_about = judges if load_judges(judges) else ()
    found = estimate_plan(made, asked_about, agent_count)
    if as_json:
        rounded = {name: round(getattr(found, name), 3) for name in ("call_hours", "hours", "megabytes")}
        print(json.dumps({"schema": 1, **asdict(found), **rounded}, indent=2))
        return
    for line in _in_words(found):
        print(line)


def _in_words(found: "PlanEstimate") -> list[str]:
    parts = [(found.agents, "agent"), (found.contexts, "context"), (found.repeats, "repeat"), (found.conditions, "condition")]
    size = " × ".join(counted(number, what) for number, what in parts)
    of_a_call = f"{found.cores_per_call} for each call" + ("" if found.threads_known else ", where an agent's is not known")
    at_once = f" one at a time, {lasting(found.hours)} at {found.concurrency} calls at once" if found.concurrency > 1 else ""
    lines = [
        f"{size}: {found.calls:,} calls",
        f"calls:  {lasting(found.call_hours)}{at_once}",
        f"cores:  {found.cores} ({of_a_call}, 1 for the caller)",
        f"disk:   {found.megabytes:,.0f} MB",
    ]
    for one in found.judges:
        cost = "no price on file" if one.cost_usd is None else f"US$ {one.cost_usd:,.2f}"
        tokens = f"about {one.tokens_in + one.tokens_out:,} tokens, {cost}"
        lines.append(f"judge:  {one.judge}: {one.calls:,} calls ({one.check_calls:,} of them in its check), {tokens}")
    if not found.judges:
        lines.append("judge:  none asked about; --judge NAME adds its calls and its price")
    time = "rendering, transcribing, the answers of text endpoints, the time of judges on this machine"
    return [*lines, f"not counted: {time}, the prices of agents' own services"]


def lasting(hours: float) -> str:
    """A duration in hours, or in minutes if it is shorter than one."""
    if not hours:
        return "0 minutes"
    return f"{hours:,.1f} hours" if hours >= 1 else f"{60 * hours:.1f} minutes"


def _write(path: Path, text: str) -> None:
    """Write a file completely or not at all: another machine may be waiting for it."""
    try:
        write_whole(path, text)
        for_others(path)
    except OSError as error:
        raise UserError(f"--out {path}: cannot be written ({error.strerror}); choose another path") from error
