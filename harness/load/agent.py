"""`harness load`: a profile's agent under rising numbers of callers, which all speak the first turn of a pack."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.audio.vocal import silero
from harness.caller import SessionPlan
from harness.errors import UserError
from harness.experiment import Experiment
from harness.extras import require_local
from harness.load.ceiling import LoadResult
from harness.load.soak import SoakResult, soak
from harness.load.steps import load
from harness.progress import RunProgress
from harness.run.caller_turns import history_of, render_turns
from harness.run.greetings import Greetings
from harness.run.plan import make_plan
from harness.run.running_agents import RunningAgents
from harness.run.weights import weights_of_agents


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """The agent, the numbers of callers (None: search for the limit), the pack, and the limit for the p95 of TTFA."""

    agent: str
    callers: tuple[int, ...] | None
    pack: str
    rounds: int | None
    logs: Path
    budget_ms: float | None = None


async def load_agent(request: LoadRequest, progress: RunProgress) -> LoadResult:
    """Start the agent, play the steps, stop the agent.

    Raises:
        UserError: the input is wrong, or the agent is not one that is spoken to.
        AgentError: the agent cannot start.
    """
    async with _started(request, progress) as (call, _):
        progress.phase("Calls", sum(request.callers) * (request.rounds or 1) if request.callers is not None else None)
        return await load(
            lambda _: call,
            request.callers,
            rounds=request.rounds,
            vocal=silero(),
            progress=lambda callers, done, total: progress.status(f"{callers} at once: {done} of {total}"),
            budget_ms=request.budget_ms,
        )


async def soak_agent(request: LoadRequest, minutes: float, progress: RunProgress) -> SoakResult:
    """Start the agent, play waves of one number of callers for this time, stop the agent.

    Raises:
        UserError: the input is wrong, or the agent is not one that is spoken to.
        AgentError: the agent cannot start.
    """
    if request.callers is None or len(request.callers) != 1:
        raise UserError("--minutes: repeats one number of callers; name it with --callers")
    (callers,) = request.callers
    async with _started(request, progress) as (call, pid):
        progress.phase("Waves")
        return await soak(
            lambda _: call,
            callers,
            minutes * 60,
            agent_pid=pid,
            vocal=silero(),
            progress=lambda look: progress.step(f"{look.at_s / 60:.1f} of {minutes:g} minutes", keep=True),
        )


@asynccontextmanager
async def _started(request: LoadRequest, progress: RunProgress) -> AsyncIterator[tuple[SessionPlan, int | None]]:
    """The agent, started: the plan of every call to it, and its process."""
    plan = make_plan(Experiment(agents=(request.agent,), pack=request.pack, limit=1))
    (profile,), (key,) = plan.profiles, plan.session_keys()
    if profile.kind == "text":
        raise UserError(f"--agent {profile.name}: is a text model; load plays calls")
    require_local("speaking to an agent and hearing it")
    weights = weights_of_agents(plan, progress)
    turns = render_turns(plan, progress)
    request.logs.mkdir(parents=True, exist_ok=True)
    async with RunningAgents(plan.profiles, weights, request.logs, progress) as running:
        connection = running.connection(profile.name)
        rate_hz = int(connection.options.get("input_rate_hz", 16_000))
        history, greeting = history_of(plan.contexts[0], key.mode), Greetings().of(profile)
        call = SessionPlan(connection, (turns.of(key, rate_hz)[0],), rate_hz, history, greeting=greeting)
        yield call, running.pids().get(profile.name)


def parse_callers(text: str) -> Sequence[int] | None:
    """`1,2,5,10` as numbers; None for `auto`.

    Raises:
        UserError: something else is written.
    """
    if text == "auto":
        return None
    try:
        callers = [int(part) for part in text.split(",")]
    except ValueError:
        callers = []
    if not callers or min(callers) < 1 or max(callers) > 1_000:
        raise UserError(f"--callers {text}: write numbers from 1 to 1000 with commas, as in 1,2,5,10, or auto")
    return callers
