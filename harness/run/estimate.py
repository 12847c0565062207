"""Hours, cores, disk and questions of a plan, before anything is begun.

Calls are played in real time, so hours follow from the words that callers speak and the time in which agents reply; nothing
makes them shorter but more calls at once, and these need cores. What follows the calls is left out: rendering, transcribing and
a local judge take as long as the machine lets them, which is not known beforehand.
"""

from dataclasses import dataclass
from typing import Final

from harness.agents.profile import AgentProfile
from harness.run.disk_space import calls_last_s, room_needed
from harness.run.plan import RunPlan
from harness.verdicts.estimate import Estimate
from harness.verdicts.planned import estimate_planned

CALLER_CORES: Final = 1
"""Processors of the caller, whose work is small but must not wait."""


@dataclass(frozen=True, slots=True)
class PlanEstimate:
    """The estimate of a plan. `hours` are those at the plan's number of calls at once."""

    agents: int
    contexts: int
    repeats: int
    conditions: int
    calls: int
    call_hours: float
    """One call at a time."""
    hours: float
    concurrency: int
    cores_per_call: int
    """The most threads of one part of any agent that runs here; 1 for one whose threads are not known, 0 if none runs here."""
    threads_known: bool
    cores: int
    megabytes: float
    judges: tuple[Estimate, ...]


def estimate_plan(plan: RunPlan, judges: tuple[str, ...], agents: int | None = None) -> PlanEstimate:
    """The estimate of a plan with these judges. `agents`: as many like those of the plan, where others will join them."""
    keys, options = plan.session_keys(), plan.options
    known = [profile.name for profile in plan.profiles]
    count = agents or len(known)
    share = count / len(known)
    call_hours = share * calls_last_s(plan, keys) / 3600
    here = [profile for profile in plan.profiles if profile.runs_here]
    per_call = max((_threads(profile) for profile in here), default=0)
    names = [*known, *(f"{known[0]}-{number}" for number in range(len(known) + 1, count + 1))][:count]
    return PlanEstimate(
        agents=count,
        contexts=len(plan.contexts),
        repeats=options.repeats,
        conditions=len(options.conditions),
        calls=round(share * len(keys)),
        call_hours=call_hours,
        hours=call_hours / options.concurrency,
        concurrency=options.concurrency,
        cores_per_call=per_call,
        threads_known=all(profile.threads for profile in here),
        cores=options.concurrency * per_call + CALLER_CORES,
        megabytes=share * room_needed(plan, keys) / 1e6,
        judges=tuple(
            estimate_planned(
                plan.contexts,
                names,
                judges,
                conditions=len(options.conditions),
                repeats=options.repeats,
                seed=options.seed,
            )
        ),
    )


def _threads(profile: AgentProfile) -> int:
    return max(profile.threads.values(), default=1)
