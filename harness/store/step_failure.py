"""Failure of one session in a step after its call (timing, hearing, judging, drawing): named, stored, and ending nothing.

A recording contains what an agent sent, which can be anything. If a step cannot process it, that is a fault of this
program and never of the agent: the session is *missing* from the step's results, it is neither a loss nor a silence, and
running the step again with a corrected program completes it. The other sessions are worth too much to be lost with it.
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeVar

from harness.agents.secrets import beginning
from harness.errors import UserError

Step = Literal["timing", "transcribing", "judging", "drawing", "pacing"]
ANALYSIS_FAILED: Final = "analysis_failed"
UNREADABLE: Final = "recording_unreadable"
LONGEST_DETAIL: Final = 300
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class StepFailure:
    """One session for which one step failed. `detail` is one line that is safe to print."""

    session: str
    step: str
    kind: str
    detail: str


def attempt(session: str, step: Step, work: Callable[[], _T]) -> _T | StepFailure:
    """The result of `work`, or its failure. Only for work that depends on the session alone: a full disk is not its fault."""
    try:
        return work()
    except UserError as error:
        return StepFailure(session, step, UNREADABLE, beginning(str(error), LONGEST_DETAIL))
    except OSError:
        raise
    except Exception as error:
        return StepFailure(session, step, ANALYSIS_FAILED, one_line(error))


def one_line(error: Exception) -> str:
    """A defect of this program and its place, in one short line that is safe to print."""
    rooms = Path(__file__).absolute().parents[1]
    frames = [(Path(f.filename), f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    ours = [f" ({path.relative_to(rooms.parent)}, line {line})" for path, line in frames if path.is_relative_to(rooms)]
    return beginning(f"{type(error).__name__}: {error}{ours[-1] if ours else ''}", LONGEST_DETAIL)
