"""One telephone line: registers, calls, is called and hangs up, in SIP over UDP with aiosipua.

aiosipua reads and writes messages, answers digest challenges, and keeps dialogs. What it leaves out is added here, because real
networks lose packets and real agents are behind proxies: requests are repeated until they are answered, refusals are
acknowledged, an answered call follows the proxies that asked to stay in it, and a call can be cancelled at any moment.

It is separate from `harness.agents.connections.sip` because its import needs aiosipua, which a reader of a profile may lack.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiosipua import IncomingCall, Registration, SipDigestAuth, SipRequest, SipResponse, SipUAC, SipUAS, parse_sdp
from aiosipua.dialog import DialogState
from aiosipua.headers import CSeq, SipUri, parse_address, parse_uri, stringify_cseq, stringify_uri
from aiosipua.outgoing_call import OutgoingCall
from aiosipua.registration import RegistrationState
from aiosipua.sdp import SdpMessage
from aiosipua.transport import SipTransport

from harness.agents.connection import ConnectionFailed, FailureKind
from harness.agents.connections import sip_causes
from harness.agents.connections.udp_port import Address, UdpPort, bound_socket, way_to
from harness.agents.connections.wire import shown

SIP_PORT: Final = 5060
FIRST_REPEAT_S: Final = 0.5
LONGEST_REPEAT_S: Final = 4.0
GIVE_UP_S: Final = 32.0
"""RFC 3261: T1, T2 and 64 × T1."""
REGISTERED_FOR_S: Final = 300
_USER_AGENT: Final = "heart-voice-harness"

Message = SipRequest | SipResponse

# Its warnings are about what has a name of ours, and would come between those of others.
logging.getLogger("aiosipua").setLevel(logging.CRITICAL)


class _Transport(SipTransport):
    """aiosipua's transport over a port of our own, with the repeats and acknowledgements of RFC 3261's transactions."""

    def __init__(self, host: str, refused: Callable[[], None]) -> None:
        super().__init__(local_addr=(host, 0))
        self._refused = refused
        self._port: UdpPort | None = None
        self._repeats: dict[tuple[str, str], asyncio.TimerHandle] = {}
        self._invites: dict[str, tuple[SipRequest, Address]] = {}
        self._proxies: dict[str, list[str]] = {}
        """The proxies that asked to stay in an incoming call, by its id."""
        self._settled = asyncio.Event()

    async def bind(self) -> None:
        """Bind the port; `local_addr` is then its address."""
        self._port = await UdpPort.open(bound_socket(self.local_addr[0]), lambda d, a, _: self._dispatch(d, a), self._refused)
        self.local_addr = self._port.address

    async def start(self) -> None:
        """Nothing: it is bound before aiosipua's parts are made, which ask for its address."""

    async def stop(self) -> None:
        self.forget()
        if self._port is not None:
            self._port.close()

    def send(self, message: Message, addr: Address) -> None:
        data = bytes(message)
        if self._port is not None:
            self._port.send(data, addr)
        if isinstance(message, SipRequest) and message.method != "ACK":
            if message.method == "INVITE":
                self._invites[_branch(message)] = (message, addr)
            self._repeat((_branch(message), message.method), data, addr, FIRST_REPEAT_S, FIRST_REPEAT_S)

    def send_reply(self, response: SipResponse) -> None:
        cseq = response.cseq
        if cseq is not None and cseq.method == "INVITE" and 100 < response.status_code < 300:
            response.headers.remove("Record-Route")
            for proxy in self._proxies.get(response.call_id or "", ()):
                response.headers.append("Record-Route", proxy)
        super().send_reply(response)

    def learn(self, message: Message) -> None:
        """Take note of a message before it is handled."""
        if isinstance(message, SipRequest):
            if message.method == "INVITE":
                self._proxies[message.call_id or ""] = list(message.headers.get("record-route"))
            return
        method = message.cseq.method if message.cseq is not None else ""
        repeat = self._repeats.pop((_branch(message), method), None)
        if repeat is not None:
            repeat.cancel()
        if not self._repeats:
            self._settled.set()
        if method == "INVITE" and message.status_code >= 300:
            self._acknowledge(message)

    def forget(self) -> None:
        """Repeat nothing any more."""
        for repeat in self._repeats.values():
            repeat.cancel()
        self._repeats.clear()

    def cancel(self, invite: SipRequest) -> None:
        """Send a CANCEL where the INVITE went."""
        self.send(_like(invite, "CANCEL"), self._invites[_branch(invite)][1])

    async def settled(self) -> None:
        """Wait until every request is answered."""
        while self._repeats:
            self._settled.clear()
            await self._settled.wait()

    def _repeat(self, key: tuple[str, str], data: bytes, to: Address, wait_s: float, waited_s: float) -> None:
        def again() -> None:
            self._repeats.pop(key, None)
            if self._port is not None and waited_s < GIVE_UP_S:
                self._port.send(data, to)
                longer_s = 2 * wait_s if key[1] == "INVITE" else min(2 * wait_s, LONGEST_REPEAT_S)
                self._repeat(key, data, to, longer_s, waited_s + longer_s)

        self._repeats[key] = asyncio.get_running_loop().call_later(wait_s, again)

    def _acknowledge(self, refused: SipResponse) -> None:
        """Acknowledge a refusal, each time that it comes: the other end repeats it until then (RFC 3261, 17.1.1.3)."""
        if (sent := self._invites.get(_branch(refused))) is not None:
            ack = _like(sent[0], "ACK")
            ack.headers.set_single("To", refused.headers.get_first("to") or "")
            self.send(ack, sent[1])


