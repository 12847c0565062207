"""Telephone calls over SIP: to an agent of known behaviour, through a real proxy, to a real telephone, and to what refuses."""

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import soundfile

from benchmarks.wires import errors_of, registrar
from harness.agents.connection import AudioChunk, Closed, ConnectionFailed, Event, LineReport, Mark
from harness.agents.connections import ConnectionSpec, make, sip
from harness.agents.message import Message
from harness.agents.process import AgentProcess
from harness.agents.profile import AgentProfile, ProfileError
from harness.caller import CallerTurn, SessionPlan
from harness.caller.pacer import Pacer
from harness.caller.session import play_session
from tests.agents.conftest import logged

StartPeer = Callable[[AgentProfile | str], Awaitable[AgentProcess]]
Call = Callable[..., Awaitable[list[Event]]]
ProfileOf = Callable[[str], AgentProfile]
FRAME = 320
"""20 ms at 8 kHz in bytes."""
PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        shutil.which(program, path=PATH) is None, reason=f"{program} is not installed (tests/run.sh does)"
    )


@pytest.fixture
def caller() -> bytes:
    """A caller at 8 kHz: a fifth of a second of silence, a tone, then silence."""
    tone = 6_000 * np.sin(2 * np.pi * 300 * np.arange(4_800) / 8_000)
    return np.concatenate([np.zeros(1_600), tone, np.zeros(12_000)]).astype("<i2").tobytes()


@pytest.fixture
async def phone(start: StartPeer, profile_of: ProfileOf) -> Callable[..., Awaitable[str]]:
    """Starts the agent of known behaviour; gives its place (HOST:PORT)."""

    async def started(*words: str) -> str:
        command = ", ".join(f'"{word}"' for word in ("{python}", "sip_agent.py", *words))
        agent = await start(profile_of(f'name = "phone"\nkind = "sip"\n[process]\ncommand = [{command}]\n'))
        return agent.url.rpartition("@")[2]

    return started


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with registrar() as place:
        yield place


def heard(events: Sequence[Event]) -> list[AudioChunk]:
    return [event for event in events if isinstance(event, AudioChunk)]


def loudest(chunks: Sequence[AudioChunk]) -> int:
    return int(np.abs(np.frombuffer(b"".join(c.pcm for c in chunks), "<i2").astype(int)).max(initial=0))


def noted(events: Sequence[Event], name: str) -> list[Mark]:
    return [event for event in events if isinstance(event, Mark) and event.name == name]


def ended(events: Sequence[Event]) -> bool:
    return isinstance(events[-1], Closed)


def lost(chunks: Sequence[AudioChunk]) -> int:
    return sum(chunk.media.lost_before for chunk in chunks if chunk.media is not None)


async def failed(uri: str, **options: Any) -> ConnectionFailed:
    """The error of a call that is not to be answered."""
    with pytest.raises(ConnectionFailed) as caught:
        await make(ConnectionSpec("sip", uri, {"open_timeout_s": 5, **options})).open(())
    assert "\n" not in str(caught.value)
    return caught.value


async def test_a_call_comes_packet_by_packet_with_its_place_on_the_agent_s_clock(
    phone: Callable[..., Awaitable[str]], call: Call, caller: bytes
) -> None:
    place = await phone()
    line = make(ConnectionSpec("sip", f"sip:answers@{place}", {}))
    assert line.capabilities.input_rate_hz == 8_000
    await line.open(())
    events = await call(line, caller, None, FRAME)
    chunks = heard(events)
    assert chunks[0].rate_hz == 8_000
    assert loudest(chunks[:20]) == 0
    assert loudest(chunks) > 300
    stamps = [chunk.media for chunk in chunks if chunk.media is not None]
    assert {b.at_ns - a.at_ns for a, b in pairwise(stamps)} == {20_000_000}
    assert lost(chunks) == 0
    (ringing,), (answered,) = noted(events, "sip.ringing"), noted(events, "sip.answered")
    # The answer and the first packet come by two sockets, which may be read in either order.
    assert ringing.at_ns <= answered.at_ns < chunks[0].arrival_ns + 20_000_000
    assert answered.detail["codec"] == "pcmu"
    assert isinstance(events[-1], Closed)
    assert events[-1].error is None


