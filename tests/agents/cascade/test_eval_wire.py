"""pipecat's own evaluation client drives the cascade: spoken to with a history, and in writing."""

import json
import subprocess
import sys
import wave
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from harness.agents.cascade.models import Models
from harness.agents.cascade.server import make_app
from harness.agents.cascade.settings import CascadeSettings
from tests.agents.cascade.conftest import Agent

PEERS = Path(__file__).parents[2] / "peers"


@pytest.mark.long  # an agent with its models, and two of its answers
@pytest.mark.models
def test_pipecat_s_own_evaluation_drives_it(run_agent: Agent, speech: NDArray[np.int16], tmp_path: Path) -> None:
    said = tmp_path / "said.wav"
    with wave.open(str(said), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(16_000)
        out.writeframes(np.concatenate([speech, np.zeros(16_000, np.int16)]).tobytes())
    with run_agent("polaris-like") as (url, _):
        address = url.replace("/ws", "/eval")
        done = subprocess.run(
            [sys.executable, str(PEERS / "eval_client.py"), address, str(said)],
            capture_output=True, text=True, timeout=150, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3_000:]
        told = json.loads(done.stdout.splitlines()[-1])
    spoken = {event["type"]: event for event in told["spoken"]}
    # An agent on a busy machine may hear one turn in two pieces.
    heard = " ".join(event["transcript"] for event in told["spoken"] if event["type"] == "user_transcription")
    assert "lost my job" in heard
    assert [kind for kind in spoken if kind.startswith("bot_s") or kind == "user_stopped_speaking"] == [
        "user_stopped_speaking", "bot_started_speaking", "bot_stopped_speaking",
    ]  # fmt: skip
    assert spoken["tts_response"]["text"]
    written = {event["type"]: event for event in told["written"]}
    assert written["llm_response"]["text"]
    assert "bot_started_speaking" not in written


def test_whoever_is_no_evaluation_is_told_what_was_expected() -> None:
    # No model is needed to turn a caller away.
    app = make_app(CascadeSettings(), cast(Models, None))
    with TestClient(app).websocket_connect("/eval") as socket:
        socket.send_text("hello")
        with pytest.raises(WebSocketDisconnect) as caught:
            socket.receive_text()
    assert caught.value.code == 1002
    assert "eval-connect" in caught.value.reason
