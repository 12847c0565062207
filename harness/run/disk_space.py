"""The disk space that a run needs, checked before the first call so that no call fails for lack of it.

Sizes depend on the length of calls: FLAC of both sides, samples of the machine, and the sound again for the report. A
call's length is known from its words. The figures are from runs of shipped agents over the shipped pack;
a run that needs more ends with a message and can be resumed.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from harness.agents.profile import TextProfile
from harness.errors import StorageError
from harness.machine.gpu import cards
from harness.run.plan import RunPlan, lasting_s
from harness.store.disk import free_bytes
from harness.store.session import SessionKey
from harness.wording import command

KEPT_BYTES_PER_S: Final = 25_000
"""Bytes per second of a call: 10.3 kB recording, 10.9 kB of the report, 3.6 kB samples of the machine."""
GPU_BYTES_PER_S: Final = 10_000
"""Bytes per second and GPU: fifty samples of 175 bytes, and those of processes."""
PASSING_BYTES_PER_S: Final = 112_000
"""Bytes per second before compression to FLAC: the caller's two signals at 16 kHz and the agent's at 24 kHz."""
ONCE_BYTES: Final = 1_300_000
"""Bytes for the report's page, the database, and the judges' answers."""
MB: Final = 1_000_000


def room_needed(plan: RunPlan, keys: Iterable[SessionKey]) -> int:
    """The bytes that these sessions of a plan need."""
    lasting_s = _each_lasts_s(plan, keys)
    passing_s = max(lasting_s, default=0.0) * plan.options.concurrency
    kept = KEPT_BYTES_PER_S + len(cards()) * GPU_BYTES_PER_S
    return round(sum(lasting_s) * kept + passing_s * PASSING_BYTES_PER_S) + ONCE_BYTES


def calls_last_s(plan: RunPlan, keys: Iterable[SessionKey]) -> float:
    """The duration of the calls among these sessions of a plan, one after another; agents that write are not called."""
    return sum(_each_lasts_s(plan, keys))


def refuse_without_room(plan: RunPlan, finished: Collection[str], folder: Path) -> None:
    """Check before anything is written or started that the disk has room for the unfinished sessions.

    Raises:
        StorageError: it has not; the message gives the space needed and the free space.
    """
    needed = room_needed(plan, [key for key in plan.session_keys() if key.session_id not in finished])
    free = free_bytes(folder)
    if free < needed:
        raise StorageError(
            f"--out {folder}: the run needs about {needed / MB:.1f} MB and {free / MB:.1f} MB are free; "
            "free some space, or choose another place with --out"
        )


def how_to_go_on(plan: RunPlan, finished: Collection[str], folder: Path) -> str:
    """A message after a full disk: the finished sessions, the space that the rest needs, and the command to resume."""
    keys = plan.session_keys()
    left = [key for key in keys if key.session_id not in finished]
    try:
        free = f", {free_bytes(folder) / MB:.1f} MB are free"
    except OSError:
        free = ""
    return (
        f"{len(keys) - len(left)} of {len(keys)} sessions are finished and saved; the rest needs about "
        f"{room_needed(plan, left) / MB:.1f} MB{free}; free some space, then: {command('run', '--resume', '--out', folder)}"
    )


def _each_lasts_s(plan: RunPlan, keys: Iterable[SessionKey]) -> list[float]:
    """The duration of each call among these sessions; an agent that writes has none."""
    write = {profile.name for profile in plan.profiles if isinstance(profile, TextProfile)}
    by_context = {context.id: lasting_s(context, plan.pack, plan.options.mode) for context in plan.contexts}
    return [by_context[key.context_id] for key in keys if key.agent not in write]
