"""Known agents on the telephone: SIP over UDP (RFC 3261, 3264) and G.711 over RTP (RFC 3550, 3551).

It is as much of a telephone as a call needs that is answered at once. Who is called names the behaviour and, after a full stop,
the call: `sip:fixed-300.7@host`. It has no timers: a caller who has lost a reply says the message again, and gets it again.
"""

import asyncio
import contextlib
import re
import secrets
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

from harness.audio.pcm import Law, decode, encode
from harness.clock import now_ns
from harness.known.conduct import Conduct
from harness.known.server import CALL_HEADER, Calls, Ready

HZ: Final = 8_000
LAWS: Final[dict[int, Law]] = {0: "ulaw", 8: "alaw"}
"""Payload types of G.711 (RFC 3551)."""
SDP: Final = (("content-type", "application/sdp"),)
Address = tuple[str, int]
Header = tuple[str, str]


def opened(host: str, take: Callable[[bytes, Address, int], None], port: int = 0) -> socket.socket:
    """A UDP port of this machine (0: a free one) that hands on each packet, its sender, and its arrival in ns."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    made.bind((host, port))

    def read() -> None:
        with contextlib.suppress(OSError):
            take(*made.recvfrom(1 << 16), now_ns())

    asyncio.get_running_loop().add_reader(made, read)
    return made


@dataclass(slots=True)
class Message:
    """One SIP message: its first words, its headers in order, its body."""

    first: str
    headers: list[Header]
    body: str = ""

    @classmethod
    def read(cls, data: bytes) -> Self:
        """The message of a packet."""
        head, _, body = data.decode("utf-8", "replace").partition("\r\n\r\n")
        first, *rows = head.split("\r\n")
        pairs = (row.partition(":") for row in rows)
        return cls(first, [(name.strip().lower(), value.strip()) for name, _, value in pairs], body)

    def one(self, name: str) -> str:
        """The first value of a header; empty if there is none."""
        return next((value for key, value in self.headers if key == name), "")

    def written(self) -> bytes:
        """The message as a packet."""
        size = ("content-length", str(len(self.body)))
        return "\r\n".join([self.first, *(f"{name}: {value}" for name, value in [*self.headers, size]), "", self.body]).encode()


class Line:
    """One call. `to`: where its messages go; `far` and `kind`: where the caller wants sound, and as which payload type."""

    def __init__(self, phone: "Phone", invite: Message, to: Address) -> None:
        self.phone, self.invite, self.to = phone, invite, to
        self.tag, self.over = secrets.token_hex(4), False
        self.conduct: Conduct | None = None
        self.sound = opened(phone.host, self.hear)
        self.sent = self.asked = 0
        self.far, self.kind = ("", 0), -1
        self.see(invite.body)

    def see(self, description: str) -> None:
        """Take the caller's address and codec from its description, if it has one that can be used."""
        host = re.search(r"^c=IN IP4 ([\d.]+)", description, re.MULTILINE)
        media = re.search(r"^m=audio (\d+) RTP/AVP ([\d ]+)", description, re.MULTILINE)
        if host and media and (kinds := [int(each) for each in media[2].split() if int(each) in LAWS]):
            self.far, self.kind = (host[1], int(media[1])), kinds[0]

    def description(self) -> str:
        """The agent's own description."""
        host = self.phone.place(self.to).partition(":")[0]
        return (
            f"v=0\r\no=- 1 1 IN IP4 {host}\r\ns=-\r\nc=IN IP4 {host}\r\nt=0 0\r\n"
            f"m=audio {self.sound.getsockname()[1]} RTP/AVP {self.kind}\r\na=ptime:20\r\na=sendrecv\r\n"
        )

    def begin(self) -> None:
        """The call is up. The one who is called is a behaviour and, after a full stop, a name for the call."""
        user = re.match(r"INVITE sips?:([^@;> ]*)@", self.invite.first)
        name, _, call = (user[1] if user else "").partition(".")
        self.conduct = self.phone.calls.begin(
            f"/{name}", hears_hz=HZ, says_hz=HZ, streams=True, call=call or self.invite.one(CALL_HEADER.lower()) or None
        )
        self.talking = asyncio.create_task(self.talk(self.conduct))

    def hear(self, data: bytes, _: Address, arrived_ns: int) -> None:
        """Take a packet of the caller's sound."""
        if self.conduct is not None and len(data) > 12 and (law := LAWS.get(data[1] & 0x7F)):
            self.conduct.hear(decode(data[12 + 4 * (data[0] & 0x0F) :], law), arrived_ns)

    def say(self, payload: bytes) -> None:
        """Send a packet of 20 ms."""
        head = struct.pack("!BBHII", 0x80, self.kind, self.sent & 0xFFFF, 160 * self.sent & 0xFFFFFFFF, 77)
        self.sent += 1
        with contextlib.suppress(OSError):
            self.sound.sendto(head + payload, self.far)

    async def talk(self, conduct: Conduct) -> None:
        """Say what is due until the call is over, and hang up if nobody else has."""
        async for message in conduct.messages():
            payload = encode(message.samples, LAWS[self.kind])
            conduct.sent(message, now_ns())
            self.say(payload)
        if not self.over:
            self.hang_up()

    def hang_up(self, *more: Header) -> None:
        """End the call from here."""
        self.phone.ask(self, "BYE", *more)
        self.end()

    def end(self) -> None:
        """The call is over."""
        self.over = True
        self.phone.lines.pop(self.invite.one("call-id"), None)
        if self.conduct is not None:
            self.phone.calls.end(self.conduct)
        asyncio.get_running_loop().remove_reader(self.sound)
        self.sound.close()


