"""Rendering of many turns at once, on all cores, into the cache that all later rendering reads.

A turn is rendered on one thread so that its samples do not depend on the machine; many turns are independent, so they are
distributed to processes. Small remainders are not worth the second that a process takes to start.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import active_children, get_context
from pathlib import Path

from harness.audio.prosody import Speaker
from harness.audio.speech import FLOOR, Directions, plain_directions, render_turn
from harness.audio.speech_floor import FloorSettings
from harness.audio.synthesis import InstalledVoice, PiperSynthesiser, Voice
from harness.audio.synthesis_hibari import HibariSynthesiser
from harness.audio.synthesis_service import PipecatSynthesiser, ServiceVoice
from harness.with_parent import end_with

WORTH_A_PROCESS = 3
"""Fewest turns per core for separate processes; fewer are rendered in this one."""


@dataclass(frozen=True, slots=True)
class Hibari:
    """The voice of the package `hibari-tts`."""


VoiceSource = Path | ServiceVoice | Hibari | InstalledVoice
"""The source of a voice: a Piper model's path, a service, hibari, or a voice of another package."""


@dataclass(frozen=True, slots=True)
class RenderJob:
    """A turn to render: marked text, directions, the source of the voice, its speaker, and the cues at its pauses."""

    text: str
    directions: Directions | None
    voice: VoiceSource
    speaker: Speaker
    floor: FloorSettings = FLOOR


def render_missing(
    jobs: Sequence[RenderJob], cache: Path, step: Callable[[], None] | None = None, workers: int | None = None
) -> None:
    """Make sure that the rendering of every job is in `cache`. `step` is called when each one is ready.

    Raises what `harness.audio.speech.render_turn` raises, for the first job that fails; the others are saved.
    """
    workers = workers or len(os.sched_getaffinity(0))
    plain = [replace(job, directions=plain_directions(job.directions)) for job in jobs]
    if workers == 1 or len(plain) < WORTH_A_PROCESS * workers:
        for job in plain:
            _render(job, cache)
            if step is not None:
                step()
        return
    spawn = get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=end_with, initargs=(os.getpid(),)) as pool:
        waiting = [pool.submit(_render, job, cache) for job in plain]
        try:
            for done in as_completed(waiting):
                done.result()
                if step is not None:
                    step()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):  # a user waits for the end
                for child in active_children():
                    child.terminate()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _render(job: RenderJob, cache: Path) -> None:
    render_turn(job.text, job.directions, open_voice(job.voice), cache, job.speaker, job.floor)


def open_voice(voice: VoiceSource) -> Voice:
    """An open voice; a model is loaded once per process.

    Raises `harness.audio.synthesis.VoiceError` if it is not available.
    """
    if isinstance(voice, ServiceVoice):
        return PipecatSynthesiser(voice)
    if isinstance(voice, InstalledVoice):
        return _installed(voice)
    return _hibari() if isinstance(voice, Hibari) else _piper(voice)


@lru_cache(maxsize=1)
def _hibari() -> HibariSynthesiser:
    return HibariSynthesiser()


@lru_cache(maxsize=4)
def _installed(voice: InstalledVoice) -> Voice:
    return voice.open()


@lru_cache(maxsize=4)
def _piper(model: Path) -> PiperSynthesiser:
    return PiperSynthesiser(model)
