"""An agent's profile: all settings of its behaviour in one TOML file with a hash.

A rating belongs to one exact configuration, so a profile is closed (an unknown key is an error, not a silent no-op) and
hashed, and runs keep what of it is plain. Errors are one line that names file, line and field, because profiles are written
by hand. Keys and tokens are never in a profile: it names environment variables.
"""

import importlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self, cast
from urllib.parse import urlencode

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    model_serializer,
    model_validator,
)

from harness.agents.address import AgentAddress, scheme_of
from harness.agents.cascade.settings import CascadeSettings, LlmSettings
from harness.agents.connections.spec import WIRES, ConnectionSpec, kinds
from harness.agents.model_family import family_of, refuses_sampling
from harness.agents.profile_base import AgentProfile, ProcessSettings, Seconds
from harness.agents.profile_spoken import PcmBot
from harness.agents.secrets import learn_file
from harness.errors import UserError
from harness.foreign_files import FileFault, read_text
from harness.foreign_problems import in_sentences, problems
from harness.foreign_toml import line_of, parse_toml
from harness.nearest import did_you_mean, nearest

__all__ = [
    "AgentProfile",
    "CascadeProfile",
    "PluginProfile",
    "ProcessSettings",
    "ProfileError",
    "TextProfile",
    "load_profile",
    "parse_profile",
    "shipped_profiles",
]


OWN_OPEN_TIMEOUT_S: Final = 60.0
"""The cascade may warm its prompt cache with the history before it acknowledges: seconds on a busy pair of cores."""


