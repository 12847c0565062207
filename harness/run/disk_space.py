"""How much room on the disk a run will take, said before the first call and not by the call that finds none left.

Sizes hang on how long calls last: FLAC of both sides, samples of the machine, and the sound again for the report. How long a
call lasts is known from the words it speaks. The figures are what runs of shipped agents over the shipped pack left behind;
a run that takes more still ends in a line that says so, and goes on.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from harness.errors import StorageError
from harness.run.lasting import lasting_s
from harness.run.plan import RunPlan
from harness.store.disk import free_bytes
from harness.store.session import SessionKey
from harness.wording import command

KEPT_BYTES_PER_S: Final = 25_000
"""Of a call: 10.3 kB recording, 10.9 kB of the report, 3.6 kB samples of the machine."""
PASSING_BYTES_PER_S: Final = 112_000
"""Between the end of a call and its FLAC: the caller's two signals at 16 kHz and the agent's at 24 kHz, plain."""
ONCE_BYTES: Final = 1_300_000
"""The report's page, the database, the judges' answers."""
MB: Final = 1_000_000


def room_needed(plan: RunPlan, keys: Iterable[SessionKey]) -> int:
    """Bytes that these sessions of a plan will take."""
    lasting_s = _each_lasts_s(plan, keys)
    passing_s = max(lasting_s, default=0.0) * plan.options.concurrency
    return round(sum(lasting_s) * KEPT_BYTES_PER_S + passing_s * PASSING_BYTES_PER_S) + ONCE_BYTES


def calls_last_s(plan: RunPlan, keys: Iterable[SessionKey]) -> float:
    """How long these sessions of a plan will be on the line, one after another."""
    return sum(_each_lasts_s(plan, keys))


def refuse_without_room(plan: RunPlan, finished: Collection[str], folder: Path) -> None:
    """Leave before anything is written or started if the disk cannot take the sessions that are not finished.

    Raises:
        StorageError: says how much is needed and how much there is.
    """
    needed = room_needed(plan, [key for key in plan.session_keys() if key.session_id not in finished])
    free = free_bytes(folder)
    if free < needed:
        raise StorageError(
            f"--out {folder}: the run needs about {needed / MB:.1f} MB and {free / MB:.1f} MB are free; "
            "make room, or choose another place with --out"
        )


def how_to_go_on(plan: RunPlan, finished: Collection[str], folder: Path) -> str:
    """What was kept of a run that the disk ended, what the rest will need, and the command that goes on."""
    keys = plan.session_keys()
    left = [key for key in keys if key.session_id not in finished]
    try:
        free = f", {free_bytes(folder) / MB:.1f} MB are free"
    except OSError:
        free = ""
    return (
        f"{len(keys) - len(left)} of {len(keys)} sessions are finished and kept; what is left needs about "
        f"{room_needed(plan, left) / MB:.1f} MB{free}; make room, then: {command('run', '--resume', '--out', folder)}"
    )


def _each_lasts_s(plan: RunPlan, keys: Iterable[SessionKey]) -> list[float]:
    by_context = {context.id: lasting_s(context, plan.pack, plan.options.mode) for context in plan.contexts}
    return [by_context[key.context_id] for key in keys]
