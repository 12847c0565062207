"""The harness itself: caller, recording, timing, store, judging, ranking, the command line, and the library.

Data flows one way: contexts → call → recording → timing → store → judging → ranking → report.

The names below are the library (docs/python.md). Each is imported at its first use, so that `import harness` costs nothing
and a program that only rates verdicts loads no speech model.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.agents.connection import Connection as Agent
    from harness.api.calls import measure_recording
    from harness.api.reports import write_report
    from harness.api.runs import Run, load_run, run_agents
    from harness.api.verdicts import judge_pairs, rank_judgments
    from harness.audio.synthesis import Voice
    from harness.errors import AgentError, UserError
    from harness.experiment import Experiment
    from harness.judging.completion import Completion
    from harness.judging.judge import Judge

__all__ = [
    "Agent",
    "AgentError",
    "Completion",
    "Experiment",
    "Judge",
    "Run",
    "UserError",
    "Voice",
    "judge_pairs",
    "load_run",
    "measure_recording",
    "rank_judgments",
    "run_agents",
    "write_report",
]

_PLACES = {
    "Agent": ("harness.agents.connection", "Connection"),
    "AgentError": ("harness.errors", "AgentError"),
    "Completion": ("harness.judging.completion", "Completion"),
    "Experiment": ("harness.experiment", "Experiment"),
    "Judge": ("harness.judging.judge", "Judge"),
    "Run": ("harness.api.runs", "Run"),
    "UserError": ("harness.errors", "UserError"),
    "Voice": ("harness.audio.synthesis", "Voice"),
    "judge_pairs": ("harness.api.verdicts", "judge_pairs"),
    "load_run": ("harness.api.runs", "load_run"),
    "measure_recording": ("harness.api.calls", "measure_recording"),
    "rank_judgments": ("harness.api.verdicts", "rank_judgments"),
    "run_agents": ("harness.api.runs", "run_agents"),
    "write_report": ("harness.api.reports", "write_report"),
}


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(place[0]), place[1])


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