class CascadeProfile(AgentProfile):
    """The shipped cascade, with its settings in `[cascade]`."""

    kind: Literal["cascade"]
    cascade: CascadeSettings = CascadeSettings()
    process: ProcessSettings | None = None
    """The server of the language model, which the agent starts first; `{port}` is its port in `cascade.llm.base_url` too."""

    @model_validator(mode="after")
    def _server_is_asked(self) -> Self:
        base_url = self.cascade.llm.base_url or ""
        if (self.process is None or not self.process.command) and "{port}" in base_url:
            raise ValueError("cascade.llm.base_url has {port}, which needs a [process] table with the command of that server")
        if self.process is not None and self.process.command and not base_url:
            raise ValueError("[process] starts a model server: cascade.llm.base_url must be its address")
        if self.process is not None and self.process.ready_pattern is not None:
            raise ValueError("process.ready_pattern is not read for a model server: give ready_url, or leave both out")
        return self

    @model_serializer(mode="wrap")
    def _without_no_server(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A profile without a server has the hash of one written before there were any."""
        content: dict[str, Any] = write(self)
        if self.process is None:
            content.pop("process", None)
        return content

    @property
    def family(self) -> str | None:
        return self.stated_family or family_of(self.cascade.llm.model)

    @property
    def weights(self) -> tuple[str, ...]:
        return self.cascade.weight_names

    @property
    def own_voices(self) -> tuple[str, ...]:
        return (self.cascade.tts.voice,)

    @property
    def threads(self) -> Mapping[str, int]:
        return self.cascade.threads

    @property
    def also(self) -> tuple[int | str, ...]:
        return self.process.also if self.process is not None else ()

    @property
    def cuda_settings(self) -> tuple[str, ...]:
        return self.cascade.cuda_settings

    @property
    def ready_after_s(self) -> float:
        return self.process.ready_timeout_s if self.process is not None and self.process.command else 0.0

    def connection(self, url: str) -> ConnectionSpec:
        options = {"accepts_history": True, "open_timeout_s": OWN_OPEN_TIMEOUT_S}
        return ConnectionSpec(kind="pipecat", url=url, options=options)

    def in_session(self, connection: ConnectionSpec, session: str) -> ConnectionSpec:
        return replace(connection, url=f"{connection.url}?{urlencode({'session': session})}")


_FOR_ANY_CONNECTION: Final = {"accepts_history", "input_rate_hz", "open_timeout_s", "api_key_env", "headers"}


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
        return {**self.model_dump(include=_FOR_ANY_CONNECTION), **self.options}


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
    return (*WIRES, *_NO_WIRE)


def profile_class(kind: str) -> type[AgentProfile]:
    """The class of a profile of this kind. That of a wire format is in the module of its connection, which is loaded."""
    if kind in _NO_WIRE:
        return _NO_WIRE[kind]
    return cast(type[AgentProfile], importlib.import_module(WIRES[kind]).PROFILE)


SHIPPED: Final = Path(__file__).parent / "profiles"


class ProfileError(UserError):
    """A profile that cannot be used; the message is one line with the file, the place and the remedy."""


def shipped_profiles() -> tuple[str, ...]:
    """The names of the shipped profiles, sorted."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


def load_profile(name_or_path: str | Path) -> AgentProfile:
    """The profile of a shipped name, of a TOML file, or of an agent at an address (`raw-pcm=ws://localhost:8765/`).

    Raises:
        ProfileError: no such name or file, or the file is malformed; one line with file, line and field.
    """
    if (address := AgentAddress.parse(str(name_or_path))) is not None:
        return _at(address)
    path = _find(name_or_path)
    try:
        text = read_text(path)
    except FileFault as fault:
        raise ProfileError(fault.at(path, ", line ")) from None
    return parse_profile(text, path)


def _at(address: AgentAddress) -> AgentProfile:
    try:
        return parse_profile(address.profile_text, Path(f"{address.name}.toml"))
    except ProfileError as error:
        # Nobody has seen the lines of this file; the address is all that was written.
        why = str(error).partition(f": {'base_url' if address.kind == 'text' else 'url'}: ")[2]
        raise ProfileError(f"{address.url}: {why or error}") from error


def parse_profile(text: str, path: Path) -> AgentProfile:
    """The profile that a TOML text describes; `path` is what errors name and relative paths are relative to.

    Raises:
        ProfileError: the text is malformed; one line with file, line and field.
    """
    learn_file(text)
    try:
        data = parse_toml(text)
    except FileFault as fault:
        raise ProfileError(fault.at(path, ", line ")) from None
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in profile_kinds():
        raise ProfileError(_without_kind(data, text, path))
    try:
        profile = profile_class(kind).model_validate({"name": path.stem, **data})
    except ValidationError as error:
        found = problems(error, profile_class(kind), data, f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} agent")
        raise ProfileError(in_sentences(path, found, lambda place: line_of(text, place))) from error
    return profile.as_written(text, path)


def _find(name_or_path: str | Path) -> Path:
    path = Path(name_or_path)
    if scheme_of(str(name_or_path)) is not None:
        raise ProfileError(f"{name_or_path}: is an address; write its kind before it, as in raw-pcm={name_or_path}")
    if path.suffix == ".toml" or len(path.parts) > 1:
        if not path.is_file():
            raise ProfileError(f"{path}: no such profile file; shipped profiles: {', '.join(shipped_profiles())}")
        return path
    names = shipped_profiles()
    if str(path) in names:
        return SHIPPED / f"{path}.toml"
    near = nearest(str(path), names)
    raise ProfileError(
        f'unknown agent "{path}": {f"did you mean {near}? " if near else ""}shipped profiles: {", ".join(names) or "none"}; '
        "or give the path of a profile file (.toml)"
    )


def _without_kind(data: dict[str, Any], text: str, path: Path) -> str:
    """One sentence on a profile whose kind is missing, misspelt, or unknown."""
    choices = f"; choose one of {', '.join(profile_kinds())}"
    if "kind" in data:
        said = f"{data['kind']!r} is not a kind of agent{did_you_mean(str(data['kind']), profile_kinds()) or choices}"
        return f"{path}, line {line_of(text, ['kind'])}: {said}"
    near = nearest("kind", (name for name in data if isinstance(data[name], str) and name not in AgentProfile.model_fields))
    if near is not None:
        return f"{path}, line {line_of(text, [near])}: {near} is no setting of an agent; did you mean kind?"
    return f"{path}, line 1: kind is missing{choices}"
