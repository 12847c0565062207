"""The models of a cascade, loaded once for the life of the agent and shared by its sessions."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.agents.cascade.llm import Endpoint
from harness.agents.cascade.model_server import ModelServer
from harness.agents.cascade.settings import (
    HIBARI,
    CascadeSettings,
    SettingsFailed,
    StockWhisper,
    StreamingMoonshine,
    TtsSettings,
)
from harness.agents.llm_server import LlmServer, ServerOptions
from harness.errors import not_set


@dataclass(frozen=True, slots=True)
class Models:
    """`recogniser` is a faster-whisper model or a `Recogniser`; `voice` a Piper voice or one with its interface."""

    recogniser: Any
    voice: Any
    endpoint: Endpoint
    server: LlmServer | None
    started: ModelServer | None = None
    """A user's model server that was started for this agent."""

    async def close(self) -> None:
        for server in (self.server, self.started):
            if server is not None:
                await server.stop()


async def load_models(
    settings: CascadeSettings,
    weights: Mapping[str, str],
    started: ModelServer | None = None,
) -> Models:
    """The loaded models of `settings`. `weights` maps names to paths; other names are used unchanged. `started` is the model
    server to start.

    Raises:
        SettingsFailed: the environment variable that should hold the endpoint's key is empty, or the voice is not installed or
            cannot be decoded in parts though it should.
        agents.llm_server.ServerFailed: the language-model server did not come up.
    """
    server, endpoint = await _language_model(settings, weights, started)
    try:
        recogniser = _recogniser(settings, weights)
        voice = _voice(settings.tts, weights)
        # The first synthesis and transcription allocate and plan; no caller should wait for that.
        list(voice.synthesize("Hello."))
    except BaseException:
        for running in (server, started):
            if running is not None:
                await running.stop()
        raise
    return Models(recogniser, voice, endpoint, server, started)


def _recogniser(settings: CascadeSettings, weights: Mapping[str, str]) -> Any:
    stt = settings.stt
    weight = weights.get(stt.model, stt.model)
    if isinstance(stt, StockWhisper):
        from harness.agents.cascade import stock

        return stock.load_whisper(stt, weight)
    if isinstance(stt, StreamingMoonshine):
        from harness.agents.cascade.moonshine import Moonshine

        return Moonshine(weight, stt.threads)
    from harness.agents.cascade.short_context_whisper import ShortContextWhisper

    return ShortContextWhisper(stt, weight)


def _voice(tts: TtsSettings, weights: Mapping[str, str]) -> Any:
    if tts.voice == HIBARI:
        from harness.agents.cascade.voice_hibari import HibariVoice

        return HibariVoice(tts.threads, tts.in_parts)
    from harness.agents.cascade import stock

    return stock.load_voice(tts, weights.get(tts.voice, tts.voice))


async def _language_model(
    settings: CascadeSettings, weights: Mapping[str, str], started: ModelServer | None
) -> tuple[LlmServer | None, Endpoint]:
    llm = settings.llm
    if llm.base_url is not None:
        key = "none"
        if llm.api_key_env is not None:
            key = os.environ.get(llm.api_key_env, "")
            if not key:
                raise SettingsFailed(f"cascade.llm.api_key_env: {not_set(llm.api_key_env)}")
        base_url = llm.base_url
        if started is not None:
            base_url = started.at_its_port(base_url)
            await started.start(base_url, llm.model, key)
        return None, Endpoint(base_url, llm.model, key)
    server = LlmServer(
        ServerOptions(
            weights.get(llm.model, llm.model),
            threads=llm.threads,
            prompt_threads=llm.prompt_threads,
            context_tokens=llm.context_tokens,
            gpu_layers=llm.gpu_layers,
            slots=llm.slots,
        )
    )
    await server.start()
    return server, Endpoint(server.base_url, llm.model, native_url=server.url)
