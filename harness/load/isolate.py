"""`harness load --isolate`: a cascade played with some of its stages computing and stand-ins for the others.

Interference is a matter of load: of one caller no two stages work at once, unless the agent speculates, and beyond the limit
everything waits for everything. So it is measured where an operator would run the agent: at the knee, or the most that it
serves within all bounds. The agent is started anew for each play, with the same callers, contexts and instants, so that plays
differ in what computes and in nothing else. The call before each play is in no figure, as before the steps. A play whose
callers, frames or answers were late is stored, and counts in no figure.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Final, Protocol

import numpy as np

from harness.agents.cascade.settings import ComputingStage
from harness.caller import SessionPlan
from harness.figures.interference import ORDER, STAGES, Configuration
from harness.load.arrivals import Arrivals
from harness.load.limits import limit_of
from harness.load.measuring import Offered
from harness.load.result import LoadResult, matrix_of
from harness.load.steps import Load, play_once
from harness.store.load_part import StepRecord, play_name
from harness.store.session import SessionKey, UnrecordedCall
from harness.timing.figures import TurnTiming
from harness.timing.quantiles import Quantiles

ONLY: Final = "the only step"
KNEE: Final = "the knee"
HIGHEST: Final = "the highest load within every bound"
LOWEST: Final = "the lowest load, because no step was within every bound"
OF_A_STAGE: Final = {"asr": ("asr",), "llm": ("llm", "first_clause"), "tts": ("tts",)}
"""Stage → the stages of a waterfall that are its stand-in's and no measurement."""


class Calls(Protocol):
    """The calls to an agent that runs."""

    def plan(self, number: int) -> SessionPlan:
        """The plan of the n-th call."""

    def key(self, number: int) -> SessionKey:
        """The key of its session, without the step."""


Running = Callable[[Sequence[ComputingStage]], AbstractAsyncContextManager[Calls]]
"""Starts the agent with stand-ins for these stages."""


def load_to_isolate(result: LoadResult) -> tuple[float, str]:
    """The offered load at which stages are isolated, and the reason for it."""
    offered = [step.record.offered for step in result.steps]
    if len(offered) == 1:
        return offered[0], ONLY
    bend = result.knee
    if bend is not None and 0 < bend.rate < np.inf:
        return bend.rate, KNEE
    return (result.ceiling, HIGHEST) if result.ceiling is not None else (min(offered), LOWEST)


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
    plays: list[tuple[StepRecord, Sequence[UnrecordedCall]]] = []
    for number, computing in enumerate(ORDER, start=1):
        said(f"{number} of {len(ORDER)}: {words_of(computing)}")
        place = Offered(None if at is not None else round(offered), at, play_name(computing, number))
        async with running([stage for stage in STAGES if stage not in computing]) as calls:
            record, played = await play_once(replace(each, call=calls.plan, key=calls.key), place, rounds)
        limit = limit_of(record, Quantiles()) if not record.says_of_agent else None
        late = (limit.in_words(),) if limit is not None else record.out_of_bounds
        record = record.model_copy(update={"computing": computing, "out_of_bounds": late})
        measured = [
            replace(call, turn_timings=tuple(_without_stand_ins(turn, computing) for turn in call.turn_timings))
            for call in played
        ]
        plays.append((record, measured))
        update = {"records": (*result.part.records, record), "isolated_at": offered, "isolated_why": why}
        result = replace(result, part=result.part.model_copy(update=update), matrix=matrix_of(plays))
        each.finished(measured, result)
    return result


def words_of(computing: Configuration) -> str:
    """A configuration in words: `asr alone`, `asr and llm`."""
    return f"{computing[0]} alone" if len(computing) == 1 else " and ".join(computing)


def _without_stand_ins(turn: TurnTiming, computing: Configuration) -> TurnTiming:
    """The turn without times of stand-ins, which are no measurement."""
    scripted = {name for stage, names in OF_A_STAGE.items() if stage not in computing for name in names}
    path = turn.waterfall
    return replace(
        turn,
        ttft_ms=turn.ttft_ms if "llm" in computing else None,
        waterfall=path and replace(path, stages=tuple(stage for stage in path.stages if stage.name not in scripted)),
        own_ms=tuple((name, ms) for name, ms in turn.own_ms if name in computing),
    )
