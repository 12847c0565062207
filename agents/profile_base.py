"""What every profile has, whatever kind of agent it describes: a name, a hash, and how the agent is started and reached.

The kinds are in `harness.agents.profile_kinds`; `harness.agents.profile` reads them from files.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from harness.agents.connections.spec import ConnectionSpec
from harness.agents.profile_plain import as_toml, compared, shown
from harness.agents.this_machine import is_this_machine, local_ports

_SECRET: Final = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)S?$", re.IGNORECASE)
_SHIPPED: Final = Path(__file__).resolve().parent / "profiles"

AgentName = Annotated[str, StringConstraints(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Seconds = Annotated[float, Field(gt=0, le=3_600)]
Port = Annotated[int, Field(ge=1, le=65_535)]
ProgramName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\s/]+$")]


class NotSpokenTo(Exception):
    """A connection was asked for to an agent that only writes."""


class ProfileSettings(BaseModel):
    """A table of a profile: closed, so that a misspelt key is an error, and unchanging."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ProcessSettings(ProfileSettings):
    """How the harness starts a user's own agent. `{port}` stands for a free port, `{python}` for this interpreter.

    The agent is ready when the first of these that is given holds: `ready_url` answers (HTTP 2xx, or for `ws:` and
    `tcp:` a connection is accepted), `ready_pattern` (a regular expression) is found in a line of its output; with
    neither, it prints one JSON line `{"event": "ready", "url": "ws://…"}`.
    """

    command: tuple[str, ...] = ()
    """Empty only beside `also` alone: of an agent that runs already."""
    also: tuple[Port | ProgramName, ...] = ()
    """What works for the agent and is not started by it (`"ollama"`, or the port that it serves): its work on this machine is
    the agent's own, and not that of others."""
    cwd: str = "."
    """Working folder, relative to the profile's own."""
    env: dict[str, str] = Field(default_factory=dict)
    """Added to the harness's environment, from which `PYTHONPATH` and the like are taken out first."""
    ready_url: str | None = None
    ready_pattern: str | None = None
    ready_timeout_s: Seconds = 120.0
    stop_timeout_s: Seconds = 5.0
    """How long the agent has to end by itself after SIGTERM before it is killed."""
    nice: Annotated[int, Field(ge=0, le=19)] = 0

    @model_serializer(mode="wrap")
    def _without_nothing(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A profile that names no companions has the hash of one written before there were any."""
        content: dict[str, Any] = write(self)
        if not self.also:
            content.pop("also", None)
        return content

    @model_validator(mode="after")
    def _can_be_started(self) -> Self:
        if not self.command and (not self.also or self.model_fields_set != {"also"}):
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


class AgentProfile(ProfileSettings):
    """What every kind of agent has. `load_profile` makes the subclass that the file's `kind` names."""

    name: AgentName
    kind: str
    description: str = ""
    stated_family: str | None = Field(default=None, alias="family")

    _source: Path | None = PrivateAttr(default=None)
    _source_text: str = PrivateAttr(default="")

    @property
    def family(self) -> str | None:
        """Family of the language model, so that no judge of the same family judges it; None when it is not known."""
        return self.stated_family

    @property
    def source(self) -> Path | None:
        """The file it came from; None for a profile made in a program."""
        return self._source

    @property
    def source_text(self) -> str:
        """The file as it was written, secrets included: for nobody's eyes."""
        return self._source_text

    @property
    def shown_text(self) -> str:
        """The file as it can be kept and shown: its settings, of which `harness.agents.profile_plain` hides what is not
        plain. A profile that ships is public, and is shown as it is written."""
        if self._source is not None and self._source.parent == _SHIPPED:
            return self._source_text
        return as_toml(shown(tomllib.loads(self._source_text)))

    @property
    def folder(self) -> Path:
        """What relative paths of the profile are relative to."""
        return self._source.parent if self._source else Path.cwd()

    @property
    def hash(self) -> str:
        """SHA-256 of every setting (comments, order, description and the file's place do not count). Of settings that are not
        plain it holds a short hash only, since who knows all others could else check guesses of a password against it."""
        content = compared(self.model_dump(mode="json", exclude={"description"}))
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    @property
    def weights(self) -> tuple[str, ...]:
        """Names that the model store must resolve before the agent can start."""
        return ()

    @property
    def process_settings(self) -> ProcessSettings | None:
        """How a user's own agent is started; None where the harness knows, or where it already runs elsewhere."""
        return None

    @property
    def running_url(self) -> str | None:
        """Where it answers, when the profile says so; an agent without `process_settings` runs there already."""
        return None

    @property
    def runs_here(self) -> bool:
        """Whether it computes on this machine: the harness starts it, or it answers at an address of this machine."""
        return self.process_settings is not None or self.running_url is None or is_this_machine(self.running_url)

    @property
    def also(self) -> tuple[int | str, ...]:
        """Programs, by name, and ports that work for the agent without being started by it."""
        return ()

    @property
    def spoken_ports(self) -> frozenset[int]:
        """The ports of this machine that it is said to answer at or to speak to, in any address of its settings."""
        return local_ports(self.model_dump(mode="json", exclude={"description", "name"}))

    @property
    def threads(self) -> Mapping[str, int]:
        """Threads of each part that computes on the processor; empty where they are not known."""
        return {}

    @property
    def speaks_first(self) -> bool | None:
        """Whether it greets who calls, so that the caller lets it finish; None where that has to be found out."""
        return False

    @property
    def accepts_a_history(self) -> bool:
        """Whether the conversation so far can be given to it; if not, contexts are played in `replay` mode."""
        return True

    def connection(self, url: str) -> ConnectionSpec:
        """How the caller reaches it, once it runs and is known to answer at `url`."""
        raise NotSpokenTo(f'agent "{self.name}" is of kind "{self.kind}", which is not spoken to (asked for {url})')

    def as_written(self, text: str, path: Path) -> Self:
        """This profile, knowing the file that it was read from."""
        self._source_text = text
        self._source = path.resolve()
        return self
