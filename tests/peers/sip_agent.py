"""A telephone agent of known behaviour, written from RFC 3261, 3550 and 4733 alone: what the harness's figures over SIP are
held against.

It answers at any name (`sip:BEHAVIOUR@…`), hears its caller end by level, waits its programmed time, and speaks G.711. The
truth of each call, printed as a line of JSON when the reply begins, is when the packet that holds the onset was handed to
the socket, and where in it the voice begins. Behaviours: `answers`; `rings` (for ever); `early` (a tone before the answer);
`loses` (every twentieth packet of its sound); `hangs-up` (in the middle of its reply); `finishes` (hangs up after it);
`dies` (in the middle of its reply, without a word); `keys` (presses 5 and #, the latter without an end); `mute` (is up and
sends nothing); `one-way` (says that it only hears); `other-codec`; `garbled` (a description that is none); `moves` (its
sound, to another port, in the call); `drops` (the first of each message, as a poor network does); `crosses` (rings, and
answers at the moment at which the caller gives up); `by-name` and `last-port` (says that its sound is at a name, or at a port
with none above it). `--register` makes it known to a registrar under each of these names, `--dial` makes it call an address
until that answers.
"""

import argparse
import asyncio
import json
import re
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import soxr

from harness.audio.pcm import decode, encode
from harness.calibrate.program import AGENT_HZ, REPLY_S, draw, render, sentence, voices
from harness.caller.pacer import precise_loop
from harness.caller.server import raise_priority

NAMES = (
    "answers", "rings", "early", "loses", "hangs-up", "finishes", "dies", "keys", "mute", "one-way", "other-codec", "garbled",
    "moves", "private", "drops", "crosses", "by-name", "last-port",
)  # fmt: skip
RATE_HZ = 8_000
FRAME = RATE_HZ // 50
FRAME_MS = 20
LOUD = 200
EARLY_S = 0.6
CUT_AFTER_S = 0.3
Address = tuple[str, int]


class Port(asyncio.DatagramProtocol):
    """A UDP port that hands on what comes."""

    def __init__(self, take: Callable[[bytes, Address], None]) -> None:
        self._take = take
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self._take(data, (addr[0], addr[1]))

    @property
    def number(self) -> int:
        return int(self.transport.get_extra_info("sockname")[1])


async def opened(take: Callable[[bytes, Address], None], port: int = 0) -> Port:
    made = Port(take)
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: made, local_addr=("127.0.0.1", port))
    return made


@dataclass
class Message:
    """One SIP message: its first line, its headers in order, its body."""

    first: str
    headers: list[tuple[str, str]]
    body: str = ""

    @classmethod
    def read(cls, data: bytes) -> "Message":
        head, _, body = data.decode("utf-8", "replace").partition("\r\n\r\n")
        first, *lines = head.split("\r\n")
        pairs = [line.partition(":") for line in lines]
        return cls(first, [(name.strip().lower(), value.strip()) for name, _, value in pairs], body)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]

    def one(self, name: str) -> str:
        return next(iter(self.all(name)), "")

    def written(self) -> bytes:
        lines = [self.first, *(f"{name}: {value}" for name, value in self.headers), f"content-length: {len(self.body)}", "", ""]
        return ("\r\n".join(lines) + self.body).encode()


