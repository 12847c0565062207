"""A run of a bot whose evaluation wire is off: what was measured is said to be of the plain one, and no history is claimed."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harness.store.run_store import RunStore
from tests.harness.conftest import PEERS, Finished

Command = Callable[..., Finished]


def run(command: Command, pack: Path, folder: Path, mode: str) -> Finished:
    profile = folder / "scaffold.toml"
    profile.write_text(
        'kind = "pipecat-eval"\nurl = "ws://localhost:{port}/ws"\ngreets = false\n[process]\n'
        f'command = ["{{python}}", "{PEERS / "runner_bot.py"}", "--port", "{{port}}"]\nenv = {{ NO_EVAL = "1" }}\n'
        'ready_pattern = "Uvicorn running on"\nready_timeout_s = 60\n'
    )
    return command(
        "run", "--agent", profile, "--mode", mode, "--pack", pack, "--limit", 1, "--judge", "none", "--json",
        "--out", folder / mode,
    )  # fmt: skip


@pytest.mark.long  # two runs of a bot under pipecat's own runner, in real time
def test_it_is_said_where_the_result_is(harness_in_real_time: Command, pack: Path, tmp_path: Path) -> None:
    played = run(harness_in_real_time, pack, tmp_path, "replay")
    assert played.code == 0, played.err
    (caution,) = [one for one in played.json["cautions"] if "evaluation wire is off" in json.dumps(one)]
    assert "called at /ws-client instead, without a history" in json.dumps(caution)

    refused = run(harness_in_real_time, pack, tmp_path, "seeded")
    assert refused.code == 3, refused.out
    with closing(RunStore.open(tmp_path / "seeded")) as store:
        (session,) = store.sessions()
    assert session.failure_kind == "no_history"
    assert "--mode replay" in session.failure_detail
