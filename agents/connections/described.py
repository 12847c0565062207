"""Any JSON socket without code: kind `websocket`, whose messages a profile describes in its table `[wire]`."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import StringConstraints, ValidationInfo, field_validator

from harness.agents.cascade.prompt import system_instruction
from harness.agents.cascade.settings import ReplySettings
from harness.agents.connection import Connection
from harness.agents.connections.about import TCP, About
from harness.agents.connections.described_table import WireTable
from harness.agents.connections.described_wire import DescribedWire
from harness.agents.connections.placed_call import over_placed_call
from harness.agents.connections.start_request import StartedByRequest
from harness.agents.connections.websocket import over_websocket
from harness.agents.profile_spoken import SampleRate, WebAddress


class DescribedProfile(StartedByRequest):
    """An agent behind a JSON socket that `[wire]` describes."""

    kind: Literal["websocket"]
    url: Annotated[WebAddress, StringConstraints(pattern=r"^(ws|http)s?://\S+$")] | None = None
    """Its socket, or with `wire.places` where calls are placed."""
    input_rate_hz: SampleRate = 16_000
    output_rate_hz: SampleRate = 24_000
    """Rate of the agent's sound until a message states another."""
    instructions: str | None = None
    """What `{instructions}` stands for, in place of the rules of the task that every system gets by default."""
    wire: WireTable

    @field_validator("wire")
    @classmethod
    def _has_the_address_of_its_way(cls, wire: WireTable, info: ValidationInfo) -> WireTable:
        url = info.data.get("url")
        if url is not None and url.startswith("http") != (wire.places is not None):
            raise ValueError("url must be ws:// or wss://, or http(s):// of the request that places a call, with wire.places")
        return wire

    @property
    def accepts_a_history(self) -> bool:
        return self.wire.history is not None

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "instructions": self.instructions or system_instruction(ReplySettings())}


_TABLE: Final = """
[wire]                          # ${NAME} of a key goes into url or headers, never into a message
# messages that open the session; also {reply_rate}, {instructions}, {history}, {has_history} and {id}
opens = '{"type": "start", "sample_rate": "{rate}"}'
ready = { type = "ready" }                              # leave it out if sound may come at once
# its sound: the base64 at this path; leave it out if it is binary
speaks = { at = "audio", match = { type = "audio" } }
# the caller's sound; left out, it hears binary PCM16 (encoding = "mulaw" or "alaw" for others)
# hears = { message = '{"type": "audio", "audio": "{audio}"}' }
# clears = { type = "clear" }                           # what was not played yet is to be dropped
# signs = { asked = { type = "turn_over" }, words = { type = "text" }, done = { type = "reply_done" } }
# transcripts = [{ match = { type = "transcript", role = "user" }, role = "user", text = "text" }]
# errors = [{ match = { type = "error" }, words = "error.message" }]
# answers = [{ match = { type = "ping" }, message = '{"type": "pong", "id": "{message.id}"}' }]
# history = { user = '{"role": "user", "text": "{text}"}', assistant = '{"role": "assistant", "text": "{text}"}' }
"""
PROFILE: Final = DescribedProfile
ABOUT: Final = About(
    comment=(
        "# An agent behind any JSON socket: its messages are described in [wire], and no code is needed.",
        "# Paths are names with dots; docs/recipes/websocket-*.toml are whole ones of vendors.",
    ),
    url="ws://127.0.0.1:{port}/",
    command="./serve --port {port}",
    ready=TCP,
    settings=("# input_rate_hz = 16000; output_rate_hz = 24000: what it hears; what it says, until a message states another",),
    tables=tuple(_TABLE.rstrip().split("\n")),
    brings_ttft="signs in [wire]: what comes before its reply (asked, requested or decided), and its first words (words)",
    brings_words='a row with role = "user" in transcripts of [wire]',
    brings_history="[wire.history], where the agent takes one",
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A connection by a table; options: `wire`, `input_rate_hz`, `output_rate_hz`, `instructions`, and every wire's."""
    rates = int(options.get("input_rate_hz", 16_000)), int(options.get("output_rate_hz", 24_000))
    wire = DescribedWire(WireTable.model_validate(options["wire"]), *rates, str(options.get("instructions", "")))
    places = wire.table.places
    if places is not None:
        return over_placed_call(url, wire, options, ABOUT, tuple(places.address_at.split(".")))
    return over_websocket(url, wire, options, transport="websocket")