@dataclass
class Call:
    """One call, with what is needed for requests in it."""

    agent: "Agent"
    behaviour: str
    invite: Message
    to: Address
    """Where its messages go."""
    tag: str
    called: bool
    """True if the caller of this call is somebody else."""
    sound: Port | None = None
    far: Address | None = None
    loud_at: float | None = None
    due: float = float("inf")
    reply: Any = None
    truth: dict[str, Any] = field(default_factory=dict)
    sequence: int = 0
    timestamp: int = 0
    spoken: int = 0
    """Frames of the reply that were sent."""
    answered: bool = False
    over: bool = False
    number: int = 10
    tasks: list["asyncio.Task[None]"] = field(default_factory=list)

    def description(self, port: int | None = None) -> str:
        assert self.sound is not None
        if self.behaviour == "garbled":
            return "v=0\r\nm=audio many RTP/AVP zero\r\n"
        formats = {"other-codec": "9"}.get(self.behaviour, "0 101")
        direction = {"one-way": "recvonly"}.get(self.behaviour, "sendrecv")
        host = {"by-name": "sound.example.org"}.get(self.behaviour, "127.0.0.1")
        port = {"last-port": 65_535}.get(self.behaviour, port)
        return (
            f"v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 {host}\r\nt=0 0\r\n"
            f"m=audio {port or self.sound.number} RTP/AVP {formats}\r\na=rtpmap:101 telephone-event/8000\r\na={direction}\r\n"
        )

    def hear(self, data: bytes, _: Address) -> None:
        """The caller's sound; its end lets the reply be due."""
        now = time.monotonic()
        if np.abs(decode(data[12:], "ulaw").astype(np.int32)).max(initial=0) > LOUD:
            self.loud_at = now
        elif self.loud_at is not None and now - self.loud_at > 0.06 and self.due == float("inf"):
            self.due = max(now, self.loud_at + self.truth["delay_s"])

    def see(self, description: str) -> None:
        host = re.search(r"c=IN IP4 (\S+)", description)
        port = re.search(r"m=audio (\d+)", description)
        if host and port:
            self.far = (host[1], int(port[1]))

    def packet(self, payload: bytes, kind: int = 0, step: int = FRAME, at: int | None = None) -> None:
        assert self.sound is not None
        head = struct.pack("!BBHII", 0x80, kind, self.sequence & 0xFFFF, self.timestamp if at is None else at, 77)
        if self.far is not None and not (self.behaviour == "loses" and self.sequence % 20 == 19):
            self.sound.transport.sendto(head + payload, self.far)
        self.sequence += 1
        self.timestamp += step

    async def talk(self) -> None:
        """Send silence without pause, and the reply once it is due."""
        began, frames = time.monotonic(), 0
        while not self.over:
            await asyncio.sleep(max(0.0, began + frames * FRAME_MS / 1000 - time.monotonic()))
            frames += 1
            samples = np.zeros(FRAME, np.int16)
            if not self.answered:
                samples = (8_000 * np.sin(2 * np.pi * 425 * np.arange(FRAME) / RATE_HZ)).astype(np.int16)
            elif time.monotonic() >= self.due and len(self.reply):
                part, self.reply = self.reply[:FRAME], self.reply[FRAME:]
                samples[: len(part)] = part
                if self.spoken == int(self.truth["onset_ms"]) // FRAME_MS:
                    self.truth["sent_ns"] = time.monotonic_ns()
                    print(json.dumps({"event": "truth", **self.truth}), flush=True)
                self.spoken += 1
            self.packet(encode(samples, "ulaw"))
            await self._act(self.spoken * FRAME_MS / 1000)

    async def _act(self, spoken_s: float) -> None:
        ended = len(self.reply) == 0
        if self.behaviour == "hangs-up" and spoken_s >= CUT_AFTER_S:
            self.agent.hang_up(self, 'Q.850;cause=41;text="Temporary failure"')
        elif self.behaviour == "finishes" and ended and self.agent.waited(self, 0.4):
            self.agent.hang_up(self, 'Q.850;cause=16;text="Normal call clearing"')
        elif self.behaviour == "dies" and spoken_s >= CUT_AFTER_S:
            self.over = True
            assert self.sound is not None
            self.sound.transport.close()
        elif self.behaviour == "keys" and self.sequence == 20:
            self._press(5, ends=3)
            self._press(11, ends=0)
        elif self.behaviour == "moves" and self.sequence == 20:
            self.sound = await opened(self.hear)
            self.agent.offer_again(self)

    def _press(self, key: int, ends: int) -> None:
        at = self.timestamp
        for k in range(4):
            self.packet(struct.pack("!BBH", key, 10, 160 * (k + 1)), 101, 0, at)
        for _ in range(ends):
            self.packet(struct.pack("!BBH", key, 0x80 | 10, 800), 101, 0, at)
        self.timestamp += 800


LEVEL_DB = -14.0
"""Loud: some behaviours end the call within the first, soft sound of a sentence."""


