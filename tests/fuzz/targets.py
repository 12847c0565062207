# ruff: noqa: E501 (one line a target)
"""What is fuzzed: each function of the product that takes text, bytes or packets of others, one line a target.

`stated` are the exceptions with which the function refuses an input by name; any other is a fault. A target that reads a file
gets one in a folder of the test.
"""

import logging
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiosipua import parse_sdp
from aiosipua.message import SipMessage

from harness.agents.cascade.answer_text import AnswerFilter, ReplyLimiter
from harness.agents.cascade.clauses import first_cut
from harness.agents.connection import ConnectionFailed
from harness.agents.connections import rtp_packet
from harness.agents.connections.deepgram_agent import DeepgramWire
from harness.agents.connections.described_table import WireTable
from harness.agents.connections.described_wire import DescribedWire
from harness.agents.connections.elevenlabs import ElevenLabsWire
from harness.agents.connections.exotel import ExotelWire
from harness.agents.connections.gemini_live import GeminiLiveWire
from harness.agents.connections.openai_live import LiveWire
from harness.agents.connections.openai_realtime import RealtimeWire
from harness.agents.connections.pipecat_eval import PipecatEvalWire
from harness.agents.connections.pipecat_ws import PipecatWire
from harness.agents.connections.plivo import PlivoWire
from harness.agents.connections.raw_pcm import RawPcmWire
from harness.agents.connections.rtp_stream import RtpStream
from harness.agents.connections.sip_causes import cause
from harness.agents.connections.sip_codecs import agreed
from harness.agents.connections.telnyx import TelnyxWire
from harness.agents.connections.twilio import TwilioWire
from harness.agents.connections.ultravox import UltravoxWire
from harness.agents.connections.vapi import VapiWire
from harness.agents.connections.vonage import VonageWire
from harness.agents.connections.wire import Garbage, Wire
from harness.agents.profile import ProfileError, parse_profile
from harness.agents.secrets import RedactedLines, redact, redact_foreign, redactor
from harness.audio.speech_text import spelt, without_marks
from harness.errors import UserError
from harness.figures.reply_flags import flags_of
from harness.judging.discourse import discourse_features
from harness.judging.prompt_injection import addresses_judge
from harness.judging.schema import Malformed, parse_answer
from harness.judging.sentence_encoder import sentences
from harness.judging.validation.label_files import read_labels
from harness.printable import for_terminal, printable
from harness.ranking.bias import FORMATTING
from harness.ranking.rationales import code_by_rules
from harness.recording.files import RECORDING_FILE, load
from harness.reports.markdown import plain
from harness.scenarios import PackError, load_pack
from harness.scenarios.context import Turn
from harness.scenarios.imports.imported import ImportFault
from harness.scenarios.imports.jsonl import import_jsonl
from harness.scenarios.pause_places import kind_of_gap
from harness.scenarios.pauses import fault_in_marks
from harness.scenarios.screens import screen_text
from harness.servers.page import NotMetrics, read_page
from harness.store import judgment_files
from harness.traces.receiver import read_spans

logging.getLogger("aiosipua").setLevel(logging.CRITICAL)

