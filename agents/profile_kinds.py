"""The kinds of agent that a profile can describe, each with exactly the settings that mean something for it."""

import re
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from agents.cascade.prompt import system_instruction
from agents.cascade.settings import CascadeSettings, ReplySettings
from agents.connections.spec import ConnectionSpec, kinds
from agents.profile_base import AgentProfile, ProcessSettings, ProfileSettings, Seconds

OWN_OPEN_TIMEOUT_S: Final = 60.0
"""The cascade may warm its prompt cache with the history before it acknowledges: seconds on a busy pair of cores."""

SampleRate = Annotated[int, Field(ge=8_000, le=48_000)]
WebSocketUrl = Annotated[str, StringConstraints(pattern=r"^wss?://\S+$")]


class CascadeProfile(AgentProfile):
    """The cascade that ships: `[cascade]` holds its settings."""

    kind: Literal["cascade"]
    cascade: CascadeSettings = CascadeSettings()

    @property
    def family(self) -> str | None:
        return self.stated_family or family_of(self.cascade.llm.model)

    @property
    def weights(self) -> tuple[str, ...]:
        return self.cascade.weight_names

    def connection(self, url: str) -> ConnectionSpec:
        options = {"accepts_history": True, "open_timeout_s": OWN_OPEN_TIMEOUT_S}
        return ConnectionSpec(kind="pipecat", url=url, options=options)


class _SpokenElsewhere(AgentProfile):
    """A user's own bot: one that runs already (`url`), or one that the harness starts (`[process]`)."""

    url: WebSocketUrl | None = None
    process: ProcessSettings | None = None
    open_timeout_s: Seconds = 15.0

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.url is None and self.process is None and self.kind != "plugin":
            raise ValueError("give url (of a running agent) or a [process] table (to have it started)")
        if self.url is None and self.process is not None and (self.process.ready_url or self.process.ready_pattern):
            raise ValueError("url is needed with ready_url or ready_pattern: only a JSON ready line brings its own")
        return self

    @property
    def process_settings(self) -> ProcessSettings | None:
        return self.process

    @property
    def running_url(self) -> str | None:
        return self.url


class _PcmBot(_SpokenElsewhere):
    """A bot that is sent PCM, and may have been taught to take a history."""

    input_rate_hz: SampleRate = 16_000
    accepts_history: bool = False

    @property
    def accepts_a_history(self) -> bool:
        return self.accepts_history

    def _options(self) -> dict[str, Any]:
        return {
            "accepts_history": self.accepts_history,
            "input_rate_hz": self.input_rate_hz,
            "open_timeout_s": self.open_timeout_s,
        }


class PipecatProfile(_PcmBot):
    """A pipecat bot that serves pipecat's WebSocket wire (protobuf frames, RTVI messages)."""

    kind: Literal["pipecat"]
    rtvi: bool = True
    """Whether the bot answers RTVI's `client-ready`; without, audio starts as soon as the line is open."""

    def connection(self, url: str) -> ConnectionSpec:
        return ConnectionSpec(kind="pipecat", url=url, options={**self._options(), "rtvi": self.rtvi})


class RawPcmProfile(_PcmBot):
    """Any bot that takes and gives PCM16LE mono as binary WebSocket messages."""

    kind: Literal["raw-pcm"]
    output_rate_hz: SampleRate = 16_000
    """Rate of the agent's audio until it states another in a `start` message."""

    def connection(self, url: str) -> ConnectionSpec:
        return ConnectionSpec(kind="raw-pcm", url=url, options={**self._options(), "output_rate_hz": self.output_rate_hz})


class TwilioProfile(_SpokenElsewhere):
    """A telephone bot that serves Twilio's Media Streams; the harness takes Twilio's place."""

    kind: Literal["twilio"]
    parameters: dict[str, str] = Field(default_factory=dict)
    """The `<Parameter>`s of the TwiML `<Stream>` that would start it."""

    @property
    def accepts_a_history(self) -> bool:
        return False

    def connection(self, url: str) -> ConnectionSpec:
        options = {"parameters": self.parameters, "input_rate_hz": 8_000, "open_timeout_s": self.open_timeout_s}
        return ConnectionSpec(kind="twilio", url=url, options=options)


class ServerVad(ProfileSettings):
    """The turn ends after silence. What is not given is left to the server."""

    type: Literal["server_vad"]
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    prefix_padding_ms: Annotated[int, Field(ge=0, le=10_000)] | None = None
    silence_duration_ms: Annotated[int, Field(ge=0, le=10_000)] | None = None