@pytest.mark.long
async def test_what_the_line_loses_is_counted_and_what_it_moves_is_followed(
    phone: Callable[..., Awaitable[str]], call: Call, caller: bytes
) -> None:
    place = await phone()
    # One packet of twenty does not come; a re-INVITE moves its sound; the network loses the first INVITE, ACK and BYE.
    for behaviour in ("loses", "moves", "drops"):
        line = make(ConnectionSpec("sip", f"sip:{behaviour}@{place}", {}))
        await line.open(())
        chunks = heard(await call(line, caller, None, FRAME))
        assert loudest(chunks) > 300
        if behaviour == "loses":
            assert 0.04 < lost(chunks) / (len(chunks) + lost(chunks)) < 0.06


@pytest.mark.long
async def test_what_sounds_before_the_answer_is_no_part_of_the_conversation(
    phone: Callable[..., Awaitable[str]], call: Call, caller: bytes
) -> None:
    line = make(ConnectionSpec("sip", f"sip:early@{await phone()}", {}))
    await line.open(())
    events = await call(line, caller, None, FRAME)
    (ringing,), (answered,) = noted(events, "sip.ringing"), noted(events, "sip.answered")
    assert ringing.detail["early_media"] is True
    assert int(str(answered.detail["early_packets"])) > 10
    assert (answered.at_ns - ringing.at_ns) / 1e6 == pytest.approx(float(str(answered.detail["rang_ms"])), abs=1)
    # The tone is the loudest of all; the conversation begins with silence.
    assert loudest(heard(events)[:20]) == 0


@pytest.mark.long
async def test_keys_are_noted_once_each(phone: Callable[..., Awaitable[str]], call: Call, caller: bytes) -> None:
    line = make(ConnectionSpec("sip", f"sip:keys@{await phone()}", {}))
    await line.open(())
    events = await call(line, caller, None, FRAME)
    pressed = noted(events, "sip.dtmf")
    assert [mark.detail["digit"] for mark in pressed] == ["5", "#"]
    assert [mark.detail["duration_ms"] for mark in pressed] == [100.0, 80.0]
    assert lost(heard(events)) == 0


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("fails", "hung_up", "in the middle of what it said (Q.850 41 Temporary failure)"),
        pytest.param("dies", "closed_early", "it died, without hanging up", marks=pytest.mark.long),
        pytest.param("finishes", None, "", marks=pytest.mark.long),
    ],
)
async def test_a_call_that_ends_is_recorded_until_then_and_its_end_is_named(
    behaviour: str, kind: str | None, words: str, phone: Callable[..., Awaitable[str]]
) -> None:
    spec = ConnectionSpec("sip", f"sip:{behaviour}@{await phone()}", {})
    tone = (6_000 * np.sin(2 * np.pi * 300 * np.arange(4_800) / 8_000)).astype(np.int16)
    recording, outcome = await play_session(SessionPlan(spec, (CallerTurn(tone),), 8_000), make(spec), Pacer())
    assert outcome.failure_kind == kind
    assert words in outcome.detail
    assert recording.ended == (kind or "closed")
    assert np.abs(recording.agent_pcm.astype(int)).max() > 300
    assert len(recording.caller.played) > len(tone)
    assert [mark.name for mark in recording.marks][:2] == ["sip.ringing", "sip.answered"]
    if kind != "closed_early":
        assert recording.marks[-1].name == "sip.hung_up"


