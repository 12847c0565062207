"""The common settings of users' own bots with any wire format: their address, and the audio sent to them.

The profile of each wire format is in its connection's file (`harness.agents.connections`), so that a format is one file.
"""

import re
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    field_validator,
    model_serializer,
    model_validator,
)

from harness.agents.connections.spec import ConnectionSpec
from harness.agents.profile_base import AgentProfile, ProcessSettings, Seconds
from harness.agents.secret_places import VARIABLE, looks_secret
from harness.agents.secret_shapes import known_shapes, random_strings

SampleRate = Annotated[int, Field(ge=8_000, le=48_000)]


def _can_be_dialled(written: str) -> str:
    try:
        parts = urlsplit(VARIABLE.sub("1", written.replace("{port}", "1")))
        placed = bool(parts.hostname) and parts.port != 0
    except ValueError:
        placed = False
    if not placed:
        # Not with Python's own words: where a password has a slash, they repeat it as the port.
        raise ValueError("is not an address: write SCHEME://HOST:PORT/PATH, an IPv6 address in [], a password escaped (%2F)")
    return written


WebAddress = Annotated[str, AfterValidator(_can_be_dialled)]
WebSocketUrl = Annotated[WebAddress, StringConstraints(pattern=r"^wss?://\S+$")]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")]
HeaderText = Annotated[str, StringConstraints(pattern=r"^[\x20-\x7e]{1,4000}$")]


_NEWER_IN_ALL = frozenset(("reply_ends_after_ms", "full_duplex"))


class SpokenElsewhere(AgentProfile):
    """A user's own bot: one that runs already (`url`), or one that the harness starts (`[process]`)."""

    url: WebSocketUrl | None = None
    process: ProcessSettings | None = None
    open_timeout_s: Seconds = 15.0
    greets: bool | None = None
    """True if it speaks before its caller. If omitted, the first call of a run finds out."""
    reply_ends_after_ms: Annotated[float, Field(ge=200, le=15_000)] | None = None
    """The silence after which its reply is over, where its wire does not say so: longer than any pause inside a reply, and than
    a tool at work behind a filler. If omitted, 3.8 s after a short reply and 1.5 s after a longer one."""
    full_duplex: bool = False
    """True if it listens while it speaks and sends sound all the time, on a wire that cannot know that of itself."""

    newer: ClassVar[frozenset[str]] = frozenset(("api_key_env", "headers", "start_url"))
    """Settings that profiles of an older harness had not: left out, they leave a profile's hash as it was."""

    @model_serializer(mode="wrap")
    def _without_nothing(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in write(self).items() if value or name not in self.newer | _NEWER_IN_ALL}

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.running_url is None and self.process_settings is None:
            raise ValueError("give url (of a running agent) or a [process] table (to have it started)")
        if self.process is not None and self.process.python and not self.process.command:
            raise ValueError("process.python is the interpreter that {python} in command is, and there is no command")
        if self.running_url is None and self.process is not None and (self.process.ready_url or self.process.ready_pattern):
            raise ValueError("url is needed with ready_url or ready_pattern: only a JSON ready line brings its own")
        return self

    @property
    def process_settings(self) -> ProcessSettings | None:
        return self.process if self.process is not None and self.process.command else None

    @property
    def also(self) -> tuple[int | str, ...]:
        return self.process.also if self.process is not None else ()

    @property
    def running_url(self) -> str | None:
        return self.url

    @property
    def speaks_first(self) -> bool | None:
        return self.greets

    @property
    def reply_silence_ms(self) -> float | None:
        return self.reply_ends_after_ms

    @property
    def is_full_duplex(self) -> bool:
        return self.full_duplex

    @property
    def accepts_a_history(self) -> bool:
        """As `accepts_history` says; false for a wire without that setting, which has no place for a history."""
        return bool(getattr(self, "accepts_history", False))

    def connection(self, url: str) -> ConnectionSpec:
        return ConnectionSpec(kind=self.kind, url=url, options=self._options())

    def _options(self) -> dict[str, Any]:
        """The settings that the connection reads: all but those of the agent's name, place and start."""
        return self.model_dump(mode="json", exclude={*AgentProfile.model_fields, "url", "process", "greets", *_NEWER_IN_ALL})


def _is_a_key(text: str) -> bool:
    return any(known_shapes(text)) or any(random_strings(text))


def _names_a_variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or _is_a_key(name):
        raise ValueError("write the name of the environment variable that holds the key, and not the key")
    return name


VariableName = Annotated[str, AfterValidator(_names_a_variable)]


class KeyedBot(SpokenElsewhere):
    """A bot that is dialled over the web, where its callers may need a key (`harness.agents.connections.credentials`)."""

    api_key_env: VariableName | None = None
    """Name of the environment variable whose value goes with the call as a bearer token."""
    headers: dict[HeaderName, HeaderText] = Field(default_factory=dict)
    """Headers of the call; `${NAME}` is the value of an environment variable, as in the address."""

    @field_validator("headers")
    @classmethod
    def _holds_no_secret(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, text in headers.items():
            if (looks_secret(name) and not VARIABLE.search(text)) or _is_a_key(VARIABLE.sub("", text)):
                raise ValueError(f"{name}: write ${{NAME}} of an environment variable in place of the key or token")
        return headers

    @model_validator(mode="after")
    def _has_one_authorization(self) -> Self:
        if self.api_key_env is not None and "authorization" in map(str.lower, self.headers):
            raise ValueError("give api_key_env or headers.Authorization, not both")
        return self


class PcmBot(KeyedBot):
    """A bot that receives PCM, and may be able to accept a history."""

    input_rate_hz: SampleRate = 16_000
    accepts_history: bool = False
