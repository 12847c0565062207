"""Our description of pipecat's frames and messages against pipecat's own code: of the installed minor, and of those before."""

import asyncio
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pipecat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipecat.evals import serializer as evals
from pipecat.frames.frames import (
    InputAudioRawFrame,
    InterruptionFrame,
    OutputAudioRawFrame,
    OutputTransportMessageFrame,
    TextFrame,
    TranscriptionFrame,
)
from pipecat.frames.protobufs import frames_pb2
from pipecat.processors.frameworks.rtvi import models
from pipecat.serializers.protobuf import ProtobufFrameSerializer
from pydantic import BaseModel
from websockets.asyncio.server import ServerConnection, serve

from harness.agents.connection import ConnectionFailed
from harness.agents.connections import rtvi
from harness.agents.connections.pipecat_eval import PipecatEvalWire, connect
from harness.agents.connections.pipecat_frames import frame_class
from harness.agents.connections.pipecat_ws import PipecatWire

ROOT = Path(__file__).parents[2]
MINORS = ("1.10.0", "1.11.0", "1.12.0", "1.13.0", "1.14.0")
_NUMBER = st.integers(0, 2**64 - 1)
_NAMED = {"id": _NUMBER, "name": st.text()}
FIELDS: Mapping[str, Mapping[str, st.SearchStrategy[Any]]] = {
    "text": {**_NAMED, "text": st.text()},
    "audio": {
        **_NAMED, "audio": st.binary(), "sample_rate": st.integers(0, 2**32 - 1), "num_channels": st.integers(0, 2**32 - 1),
        "pts": st.none() | _NUMBER,
    },
    "transcription": {**_NAMED, "text": st.text(), "user_id": st.text(), "timestamp": st.text()},
    "message": {"data": st.text()},
    "interruption": _NAMED,
}  # fmt: skip
FRAMES = st.sampled_from(sorted(FIELDS)).flatmap(
    lambda kind: st.tuples(st.just(kind), st.fixed_dictionaries(dict(FIELDS[kind])))
)


def _made(frame: Any, kind: str, fields: Mapping[str, Any]) -> Any:
    inner = getattr(frame, kind)
    inner.SetInParent()
    for name, value in fields.items():
        if value is not None:
            setattr(inner, name, value)
    return frame


@given(FRAMES)
def test_frames_are_the_bytes_of_pipecats_own(made: tuple[str, dict[str, Any]]) -> None:
    ours, theirs = _made(frame_class()(), *made), _made(frames_pb2.Frame(), *made)
    sent = theirs.SerializeToString(deterministic=True)
    assert ours.SerializeToString(deterministic=True) == sent
    read = frame_class().FromString(sent)
    assert read == ours
    assert read.WhichOneof("frame") == made[0]
    if made[0] == "audio":
        assert read.audio.HasField("pts") == (made[1]["pts"] is not None)


def test_what_the_wire_sends_is_what_pipecats_serializer_reads() -> None:
    wire = PipecatWire(input_rate_hz=16_000)
    (hello,), (sound,) = wire.hello(()), wire.audio(b"\x01\x02" * 320, 0)
    serializer = ProtobufFrameSerializer()
    ready = asyncio.run(serializer.deserialize(hello))
    assert models.Message.model_validate(ready.message).type == rtvi.CLIENT_READY  # type: ignore[union-attr]
    models.ClientReadyData.model_validate(ready.message["data"])  # type: ignore[union-attr]
    heard = asyncio.run(serializer.deserialize(sound))
    assert isinstance(heard, InputAudioRawFrame)
    assert (heard.audio, heard.sample_rate, heard.num_channels) == (b"\x01\x02" * 320, 16_000, 1)


def test_what_pipecats_serializer_sends_is_read() -> None:
    frames = (
        OutputAudioRawFrame(b"\x03\x04" * 160, 24_000, 1),
        OutputTransportMessageFrame({"label": "rtvi-ai", "type": "bot-ready"}),
        InterruptionFrame(),
        TextFrame("ja"),
        TranscriptionFrame("nein", "one", "now"),
    )
    read = [frame_class().FromString(asyncio.run(ProtobufFrameSerializer().serialize(each))) for each in frames]
    assert [each.WhichOneof("frame") for each in read] == ["audio", "message", "interruption", "text", "transcription"]
    assert (read[0].audio.audio, read[0].audio.sample_rate) == (b"\x03\x04" * 160, 24_000)
    assert json.loads(read[1].message.data)["type"] == "bot-ready"
    assert (read[3].text.text, read[4].transcription.text) == ("ja", "nein")


def test_every_event_that_becomes_a_mark_is_one_of_pipecats() -> None:
    known = {
        field.default for each in vars(models).values() if isinstance(each, type) and issubclass(each, BaseModel)
        for name, field in each.model_fields.items() if name == "type"
    }  # fmt: skip
    assert rtvi._MARKED - known == set()
    assert (rtvi.LABEL, rtvi.VERSION.split(".")[0]) == (models.MESSAGE_LABEL, models.PROTOCOL_VERSION.split(".")[0])


@pytest.mark.skipif(not hasattr(evals, "parse_eval_connect"), reason="until 1.12 these flags were part of the address")
def test_the_evaluations_flags_are_read_by_pipecat() -> None:
    connect = json.loads(PipecatEvalWire().hello(())[0])
    assert evals.parse_eval_connect(connect) == evals.EvalConnectionFlags(capture_bot_audio=True)
    assert set(connect["data"]["d"]) == set(evals.EvalConnectionFlags.model_fields)


async def test_an_evaluation_asks_for_the_sound_in_its_address_as_pipecat_had_it_until_1_12() -> None:
    asked = []

    async def hang_up(socket: ServerConnection) -> None:
        assert socket.request is not None
        asked.append(parse_qs(urlsplit(socket.request.path).query))

    async with serve(hang_up, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        for query in ("", "?room=a", "?capture_bot_audio=false"):
            with pytest.raises(ConnectionFailed):
                await connect(f"ws://127.0.0.1:{port}/{query}", {}).open(())
    sound = {"capture_bot_audio": ["true"]}
    assert asked == [sound, {"room": ["a"], **sound}, {"capture_bot_audio": ["false"]}]


@pytest.mark.long
@pytest.mark.parametrize("version", MINORS)
def test_earlier_minors_read_and_write_the_same(version: str, tmp_path: Path) -> None:
    fetch = ("pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", str(tmp_path), f"pipecat-ai=={version}")
    subprocess.run([sys.executable, "-m", *fetch], check=True, capture_output=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "minor")
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", __file__]
    asked = {**os.environ, "PYTHONPATH": str(tmp_path / "minor"), "PIPECAT_OF_THIS_TEST": version}
    done = subprocess.run(line, cwd=ROOT, env=asked, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_pipecat_under_test_is_the_one_meant() -> None:
    assert pipecat.__version__ == os.environ.get("PIPECAT_OF_THIS_TEST", version_of("pipecat-ai"))
