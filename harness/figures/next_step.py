"""The command with which a reader goes on from a run: what mends it, or else what adds people's answer."""

from harness.figures.summary import RunSummary
from harness.wording import command


def next_step(summary: RunSummary) -> str | None:
    """The next command; None where nothing is missing that a command could add.

    `summary`: of one run.
    """
    known = summary.circumstances
    for folder in known.unfinished.keys() - known.merged:
        again = ("measure", known.calls[folder]) if folder in known.calls else ("run",)
        return command(*again, "--resume", "--out", folder)
    if not summary.valid:
        return command("doctor")
    boards = (summary.board(condition) for condition in summary.conditions)
    ways = [summary.way_to_people, *(board.way_to_people for board in boards if board is not None)]
    asked = command("listen", summary.run)
    return asked if any(asked in way for way in ways) else None
