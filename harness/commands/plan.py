"""`harness run --write-plan`: a run fixed in a file, so that many machines can play parts of it; `--estimate`: its time and
price."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands import play_options as asked
from harness.errors import UserError
from harness.experiment import FREE, Experiment
from harness.files import for_others, write_whole
from harness.wording import counted

if TYPE_CHECKING:
    from harness.run.estimate import PlanEstimate
    from harness.run.plan import RunPlan


def plan_only(
    named: asked.Named,
    out: Path | None,
    agent_count: int | None,
    *,
    estimate: bool,
    of_a_run: Mapping[str, object],
    as_json: bool,
) -> None:
    """Write the plan of a run, or print what the run would take. `of_a_run`: options that only a run has, with their values.

    Raises:
        UserError: an option does not go with the others, or has a wrong value.
    """
    from harness.run.plan import make_plan

    wanted = "--write-plan" if out is not None else "--estimate"
    if (out is not None) == estimate:
        raise UserError(
            "--agent-count: is for an estimate; add --estimate"
            if out is None
            else "--write-plan: writes a plan and --estimate nothing; leave one out"
        )
    if extra := next((option for option, value in of_a_run.items() if value), None):
        raise UserError(f"{extra}: nothing is played with {wanted}; leave one of the two out")
    if out is not None and (agent_count is not None or "judges" in named):
        given = "--agent-count" if agent_count is not None else "--judge"
        raise UserError(f"{given}: is for an estimate; add --estimate, or leave it out (judges are named by harness judge run)")
    made = make_plan(Experiment.of({name: value for name, value in named.items() if name not in FREE}))
    if out is not None:
        _fix(made, out, as_json=as_json)
    else:
        _estimate(made, Experiment.of(named).judges, agent_count, as_json=as_json)


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
    from harness.verdicts.estimate import cost_in_words

    parts = [(found.agents, "agent"), (found.contexts, "context"), (found.repeats, "repeat"), (found.conditions, "condition")]
    size = " × ".join(counted(number, what) for number, what in parts)
    of_a_call = f"{found.cores_per_call} for each call" + ("" if found.threads_known else ", where an agent's is not known")
    at_once = f" one at a time, {lasting(found.hours)} at {found.concurrency} calls at once" if found.concurrency > 1 else ""
    lines = [
        f"{size}: {found.calls:,} {'calls' if found.call_hours else 'written replies'}",
        f"calls:  {f'{lasting(found.call_hours)}{at_once}' if found.call_hours else 'none, these agents are asked in writing'}",
        f"cores:  {found.cores} ({of_a_call}, 1 for the caller)",
        f"disk:   {found.megabytes:,.0f} MB",
    ]
    for one in found.judges:
        tokens = f"about {one.tokens_in + one.tokens_out:,} tokens, {cost_in_words(one)}"
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
        raise UserError(f"--write-plan {path}: cannot be written ({error.strerror}); choose another path") from error
