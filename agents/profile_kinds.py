"""The kinds of agent that a profile can describe, each with exactly its own settings.

Those with their own wire format are in `harness.agents.connections`, one file per format.
"""

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import Field, StringConstraints, model_validator

from harness.agents.cascade.settings import CascadeSettings, LlmSettings
from harness.agents.connections.spec import WIRES, ConnectionSpec, kinds
from harness.agents.model_family import family_of, refuses_sampling
from harness.agents.profile_base import AgentProfile, Seconds
from harness.agents.profile_spoken import PcmBot

OWN_OPEN_TIMEOUT_S: Final = 60.0
"""The cascade may warm its prompt cache with the history before it acknowledges: seconds on a busy pair of cores."""


class CascadeProfile(AgentProfile):
    """The shipped cascade, with its settings in `[cascade]`."""

    kind: Literal["cascade"]
    cascade: CascadeSettings = CascadeSettings()

    @property
    def family(self) -> str | None:
        return self.stated_family or family_of(self.cascade.llm.model)

    @property
    def weights(self) -> tuple[str, ...]:
        return self.cascade.weight_names

    @property
    def threads(self) -> Mapping[str, int]:
        return self.cascade.threads

    def connection(self, url: str) -> ConnectionSpec:
        options = {"accepts_history": True, "open_timeout_s": OWN_OPEN_TIMEOUT_S}
        return ConnectionSpec(kind="pipecat", url=url, options=options)


class PluginProfile(PcmBot):
    """An agent behind a connection from another installed package."""

    kind: Literal["plugin"]
    connection_kind: Annotated[str, Field(alias="connection")]
    """Its name in the entry-point group `heart_voice_harness.connections`."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options for the connection, passed unchanged."""

    @property
    def running_url(self) -> str | None:
        return self.url or (None if self.process_settings else "")

    @model_validator(mode="after")
    def _is_installed(self) -> Self:
        if self.connection_kind not in kinds():
            raise ValueError(f'no connection "{self.connection_kind}" is installed; there are: {", ".join(kinds())}')
        return self

    def connection(self, url: str) -> ConnectionSpec:
        return ConnectionSpec(kind=self.connection_kind, url=url, options=self._options())

    def _options(self) -> dict[str, Any]:
        return {**self.model_dump(include={"accepts_history", "input_rate_hz", "open_timeout_s"}), **self.options}


class TextProfile(AgentProfile):
    """An OpenAI-compatible endpoint asked for the next turn in writing, streamed: at temperature 0 and top-p 1 (HEART,
    section 9.4) if the model accepts these settings."""

    kind: Literal["text"]
    model: Annotated[str, StringConstraints(min_length=1)]
    """The endpoint's model name; without `base_url`, a name of the model store or the path of a GGUF file."""
    base_url: Annotated[str, StringConstraints(pattern=r"^https?://\S+$")] | None = None
    api_key_env: str | None = None
    """Name of the environment variable that holds the endpoint's key."""
    temperature: Annotated[float, Field(ge=0, le=2)] | Literal["model"] | None = None
    """`model`: not sent, so that the model's own applies. Default: 0, or `model` for a model that is known to refuse it."""
    top_p: Annotated[float, Field(gt=0, le=1)] | Literal["model"] | None = None
    """As `temperature`; left out: 1."""
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    """Effort of reasoning before the answer; default: the endpoint's own."""
    max_tokens: Annotated[int, Field(ge=1, le=32_768)] | None = None
    """Left out: 120, or 4,096 for a model that thinks, because its thoughts count."""
    timeout_s: Seconds = 60.0
    tries: Annotated[int, Field(ge=1, le=10)] = 3
    """Number of tries in total, for temporary failures: no connection, 429, 5xx."""
    prompt: Literal["spoken", "heart"] = "spoken"
    """`spoken`: the rules that the cascades get, so that both are judged on the same task; `heart`: no more than HEART's
    section 9.4 tells a model."""
    system_prompt: str | None = None
    """Replaces either."""

    @property
    def thinks(self) -> bool:
        """True if it reasons before it answers, by its name and its profile."""
        return refuses_sampling(self.model) or self.reasoning_effort not in (None, "none")

    @property
    def family(self) -> str | None:
        return self.stated_family or family_of(self.model)

    @property
    def weights(self) -> tuple[str, ...]:
        embedded = self.base_url is None and "/" not in self.model and not self.model.endswith(".gguf")
        return (self.model,) if embedded else ()

    @property
    def threads(self) -> Mapping[str, int]:
        return LlmSettings().local_threads if self.base_url is None else {}

    @property
    def running_url(self) -> str | None:
        return self.base_url


_NO_WIRE: Final = MappingProxyType[str, type[AgentProfile]](
    {"cascade": CascadeProfile, "plugin": PluginProfile, "text": TextProfile}
)


def profile_kinds() -> tuple[str, ...]:
    """All kinds of profiles: those of shipped wire formats, and those without one."""
    return (*_NO_WIRE, *(kind for kind in WIRES if kind != "scripted"))


def profile_class(kind: str) -> type[AgentProfile]:
    """The class of a profile of this kind. That of a wire format is in the module of its connection, which is loaded."""
    if kind in _NO_WIRE:
        return _NO_WIRE[kind]
    return cast(type[AgentProfile], importlib.import_module(WIRES[kind]).PROFILE)
