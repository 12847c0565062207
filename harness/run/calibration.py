"""A short calibration of the measurement in the first run on a machine, right after its last call.

A figure without its error cannot be judged, and nobody calibrates unasked. It is made with the agents still loaded and by the
same caller process, because that is what is calibrated; not earlier, when a user waits for a first figure. Later runs quote it;
`harness calibrate` makes the long one, which takes precedence.
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
"""Longest time, so that a calibration that hangs does not delay the run; one that works takes a fifth of it."""


async def calibrated(plan: RunPlan, store: RunStore, caller: CallerProcess, progress: RunProgress) -> None:
    """Write the calibration that the run quotes into the manifest: its own, otherwise this machine's, otherwise a new short
    one; or the reason why there is none. No error here ends the run.
    """
    if store.manifest.calibration is not None or not plan.is_spoken:
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
        # Calibration calls that are still open must not share the process with the run's own.
        await caller.stop()
        why = f"it took longer than {MOST_S:.0f} s" if isinstance(error, TimeoutError) else _one_line(error)
        progress.note(f"not calibrated: {why}")
        return None, why
    try:
        keep(found)
    except (OSError, StorageError) as error:
        progress.note(f"only this run quotes the calibration, because it could not be saved: {_one_line(error)}")
    return found, ""


def _one_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