@dataclass(frozen=True, slots=True)
class Account:
    """The caller's own name on the telephone network. `public_address`: of this machine as others see it, behind NAT."""

    identity: str
    username: str | None = None
    password: str | None = None
    public_address: str | None = None


@dataclass(frozen=True, slots=True)
class Handlers:
    """Called when things happen on a line."""

    ringing: Callable[[int, bool], None]
    """With the status, and whether sound comes before the answer (early media)."""
    ended: Callable[[str], None]
    """The far end hung up; with the cause that it gave."""
    offered: Callable[[SdpMessage | None], SdpMessage | None]
    """The far end describes its side anew in the call (hold, another address); gives the answer, None to refuse."""


class SipLine:
    """A line for one call."""

    def __init__(self, host: str, account: Account, handlers: Handlers) -> None:
        self._account = account
        self._handlers = handlers
        self._transport = _Transport(host, self._on_refused)
        self._auth = SipDigestAuth(account.username, account.password or "") if account.username else None
        self._call: OutgoingCall | None = None
        self._incoming: IncomingCall | None = None
        self._registration: Registration | None = None
        self._over = False
        self._uac = SipUAC(self._transport)
        self._uas = SipUAS(self._transport, user_agent=_USER_AGENT, uac=self._uac)
        self._handle: Callable[[Message, Address], None] | None = None
        self._outcome: asyncio.Future[SdpMessage | None] = asyncio.get_running_loop().create_future()
        # A refusal that comes when nobody waits any more is no error.
        self._outcome.add_done_callback(lambda outcome: outcome.cancelled() or outcome.exception())
        self._moved_to = ""
        """The address that the far end named in place of its own; empty if it named none."""
        self.trying = False
        """True once the far end has taken the call, or the registrar the registration."""
        self.rang = False
        self.answered_ns: int | None = None
        """When its answer came; None before, and for a call that the far end began."""

    async def open(self) -> None:
        """Bind the line's own port."""
        await self._transport.bind()
        if self._account.public_address:
            public = (self._account.public_address, self._transport.local_addr[1])
            self._uac.advertised_addr = self._uas.advertised_addr = public
        self._uas.on_invite = lambda call: call.reject(486)
        self._uas.on_bye = self._on_bye
        self._uas.on_reinvite = self._on_reinvite
        await self._uas.start()
        self._handle = self._transport.on_message
        self._transport.on_message = self._on_message

    async def call(self, uri: str, hop: Address, offer: str) -> SdpMessage | None:
        """Call an address by way of `hop`; returns the far end's description once it answers.

        Raises:
            ConnectionFailed: it refuses the call.
        """
        described = parse_sdp(offer)
        self._call = self._uac.send_invite(self._account.identity, uri, hop, described, user_agent=_USER_AGENT, auth=self._auth)
        self._call.on_answer = self._on_answer
        self._call.on_rejected = self._on_rejected
        return await asyncio.shield(self._outcome)

    async def be_called(self, registrar: Address, domain: str) -> SdpMessage | None:
        """Register and wait for a call; returns its description, which `answer` answers.

        Raises:
            ConnectionFailed: the registrar refuses.
        """
        self._uas.on_invite = self._on_invite
        self._registration = Registration(
            self._uac, self._account.identity, registrar, expires=REGISTERED_FOR_S, auth=self._auth,
            registrar_uri=f"sip:{domain}", user_agent=_USER_AGENT,
        )  # fmt: skip
        self._registration.on_registered = lambda _: setattr(self, "trying", True)
        self._registration.on_failed = self._on_not_registered
        self._registration.register()
        return await asyncio.shield(self._outcome)

    @property
    def called_from(self) -> str | None:
        """The IP address of the sender of the call that came; None if none came."""
        return self._incoming.source_addr[0] if self._incoming is not None else None

    def answer(self, described: SdpMessage) -> None:
        """Answer the call that came."""
        assert self._incoming is not None
        self._incoming.accept(described)

    async def hang_up(self, timeout_s: float) -> None:
        """End the call, or cancel one that is not answered, and wait for the far end's word on it."""
        with contextlib.suppress(TimeoutError, ConnectionFailed):
            async with asyncio.timeout(timeout_s):
                await self._hang_up()
                await self._transport.settled()
        await self._uas.stop()

    async def _hang_up(self) -> None:
        call = self._call
        if not self.trying:
            self._transport.forget()
        elif call is not None and call.dialog.state is DialogState.EARLY:
            # It is not forgotten yet, because an answer may be on its way (RFC 3261, 9.1).
            self._transport.cancel(call.invite)
            await asyncio.wait((self._outcome,))
        if not self._over:
            self._over = True
            if call is not None and call.dialog.state is DialogState.CONFIRMED:
                self._uac.send_bye(call.dialog, call.remote_addr)
            if self._incoming is not None and self._incoming.dialog.state is DialogState.EARLY:
                self._incoming.reject(488)
            elif self._incoming is not None:
                self._incoming.hangup()
        if self._registration is not None and self._registration.state is RegistrationState.REGISTERED:
            self._registration.unregister()

    def _on_message(self, message: Message, addr: Address) -> None:
        if isinstance(message, SipRequest) and message.method == "INVITE" and self._uas.transactions.match_request(message):
            return  # sent again, because our answer is still on its way
        self._transport.learn(message)
        try:
            if isinstance(message, SipResponse):
                self._follow(message)
            if self._handle is not None:
                self._handle(message, addr)
        except Exception as error:
            # Hostile bytes may make any part of a reader fail, and a call must end all the same. A value that cannot be is
            # theirs; anything else is a mistake of the reader or of ours, which hostile bytes only found.
            why = f"{type(error).__name__}: {shown(str(error))}"
            kind: FailureKind = "garbage" if isinstance(error, ValueError) else "defect"
            self._fail(ConnectionFailed(f"it sent a SIP message that cannot be read ({why})", kind))

    def _follow(self, response: SipResponse) -> None:
        """Take over from an answer to the call where its next requests go: its tag, its contact, and its proxies."""
        call, cseq = self._call, response.cseq
        if call is None or cseq is None or cseq.method != "INVITE" or response.call_id != call.call_id:
            return
        self.trying = True
        if 300 <= response.status_code < 400 and response.contact:
            self._moved_to = stringify_uri(response.contact[0].uri)
        tag = response.to_addr.tag if response.to_addr is not None else None
        if not 100 < response.status_code < 300 or not tag or call.dialog.state is not DialogState.EARLY:
            return
        call.dialog.remote_tag = tag
        call.dialog.route_set = list(reversed(response.headers.get("record-route")))
        if response.contact:
            call.dialog.remote_target = stringify_uri(response.contact[0].uri)
            call.remote_addr = _next_hop(call.dialog.route_set, response.contact[0].uri, call.remote_addr)
        if response.status_code < 200:
            self.rang = True
            self._handlers.ringing(response.status_code, bool(response.body))

    def _on_answer(self, call: OutgoingCall) -> None:
        if not self._outcome.done():
            self.answered_ns = time.monotonic_ns()
            self._outcome.set_result(call.sdp_answer)

    def _on_rejected(self, call: OutgoingCall, status: int, phrase: str) -> None:
        del call
        self._fail(sip_causes.refusal(status, phrase, self.rang, self._moved_to))

    def _on_not_registered(self, registration: Registration, status: int, phrase: str) -> None:
        del registration
        refused = sip_causes.refusal(status, phrase, False)
        self._fail(ConnectionFailed(f"not registered: {refused}", refused.kind))

    def _on_refused(self) -> None:
        self._fail(ConnectionFailed("nothing listens there: check url, its port, and that it speaks SIP over UDP", "refused"))

    def _fail(self, error: ConnectionFailed) -> None:
        if not self._outcome.done():
            self._outcome.set_exception(error)

    def _on_invite(self, call: IncomingCall) -> None:
        if self._outcome.done():
            call.reject(486)
            return
        # In the order of the request (RFC 3261, 12.1.1); aiosipua turns them round, as is right for a caller only.
        call.dialog.route_set = list(call.invite.headers.get("record-route"))
        if call.sdp_offer is None:
            call.reject(488)
            return
        self._incoming = call
        call.ringing()
        self._outcome.set_result(call.sdp_offer)

    def _on_bye(self, call: IncomingCall, request: SipRequest) -> None:
        del call
        self._over = True
        self._handlers.ended(sip_causes.cause(request.headers.get_first("reason")))

    def _on_reinvite(self, call: IncomingCall) -> None:
        described = self._handlers.offered(call.sdp_offer)
        if described is None:
            call.reject(488)
            return
        call.accept(described)


