"""A telephone call over SIP: the agent is called at its address, or calls this caller, who has registered as a telephone does.

Every telephony platform can be reached so, with no adapter for each. The conversation begins when the call is answered; ringing
and sound before that (a tone, an announcement) are noted with their times and are no part of it. Packets of sound carry their
arrival and their place on the agent's media clock, as over WebRTC, so that loss and jitter are known and nothing waits in a
jitter buffer. A call that is not answered, or ends in the middle of a reply, has the telephone network's own name for it.

There is no way to give such an agent a history that it would acknowledge.
"""

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from harness.agents.connection import Capabilities, Connection, ConnectionFailed, Event, Mark
from harness.agents.connections.about import About
from harness.agents.connections.credentials import value_of
from harness.agents.connections.inbox import Inbox, Limits, dialled
from harness.agents.connections.sip_causes import no_answer
from harness.agents.connections.sip_codecs import FRAME_MS, CodecName, agreed, caller_rate_hz, description
from harness.agents.connections.udp_port import Address, own_address, resolved
from harness.agents.connections.websocket import place_of
from harness.agents.connections.what_to_check import ROWS, Fault, Place, sentence
from harness.agents.connections.wire import refuse_history
from harness.agents.message import Message
from harness.agents.profile_spoken import SpokenElsewhere
from harness.audio.level import AUDIBLE_RMS
from harness.installation import install_command

if TYPE_CHECKING:
    from harness.agents.connections.sip_dialog import SipLine
    from harness.agents.connections.sip_sound import CallSound

TELEPHONE: Final[tuple[CodecName, ...]] = ("pcmu", "pcma", "opus")
OPEN_TIMEOUT_S: Final = 25.0
MOST_OPEN_TIMEOUT_S: Final = 29.0
"""A run gives up on any connection after 30 s (`harness.caller.plan.Limits.open_s`), and then without the name of what was."""
SILENT_LINE_S: Final = 10.0
"""Time since the caller was last heard after which a call without one packet is one-way. Some agents send nothing in silence,
and before the caller has spoken nothing follows from that."""
CUT_OFF_MS: Final = 100.0
"""A hang-up this soon after sound is in the middle of it: a listener's jitter buffer would still hold the last of it (NetEQ
starts at 80 ms)."""
_REPORT_S: Final = 1.0


