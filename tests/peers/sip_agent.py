"""The known agent on the telephone (`harness.known.wires.sip`), with the faults of others: sip:FAULT@….

`answers` (has none); `rings` (for ever); `early` (a tone before the answer); `loses` (every twentieth packet of its sound);
`fails` (hangs up in the middle of its reply); `finishes` (hangs up after it); `dies` (in the middle of its reply, without a
word); `keys` (presses 5 and #, the latter without an end); `mute` (is up and sends nothing); `one-way` (says that it only
hears); `other-codec`; `garbled` (a description that is none); `moves` (its sound, to another port, in the call); `drops` (the
first of each message, as a poor network does); `crosses` (rings, and answers at the moment at which the caller gives up);
`by-name` and `last-port` (says that its sound is at a name, or at a port with none above it). `--register` makes it known to a
registrar under each of these names, `--dial` makes it call an address until that answers.
"""

import argparse
import asyncio
import json
import re
import struct

import numpy as np

from harness.audio.pcm import encode
from harness.caller.pacer import precise_loop
from harness.known.behaviours import Behaviour
from harness.known.server import Calls
from harness.known.wires.sip import Address, Line, Message, Phone, opened

NAMES = (
    "answers", "rings", "early", "loses", "fails", "finishes", "dies", "keys", "mute", "one-way", "other-codec", "garbled",
    "moves", "private", "drops", "crosses", "by-name", "last-port",
)  # fmt: skip
SILENCE = encode(np.zeros(160, np.int16), "ulaw")
TONE = encode((8_000 * np.sin(2 * np.pi * 425 * np.arange(160) / 8_000)).astype(np.int16), "ulaw")
HOST = "127.0.0.1"
RESET = {
    "one-way": ("sendrecv", "recvonly"), "other-codec": ("AVP 0", "AVP 9"),
    "by-name": (f"c=IN IP4 {HOST}", "c=IN IP4 a.example.org"), "last-port": (r"audio \d+", "audio 65535"),
    "keys": ("AVP 0", "AVP 0 101\r\na=rtpmap:101 telephone-event/8000"),
    "garbled": (r"(?s)m=.*", "m=audio many RTP/AVP zero\r\n"),
}  # fmt: skip
"""What is different in a fault's description."""


class FaultyLine(Line):
    """One call. `spoken` and `quiet`: packets of the reply so far, and of silence after it."""

    def __init__(self, phone: Phone, invite: Message, to: Address) -> None:
        super().__init__(phone, invite, to)
        self.fault = invite.first.partition("sip:")[2].partition("@")[0]
        self.spoken = self.quiet = 0

    def description(self) -> str:
        return re.sub(*RESET[self.fault], super().description()) if self.fault in RESET else super().description()

    def begin(self) -> None:
        if self.fault not in ("mute", "one-way"):
            super().begin()

    def say(self, payload: bytes) -> None:
        if self.fault == "loses" and self.sent % 20 == 19:
            self.sent += 1
            return
        super().say(payload)
        self.quiet = self.quiet + 1 if payload == SILENCE else 0
        self.spoken += bool(self.spoken or not self.quiet)
        if self.fault == "fails" and self.spoken == 15:
            self.hang_up(("reason", 'Q.850;cause=41;text="Temporary failure"'))
        elif self.fault == "finishes" and self.spoken and self.quiet == 20:
            self.hang_up(("reason", 'Q.850;cause=16;text="Normal call clearing"'))
        elif self.fault == "dies" and self.spoken == 15:
            self.end()
        elif self.fault == "keys" and self.sent == 20:
            self._press(5, ends=3)
            self._press(11, ends=0)
        elif self.fault == "moves" and self.sent == 20:
            self.sound = opened(HOST, self.hear)
            self.phone.ask(self, "INVITE", body=self.description())

    def _press(self, key: int, ends: int) -> None:
        for flags, duration in (*((10, 160 * k) for k in range(1, 5)), *((0x8A, 800),) * ends):
            head = struct.pack("!BBHII", 0x80, 101, self.sent, 160 * 20 + 800 * (key > 9), 77)
            self.sound.sendto(head + struct.pack("!BBH", key, flags, duration), self.far)
            self.sent += 1

    async def ring_early(self) -> None:
        for _ in range(30):
            Line.say(self, TONE)
            await asyncio.sleep(0.02)
        self.answer()

    def answer(self) -> None:
        self.phone.reply(self.invite, self.to, "200 OK", self, self.description())
        self.begin()

    def end(self) -> None:
        super().end()
        print(json.dumps({"event": "ended", "behaviour": self.fault}), flush=True)


