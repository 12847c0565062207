"""`harness load --isolate`: a cascade played with some of its stages computing and stand-ins for the others.

The agent is started anew for each play, with the same callers, contexts and instants, so that plays differ in what computes and
in nothing else. The call before each play is in no figure, as before the steps. A play whose callers, frames or answers were
late is stored, and counts in no figure.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Final, Protocol

from harness.agents.cascade.settings import ComputingStage
from harness.caller import SessionPlan
from harness.figures.interference import ORDER, STAGES, Configuration, interference
from harness.load.arrivals import Arrivals
from harness.load.ceiling import LoadResult
from harness.load.isolated import Isolated, Play, load_to_isolate
from harness.load.limits import limit_of
from harness.load.measuring import Offered
from harness.load.steps import Load, play_step
from harness.store.load_files import LoadTurn

OF_A_STAGE: Final = {"asr": ("asr",), "llm": ("llm", "first_clause"), "tts": ("tts",)}
"""Stage → the stages of a waterfall that are its stand-in's and no measurement."""


class Calls(Protocol):
    """The calls to an agent that runs."""

    def plan(self, number: int) -> SessionPlan:
        """The plan of the n-th call."""

    def context(self, number: int) -> str:
        """The context that the n-th call speaks."""


Running = Callable[[Sequence[ComputingStage]], AbstractAsyncContextManager[Calls]]
"""Starts the agent with stand-ins for these stages."""


async def isolate(
    each: Load, result: LoadResult, arrivals: Sequence[Arrivals], rounds: int, running: Running, said: Callable[[str], None]
) -> LoadResult:
    """Play every configuration twice at the load of the knee; the result with what that showed. It is stored after each play.

    Args:
        arrivals: those of the steps, in an open loop.
        rounds: times to play each wave of a closed loop.
        said: called with each play in words.

    Raises:
        AgentError: the agent, or a caller process, does not start.
    """
    offered, why = load_to_isolate(result)
    at = next(one for one in arrivals if one.rate == offered) if arrivals else None
    plays: list[Play] = []
    turns: list[LoadTurn] = []
    for number, computing in enumerate(ORDER):
        said(f"{number + 1} of {len(ORDER)}: {words_of(computing)}")
        place = Offered(len(result.steps) + number, callers=None if at is not None else round(offered), arrivals=at)
        rows: list[LoadTurn] = []
        async with running([stage for stage in STAGES if stage not in computing]) as calls:
            step = await play_step(replace(each, call=calls.plan, context=calls.context, rows=rows.extend), place, rounds)
        limit = limit_of(step) if not step.says_of_agent else None
        left_out = limit.in_words() if limit is not None else "; ".join(step.out_of_bounds)
        marked = [_marked(row, computing, counts=not left_out) for row in rows]
        each.rows(marked)
        turns += marked
        plays.append(Play(computing, step.sessions, step.failed, left_out))
        result = replace(result, isolated=Isolated(offered, why, tuple(plays), interference(turns)))
        each.finished(result)
    return result


def words_of(computing: Configuration) -> str:
    """A configuration in words: `asr alone`, `asr and llm`."""
    return f"{computing[0]} alone" if len(computing) == 1 else " and ".join(computing)


def _marked(row: LoadTurn, computing: Configuration, *, counts: bool) -> LoadTurn:
    """The row without times of stand-ins, which are no measurement."""
    scripted = {name for stage, names in OF_A_STAGE.items() if stage not in computing for name in names}
    return row.model_copy(
        update={
            "computing": computing,
            "counted": row.counted and counts,
            "ttft_ms": row.ttft_ms if "llm" in computing else None,
            "stages": {name: times for name, times in row.stages.items() if name not in scripted},
            "own_ms": {name: ms for name, ms in row.own_ms.items() if name in computing},
        }
    )