class SipConnection:
    """One call. `options`: see `connect`."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self._url = url
        self._options = options
        self._codecs: tuple[CodecName, ...] = tuple(options.get("codecs", TELEPHONE))
        self._limits = Limits(open_timeout_s=float(options.get("open_timeout_s", OPEN_TIMEOUT_S)))
        self._be_called = bool(options.get("be_called", False))
        rate_hz = caller_rate_hz(self._codecs)
        self.capabilities = Capabilities(accepts_history=False, input_rate_hz=rate_hz, output_rate_hz=None)
        self._inbox = Inbox(self._limits)
        self._line: SipLine | None = None
        self._sound: CallSound | None = None
        self._host = ""
        """Of this machine, as it is said to the far end."""
        self._session = secrets.randbits(30)
        self._version = 0
        self._dialled_ns = 0
        self._rang_ns: int | None = None
        self._early_media = False
        self._spoke_ns = 0
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, history: Sequence[Message]) -> None:
        async with dialled(self._limits.open_timeout_s, self._not_answered, self._abandon, self.close):
            refuse_history(history, False, "reach the agent by a wire that has room for one")
            await self._connect()
        self._tasks = [asyncio.create_task(self._watch())]

    def send(self, frame: bytes) -> None:
        if self._inbox.ended is not None or self._sound is None:
            return
        with self._inbox.ours("on the caller's sound"):
            self._sound.say(frame)
        if np.sqrt(np.mean(np.frombuffer(frame, "<i2").astype(np.float64) ** 2)) > AUDIBLE_RMS:
            self._spoke_ns = time.monotonic_ns()

    def events(self) -> AsyncIterator[Event]:
        return self._inbox.events()

    async def close(self) -> None:
        if self._sound is not None:
            self._sound.flush()
        self._inbox.end(None, None)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        line, self._line = self._line, None
        if line is not None:
            await line.hang_up(self._limits.close_timeout_s)
        if self._sound is not None:
            self._sound.close()

    async def _connect(self) -> None:
        if find_spec("aiosipua") is None or find_spec("aiortc") is None:
            raise ConnectionFailed(f"SIP needs the extra 'sip': {install_command('sip')}", "defect")
        from harness.agents.connections.sip_dialog import Account, Handlers, SipLine, host_and_port
        from harness.agents.connections.sip_sound import CallSound

        proxy = self._options.get("proxy")
        hop, own = await _way_to(*host_and_port(proxy or self._url), "proxy: " if proxy else "")
        self._host = self._options.get("public_address") or own
        username = self._options.get("username")
        domain = host_and_port(self._url)[0]
        here = f"[{self._host}]" if ":" in self._host else self._host
        identity = self._options.get("identity") or f"sip:{username or 'caller'}@{domain if username else here}"
        variable = self._options.get("password_env")
        password = value_of(variable, "password_env") if variable else None
        account = Account(identity, username, password, self._options.get("public_address"))
        self._sound = await CallSound.open(own, self._inbox, self.capabilities.input_rate_hz)
        self._line = SipLine(own, account, Handlers(self._on_ringing, self._on_ended, self._on_offered))
        await self._line.open()
        self._dialled_ns = time.monotonic_ns()
        if self._be_called:
            offer = await self._line.be_called(hop, domain)
            self._dialled_ns = time.monotonic_ns()
            self._line.answer(self._answer_to(offer))
            self._begin(offer, self._line.called_from or hop[0])
        else:
            self._begin(await self._line.call(self._url, hop, self._description()), hop[0])

    def _begin(self, theirs: Any, signalled_from: str) -> None:
        assert self._sound is not None
        assert self._line is not None
        found = agreed(theirs, self._codecs)
        answered_ns = self._line.answered_ns or time.monotonic_ns()
        self._spoke_ns = answered_ns
        self._sound.begin(found, self._early_media, signalled_from)
        rang_ms = (answered_ns - self._rang_ns) / 1e6 if self._rang_ns is not None else 0.0
        self._note("sip.answered", answered_ns, {
            "after_ms": round((answered_ns - self._dialled_ns) / 1e6, 1), "rang_ms": round(rang_ms, 1),
            "early_packets": self._sound.early_packets, "codec": found.codec.name,
        })  # fmt: skip

    def _description(self) -> str:
        assert self._sound is not None
        self._version += 1
        return description(self._codecs, self._host, self._sound.port, self._session + self._version)

    def _answer_to(self, offer: Any) -> Any:
        """The answer to a description of the far end, with the one codec that was chosen."""
        from aiosipua import negotiate_sdp

        assert self._sound is not None
        found = agreed(offer, self._codecs)
        self._version += 1
        answer, _ = negotiate_sdp(
            offer, self._host, self._sound.port, [found.sent_as], found.keys or 0, session_id=str(self._session + self._version)
        )
        # aiosipua leaves the channels out, which Opus always has two of (RFC 7587), and takes over the offer's packet length.
        assert answer.audio is not None
        answer.audio.attributes["rtpmap"][0] = f"{found.sent_as} {found.codec.rtpmap}"
        answer.audio.attributes["ptime"] = [str(FRAME_MS)]
        return answer

    def _on_ringing(self, status: int, early_media: bool) -> None:
        self._early_media = self._early_media or early_media
        if self._rang_ns is None:
            self._rang_ns = time.monotonic_ns()
            self._note("sip.ringing", self._rang_ns, {"status": status, "early_media": early_media})

    def _on_offered(self, offer: Any) -> Any:
        """A re-INVITE: the far end holds the call, or moves its sound to another address."""
        from aiosipua import parse_sdp

        assert self._sound is not None
        if offer is None:
            return parse_sdp(self._description())
        try:
            answer = self._answer_to(offer)
        except ConnectionFailed:
            return None
        self._sound.redirect(agreed(offer, self._codecs).address)
        return answer

    def _on_ended(self, reason: str) -> None:
        assert self._sound is not None
        now_ns = time.monotonic_ns()
        self._sound.flush()
        self._note("sip.hung_up", now_ns, {"reason": reason})
        said = f" ({reason})" if reason else ""
        if not self._inbox.heard_audio:
            self._inbox.end(f"the agent hung up before it said anything{said}", "closed_early")
        elif self._sound.cut_off(CUT_OFF_MS):
            self._inbox.end(f"the agent hung up in the middle of what it said{said}", "hung_up")
        else:
            self._inbox.end(None, None)

    def _note(self, name: str, at_ns: int, detail: dict[str, object]) -> None:
        self._inbox.put(Mark(name, at_ns, at_ns, {**detail, "stamped": "arrival"}))

    async def _watch(self) -> None:
        """Exchange reports on the line, and detect a call without sound."""
        sound = self._sound
        assert sound is not None
        with self._inbox.ours("beside the call"):
            while self._inbox.ended is None:
                sound.report()
                await asyncio.sleep(_REPORT_S)
                if not sound.packets and time.monotonic_ns() - self._spoke_ns > SILENT_LINE_S * 1e9:
                    why = (
                        f"one-way audio: the call is answered, and {SILENT_LINE_S:g} s after the caller was last heard no "
                        "packet of sound has come; is UDP open from its side? Behind NAT, public_address helps"
                    )
                    if sound.strangers:
                        why += f" ({sound.strangers} packets came from other senders, and were not taken)"
                    self._inbox.end(why, "no_media")

    async def _not_answered(self) -> ConnectionFailed:
        waited_s, line = self._limits.open_timeout_s, self._line
        if self._be_called and line is not None and line.trying:
            return ConnectionFailed(f"registered, and nobody called within {waited_s:g} s (open_timeout_s)", "open_timeout")
        return no_answer(waited_s, line is not None and line.rang, line is not None and line.trying)

    async def _abandon(self, error: ConnectionFailed) -> None:
        self._inbox.end(str(error), error.kind)
        await self.close()
        raise ConnectionFailed(f"{place_of(self._url)}: {error}", error.kind)


async def _way_to(host: str, port: int, named: str) -> tuple[Address, str]:
    """The address of a name in numbers, and this machine's own on the way there. `named`: the setting with it, for errors."""
    fault: Fault = "unknown_host"
    try:
        hop = await resolved(host, port)
        fault = "no_way"
        return hop, own_address(hop)
    except OSError as error:
        raise ConnectionFailed(named + sentence(fault, Place("sip"), detail=error.strerror or ""), ROWS[fault].kind) from error