class Agent:
    """All calls at one port."""

    def __init__(self, behaviour: str, seed: int, delay_s: float | None) -> None:
        self._behaviour = behaviour
        self._rng = np.random.default_rng(seed)
        self._delay_s = delay_s
        self._calls: dict[str, Call] = {}
        self._ended: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._dropped: set[str] = set()
        self.port: Port

    @property
    def contact(self) -> str:
        return f"127.0.0.1:{self.port.number}"

    def take(self, data: bytes, sender: Address) -> None:
        message = Message.read(data)
        if message.first.startswith("SIP/2.0"):
            self._replied(message, int(message.first.split()[1]))
            return
        call, method = self._calls.get(message.one("call-id")), message.first.split()[0]
        if "drops@" in message.one("to") and method not in self._dropped:
            self._dropped.add(method)
            return
        match method:
            case "INVITE" if call is None:
                self._later(self._ring(message, sender))
            case "ACK":
                pass
            case "CANCEL" if call is not None and call.behaviour == "crosses":
                self._answer(call.invite, sender, "200 OK", call, call.description())
                self._answer(message, sender, "200 OK", call)
            case "BYE" | "CANCEL":
                self._answer(message, sender, "200 OK", call)
                if call is not None and method == "CANCEL":
                    self._answer(call.invite, sender, "487 Request Terminated", call)
                self._forget(call)
            case "OPTIONS":
                self._answer(message, sender, "200 OK", call)

    async def _ring(self, invite: Message, sender: Address) -> None:
        found = re.match(r"INVITE sips?:([^@;> ]+)@", invite.first)
        name = found[1] if found and found[1] in NAMES else self._behaviour
        call = await self._made(name, invite, sender, called=True)
        self._answer(invite, sender, "100 Trying", None)
        if name == "early":
            self._answer(invite, sender, "183 Session Progress", call, call.description())
            call.tasks.append(asyncio.create_task(call.talk()))
            await asyncio.sleep(EARLY_S)
        else:
            self._answer(invite, sender, "180 Ringing", call)
        if name in ("rings", "crosses"):
            return
        call.answered = True
        self._answer(invite, sender, "200 OK", call, call.description())
        if name not in ("mute", "one-way", "early"):
            call.tasks.append(asyncio.create_task(call.talk()))

    async def _made(self, behaviour: str, invite: Message, to: Address, *, called: bool) -> Call:
        call = Call(self, behaviour, invite, to, f"{self._rng.integers(1 << 30):x}", called)
        self._calls[invite.one("call-id")] = call
        program = replace(draw(self._rng), level_db=LEVEL_DB)
        if self._delay_s is not None:
            program = replace(program, delay_s=self._delay_s)
        samples, onset_ms = render(program)
        call.truth = {"onset_ms": onset_ms, "delay_s": program.delay_s}
        call.reply = soxr.resample(samples, AGENT_HZ, RATE_HZ, quality="VHQ").astype(np.int16)
        call.sound = await opened(call.hear)
        call.see(invite.body)
        return call

    def _answer(self, request: Message, to: Address, status: str, call: Call | None, body: str = "") -> None:
        copied = [(n, v) for n, v in request.headers if n in ("via", "from", "call-id", "cseq", "record-route")]
        own = request.one("to")
        if call is not None and "tag=" not in own:
            own += f";tag={call.tag}"
        headers = [*copied, ("to", own), ("contact", f"<sip:agent@{self.contact}>")]
        if body:
            headers.append(("content-type", "application/sdp"))
        self.port.transport.sendto(Message(f"SIP/2.0 {status}", headers, body).written(), to)

    def hang_up(self, call: Call, reason: str) -> None:
        self._request(call, "BYE", [("reason", reason)])
        self._forget(call)

    def offer_again(self, call: Call) -> None:
        self._request(call, "INVITE", [("content-type", "application/sdp")], call.description())

    def waited(self, call: Call, seconds: float) -> bool:
        """True once this time has passed since the first time it was asked."""
        begun = self._ended.setdefault(call.tag, time.monotonic())
        return time.monotonic() - begun >= seconds

    def _request(self, call: Call, method: str, more: list[tuple[str, str]], body: str = "") -> None:
        """A request in a call that was answered here."""
        invite = call.invite
        call.number += 1
        contact = re.search(r"<([^>]+)>", invite.one("contact"))
        routes = invite.all("record-route")
        headers = [
            ("via", f"SIP/2.0/UDP {self.contact};branch=z9hG4bK{call.tag}{call.number}"),
            *(("route", route) for route in routes),
            ("from", f"{invite.one('to')};tag={call.tag}"), ("to", invite.one("from")), ("call-id", invite.one("call-id")),
            ("cseq", f"{call.number} {method}"), ("max-forwards", "70"), ("contact", f"<sip:agent@{self.contact}>"), *more,
        ]  # fmt: skip
        first = f"{method} {contact[1] if contact else ''} SIP/2.0"
        self.port.transport.sendto(Message(first, headers, body).written(), call.to)

    def register(self, registrar: Address) -> None:
        for name in NAMES:
            aor = f"<sip:{name}@{registrar[0]}>"
            headers = [
                ("via", f"SIP/2.0/UDP {self.contact};branch=z9hG4bKregister{name}"), ("from", f"{aor};tag=1"), ("to", aor),
                ("call-id", f"register-{name}"), ("cseq", "1 REGISTER"), ("max-forwards", "70"),
                ("contact", f"<sip:{name}@{self.contact}>"), ("expires", "3600"),
            ]  # fmt: skip
            self.port.transport.sendto(Message(f"REGISTER sip:{registrar[0]} SIP/2.0", headers).written(), registrar)

    async def dial(self, uri: str, hop: Address) -> None:
        """Call an address, again and again until it answers, then behave as if called."""
        for attempt in range(200):
            headers = [
                ("via", f"SIP/2.0/UDP {self.contact};branch=z9hG4bKdial{attempt}"), ("from", "<sip:agent@127.0.0.1>;tag=d"),
                ("to", f"<{uri}>"), ("call-id", f"dial-{attempt}-{self._rng.integers(1 << 30)}"), ("cseq", "1 INVITE"),
                ("max-forwards", "70"), ("contact", f"<sip:agent@{self.contact}>"), ("content-type", "application/sdp"),
            ]  # fmt: skip
            invite = Message(f"INVITE {uri} SIP/2.0", headers)
            call = await self._made(self._behaviour, invite, hop, called=False)
            invite.body = call.description()
            self.port.transport.sendto(invite.written(), hop)
            for _ in range(50):
                await asyncio.sleep(0.02)
                if call.answered or call.over:
                    break
            while call.answered and not call.over:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            self._forget(call)

    def _replied(self, reply: Message, status: int) -> None:
        call = self._calls.get(reply.one("call-id"))
        if call is None or status < 200 or "INVITE" not in reply.one("cseq"):
            return
        target = re.search(r"<([^>]+)>", reply.one("contact"))
        number = reply.one("cseq").split()[0]
        branch = "" if status < 300 else call.invite.one("via")
        headers = [
            ("via", branch or f"SIP/2.0/UDP {self.contact};branch=z9hG4bKack{call.tag}{number}"),
            *(("route", route) for route in reversed(reply.all("record-route")) if status < 300),
            ("from", reply.one("from")), ("to", reply.one("to")), ("call-id", reply.one("call-id")),
            ("cseq", f"{number} ACK"), ("max-forwards", "70"),
        ]  # fmt: skip
        uri = target[1] if target and status < 300 else call.invite.first.split()[1]
        self.port.transport.sendto(Message(f"ACK {uri} SIP/2.0", headers).written(), call.to)
        if call.called:
            return
        if status >= 300:
            call.over = True
        elif not call.answered:
            call.answered = True
            call.see(reply.body)
            call.tasks.append(asyncio.create_task(call.talk()))

    def _forget(self, call: Call | None) -> None:
        if call is not None and not call.over:
            call.over = True
            print(json.dumps({"event": "ended", "behaviour": call.behaviour}), flush=True)
        if call is not None:
            self._calls.pop(call.invite.one("call-id"), None)

    def _later(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def place(written: str) -> Address:
    host, _, port = written.partition(":")
    return host, int(port or 5060)


async def serve(asked: argparse.Namespace) -> None:
    # A voice takes a second to load, in which a telephone would not even ring.
    for voice in voices():
        sentence(voice, "Hello.", REPLY_S)
    agent = Agent(asked.behaviour, asked.seed, asked.delay_s)
    agent.port = await opened(agent.take, asked.port)
    if asked.register:
        agent.register(place(asked.register))
        await asyncio.sleep(0.3)
    print(json.dumps({"event": "ready", "url": f"sip:{asked.behaviour}@{agent.contact}"}), flush=True)
    if asked.dial:
        await agent.dial(asked.dial, place(asked.by or asked.dial.rpartition("@")[2]))
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--behaviour", default="answers")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delay-s", type=float)
    parser.add_argument("--register", help="HOST:PORT of a registrar, which then knows it under all names")
    parser.add_argument("--dial", help="address to call, again and again")
    parser.add_argument("--by", help="HOST:PORT of the proxy to call through")
    parser.add_argument("--first", action="store_true", help="ahead of others on the machine: a ruler must not be late itself")
    asked = parser.parse_args()
    if asked.first:
        raise_priority()
    with asyncio.Runner(loop_factory=precise_loop) as runner:
        runner.run(serve(asked))


if __name__ == "__main__":
    main()