PACK: Final = (Path(__file__).resolve().parents[2] / "scenarios" / "packs" / "heart-mini.yaml").read_bytes()[:2600]
TURNS: Final = (Turn(role="seeker", text="I do not know what to do."),)
JUDGMENT: Final = (
    b'{"context":"c","subset":"all","system_a":"a","system_b":"b","judge":"j","source":"person","winner":"a","strength":3}\n'
)
PROFILE: Final = b'kind = "text"\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\n[sampling]\ntemperature = 0.7\n'
ANSWER: Final = b'{"rationale": "A asks.", "winner": "A", "strength": 4, "axes": {"E": {"winner": "A", "strength": 3}}}'
MEDIA: Final = b'{"event":"media","sequenceNumber":"2","streamSid":"MZ1","media":{"track":"outbound","payload":"f39/fw=="}}'
SIP: Final = (
    b"SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 127.0.0.1:5060;branch=z9hG4bK1\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:c@d>;tag=2\r\n"
    b'Call-ID: x\r\nCSeq: 1 INVITE\r\nContact: <sip:c@127.0.0.1>\r\nReason: SIP;cause=486;text="busy"\r\nContent-Length: 0\r\n\r\n'
)
SDP: Final = b"v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0 8\r\na=rtpmap:0 PCMU/8000\r\n"
TABLE: Final = WireTable.model_validate(
    {
        "ready": {"type": "audio"},
        "history": {"user": '{"u": "{text}"}', "assistant": '{"a": "{text}"}', "taken": {"type": "x"}},
        "speaks": {"at": "a.b.*.audio", "rate_at": "a.*.*.rate"},
        "clears": [{"a.b": "*"}],
        "signs": {"words": {"a.b.*.text": "*"}, "done": {"type": "audio"}},
        "transcripts": [{"match": {"type": "*"}, "role": "user", "text": "a.b.*.text", "pieces": True}],
        "errors": [{"match": {"type": "error"}, "words": ["a.b.0.text", "type"]}],
        "answers": [{"match": {"a.b": "*"}, "message": '{"id": "{message.a.b.0.text}", "of": "{message.type}"}'}],
    }
)
WORDS: Final = b'I hear you... that sounds hard! What is it like, at night? <pause 450> um, "no" \xe2\x80\x94 k.i.l.l b4 api_key=sk-abc1234567890XYZ '


@dataclass(frozen=True, slots=True)
class Target:
    """One function. `words`: tokens of its format, which are mixed into inputs and repeated; `most_bytes`: the longest input
    that its callers let through."""

    seed: bytes
    run: Callable[[bytes], object]
    stated: tuple[type[Exception], ...] = ()
    words: tuple[bytes, ...] = ()
    most_bytes: int = 8 * 1024 * 1024


