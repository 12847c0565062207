"""`harness agents try` and `agents new` as a user runs them: agents that work, that do not, and what is said of each."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.agents.profile import load_profile
from harness.commands.agents import app
from tests.harness.conftest import PEERS, Finished, harness, peer


def said(done: Finished) -> tuple[dict[str, Any], dict[str, Any]]:
    """Checks and figures by name."""
    found = done.json
    return {c["name"]: c for c in found["checks"]}, {f["figure"]: f for f in found["figures"]}


def test_an_agent_that_works_is_told_what_will_be_measured_and_what_would_bring_the_rest(tmp_path: Path) -> None:
    done = harness(tmp_path, "agents", "try", str(peer("raw-pcm-echo")), "--json")
    assert done.code == 0, done.err
    assert done.json["works"] is True
    checks, figures = said(done)
    # It sends as it speaks, and withdraws nothing.
    assert {name: check["verdict"] for name, check in checks.items()} == {
        "reached": "ok", "history": "ok", "sound": "ok", "greeting": "not so", "answers": "ok", "hears us": "unknown",
        "yields": "unknown", "says of itself": "ok",
    }  # fmt: skip
    assert "16,000 Hz" in checks["sound"]["detail"]
    assert figures["conversation so far (seeded)"]["there"]
    assert not figures["TTFT"]["there"]
    assert "llm_requested" in figures["TTFT"]["detail"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raw-pcm-closes-early", "hung up"),
        # Waits for an answer as long as a run does.
        pytest.param("raw-pcm-never-answers", "it is silent: no sound came within 15 s", marks=pytest.mark.long),
        pytest.param("raw-pcm-garbage", "garbage", marks=pytest.mark.long),
    ],
)
def test_one_that_does_not_says_why_and_ends_with_3(name: str, words: str, tmp_path: Path) -> None:
    done = harness(tmp_path, "agents", "try", str(peer(name)))
    assert done.code == 3, done.out
    assert "failed" in done.out
    assert words in done.out
    assert "Traceback" not in done.err
    assert "does not work yet" in done.err


def test_a_wrong_address_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert harness(tmp_path, "agents", "new", "pipecat-eval", "--url", f"ws://127.0.0.1:{port}/ws").code == 0
    again = harness(tmp_path, "agents", "new", "pipecat-eval")
    assert again.code == 2
    assert "is there already" in again.err
    done = harness(tmp_path, "agents", "try", "pipecat-eval.toml", "--json")
    assert done.code == 3
    assert done.json["error"]["kind"] == "agent"
    assert f"nothing listens at ws://127.0.0.1:{port}/ws" in done.json["error"]["message"]
    assert harness(tmp_path, "agents", "new", "telepathy").code == 2


@pytest.mark.long  # a bot under pipecat's own runner, called for twenty seconds
def test_a_bot_over_webrtc_is_told_how_good_its_line_is(tmp_path: Path) -> None:
    done = harness(tmp_path, "agents", "try", str(peer("runner-bot-webrtc")), "--json")
    assert done.code == 0, done.err
    checks, figures = said(done)
    assert checks["line"]["verdict"] == "ok"
    assert "there and back" in checks["line"]["detail"]
    assert figures["TTFT"]["there"]
    assert figures["waterfall"]["there"]


@pytest.mark.long  # as above
def test_a_bot_without_the_evaluation_wire_is_called_at_its_plain_route_and_told_why(tmp_path: Path) -> None:
    profile = tmp_path / "scaffold.toml"
    profile.write_text(
        'kind = "pipecat-eval"\nurl = "ws://localhost:{port}/ws"\n[process]\n'
        f'command = ["{{python}}", "{PEERS / "runner_bot.py"}", "--port", "{{port}}"]\nenv = {{ NO_EVAL = "1" }}\n'
        'ready_pattern = "Uvicorn running on"\nready_timeout_s = 60\n'
    )
    done = harness(tmp_path, "agents", "try", str(profile))
    assert done.code == 0, done.out + done.err
    assert "called at /ws-client instead, without a history" in done.out
    assert "evaluation wire is off" in done.out
    assert "--mode replay --limit 4" in done.out


def test_a_profile_whose_replies_were_read_is_listed_with_what_was_found() -> None:
    found = load_profile("polaris-like").about_replies
    assert "by a program" in found
    listed = CliRunner().invoke(app, [], env={"COLUMNS": "400"})
    assert found in " ".join(listed.output.split())
    rows = json.loads(CliRunner().invoke(app, ["--json"]).output)["agents"]
    assert rows["polaris-like"]["about_replies"] == found
    assert rows["smollm2-text"]["about_replies"] == ""
