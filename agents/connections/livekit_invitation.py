"""What a profile says of a LiveKit room, and the token that lets the caller in: made here with the project's key, or asked for.

The token carries the dispatch (`room_config`), which the server acts on as it makes the room, so that one request does all.

Sources: livekit-api 1.2.2 (`access_token`); LiveKit's page "Endpoint token generation" for `start_url`.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Final, Literal, Self
from urllib.parse import urlsplit
from uuid import uuid4

from pydantic import AfterValidator, StringConstraints, model_validator

from harness.agents.connection import ConnectionFailed
from harness.agents.connections.about import TCP, About
from harness.agents.connections.access import OPEN_TIMEOUT_S
from harness.agents.connections.credentials import Credentials, filled_address, value_of
from harness.agents.connections.livekit_room import RATE_HZ, fault_of_token
from harness.agents.connections.what_to_check import Place
from harness.agents.message import Message
from harness.agents.profile_spoken import KeyedBot, VariableName, WebAddress
from harness.agents.secrets import learn

_GOOD_FOR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Invitation:
    """The way into rooms that a profile describes."""

    url: str
    start_url: str
    agent_name: str
    room: str
    variables: tuple[str, str]
    """The names of the variables that hold key and secret."""
    credentials: Credentials
    """What goes with the request for a token."""
    place: Place

    @classmethod
    def of(cls, url: str, options: Mapping[str, Any]) -> Self:
        """The way in that the options of a connection describe."""
        start_url = str(options.get("start_url") or "")
        variables = (str(options.get("api_key_env")), str(options.get("api_secret_env")))
        credentials = Credentials(None, dict(options.get("headers") or {}))
        keys = credentials.named if start_url else variables
        place = Place(urlsplit(url).scheme, ABOUT.route, keys, float(options.get("open_timeout_s", OPEN_TIMEOUT_S)))
        agent_name, room = (str(options.get(name) or "") for name in ("agent_name", "room"))
        return cls("" if url == start_url else url, start_url, agent_name, room, variables, credentials, place)

    @property
    def shown_url(self) -> str:
        """The address to name in a failure."""
        return self.url or self.start_url

    async def opened(self, api: Any, history: Sequence[Message]) -> tuple[str, str]:
        """The server and a token for one call. `api`: the SDK's module.

        Raises:
            ConnectionFailed: a variable is not set, or the request for a token is refused.
        """
        metadata = json.dumps({"history": [{"role": one.role, "text": one.text} for one in history]}) if history else ""
        room, identity = self.room or f"harness-{uuid4().hex[:12]}", f"caller-{uuid4().hex[:8]}"
        if self.start_url:
            return await self._asked(room, identity, metadata)
        key, secret = value_of(self.variables[0], "api_key_env"), value_of(self.variables[1], "api_secret_env")
        token = api.AccessToken(key, secret).with_identity(identity).with_ttl(_GOOD_FOR)
        token = token.with_grants(api.VideoGrants(room_join=True, room=room))
        if self.agent_name:
            job = api.RoomAgentDispatch(agent_name=self.agent_name, metadata=metadata)
            token = token.with_room_config(api.RoomConfiguration(agents=[job]))
        with warnings.catch_warnings():
            # Of a short secret, as a server in development has it ("secret"): the server says what it does not take.
            warnings.simplefilter("ignore")
            learn([made := str(token.to_jwt())])
        return filled_address(self.url), made

    async def _asked(self, room: str, identity: str, metadata: str) -> tuple[str, str]:
        # An HTTP client, which the caller's process does without unless a call needs it.
        from harness.agents.connections.http_request import post

        agents = [{"agent_name": self.agent_name, "metadata": metadata}] if self.agent_name else []
        asked = {"room_name": room, "participant_identity": identity, "room_config": {"agents": agents}}
        answer = await post(filled_address(self.start_url), asked, self.credentials.read(), self.place)
        url, token = answer.get("server_url"), answer.get("participant_token")
        if not isinstance(url, str) or not isinstance(token, str):
            raise ConnectionFailed("start_url: answered without server_url and participant_token: check the address", "garbage")
        learn([token])
        if wrong := fault_of_token(token):
            raise ConnectionFailed(f"start_url: it gave {wrong}: its own code makes the token", "unauthorised")
        return self.url or url, token


def _of_a_room_server(url: str) -> str:
    if not url.startswith(("ws://", "wss://")):
        raise ValueError("a room is joined at its server's WebSocket address: write wss:// in place of https://")
    return url


class LiveKitProfile(KeyedBot):
    """An agent that joins LiveKit rooms."""

    kind: Literal["livekit"]
    url: Annotated[WebAddress, AfterValidator(_of_a_room_server)] | None = None
    api_key_env: VariableName | None = "LIVEKIT_API_KEY"
    api_secret_env: VariableName = "LIVEKIT_API_SECRET"
    start_url: Annotated[WebAddress, StringConstraints(pattern=r"^https?://\S+$")] | None = None
    """Address that is asked for each call's token, with `headers`; key and secret are then not read here."""
    agent_name: Annotated[str, StringConstraints(max_length=200)] = ""
    """The name under which its worker is registered, for explicit dispatch; without one, automatic dispatch brings it."""
    room: Annotated[str, StringConstraints(max_length=200)] = ""
    """A room for all calls, one after the other; left out, each call has its own."""
    accepts_history: bool = False
    """True if its job reads `{"history": [{"role": …, "text": …}]}` in `ctx.job.metadata`."""

    newer: ClassVar[frozenset[str]] = frozenset(("headers", "start_url"))

    @model_validator(mode="after")
    def _history_has_a_way(self) -> Self:
        if self.accepts_history and not self.agent_name:
            raise ValueError("accepts_history needs agent_name: a history goes with the dispatch, as its metadata")
        if self.headers and self.start_url is None:
            raise ValueError("headers go with the request to start_url; a room is joined with a token alone")
        return self

    @property
    def running_url(self) -> str | None:
        return self.url or self.start_url

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "input_rate_hz": RATE_HZ}


PROFILE: Final = LiveKitProfile
ABOUT: Final = About(
    comment=(
        "# An agent that joins LiveKit rooms (needs the extra 'livekit'): url is the room server. LIVEKIT_API_KEY and",
        "# LIVEKIT_API_SECRET are read from the environment. It takes no history, so run it with --mode replay.",
    ),
    url="ws://127.0.0.1:{port}",
    command="./serve --port {port}",
    ready=TCP,
    settings=(
        '# agent_name = "my-agent"     # as its worker is registered; left out for one that joins every room',
        '# api_key_env = "LIVEKIT_API_KEY"   # these by default; api_secret_env = "LIVEKIT_API_SECRET"',
    ),
    route="url is that of the room server alone, without a path",
    brings_words="nothing: sessions of livekit-agents send their transcription unless it is switched off",
    brings_history="accepts_history = true, once its job reads the history in ctx.job.metadata (docs/agents.md)",
)