def _text(run: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda given: run(given.decode("utf-8", "replace"))


def _file(name: str, run: Callable[[Path], object]) -> Callable[[bytes], object]:
    def read(given: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(given)
            return run(path)

    return read


def _wire(make: Callable[[], Wire]) -> Callable[[bytes], object]:
    """A message, as bytes and as text, to a wire that is open."""

    def receive(given: bytes) -> object:
        made = make()
        made.hello(())
        for message in (given, given.decode("utf-8", "replace")):
            try:
                made.receive(message, 1)
            except (Garbage, ConnectionFailed):
                continue
        return None

    return receive


def _packets(given: bytes) -> object:
    stream, size = RtpStream(8_000), 32
    for at in range(0, len(given), size):
        packet = rtp_packet.unpacked(b"\x80" + given[at + 1 : at + size], at)
        if packet is not None:
            stream.add(packet)
    return stream.flush()


def _lines(given: bytes) -> object:
    lines = RedactedLines(redactor())
    return [lines.feed(given[at : at + _FEW]) for at in range(0, len(given), _FEW)], lines.flush()


def _spoken(text: str) -> object:
    limiter, thoughts = ReplyLimiter(60, 4), AnswerFilter()
    return limiter.push(thoughts.push(text)), limiter.flush()


def _gaps(text: str) -> object:
    words = text.split()
    return [kind_of_gap(words, gap) for gap in range(1, len(words))]


def _recording(path: Path) -> object:
    return load(path.parent)


_BRACKETS: Final = (b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"null", b"1e999", b"9" * 5_000, b"[" * 2_000, b"\n")
_MARKS: Final = (
    b".",
    b"!",
    b"?",
    b" ",
    b"\n",
    b"-",
    b"how ",
    b"\xe2\x80\xa6",
    b'"',
    b"'",
    b"(",
    b"[",
    b"<",
    b"*",
    b"a",
    b"m",
    b"4",
    b"@",
)
_FEW: Final = 256
"""Bytes that an agent writes at a time."""
_KEYS: Final = (b"://", b"@", b"?a=", b"Bearer ", b"--pin ", b"key=", b"A", b"a1B2", b"-", b"\\", b"%25", b"'", b"\n", b"=")
_LABELS: Final = (b'a="', b"\\", b"{", b"}", b" ", b"#", b"a", b"9" * 5_000, b"\n", b",", b"\t", b' # {x="')
_HEADERS: Final = (b"\r\n", b";", b",", b"<", b">", b'"', b":", b"=", b" ", b"1" * 5_000, b"a=rtpmap:", b"Via: ", b"m=audio ")
_TOML: Final = (b"[", b"]", b"{", b"}", b'"""', b"'", b".", b"=", b"a.", b"\n", b"9" * 5_000, b"[[a]]", b"1979-99-99", b"#")
_YAML: Final = (
    b"<<: ",
    b"&a ",
    b"*a",
    b"!!int ",
    b"? ",
    b"- ",
    b"{",
    b"[",
    b"|\n",
    b": ",
    b"\t",
    b"'",
    b"\x00",
    b"12:30:45",
    b"9" * 5_000,
)
_ROWS: Final = (b",", b'"', b"\n", b"\r", b";", b"a", b"\x00", b"9" * 5_000)

TARGETS: Final[Mapping[str, Target]] = {
    "metrics": Target(b'a{x="1",y="b"} 1.5 170\n', _text(lambda t: read_page(t, ("a",))), (NotMetrics,), _LABELS),
    "rtp": Target(bytes(range(64)), _packets, (), (b"\x00", b"\xff", b"\x80")),
    "rtcp": Target(
        rtp_packet.sender_report(1, 2, 3, 4, 5), lambda b: rtp_packet.report_on(b, 1, 2, 3, 8_000), (), (b"\x80\xc8",), 65_507
    ),
    "sip": Target(SIP, SipMessage.parse, (ValueError, IndexError, KeyError), _HEADERS, 65_507),
    "sdp": Target(
        SDP, _text(lambda t: agreed(parse_sdp(t), ("pcmu",))), (ConnectionFailed, ValueError, IndexError), _HEADERS, 65_507
    ),
    "sip-reason": Target(b'SIP;cause=486;text="busy"', _text(cause), (), _HEADERS, 65_507),
    "raw-pcm": Target(b'{"type":"mark","name":"a","at_ns":1}', _wire(RawPcmWire), (), _BRACKETS, 4 << 20),
    "pipecat": Target(b'{"label":"rtvi-ai","type":"metrics","data":{}}', _wire(PipecatWire), (), _BRACKETS, 4 << 20),
    "pipecat-eval": Target(
        b'{"type":"eval-bot-audio","data":{"audio":"AAAA"}}', _wire(PipecatEvalWire), (), _BRACKETS, 4 << 20
    ),
    "realtime": Target(
        b'{"type":"response.output_audio.delta","delta":"AAAA"}', _wire(lambda: RealtimeWire({})), (), _BRACKETS, 4 << 20
    ),
    "gemini-live": Target(
        b'{"serverContent":{"modelTurn":{"parts":[{"inlineData":{"mimeType":"audio/pcm;rate=24000","data":"AAAA"}}]}}}',
        _wire(lambda: GeminiLiveWire({}, 16_000, True, ())),
        (),
        _BRACKETS,
        4 << 20,
    ),
    "deepgram-agent": Target(
        b'{"type":"FunctionCallRequest","functions":[{"id":"1","name":"x","client_side":true}]}',
        _wire(lambda: DeepgramWire({})),
        (),
        _BRACKETS,
        4 << 20,
    ),
    "vapi": Target(
        b'{"type":"transcript","role":"user","transcriptType":"final","transcript":"x"}',
        _wire(lambda: VapiWire({})),
        (),
        _BRACKETS,
        4 << 20,
    ),
    "ultravox": Target(
        b'{"type":"transcript","role":"agent","delta":"x","final":false}',
        _wire(lambda: UltravoxWire({})),
        (),
        _BRACKETS,
        4 << 20,
    ),
    "websocket": Target(
        b'{"type":"audio","a":{"b":[{"audio":"AAAA","rate":"pcm_16000","text":"x"}]}}',
        _wire(lambda: DescribedWire(TABLE, 16_000, 16_000)),
        (),
        _BRACKETS,
        4 << 20,
    ),
    "elevenlabs": Target(
        b'{"type":"audio","audio_event":{"event_id":1,"audio_base_64":"AAAA"}}',
        _wire(lambda: ElevenLabsWire({}, 16_000)),
        (),
        _BRACKETS,
        4 << 20,
    ),
    "live": Target(
        b'{"type":"session.output_audio.delta","delta":"AAAA"}', _wire(lambda: LiveWire({})), (), _BRACKETS, 4 << 20
    ),
    "twilio": Target(MEDIA, _wire(TwilioWire), (), _BRACKETS, 4 << 20),
    "telnyx": Target(MEDIA, _wire(TelnyxWire), (), _BRACKETS, 4 << 20),
    "plivo": Target(MEDIA, _wire(PlivoWire), (), _BRACKETS, 4 << 20),
    "exotel": Target(MEDIA, _wire(ExotelWire), (), _BRACKETS, 4 << 20),
    "vonage": Target(b'{"event":"websocket:connected"}', _wire(VonageWire), (), _BRACKETS, 4 << 20),
    "otlp": Target(b"\x0a\x10" + bytes(16), read_spans, (ValueError,), (b"\x0a", b"\x12", b"\xff"), 16 << 20),
    "judge-answer": Target(ANSWER, _text(parse_answer), (Malformed,), _BRACKETS),
    "judgments-jsonl": Target(JUDGMENT, _file("j.jsonl", judgment_files.read), (UserError,), (*_BRACKETS, JUDGMENT)),
    "judgments-csv": Target(b"context,winner\nc,a\n", _file("j.csv", judgment_files.read), (UserError,), _ROWS),
    "labels-csv": Target(b"pair,label\n1,a\n", _file("l.csv", lambda path: read_labels(path, (1, 5))), (UserError,), _ROWS),
    "labels-jsonl": Target(
        b'{"pair":"1"}\n', _file("l.jsonl", lambda path: read_labels(path, (1, 5))), (UserError,), _BRACKETS
    ),
    "pack": Target(PACK, _file("p.yaml", load_pack), (PackError,), _YAML),
    "profile": Target(PROFILE, _text(lambda t: parse_profile(t, Path("p.toml"))), (ProfileError,), _TOML, 1 << 20),
    "import-jsonl": Target(
        b'{"turns":[{"role":"seeker","text":"hi"}]}\n', _file("i.jsonl", import_jsonl), (ImportFault,), _BRACKETS
    ),
    "recording": Target(b'{"schema": 1}', _file(RECORDING_FILE, _recording), (UserError, OSError, ValueError), _BRACKETS),
    "mask": Target(WORDS, _text(redact), (), _KEYS),
    "mask-foreign": Target(WORDS, _text(redact_foreign), (), _KEYS),
    "mask-lines": Target(WORDS, _lines, (), _KEYS),
    "printable": Target(WORDS, _text(printable), (), (b"\x1b[", b"\x07", b"\xe2\x80\xae")),
    "terminal": Target(WORDS, _text(for_terminal), (), (b"\x1b[", b"0;", b"m", b"\x07")),
    "markdown": Target(WORDS, _text(plain), (), _MARKS),
    "screens": Target(WORDS, _text(screen_text), (), _MARKS, 16_384),
    "spelt": Target(WORDS, _text(lambda t: spelt(without_marks(t))), (), _MARKS),
    "pause-marks": Target(WORDS, _text(fault_in_marks), (), (*_MARKS, b"<pause ", b"450>")),
    "pause-places": Target(WORDS, _text(_gaps), (), _MARKS),
    "reply-flags": Target(WORDS, _text(lambda t: flags_of(TURNS, t)), (), _MARKS),
    "discourse": Target(WORDS, _text(lambda t: discourse_features(TURNS, t)), (), _MARKS, 65_536),
    "injection": Target(
        WORDS, _text(lambda t: [addresses_judge(s) for s in sentences(t)]), (), (*_MARKS, b"reply ", b"]"), 65_536
    ),
    "formatting": Target(WORDS, _text(FORMATTING.search), (), _MARKS),
    "rationale": Target(WORDS, _text(code_by_rules), (), _MARKS, 65_536),
    "reply-limits": Target(WORDS, _text(_spoken), (), (*_MARKS, b"<think>", b"</think>")),
    "clauses": Target(WORDS, _text(lambda t: first_cut(t, 3, 5)), (), _MARKS, 65_536),
}


def refused(target: Target, given: bytes) -> Exception | None:
    """The stated refusal of an input; None if it was taken. Any other exception passes."""
    try:
        target.run(given)
    except target.stated as error:
        return error
    return None


def of_size(target: Target, word: bytes, size: int) -> bytes:
    """A word of the target's format, repeated to a size behind the beginning of its seed."""
    return target.seed[:11] + word * (size // len(word))
