"""`harness load`: the agent of a profile under rising numbers of callers, all speaking the first turn of a pack."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from audio.vocal import silero
from harness.errors import UserError
from harness.extras import require_local
from harness.load.ceiling import LoadResult
from harness.load.steps import load
from harness.progress import RunProgress
from harness.run.caller_turns import history_of, render_turns
from harness.run.greetings import Greetings
from harness.run.plan import RunOptions, make_plan
from harness.run.running_agents import RunningAgents
from harness.run.sessions import weights_of


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """Which agent, how many callers (None: as many as hold), what they say, and what TTFA may be at p95."""

    agent: str
    callers: tuple[int, ...] | None
    pack: str
    rounds: int | None
    logs: Path
    budget_ms: float | None = None


async def load_agent(request: LoadRequest, progress: RunProgress) -> LoadResult:
    """Start the agent, play the steps, stop it.

    Raises:
        UserError: the input is wrong, or the agent is not one that is spoken to.
        AgentError: the agent cannot start.
    """
    plan = make_plan(RunOptions(agents=(request.agent,), pack=request.pack, limit=1))
    (profile,), (key,) = plan.profiles, plan.session_keys()
    if profile.kind == "text":
        raise UserError(f"--agent {profile.name}: is asked in text; load plays calls")
    require_local("speaking to an agent and hearing it")
    weights = weights_of(plan, progress)
    turns = render_turns(plan, progress)
    request.logs.mkdir(parents=True, exist_ok=True)
    async with RunningAgents(plan.profiles, weights, request.logs, progress) as running:
        connection = running.connection(profile.name)
        rate_hz = int(connection.options.get("input_rate_hz", 16_000))
        progress.phase("Calls", sum(request.callers) * (request.rounds or 1) if request.callers is not None else None)
        return await load(
            lambda _: connection,
            turns.of(key, rate_hz)[0],
            rate_hz,
            request.callers,
            history=history_of(plan.contexts[0], key.mode),
            greeting=Greetings().of(profile),
            rounds=request.rounds,
            vocal=silero(),
            progress=lambda callers, done, total: progress.status(f"{callers} at once: {done} of {total}"),
            budget_ms=request.budget_ms,
        )


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
