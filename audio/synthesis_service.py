"""Caller voices from any pipecat TTS service, so that a pack is not limited to the shipped voices.

pipecat has a class for nearly every provider, and one interface for them: text in, audio frames out. So a voice is an import
path with settings, and every service of pipecat can be a caller. A service is not asked twice for the same turn:
its speech is cached like every other rendering, because most services speak differently each time and all agents must
hear the same. The key is read from the environment when it speaks and is in no file, identity or error.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import inspect
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.audio.pcm import Float32, Int16, resample, to_float
from harness.audio.voice_error import VoiceError
from harness.errors import not_set
from harness.foreign_files import FileFault, read_text
from harness.foreign_problems import in_sentences, problems
from harness.foreign_toml import line_of, parse_toml
from harness.installation import install_command

SERVICE_RATE_HZ = 24_000
"""The requested rate: the native one of most services, and above the 16 kHz of callers."""

MOST_S = 120.0
"""Timeout for all stretches of one turn; a slow service needs half of it for a minute of speech."""


class ServiceVoice(BaseModel):
    """One voice of a voices file: the service's class and its arguments."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    service: str = Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")
    """Import path of a pipecat `TTSService`."""
    about: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Arguments of the class (`base_url`, …)."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Arguments of its `Settings` (`voice`, `model`, …)."""
    key_env: str | None = None
    """The environment variable with the key."""
    key_argument: str = "api_key"


def load_service_voices(path: Path) -> Mapping[str, ServiceVoice]:
    """The voices of a TOML file, by name.

    Raises `VoiceError` with one line for a wrong file.
    """
    try:
        text = read_text(path)
        raw = parse_toml(text)
    except FileFault as fault:
        raise VoiceError(fault.at(path)) from None
    voices = {}
    for name, entry in raw.items():
        try:
            voices[name] = ServiceVoice.model_validate(entry)
        except ValidationError as error:
            found = [((name, *at), f"[{name}] {said}") for at, said in problems(error, ServiceVoice, entry, "a voice")]
            raise VoiceError(in_sentences(path, found, lambda place: line_of(text, place))) from None
        if not name.replace("-", "").isalnum():
            raise VoiceError(f"{path}: [{name}]: a voice's name is letters, digits and dashes")
    return voices


class PipecatSynthesiser:
    """A pipecat TTS service as a `Synthesiser`.

    Raises `VoiceError` if the class cannot be imported or its key is not in the environment.
    """

    rate_hz = SERVICE_RATE_HZ

    def __init__(self, voice: ServiceVoice) -> None:
        self._voice = voice
        self._class = _service_class(voice.service)
        said = json.dumps([voice.service, voice.arguments, voice.settings], sort_keys=True, default=str)
        self.identity = f"pipecat:{self._class.__name__}:{hashlib.sha256(said.encode()).hexdigest()[:16]}"
        if voice.key_env is not None and not os.environ.get(voice.key_env):
            raise VoiceError(f"{voice.service}: {not_set(voice.key_env)}")

    def speak(self, texts: Sequence[str], seed: int) -> list[list[Float32]]:
        """See `Synthesiser.speak`. Each text is one stretch; services take no seed, so `seed` changes nothing."""
        del seed
        # Rendering is called from inside a run's event loop; a service needs a separate one.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, self._speak(texts)).result()

    async def _speak(self, texts: Sequence[str]) -> list[list[Float32]]:
        try:
            async with asyncio.timeout(MOST_S):
                return [[await self._say(text)] for text in texts]
        except TimeoutError:
            raise VoiceError(f"{self._voice.service}: nothing whole within {MOST_S:.0f} s") from None

    async def _say(self, text: str) -> Float32:
        from pipecat.frames.frames import EndFrame, Frame, TTSAudioRawFrame, TTSSpeakFrame
        from pipecat.pipeline.pipeline import Pipeline
        from pipecat.pipeline.worker import PipelineParams, PipelineWorker
        from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
        from pipecat.workers.runner import WorkerRunner

        heard: list[Int16] = []
        faults: list[str] = []

        class Ear(FrameProcessor):
            async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
                await super().process_frame(frame, direction)
                if isinstance(frame, TTSAudioRawFrame):
                    mono = np.frombuffer(frame.audio, "<i2").reshape(-1, frame.num_channels).mean(axis=1)
                    heard.append(resample(mono.astype(np.int16), frame.sample_rate, SERVICE_RATE_HZ))
                await self.push_frame(frame, direction)

        async with AsyncExitStack() as stack:
            worker = PipelineWorker(
                Pipeline([await self._service(stack), Ear()]),
                params=PipelineParams(audio_out_sample_rate=SERVICE_RATE_HZ),
                enable_rtvi=False,
                enable_turn_tracking=False,
                idle_timeout_secs=None,
            )

            async def fault(_worker: object, frame: Any) -> None:
                faults.append(" ".join(str(frame.error).split())[:200])

            worker.event_handler("on_pipeline_error")(fault)
            runner = WorkerRunner(handle_sigint=False, check_dangling_tasks=False)
            await runner.add_workers(worker)
            await worker.queue_frames([TTSSpeakFrame(text, append_to_context=False), EndFrame()])
            await runner.run()
        if faults or not heard:
            raise VoiceError(f"{self._voice.service}: {self._without_key(faults[0] if faults else 'it said nothing')}")
        return to_float(np.concatenate(heard))

    async def _service(self, stack: AsyncExitStack) -> Any:
        given = dict(self._voice.arguments)
        wanted = inspect.signature(self._class.__init__).parameters
        if self._voice.key_env is not None:
            given[self._voice.key_argument] = os.environ[self._voice.key_env]
        if "aiohttp_session" in wanted:
            import aiohttp

            given["aiohttp_session"] = await stack.enter_async_context(aiohttp.ClientSession())
        try:
            if self._voice.settings:
                given["settings"] = self._class.Settings(**self._voice.settings)
            return self._class(**given)
        except (TypeError, ValueError, AttributeError) as error:
            raise VoiceError(f"{self._voice.service}: {self._without_key(str(error).splitlines()[0])}") from None

    def _without_key(self, text: str) -> str:
        key = os.environ.get(self._voice.key_env or "", "")
        return text.replace(key, "…") if key else text


def _service_class(path: str) -> Any:
    try:
        from pipecat.pipeline.worker import PipelineWorker  # noqa: F401
        from pipecat.services.tts_service import TTSService
    except ImportError as error:
        raise VoiceError(f"{path}: pipecat 1.14 speaks it ({error}): {install_command('local')}") from error

    module, _, name = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:  # a service's module raises plain Exception where the provider's package is missing
        raise VoiceError(f"{path}: cannot be imported ({str(error).splitlines()[0] if str(error) else error!r})") from None
    if not (inspect.isclass(found) and issubclass(found, TTSService)):
        raise VoiceError(f"{path}: is no pipecat TTS service")
    return found