def host_and_port(uri: str) -> tuple[str, int]:
    """The host of a SIP address, and its port."""
    parsed = parse_uri(uri)
    return parsed.host, parsed.port or SIP_PORT


def _branch(message: Message) -> str:
    vias = message.via
    return (vias[0].branch or "") if vias else ""


def _like(invite: SipRequest, method: str) -> SipRequest:
    """A request that belongs to an INVITE: the same address, way, names and number."""
    made = SipRequest(method=method, uri=invite.uri)
    made.headers.append("Via", invite.headers.get_first("via") or "")
    for name in ("From", "To", "Call-ID"):
        made.headers.set_single(name, invite.headers.get_first(name) or "")
    number = invite.cseq.seq if invite.cseq is not None else 1
    made.headers.set_single("CSeq", stringify_cseq(CSeq(seq=number, method=method)))
    made.headers.set_single("Max-Forwards", "70")
    for route in invite.headers.get("route"):
        made.headers.append("Route", route)
    return made


def _next_hop(proxies: list[str], contact: SipUri, seen: Address) -> Address:
    """Where the next request of a call goes: to its first proxy, or to the far end itself."""
    uri = parse_address(proxies[0]).uri if proxies else contact
    return way_to((uri.host.strip("[]"), uri.port or SIP_PORT), seen)
