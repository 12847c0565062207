"""The first run on a machine finds out how wrong its own measurement is, right after its last call.

A figure without its error cannot be judged, and nobody calibrates unasked. So where this machine has no calibration by the
present method, a short one is made between the last call and the report, with the agents still loaded as they were during
calls, and kept. Not before the first call, where somebody waits for a first figure; and not beside rendering, loading or
downloading, which take the processor from what is being measured (docs/decisions/first-figure.md). Later runs quote it. It
plays on the very caller process that plays the calls, which is what is being calibrated. `harness calibrate` stays the long
one and wins over it.
"""

import asyncio
from typing import Final

from harness.calibrate import Calibration, calibrate, keep, newest
from harness.caller import CallerProcess
from harness.errors import StorageError
from harness.progress import RunProgress
from harness.run.plan import RunPlan
from harness.store.run_store import RunStore

SHORT_TRIALS: Final = 16
SHORT_AT_ONCE: Final = 8
MOST_S: Final = 60.0
"""A calibration that hangs must not hold up the run; one that works takes a fifth of it."""


async def calibrated(plan: RunPlan, store: RunStore, caller: CallerProcess, progress: RunProgress) -> None:
    """Write into the manifest what the run quotes: the calibration that it has, else this machine's, else a short one made
    for it; or why there is none. Nothing that goes wrong ends the run.
    """
    if store.manifest.calibration is not None or all(profile.kind == "text" for profile in plan.profiles):
        return
    found, why_not = newest(), ""
    if found is None:
        found, why_not = await _short(caller, progress)
    store.set_manifest(
        store.manifest.model_copy(update={"calibration": found.quoted() if found else None, "not_calibrated": why_not})
    )


async def _short(caller: CallerProcess, progress: RunProgress) -> tuple[Calibration | None, str]:
    progress.phase("Calibrating, once on this machine", SHORT_TRIALS)
    try:
        async with asyncio.timeout(MOST_S):
            found = await calibrate(SHORT_TRIALS, at_once=SHORT_AT_ONCE, progress=progress.count, store=False, caller=caller)
    except Exception as error:
        # Calls of the calibration that are still on must not share the process with the run's own.
        await caller.stop()
        why = f"it took longer than {MOST_S:.0f} s" if isinstance(error, TimeoutError) else _one_line(error)
        progress.note(f"not calibrated: {why}")
        return None, why
    try:
        keep(found)
    except (OSError, StorageError) as error:
        progress.note(f"the calibration is quoted by this run alone, because it could not be kept: {_one_line(error)}")
    return found, ""


def _one_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