_ADDRESS: Final = re.compile(
    r"sip:(?:[\w.!~*'()%&=+$,/-]+@)?(?:\[[0-9A-F:.]+\]|[\w.-]+)(?::(?:\d{1,5}|\{port\}))?(?:;[\w.!~*'()%+=;-]+)?",
    re.ASCII | re.IGNORECASE,
)
"""What RFC 3261 allows in an address, so that nothing in one can pass for another part of a message."""
_OTHER_WAY: Final = re.compile(r";transport=(?!udp\b)", re.IGNORECASE)


def _sip_address(written: str) -> str:
    if not _ADDRESS.fullmatch(written):
        raise ValueError("is not of the form sip:NAME@HOST or sip:NAME@HOST:PORT (a password goes into password_env)")
    if _OTHER_WAY.search(written):
        raise ValueError("SIP is spoken over UDP alone: leave out transport=")
    return written


SipAddress = Annotated[str, AfterValidator(_sip_address)]


class SipProfile(SpokenElsewhere):
    """An agent that answers a telephone, or calls one."""

    kind: Literal["sip"]
    url: SipAddress | None = None
    """Address to call (`sip:agent@example.com`); with `be_called`, of the registrar."""
    open_timeout_s: Annotated[float, Field(gt=0, le=MOST_OPEN_TIMEOUT_S)] = OPEN_TIMEOUT_S
    """For the call to be answered, ringing included."""
    codecs: tuple[CodecName, ...] = TELEPHONE
    """Codecs in the order of preference. Opus first: the caller speaks in wide band where the other side has it."""
    be_called: bool = False
    """True if the agent calls: the caller registers as `identity` and answers the first call."""
    proxy: SipAddress | None = None
    """Server that calls go through, where it is not the host of `url`."""
    identity: SipAddress | None = None
    """The caller's own address; left out, `username` at the host of `url`, or `caller` at this machine."""
    username: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.!~*'()%&=+$,/@-]+$")] | None = None
    """Name for the server's challenge (digest)."""
    password_env: str | None = None
    """Name of the environment variable with its password."""
    public_address: Annotated[str, StringConstraints(pattern=r"^[0-9A-Fa-f.:]+$")] | None = None
    """This machine's address as the agent's side sees it, behind NAT."""

    @model_validator(mode="after")
    def _can_be_dialled(self) -> Self:
        if not self.codecs:
            raise ValueError("codecs needs at least one of pcmu, pcma and opus")
        if self.be_called and self.identity is None and self.username is None:
            raise ValueError("be_called needs identity (or username): the address under which the agent calls")
        if self.identity is None and "@" in (self.username or ""):
            raise ValueError("a username with @ needs identity too: the caller's own address")
        return self

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "input_rate_hz": caller_rate_hz(self.codecs)}


PROFILE: Final = SipProfile
ABOUT: Final = About(
    comment=(
        "# An agent that answers a telephone (SIP over UDP; needs the extra 'sip'). It begins every call knowing nothing,",
        "# so run it with --mode replay.",
    ),
    url="sip:agent@127.0.0.1:{port}",
    command="./serve --port {port}",
    ready='ready_pattern = "ready"                  # a line of its output that says it is ready',
    settings=(
        'codecs = ["pcmu", "pcma", "opus"]   # opus first: in wide band where the agent has it',
        '# username = "caller"               # for the server\'s challenge, with the variable that holds the password:',
        '# password_env = "EXAMPLE_SIP_PASSWORD"',
        "# be_called = true                  # the agent calls: register at url as identity, and answer",
    ),
    keyed=False,
)


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A telephone call; options: `codecs`, `be_called`, `proxy`, `identity`, `username`, `password_env`, `public_address`,
    `open_timeout_s`."""
    return SipConnection(url, options)
