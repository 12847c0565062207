"""What one session does to a step after its call (timing, hearing, judging, drawing) is named, kept, and ends nothing.

A recording is made of what an agent sent, which can be anything. If a step cannot cope with it, that is a fault of this
program and never of the agent: the session is *missing* from what the step gives, it is neither a loss nor a silence, and
running the step again with a mended program makes it whole. The other sessions are worth too much to be lost with it.
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeVar

from harness.agents.printable import printable
from harness.errors import UserError

Step = Literal["timing", "transcribing", "judging", "drawing", "pacing"]
ANALYSIS_FAILED: Final = "analysis_failed"
UNREADABLE: Final = "recording_unreadable"
LONGEST_DETAIL: Final = 300
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class StepFailure:
    """One session that one step could not be done for. `detail` is one line that is safe to print."""

    session: str
    step: str
    kind: str
    detail: str


def attempt(session: str, step: Step, work: Callable[[], _T]) -> _T | StepFailure:
    """What `work` gives, or how it failed. Only for what depends on the session alone: a full disk is no fault of it."""
    try:
        return work()
    except UserError as error:
        return StepFailure(session, step, UNREADABLE, _line(str(error)))
    except OSError:
        raise
    except Exception as error:
        return StepFailure(session, step, ANALYSIS_FAILED, one_line(error))


def one_line(error: Exception) -> str:
    """What a defect of this program was and where, in one short line that is safe to print."""
    return _line(f"{type(error).__name__}: {error}{_where(error)}")


def _where(error: Exception) -> str:
    """The last place of our own that the error passed: what a report of it needs."""
    root = Path(__file__).absolute().parents[2]
    frames = [(Path(f.filename), f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    ours = [(path.relative_to(root), line) for path, line in frames if path.is_relative_to(root)]
    ours = [(path, line) for path, line in ours if path.parts[0] == "harness"]
    return f" ({ours[-1][0]}, line {ours[-1][1]})" if ours else ""


def _line(words: str) -> str:
    return printable(" ".join(words.split()), one_line=True)[:LONGEST_DETAIL]