class SemanticVad(ProfileSettings):
    """The turn ends when the server thinks that the words are complete."""

    type: Literal["semantic_vad"]
    eagerness: Literal["low", "medium", "high", "auto"] | None = None


class RealtimeProfile(_SpokenElsewhere):
    """A server of the OpenAI Realtime protocol. Its turn detection cannot be switched off: it is part of what is timed."""

    kind: Literal["openai-realtime"]
    model: str | None = None
    api_key_env: str | None = None
    """Name of the environment variable that holds the key."""
    voice: str | None = None
    instructions: str | None = None
    """Replaces the rules of the task that every system gets by default."""
    turn_detection: Annotated[ServerVad | SemanticVad, Field(discriminator="type")] = ServerVad(type="server_vad")
    transcription_model: str | None = None
    """Has the server write down what it heard."""
    accepts_history: bool = True

    @property
    def family(self) -> str | None:
        return self.stated_family or (family_of(self.model) if self.model else None)

    @property
    def accepts_a_history(self) -> bool:
        return self.accepts_history

    def connection(self, url: str) -> ConnectionSpec:
        options = {
            "model": self.model,
            "api_key_env": self.api_key_env,
            "voice": self.voice,
            "instructions": self.instructions or system_instruction(ReplySettings()),
            "turn_detection": self.turn_detection.model_dump(exclude_none=True),
            "transcription_model": self.transcription_model,
            "accepts_history": self.accepts_history,
            "input_rate_hz": 24_000,
            "open_timeout_s": self.open_timeout_s,
        }
        return ConnectionSpec(kind="openai-realtime", url=url, options=options)


class PluginProfile(_PcmBot):
    """An agent behind a connection that another installed package brings."""

    kind: Literal["plugin"]
    connection_kind: Annotated[str, Field(alias="connection")]
    """Its name in the entry-point group `heart_voice_harness.connections`."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Handed to the connection as they are."""

    @property
    def running_url(self) -> str | None:
        return self.url or (None if self.process else "")

    @model_validator(mode="after")
    def _is_installed(self) -> Self:
        if self.connection_kind not in kinds():
            raise ValueError(f'no connection "{self.connection_kind}" is installed; there are: {", ".join(kinds())}')
        return self

    def connection(self, url: str) -> ConnectionSpec:
        return ConnectionSpec(kind=self.connection_kind, url=url, options={**self._options(), **self.options})


class TextProfile(AgentProfile):
    """An OpenAI-compatible endpoint asked for the next turn in writing: temperature 0, top-p 1, streamed."""

    kind: Literal["text"]
    model: Annotated[str, StringConstraints(min_length=1)]
    """The endpoint's model name; without `base_url`, a name of the model store or the path of a GGUF file."""
    base_url: Annotated[str, StringConstraints(pattern=r"^https?://\S+$")] | None = None
    api_key_env: str | None = None
    """Name of the environment variable that holds the endpoint's key."""
    max_tokens: Annotated[int, Field(ge=1, le=32_768)] = 120
    timeout_s: Seconds = 60.0
    system_prompt: str | None = None
    """Replaces the rules of the task that every system gets by default."""

    @property
    def family(self) -> str | None:
        return self.stated_family or family_of(self.model)

    @property
    def weights(self) -> tuple[str, ...]:
        embedded = self.base_url is None and "/" not in self.model and not self.model.endswith(".gguf")
        return (self.model,) if embedded else ()

    @property
    def running_url(self) -> str | None:
        return self.base_url


KINDS: Final = MappingProxyType[str, type[AgentProfile]](
    {
        "cascade": CascadeProfile,
        "pipecat": PipecatProfile,
        "raw-pcm": RawPcmProfile,
        "twilio": TwilioProfile,
        "openai-realtime": RealtimeProfile,
        "plugin": PluginProfile,
        "text": TextProfile,
    }
)


def family_of(model: str) -> str | None:
    """The family that a model's name says, in small letters: `Qwen/Qwen3-8B` → `qwen`, `smollm2-135m` → `smollm2`."""
    name = model.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if re.match(r"^o[1-9](\W|$)|^chatgpt", name):
        return "gpt"
    found = re.match(r"smollm\d?|[a-z]+", name)
    return found[0] if found else None