class FaultyPhone(Phone):
    """All calls at one port."""

    def __init__(self, calls: Calls, port: int) -> None:
        super().__init__(calls, HOST, port, FaultyLine)
        self._tasks: list[asyncio.Task[None]] = []
        self._dropped: set[str] = set()

    def take(self, data: bytes, sender: Address, arrived_ns: int) -> None:
        message = Message.read(data)
        line, method = self.lines.get(message.one("call-id")), message.first.split()[0]
        if "drops@" in message.one("to") and method not in (*self._dropped, "SIP/2.0"):
            self._dropped.add(method)
        elif method == "SIP/2.0":
            self._replied(message, line)
        elif method == "CANCEL" and isinstance(line, FaultyLine):
            self.reply(message, sender, "200 OK", line)
            if line.fault == "crosses":
                line.answer()
            else:
                self.reply(line.invite, sender, "487 Request Terminated", line)
                line.end()
        else:
            super().take(data, sender, arrived_ns)

    def ring(self, line: Line) -> None:
        if not isinstance(line, FaultyLine) or line.fault not in ("rings", "crosses", "early"):
            super().ring(line)
            return
        self.lines[line.invite.one("call-id")] = line
        if line.fault == "early":
            self.reply(line.invite, line.to, "183 Session Progress", line, line.description())
            self._tasks.append(asyncio.create_task(line.ring_early()))
        else:
            self.reply(line.invite, line.to, "180 Ringing", line)

    def register(self, registrar: Address) -> None:
        place = self.place(registrar)
        for name in NAMES:
            aor = f"<sip:{name}@{registrar[0]}>"
            headers = [
                ("via", f"SIP/2.0/UDP {place};branch=z9hG4bKregister{name}"), ("from", f"{aor};tag=1"), ("to", aor),
                ("call-id", f"register-{name}"), ("cseq", "1 REGISTER"), ("max-forwards", "70"),
                ("contact", f"<sip:{name}@{place}>"), ("expires", "3600"),
            ]  # fmt: skip
            self.socket.sendto(Message(f"REGISTER sip:{registrar[0]} SIP/2.0", headers).written(), registrar)

    async def dial(self, uri: str, hop: Address) -> None:
        """Call an address, again and again until it answers, then behave as if called."""
        place = self.place(hop)
        for attempt in range(200):
            headers = [
                ("via", f"SIP/2.0/UDP {place};branch=z9hG4bKdial{attempt}"), ("from", "<sip:agent@127.0.0.1>;tag=d"),
                ("to", f"<{uri}>"), ("call-id", f"dial-{attempt}-{place}"), ("cseq", "1 INVITE"), ("max-forwards", "70"),
                ("contact", f"<sip:agent@{place}>"), ("content-type", "application/sdp"),
            ]  # fmt: skip
            line = FaultyLine(self, Message(f"INVITE {uri} SIP/2.0", headers), hop)
            self.lines[line.invite.one("call-id")], line.kind = line, 0
            line.invite.body = line.description()
            self.socket.sendto(line.invite.written(), hop)
            for _ in range(50):
                await asyncio.sleep(0.02)
                if line.conduct is not None or line.over:
                    break
            while line.conduct is not None and not line.over:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            if not line.over:
                line.end()

    def _replied(self, reply: Message, line: Line | None) -> None:
        """Acknowledge the last reply to an INVITE from here; the first that is good begins a call."""
        status = int(reply.first.split()[1])
        if line is None or status < 200 or "INVITE" not in reply.one("cseq"):
            return
        good = status < 300
        target, number = re.search(r"<([^>]+)>", reply.one("contact")), reply.one("cseq").split()[0]
        via = f"SIP/2.0/UDP {self.place(line.to)};branch=z9hG4bKack{line.tag}{number}"
        headers = [
            ("via", via if good else line.invite.one("via")),
            *(("route", value) for name, value in reversed(reply.headers) if good and name == "record-route"),
            ("from", reply.one("from")), ("to", reply.one("to")), ("call-id", reply.one("call-id")),
            ("cseq", f"{number} ACK"), ("max-forwards", "70"),
        ]  # fmt: skip
        uri = target[1] if target and good else line.invite.first.split()[1]
        self.socket.sendto(Message(f"ACK {uri} SIP/2.0", headers).written(), line.to)
        if not good:
            line.end()
        elif line.conduct is None:
            line.see(reply.body)
            line.begin()


def place(written: str) -> Address:
    host, _, port = written.partition(":")
    return host, int(port or 5060)


async def serve(asked: argparse.Namespace) -> None:
    phone = FaultyPhone(Calls(Behaviour("fixed", "", delay_ms=300.0)), asked.port)
    if asked.register:
        phone.register(place(asked.register))
        await asyncio.sleep(0.3)
    print(json.dumps({"event": "ready", "url": f"sip:answers@{phone.place((HOST, 9))}"}), flush=True)
    if asked.dial:
        await phone.dial(asked.dial, place(asked.by or asked.dial.rpartition("@")[2]))
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--register", help="HOST:PORT of a registrar, which then knows it under all names")
    parser.add_argument("--dial", help="address to call, again and again")
    parser.add_argument("--by", help="HOST:PORT of the proxy to call through")
    with asyncio.Runner(loop_factory=precise_loop) as runner:
        runner.run(serve(parser.parse_args()))