class Phone:
    """All calls at one port. `line`: what a call is made of."""

    def __init__(self, calls: Calls, host: str, port: int, line: Callable[["Phone", Message, Address], Line] = Line) -> None:
        self.calls, self.host, self._line = calls, host, line
        self.lines: dict[str, Line] = {}
        self.socket = opened(host, self.take, port)

    def place(self, caller: Address) -> str:
        """HOST:PORT at which it can be reached from there."""
        host, port = self.socket.getsockname()
        if host == "0.0.0.0":
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect(caller)
                host = probe.getsockname()[0]
        return f"{host}:{port}"

    def take(self, data: bytes, sender: Address, _: int) -> None:
        """Take a message."""
        message = Message.read(data)
        line = self.lines.get(message.one("call-id"))
        match message.first.partition(" ")[0]:
            case "INVITE":
                if line is None:
                    self.ring(self._line(self, message, sender))
                else:
                    line.see(message.body)
                    self.reply(message, sender, "200 OK", line, line.description())
            case "BYE" | "CANCEL" | "OPTIONS" as method:
                # A CANCEL has crossed the answer, and changes nothing then.
                self.reply(message, sender, "200 OK", line)
                if method == "BYE" and line is not None:
                    line.end()

    def ring(self, line: Line) -> None:
        """Answer a call at once, if it can be."""
        if line.kind not in LAWS:
            self.reply(line.invite, line.to, "488 Not Acceptable Here", line)
            line.end()
            return
        self.lines[line.invite.one("call-id")] = line
        self.reply(line.invite, line.to, "180 Ringing", line)
        self.reply(line.invite, line.to, "200 OK", line, line.description())
        line.begin()

    def reply(self, request: Message, to: Address, status: str, line: Line | None = None, body: str = "") -> None:
        """Reply to a request."""
        tag = f";tag={line.tag}" if line is not None and "tag=" not in request.one("to") else ""
        headers = [each for each in request.headers if each[0] in ("via", "from", "call-id", "cseq", "record-route")]
        headers += [("to", request.one("to") + tag), ("contact", f"<sip:agent@{self.place(to)}>"), *(SDP if body else ())]
        self.socket.sendto(Message(f"SIP/2.0 {status}", headers, body).written(), to)

    def ask(self, line: Line, method: str, *more: Header, body: str = "") -> None:
        """Send a request in a call that was answered here."""
        line.asked += 1
        invite, place, uri = line.invite, self.place(line.to), re.search(r"<([^>]+)>", line.invite.one("contact"))
        headers = [
            ("via", f"SIP/2.0/UDP {place};branch=z9hG4bK{line.tag}{line.asked}"),
            *(("route", value) for name, value in invite.headers if name == "record-route"), ("max-forwards", "70"),
            ("from", f"{invite.one('to')};tag={line.tag}"), ("to", invite.one("from")), ("call-id", invite.one("call-id")),
            ("cseq", f"{line.asked} {method}"), ("contact", f"<sip:agent@{place}>"), *more, *(SDP if body else ()),
        ]  # fmt: skip
        self.socket.sendto(Message(f"{method} {uri[1] if uri else ''} SIP/2.0", headers, body).written(), line.to)


async def serve(_: str, calls: Calls, host: str, port: int, ready: Ready) -> None:
    """Take calls until cancelled."""
    phone = Phone(calls, host, port)
    ready("sip:{}:{}".format(*phone.socket.getsockname()))
    try:
        await asyncio.Event().wait()
    finally:
        for line in list(phone.lines.values()):
            line.hang_up()
