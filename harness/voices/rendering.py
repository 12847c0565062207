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
from typing import Final

from harness.audio.prosody import Speaker
from harness.audio.speech import FLOOR, Directions, RenderedTurn, plain_directions, render_turn
from harness.audio.speech_floor import FloorSettings
from harness.audio.synthesis import InstalledVoice, PiperSynthesiser, Voice
from harness.audio.synthesis_hibari import HibariSynthesiser
from harness.audio.synthesis_service import PipecatSynthesiser, ServiceVoice
from harness.local_programs import call
from harness.with_parent import end_with

_WHY: Final = "rendering the caller"
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
    jobs: Sequence[RenderJob], cache: Path, step: Callable[[], None] = lambda: None, workers: int | None = None
) -> None:
    """Make sure that the rendering of every job is in `cache`. `step` is called when each one is ready.

    Raises what `harness.audio.speech.render_turn` raises, for the first job that fails; the others are saved.
    """
    plain = [replace(job, directions=plain_directions(job.directions)) for job in jobs]
    for needs in sorted({_needs(job.voice) for job in plain}):
        some = [job for job in plain if _needs(job.voice) == needs]
        call(_render_all, some, cache, workers, why=_WHY, modules=needs, step=step)


def rendered(job: RenderJob, cache: Path) -> RenderedTurn:
    """The rendering of one job, from `cache` if it is there. Raises what `harness.audio.speech.render_turn` raises."""
    plain = replace(job, directions=plain_directions(job.directions))
    return call(_render, plain, cache, why=_WHY, modules=_needs(plain.voice))


def _needs(voice: VoiceSource) -> tuple[str, ...]:
    """The modules that a voice needs where it speaks. One of another installed package speaks here, where that package is."""
    if isinstance(voice, InstalledVoice):
        return ()
    return ("pipecat", "pyworld") if isinstance(voice, ServiceVoice) else ("hibari", "onnx", "onnxruntime", "piper")


def _render_all(plain: Sequence[RenderJob], cache: Path, workers: int | None, step: Callable[[], None]) -> None:
    workers = workers or len(os.sched_getaffinity(0))
    if workers == 1 or len(plain) < WORTH_A_PROCESS * workers:
        for job in plain:
            _render(job, cache)
            step()
        return
    spawn = get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=end_with, initargs=(os.getpid(),)) as pool:
        waiting = [pool.submit(_render, job, cache) for job in plain]
        try:
            for done in as_completed(waiting):
                done.result()
                step()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):  # a user waits for the end
                for child in active_children():
                    child.terminate()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _render(job: RenderJob, cache: Path) -> RenderedTurn:
    return render_turn(job.text, job.directions, open_voice(job.voice), cache, job.speaker, job.floor)


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
