"""The common part of all profiles: a name, a hash, and how the agent is started and reached.

The kinds are in `harness.agents.profile`, which reads them from files.
"""

import hashlib
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    StringConstraints,
    field_validator,
    model_serializer,
    model_validator,
)

from harness.agents.connections.spec import ConnectionSpec
from harness.agents.model_family import family_of
from harness.agents.profile_plain import as_toml, compared, shown
from harness.agents.this_machine import is_this_machine, local_ports
from harness.foreign_toml import parse_toml

_SECRET: Final = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)S?$", re.IGNORECASE)
_WORDS_ABOUT_IT: Final = {"description", "about_replies"}
_NOT_ITS_BEHAVIOUR: Final = _WORDS_ABOUT_IT | {"metrics"}
_SHIPPED: Final = Path(__file__).resolve().parent / "profiles"

AgentName = Annotated[str, StringConstraints(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Seconds = Annotated[float, Field(gt=0, le=3_600)]
Port = Annotated[int, Field(ge=1, le=65_535)]
ProgramName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\s/]+$")]


class NotSpokenTo(Exception):
    """A connection was requested to a text model."""


class ProfileSettings(BaseModel):
    """A table of a profile: closed, so that a misspelt key is an error, and immutable."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ProcessSettings(ProfileSettings):
    """The start of a user's own agent by the harness. `{port}` stands for a free port, `{python}` for `python`.

    The agent is ready when the first of these that is given holds: `ready_url` answers (HTTP 2xx, or for `ws:` and
    `tcp:` a connection is accepted), `ready_pattern` (a regular expression) is found in a line of its output; with
    neither, it prints one JSON line `{"event": "ready", "url": "ws://…"}`.
    """

    command: tuple[str, ...] = ()
    """The command; empty only with `also` alone, for a running agent, or `python` alone, for a cascade."""
    python: Annotated[str, StringConstraints(min_length=1)] | None = None
    """The interpreter that `{python}` is, and that runs a cascade: a path, from the profile's folder. Left out: this one, and
    for a cascade the one with the extra `local` (`harness.local_programs`)."""
    also: tuple[Port | ProgramName, ...] = ()
    """Programs that work for the agent but are not started by it (`"ollama"`, or its port): their work on this machine is
    the agent's own, and not that of others."""
    cwd: str = "."
    """Working folder, relative to the profile's own."""
    env: dict[str, str] = Field(default_factory=dict)
    """Added to the harness's environment, from which `PYTHONPATH` and the like are taken out first."""
    ready_url: str | None = None
    ready_pattern: str | None = None
    ready_timeout_s: Seconds = 120.0
    stop_timeout_s: Seconds = 5.0
    """Time for the agent to end after SIGTERM before it is killed."""
    nice: Annotated[int, Field(ge=0, le=19)] = 0

    @model_serializer(mode="wrap")
    def _without_nothing(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A profile that does not have the newer settings has the hash of one written before there were any."""
        return {name: value for name, value in write(self).items() if value or name not in ("also", "python")}

    @model_validator(mode="after")
    def _can_be_started(self) -> Self:
        if not self.command and (not (self.also or self.python) or self.model_fields_set - {"also", "python"}):
            raise ValueError("command is needed to start the agent; of one that runs already give `also` alone")
        if self.ready_url is not None and self.ready_pattern is not None:
            raise ValueError("give ready_url or ready_pattern, not both")
        if self.ready_url is not None and not re.match(r"^(https?|wss?|tcp)://\S+$", self.ready_url):
            raise ValueError("ready_url must begin with http://, https://, ws://, wss:// or tcp://")
        if self.ready_pattern is not None:
            try:
                re.compile(self.ready_pattern)
            except re.error as error:
                raise ValueError(f"ready_pattern is not a regular expression: {error}") from error
        for name, value in self.env.items():
            if value and _SECRET.search(name):
                raise ValueError(
                    f"env.{name} looks like a secret, and profiles are kept in every run: "
                    "leave it out and set it in the environment, which the agent inherits"
                )
        return self


def filled(text: str, port: str, python: str = sys.executable) -> str:
    """A text of a profile with this port and this interpreter."""
    return text.replace("{port}", port).replace("{python}", python)


class MetricsSettings(ProfileSettings):
    """A model server of the agent, whose metrics page is read during calls."""

    url: Annotated[str, StringConstraints(pattern=r"^https?://\S+$")] | None = None
    """Its page, for example `http://127.0.0.1:8000/metrics`, with `{port}` for that of `[process]`; left out: the address that
    the agent prints in its ready line."""
    server: Literal["vllm", "sglang", "tgi", "nim", "llama.cpp", "triton"] | None = None
    """Left out: recognised by its names."""
    stage: Literal["llm", "asr", "tts"] = "llm"
    """The part of a reply that it computes."""
    model: str | None = None
    """The model as the page names it, where one server has several."""


class AgentProfile(ProfileSettings):
    """The common settings of all kinds of agent. `load_profile` makes the subclass for the file's `kind`."""

    name: AgentName
    kind: str
    description: str = ""
    about_replies: str = ""
    """What was found of its replies, for those who choose an agent."""
    stated_family: str | None = Field(default=None, alias="family")
    metrics: tuple[MetricsSettings, ...] = ()
    """Its model servers, one `[metrics]` or several `[[metrics]]`. They describe what is read, not how it behaves."""

    _source: Path | None = PrivateAttr(default=None)
    _source_text: str = PrivateAttr(default="")

    @field_validator("metrics", mode="before")
    @classmethod
    def _one_or_several(cls, given: Any) -> Any:
        return [given] if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _has_a_port_to_read_at(self) -> Self:
        process = getattr(self, "process", None)
        if (process is None or not process.command) and any("{port}" in (one.url or "") for one in self.metrics):
            raise ValueError("metrics.url has {port}, which needs a [process] table with the command of that server")
        return self

    @property
    def family(self) -> str | None:
        """Family of the language model, so that no judge of the same family judges it; None when it is not known."""
        # A profile names the model itself, or in the part that thinks.
        named = getattr(getattr(self, "think", None) or self, "model", None)
        return self.stated_family or (family_of(named) if named else None)

    @property
    def source(self) -> Path | None:
        """The profile's file; None for a profile made in a program."""
        return self._source

    @property
    def shown_text(self) -> str:
        """The file as it can be kept and shown: its settings, of which `harness.agents.profile_plain` hides what is not
        plain. A profile that ships is public, and is shown as it is written."""
        if self._source is not None and self._source.parent == _SHIPPED:
            return self._source_text
        return as_toml(shown(parse_toml(self._source_text)))

    @property
    def folder(self) -> Path:
        """The folder to which paths in the profile are relative."""
        return self._source.parent if self._source else Path.cwd()

    @property
    def hash(self) -> str:
        """SHA-256 of every setting (comments, order, words about it, metrics, the file's place do not count). Of settings that
        are not plain it holds a short hash only, since who knows all others could else check guesses of a password
        against it."""
        content = compared(self.model_dump(mode="json", exclude=_NOT_ITS_BEHAVIOUR))
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    @property
    def weights(self) -> tuple[str, ...]:
        """The names that the model store must resolve before the agent can start."""
        return ()

    @property
    def own_voices(self) -> tuple[str, ...]:
        """The names of the voices that it speaks with, where known; no caller of the same run may have one unchanged."""
        return ()

    @property
    def process_settings(self) -> ProcessSettings | None:
        """The start settings of a user's own agent; None for a shipped kind or a running agent."""
        return None

    @property
    def python(self) -> str | None:
        """The interpreter that `[process]` names, as it can be started; None if it names none."""
        process: ProcessSettings | None = getattr(self, "process", None)
        if process is None or process.python is None:
            return None
        # A plain name is looked up by the system, as that of a command.
        return str(self.folder / Path(process.python).expanduser()) if "/" in process.python else process.python

    @property
    def running_url(self) -> str | None:
        """The address in the profile, if any; an agent without `process_settings` already runs there."""
        return None

    @property
    def runs_here(self) -> bool:
        """True if it runs on this machine: the harness starts it, or it answers at an address of this machine."""
        return self.process_settings is not None or self.running_url is None or is_this_machine(self.running_url)

    @property
    def also(self) -> tuple[int | str, ...]:
        """Programs, by name, and ports that work for the agent without being started by it."""
        return ()

    @property
    def spoken_ports(self) -> frozenset[int]:
        """The ports of this machine that it is said to answer at or to speak to, in any address of its settings."""
        return local_ports(self.model_dump(mode="json", exclude=_WORDS_ABOUT_IT | {"name"}))

    @property
    def threads(self) -> Mapping[str, int]:
        """The threads of each part that computes on the processor; empty if unknown."""
        return {}

    @property
    def cuda_settings(self) -> tuple[str, ...]:
        """The settings for which its process needs CUDA, as they are written in the file; empty if it needs none."""
        return ()

    @property
    def ready_after_s(self) -> float:
        """The time that a program which it starts itself may take until it is ready."""
        return 0.0

    @property
    def speaks_first(self) -> bool | None:
        """True if it greets a caller, who then lets it finish; None if that has to be found out."""
        return False

    @property
    def reply_silence_ms(self) -> float | None:
        """The silence after which its reply is over, on a wire that does not say so; None: the caller's own rule."""
        return None

    @property
    def is_full_duplex(self) -> bool:
        """True if the profile says that it sends sound all the time; its wire may know it too (`Capabilities`)."""
        return False

    @property
    def accepts_a_history(self) -> bool:
        """True if it accepts the conversation so far; if not, contexts are played in `replay` mode."""
        return True

    @property
    def takes_a_greeting(self) -> bool:
        """True if, in `replay` mode, a supporter's opening greeting goes to it as history."""
        return self.accepts_a_history

    def connection(self, url: str) -> ConnectionSpec:
        """The connection for the caller, once the agent runs at `url`."""
        raise NotSpokenTo(f'agent "{self.name}" is of kind "{self.kind}", which is not spoken to (asked for {url})')

    def in_session(self, connection: ConnectionSpec, session: str) -> ConnectionSpec:
        """The connection of one session. Only an agent of this project is given its name, for a profiler's trace."""
        del session
        return connection

    def as_written(self, text: str, path: Path) -> Self:
        """This profile with the text and path of its file."""
        self._source_text = text
        self._source = path.resolve()
        return self
