"""The access to an agent: the address that a call dials, and the headers that open it.

The one place where a wire gets either. Both are made anew for each call, because a token may be good for one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self
from urllib.parse import urlsplit

from harness.agents.connection import ConnectionFailed
from harness.agents.connections.credentials import BEARER, Credentials, Headers, KeyForm, filled_address
from harness.agents.connections.start_request import start
from harness.agents.connections.what_to_check import Place
from harness.agents.secret_places import VARIABLE

OPEN_TIMEOUT_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Access:
    """What a profile says of reaching its agent. `route`: where agents of its kind usually answer, for advice."""

    url: str
    credentials: Credentials = field(default_factory=Credentials)
    route: str = ""
    timeout_s: float = OPEN_TIMEOUT_S
    start_url: str | None = None
    """Address that is asked for the call first; `transport` is what the call is to come over."""
    transport: str = ""
    key_words: str = ""
    """How its servers want the key, for advice."""

    @classmethod
    def of(
        cls,
        url: str,
        options: Mapping[str, Any],
        route: str = "",
        transport: str = "",
        key_form: KeyForm = BEARER,
        key_words: str = "",
    ) -> Self:
        """The access that the options of a connection describe."""
        return cls(
            url,
            Credentials.of(options, key_form),
            route,
            float(options.get("open_timeout_s", OPEN_TIMEOUT_S)),
            options.get("start_url"),
            transport,
            key_words,
        )

    @property
    def place(self) -> Place:
        """What advice says of it."""
        keys = (*self.credentials.named, *VARIABLE.findall(self.url))
        may_start = bool(self.transport) and self.start_url is None
        return Place(urlsplit(self.url).scheme, self.route, keys, self.timeout_s, may_start, self.key_words)

    async def opened(self) -> tuple[str, Headers]:
        """The address to dial and the headers to send, secrets included: neither is shown or stored.

        Raises:
            ConnectionFailed: a variable is not set, or the request for the call is refused.
        """
        if self.start_url is None:
            return filled_address(self.url), self.credentials.read()
        headers = self.credentials.read()
        asked = filled_address(self.start_url)
        started = await start(asked, self.transport, headers, self.timeout_s, self.place.keys)
        if self.url.startswith("ws"):
            kept = tuple(h for h in headers if not started.token or h[0].lower() != "authorization")
            return filled_address(self.url), (*kept, *started.token)
        if started.url is None:
            raise ConnectionFailed("start_url: its answer names no wsUrl: give url beside it", "garbage")
        return started.url, started.token
