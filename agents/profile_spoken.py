"""The common settings of users' own bots with any wire format: their address, and the audio sent to them.

The profile of each wire format is in its connection's file (`harness.agents.connections`), so that a format is one file.
"""

from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, model_validator

from harness.agents.connections.spec import ConnectionSpec
from harness.agents.profile_base import AgentProfile, ProcessSettings, Seconds

SampleRate = Annotated[int, Field(ge=8_000, le=48_000)]
WebSocketUrl = Annotated[str, StringConstraints(pattern=r"^wss?://\S+$")]


class SpokenElsewhere(AgentProfile):
    """A user's own bot: one that runs already (`url`), or one that the harness starts (`[process]`)."""

    url: WebSocketUrl | None = None
    process: ProcessSettings | None = None
    open_timeout_s: Seconds = 15.0
    greets: bool | None = None
    """True if it speaks before its caller. If omitted, the first call of a run finds out."""

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.url is None and self.process_settings is None and self.kind != "plugin":
            raise ValueError("give url (of a running agent) or a [process] table (to have it started)")
        if self.url is None and self.process is not None and (self.process.ready_url or self.process.ready_pattern):
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
    def accepts_a_history(self) -> bool:
        """As `accepts_history` says; false for a wire without that setting, which has no place for a history."""
        return bool(getattr(self, "accepts_history", False))

    def connection(self, url: str) -> ConnectionSpec:
        return ConnectionSpec(kind=self.kind, url=url, options=self._options())

    def _options(self) -> dict[str, Any]:
        """The settings that the connection reads: all but those of the agent's name, place and start."""
        return self.model_dump(mode="json", exclude={*AgentProfile.model_fields, "url", "process", "greets"})


class PcmBot(SpokenElsewhere):
    """A bot that receives PCM, and may be able to accept a history."""

    input_rate_hz: SampleRate = 16_000
    accepts_history: bool = False
