"""Calls that are placed with a request: its answer has the address of the one call, which is then dialled.

The platforms that host agents do it so. The key goes with the request alone; the address in the answer is a secret of that
call, good for one caller and a short time, so that each call asks anew and no profile holds one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Protocol, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, model_validator

from harness.agents.cascade.prompt import system_instruction
from harness.agents.cascade.settings import ReplySettings
from harness.agents.connection import ConnectionFailed
from harness.agents.connections.about import About
from harness.agents.connections.access import Access
from harness.agents.connections.credentials import BEARER, Headers, KeyForm, filled_address
from harness.agents.connections.inbox import Limits
from harness.agents.connections.websocket import WebSocketConnection
from harness.agents.connections.wire import Wire
from harness.agents.profile_spoken import KeyedBot, SampleRate, WebAddress
from harness.agents.secret_places import in_text
from harness.agents.secrets import learn


class PlacedWire(Wire, Protocol):
    """A wire whose call is placed with a request."""

    def request(self) -> Mapping[str, Any]:
        """The body of the request, after `hello`: with the history, if there is one."""


@dataclass(frozen=True, slots=True)
class PlacedCall(Access):
    """The access to calls of a platform. `body`: of the request; `address_at`: where its answer has the address."""

    body: Callable[[], Mapping[str, Any]] = dict
    address_at: tuple[str, ...] = ()

    async def opened(self) -> tuple[str, Headers]:
        # An HTTP client, which the caller's process does without unless a call needs it.
        from harness.agents.connections.http_request import post

        address: Any = await post(filled_address(self.url), self.body(), self.credentials.read(), self.place)
        for name in self.address_at:
            address = address.get(name) if isinstance(address, Mapping) else None
        if not isinstance(address, str) or urlsplit(address).scheme not in ("ws", "wss"):
            raise ConnectionFailed(
                f"its answer names no address of a call ({'.'.join(self.address_at)}): {self.route}", "garbage"
            )
        learn(in_text(address))
        return address, ()


def over_placed_call(
    url: str,
    wire: PlacedWire,
    options: Mapping[str, Any],
    about: About,
    address_at: tuple[str, ...],
    key_form: KeyForm = BEARER,
) -> WebSocketConnection:
    """The connection of a wire whose call is placed with a request to `url`."""
    plain = PlacedCall.of(url, options, about.route, key_form=key_form, key_words=about.key)
    access = replace(plain, body=wire.request, address_at=address_at)
    return WebSocketConnection(url, wire, Limits(open_timeout_s=access.timeout_s), access)


def _is_asked(url: str) -> str:
    if not url.startswith(("https://", "http://")):
        raise ValueError(
            "write the address of the request that places a call (https://…): the one in its answer is good for one call alone"
        )
    return url


class PlacedBot(KeyedBot):
    """An agent of such a platform: the id of a stored one (`agent_id`), or its settings."""

    url: Annotated[WebAddress, AfterValidator(_is_asked)] | None = None
    agent_id: str | None = None
    instructions: str | None = None
    """Replaces the rules of the task that every system gets by default; a stored agent has its own."""
    input_rate_hz: SampleRate = 16_000

    @model_validator(mode="after")
    def _has_its_own_instructions(self) -> Self:
        if self.agent_id is not None and self.instructions is not None:
            raise ValueError("agent_id: a stored one has its own instructions")
        return self

    @property
    def speaks_first(self) -> bool | None:
        return self.greets if self.agent_id is not None or self.greets is not None else False

    def _options(self) -> dict[str, Any]:
        """The settings of the connection. An agent of the profile's own waits for its caller, unless it is to greet."""
        own = {} if self.agent_id else {"instructions": self.instructions or system_instruction(ReplySettings())}
        return {**super()._options(), **own, "greets": self.speaks_first}
