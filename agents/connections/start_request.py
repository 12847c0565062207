"""The request that starts a bot before it is called: `POST /start` of pipecat's runner and of the clouds that copy it.

A runner that guards its WebSocket (`--ws-auth token`) gives each caller a token for one call, and the address to dial. The
profile's key and headers go with the request; to an address that only the answer names goes the token alone. It is sent as a
header and not in the address, because servers write addresses into their logs.

Source: `pipecat.runner.run` of pipecat 1.14.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Self
from urllib.parse import urljoin, urlsplit

from pydantic import StringConstraints, model_validator

from harness.agents.connection import ConnectionFailed
from harness.agents.connections.credentials import Headers, bearer
from harness.agents.connections.spec import ConnectionSpec
from harness.agents.connections.what_to_check import Place
from harness.agents.profile_spoken import KeyedBot
from harness.agents.secret_places import in_text
from harness.agents.secrets import learn

_ANYWHERE: Final = ("0.0.0.0", "::", "")
"""Hosts that a server listens at, and nobody can dial."""


@dataclass(frozen=True, slots=True)
class Started:
    """The answer: where the bot is dialled (None: not said), and the header of its token (empty: no token)."""

    url: str | None
    token: Headers


async def start(url: str, transport: str, headers: Headers, timeout_s: float, keys: tuple[str, ...]) -> Started:
    """Ask for a bot on one of the runner's transports.

    Raises:
        ConnectionFailed: it is refused, or answered with neither address nor token.
    """
    # An HTTP client, which the caller's process does without unless a call needs it.
    from harness.agents.connections.http_request import post

    place = Place(urlsplit(url).scheme, "pipecat's runner takes this request at /start", keys, timeout_s)
    try:
        answer = await post(url, {"transport": transport}, headers, place)
    except ConnectionFailed as error:
        raise ConnectionFailed(f"start_url: {error}", error.kind, error.fault) from error
    address, token = answer.get("wsUrl"), answer.get("token")
    if not isinstance(address, str) and not isinstance(token, str):
        raise ConnectionFailed("start_url: answered with neither wsUrl nor token: check the address", "garbage")
    token_header = bearer(token) if isinstance(token, str) else ()
    if not isinstance(address, str):
        return Started(None, token_header)
    learn(in_text(address))
    try:
        return Started(_dialable(address, url), token_header)
    except ValueError as error:
        raise ConnectionFailed("start_url: the wsUrl of its answer is not an address", "garbage") from error


def _dialable(address: str, start_url: str) -> str:
    """The address that a runner names, as its caller reaches it.

    It names the host that it listens at, which may be all of them, and `wss` for each but `localhost`. What answers at the port
    of the request does so as the request was sent.
    """
    named, asked = urlsplit(address), urlsplit(start_url)
    host = asked.hostname if (named.hostname or "") in _ANYWHERE else named.hostname
    if (host, named.port) == (asked.hostname, asked.port):
        scheme = "wss" if asked.scheme == "https" else "ws"
        return named._replace(scheme=scheme, netloc=asked.netloc.rpartition("@")[2]).geturl()
    return address


class StartedByRequest(KeyedBot):
    """A bot that is asked for with `POST` before it is dialled, if its profile says where."""

    start_url: Annotated[str, StringConstraints(pattern=r"^(https?://\S+|/\S*)$")] | None = None
    """The address of the request, or its path on the bot's own host (`/start`). Without `url` the answer names the address."""

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        if self.start_url is not None and self.url is None and self.start_url.startswith("/"):
            raise ValueError('start_url: write the whole address, or give url beside it ("/start" is a path on its host)')
        if self.start_url is not None and self.url is not None and "{port}" in self.start_url:
            raise ValueError('start_url: write its path alone ("/start"): it is asked for at the host and port of url')
        return self

    @property
    def running_url(self) -> str | None:
        return self.url or self.start_url

    def connection(self, url: str) -> ConnectionSpec:
        options: dict[str, Any] = self._options()
        if self.start_url is not None:
            base = url.replace("ws", "http", 1) if url.startswith("ws") else url
            options["start_url"] = urljoin(base, self.start_url)
        return ConnectionSpec(kind=self.kind, url=url, options=options)