@pytest.mark.long
async def test_a_call_that_is_not_answered_is_one_line_with_a_name(
    phone: Callable[..., Awaitable[str]], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = await phone()
    rang_out = await failed(f"sip:rings@{place}", open_timeout_s=1)
    assert rang_out.kind == "rang_out"
    assert "nobody answered within 1 s" in str(rang_out)
    for behaviour, kind, words in (
        ("other-codec", "codec", "PCMU, PCMA, OPUS, and it has G722"),
        ("one-way", "no_media", "recvonly"),
        ("garbled", "garbage", "cannot be read"),
        ("by-name", "codec", "an IP address in numbers, and a port"),
        ("last-port", "codec", "an IP address in numbers, and a port"),
    ):
        error = await failed(f"sip:{behaviour}@{place}")
        assert error.kind == kind
        assert words in str(error)
    with pytest.raises(ConnectionFailed, match="--mode replay"):
        await make(ConnectionSpec("sip", f"sip:answers@{place}", {})).open([Message("user", "hi")])

    monkeypatch.setattr(sip, "SILENT_LINE_S", 1.0)
    line = make(ConnectionSpec("sip", f"sip:mute@{place}", {}))
    await line.open(())
    end = (await call(line, bytes(FRAME * 500), ended, FRAME))[-1]
    assert isinstance(end, Closed)
    assert end.kind == "no_media"
    assert "one-way audio" in str(end.error)


@pytest.mark.parametrize("behaviour", ["rings", pytest.param("crosses", marks=pytest.mark.long)])
async def test_a_caller_who_gives_up_leaves_no_call_behind(behaviour: str, start: StartPeer, profile_of: ProfileOf) -> None:
    command = '["{python}", "sip_agent.py"]'
    agent = await start(profile_of(f'name = "phone"\nkind = "sip"\n[process]\ncommand = {command}\n'))
    place = agent.url.rpartition("@")[2]
    # By its own patience, and by a hand that ends the call while it rings.
    assert (await failed(f"sip:{behaviour}@{place}", open_timeout_s=2)).kind == "rang_out"
    line = make(ConnectionSpec("sip", f"sip:{behaviour}@{place}", {}))
    opening = asyncio.create_task(line.open(()))
    await asyncio.sleep(1)
    opening.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await opening
    await line.close()
    # It says so at a CANCEL and, where its answer had crossed that, at a BYE.
    assert (await logged(agent, r"(?s)ended.*ended")).count(f'"behaviour": "{behaviour}"') == 2


async def test_an_ipv6_caller_has_an_address_that_can_be_called_back() -> None:
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as silent:
        silent.bind(("::1", 0))
        silent.settimeout(5)
        port = silent.getsockname()[1]
        assert (await failed(f"sip:agent@[::1]:{port}", open_timeout_s=2)).kind == "open_timeout"
        invite = silent.recv(10_000).decode()
    assert "\r\nFrom: <sip:caller@[::1]>" in invite
    assert "\r\nc=IN IP6 ::1\r\n" in invite


async def test_nobody_there_and_a_name_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        # Something is there that says nothing.
        silent = await failed(f"sip:agent@127.0.0.1:{port}", open_timeout_s=1)
    assert silent.kind == "open_timeout"
    assert "not one reply within 1 s" in str(silent)
    nobody = await failed(f"sip:agent@127.0.0.1:{port}")
    assert nobody.kind == "refused"
    assert "nothing listens there" in str(nobody)
    unknown = await failed("sip:agent@no-such-host.invalid")
    assert "there is no machine of that name" in str(unknown)
    assert unknown.kind == "not_found"
    assert "proxy: there is no machine" in str(await failed("sip:agent@127.0.0.1", proxy="sip:no-such-host.invalid"))
    assert "the network has no way there (" in str(await failed("sip:agent@255.255.255.255"))
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    assert "NO_SUCH_KEY" in str(await failed("sip:agent@127.0.0.1", username="me", password_env="NO_SUCH_KEY"))


@needs("sipp")
@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        ("486 Busy Here", "busy", "busy"),
        pytest.param("603 Decline", "declined", "declined", marks=pytest.mark.long),
        ("480 Temporarily Unavailable", "rang_out", "it rang, and nobody answered"),
        pytest.param("404 Not Found", "not_found", "nobody of that name", marks=pytest.mark.long),
        pytest.param("403 Forbidden", "unauthorised", "forbidden", marks=pytest.mark.long),
        pytest.param("488 Not Acceptable Here", "codec", "no codec in common", marks=pytest.mark.long),
        pytest.param("302 Moved Temporarily", "not_found", "call sip:elsewhere@192.0.2.1:5070 (302", marks=pytest.mark.long),
        pytest.param("500 Server Error", "refused", "refused the call (500 Server Error)", marks=pytest.mark.long),
    ],
)
async def test_a_refusal_has_its_name_and_is_acknowledged(
    status: str, kind: str, words: str, peers: Path, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    scenario = tmp_path / "refuses.xml"
    scenario.write_text((peers / "sip" / "refuses.xml").read_text(encoding="utf-8").replace("STATUS\n", f"{status}\n"))
    words_of_it = ("-sf", str(scenario), "-i", "127.0.0.1", "-p", str(port), "-m", "1", "-timeout", "20")
    with running("sipp", *words_of_it, "-nostdin", folder=tmp_path) as sipp:
        await bound(port)
        error = await failed(f"sip:agent@127.0.0.1:{port}")
        assert error.kind == kind
        assert words in str(error)
        # sipp ends well only if its refusal was acknowledged.
        assert await asyncio.to_thread(sipp.wait, 10) == 0


@contextlib.contextmanager
def running(*command: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program that is ended afterwards."""
    silent = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=folder, stdin=silent, stdout=silent, stderr=silent) as program:
        try:
            yield program
        finally:
            program.terminate()


async def bound(port: int) -> None:
    """Wait until somebody has a UDP port."""
    async with asyncio.timeout(10):
        while not any(c.laddr and c.laddr.port == port for c in psutil.net_connections("udp")):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.long
@needs("kamailio")
async def test_a_call_through_a_proxy_stays_with_it_from_the_first_word_to_the_goodbye(
    proxy: str, phone: Callable[..., Awaitable[str]], call: Call, caller: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    await phone("--register", proxy)
    for behaviour in ("answers", "moves", "drops"):
        line = make(ConnectionSpec("sip", f"sip:{behaviour}@{proxy}", {}))
        await line.open(())
        events = await call(line, caller, None, FRAME)
        assert loudest(heard(events)) > 300
        assert isinstance(events[-1], Closed)
        assert events[-1].error is None
    assert (await failed(f"sip:nobody@{proxy}")).kind == "not_found"
    assert (await failed(f"sip:rings@{proxy}", open_timeout_s=1)).kind == "rang_out"

    for password, right in ((None, False), ("wrong", False), ("swordfish", True)):
        monkeypatch.setenv("SIP_KEY", password or "")
        options = {"username": "me", "password_env": "SIP_KEY"} if password else {}
        if not right:
            error = await failed(f"sip:private@{proxy}", **options)
            assert error.kind == "unauthorised"
            assert "password_env" in str(error)
            continue
        line = make(ConnectionSpec("sip", f"sip:private@{proxy}", options))
        await line.open(())
        assert heard(await call(line, bytes(FRAME * 25), None, FRAME))


@needs("kamailio")
async def test_the_caller_registers_and_is_called(
    proxy: str, phone: Callable[..., Awaitable[str]], call: Call, caller: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIP_KEY", "swordfish")
    options = {"be_called": True, "identity": "sip:caller@127.0.0.1", "username": "caller", "password_env": "SIP_KEY"}
    nobody = await failed(f"sip:{proxy}", **{**options, "open_timeout_s": 1})
    assert nobody.kind == "open_timeout"
    assert "registered, and nobody called" in str(nobody)
    await phone("--dial", "sip:caller@127.0.0.1", "--by", proxy)
    line = make(ConnectionSpec("sip", f"sip:{proxy}", {**options, "open_timeout_s": 10}))
    await line.open(())
    events = await call(line, caller, None, FRAME)
    assert loudest(heard(events)) > 300
    assert lost(heard(events)) == 0
    monkeypatch.setenv("SIP_KEY", "wrong")
    refused = await failed(f"sip:{proxy}", **options)
    assert refused.kind == "unauthorised"
    assert "not registered" in str(refused)


MODULES = next(iter((*Path("/usr/lib").glob("baresip/modules"), *Path("/usr/lib").glob("*/baresip/modules"))), None)
BARESIP = """
sip_listen 127.0.0.1:{port}
audio_player aufile,{folder}/heard.wav
audio_source {source}
audio_alert aufile,{folder}/alert.wav
module_path {modules}
module g711.so
module opus.so
module ausine.so
module aufile.so
module_tmp account.so
module_app menu.so
{more}
"""


@needs("baresip")
@pytest.mark.parametrize("codec", [pytest.param("pcma", marks=pytest.mark.long), "opus"])
async def test_a_real_telephone_is_heard_and_reports_on_the_line(codec: str, call: Call, tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    soundfile.write(
        tmp_path / "tone.wav", (8_000 * np.sin(2 * np.pi * 440 * np.arange(80_000) / 8_000)).astype(np.int16), 8_000
    )
    # Its generator of tones knows 48 kHz in stereo alone, which is Opus's.
    source, more = ("ausine,440", "ausrc_srate 48000") if codec == "opus" else (f"aufile,{tmp_path}/tone.wav", "")
    config = BARESIP.format(port=port, folder=tmp_path, source=source, modules=MODULES, more=more)
    (tmp_path / "config").write_text(config, encoding="utf-8")
    (tmp_path / "accounts").write_text(f"<sip:agent@127.0.0.1:{port}>;regint=0;answermode=auto\n", encoding="utf-8")
    (tmp_path / "contacts").touch()
    with running("baresip", "-f", str(tmp_path), folder=tmp_path):
        await bound(port)
        line = make(ConnectionSpec("sip", f"sip:agent@127.0.0.1:{port}", {"codecs": [codec]}))
        frame = line.capabilities.input_rate_hz // 25
        await line.open(())
        reported = lambda events: any(isinstance(event, LineReport) for event in events)  # noqa: E731
        # It reports every five seconds.
        events = await call(line, bytes(frame * 400), reported, frame)
    assert loudest(heard(events)) > 3_000
    assert heard(events)[0].rate_hz == (48_000 if codec == "opus" else 8_000)
    (report, *_) = [event for event in events if isinstance(event, LineReport)]
    assert report.sent_lost == 0
    assert report.round_trip_ms is not None
    assert -1 < report.round_trip_ms < 1_000


@pytest.mark.long
@needs("kamailio")
async def test_ttfa_through_a_proxy_is_the_programmed_one() -> None:
    found = await errors_of("sip", 60)
    assert not found.lost
    assert np.percentile(np.abs(found.ms), 95) < 10


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ('url = "agent@example.com"', "sip:NAME@HOST"),
        ('url = "sip:agent:secret@example.com"', "password_env"),
        ('url = "sip:agent@example.com;transport=tls"', "UDP alone"),
        *(
            (f"url = 'sip:{odd}'", "sip:NAME@HOST")
            for odd in ("a>b@h", 'a"b@h', "a@h>", "a@h, sip:b@h", "a@h:port", "\u00e9@h")
        ),
        ('url = "sip:h"\nusername = "me\\r\\nX-Other: 1"', "username"),
        ('url = "sip:h"\nusername = "me@example.com"', "needs identity"),
        ('url = "sip:a\\u0000b@h"', "sip:NAME@HOST"),
        ('url = "sip:a\\r\\nX-Other: 1@h"', "sip:NAME@HOST"),
        ('url = "sip:example.com"\nbe_called = true', "be_called needs identity"),
        ('url = "sip:agent@example.com"\ncodecs = []', "at least one"),
        ('url = "sip:agent@example.com"\nopen_timeout_s = 60', "less than or equal to 29"),
    ],
)
def test_a_profile_that_cannot_be_dialled_is_one_line(settings: str, words: str, profile_of: ProfileOf) -> None:
    with pytest.raises(ProfileError, match=words) as caught:
        profile_of(f'kind = "sip"\n{settings}\n')
    assert "secret" not in str(caught.value)


def test_a_telephone_of_this_machine_is_known_by_its_port(profile_of: ProfileOf) -> None:
    profile = profile_of('kind = "sip"\nurl = "sip:agent@127.0.0.1:5082;user=phone"\nproxy = "sip:localhost"\n')
    assert profile.runs_here
    assert profile.spoken_ports == {5082, 5060}
    assert "sip:agent@127.0.0.1:5082" in profile.shown_text
    assert not profile_of('kind = "sip"\nurl = "sip:agent@203.0.113.5"\n').runs_here
