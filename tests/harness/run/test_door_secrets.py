"""The keys of a door are planted, and its bots repeat them in all that they say: no file and no output has them."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harness.store.run_store import RunStore
from tests.harness.conftest import PEERS, Finished
from tests.harness.run.test_secrets import all_that_is_left, forms

Command = Callable[..., Finished]
SECRETS = {"DOOR_KEY": "Qz7key/9+aB4x3", "DOOR_ROOM": "r00m of the=d00r", "DOOR_QUERY": "t0ken?of&the+query"}


def hits(texts: dict[str, str], secrets: dict[str, str]) -> list[str]:
    return [f"{name} in {where}" for where, text in texts.items() for name, value in secrets.items()
            for form in forms(value) if form in text]  # fmt: skip


@pytest.mark.long
def test_what_opens_a_door_is_left_nowhere(harness_virtual: Command, pack: Path, tmp_path: Path) -> None:
    with (tmp_path / "tokens").open("w") as told:
        door = subprocess.Popen([sys.executable, str(PEERS / "telltale_door.py")], stdout=subprocess.PIPE, stderr=told)
    try:
        assert door.stdout is not None
        port = json.loads(door.stdout.readline())["port"]
        keyed = 'api_key_env = "DOOR_KEY"\nheaders = { X-Room = "${DOOR_ROOM}" }\ngreets = false\n'
        url = f"ws://127.0.0.1:{port}/raw?token=${{DOOR_QUERY}}"
        (tmp_path / "keyed.toml").write_text(f'kind = "raw-pcm"\nurl = "{url}"\n{keyed}')
        (tmp_path / "started.toml").write_text(f'kind = "twilio"\nstart_url = "http://127.0.0.1:{port}/start"\n{keyed}')
        agents = [word for name in ("keyed", "started") for word in ("--agent", tmp_path / f"{name}.toml")]
        done = harness_virtual(
            "run", *agents, "--mode", "replay", "--pack", pack, "--limit", 1, "--judge", "none", "--debug",
            "--out", tmp_path / "r", **SECRETS,
        )  # fmt: skip
        tried = [
            harness_virtual("agents", "try", tmp_path / f"{name}.toml", *more, **SECRETS)
            for name, more in (("keyed", ()), ("started", ("--json",)))
        ]
        shown = harness_virtual("agents", "show", tmp_path / "keyed.toml", **SECRETS)
    finally:
        door.kill()
        door.wait()
        if door.stdout is not None:
            door.stdout.close()
    tokens = re.findall(r"token (\S+)", (tmp_path / "tokens").read_text())
    assert len(tokens) >= 3, "each call has its own"
    secrets = {**SECRETS, **{f"token {k}": token for k, token in enumerate(tokens)}}
    texts = all_that_is_left(tmp_path / "r")
    for k, command in enumerate((done, *tried, shown)):
        texts |= {f"output {k}": command.out, f"error {k}": command.err}
    assert hits(texts, secrets) == []
    assert done.code == 3, done.err
    # They were told, and what was told is there without them.
    with closing(RunStore.open(tmp_path / "r")) as store:
        failed = {s.key.agent: (s.failure_kind, s.failure_detail, s.folder) for s in store.sessions()}
    assert {kind for kind, _, _ in failed.values()} == {"closed_early"}
    assert all("1011" in detail and "***" in detail for _, detail, _ in failed.values())
    for _, _, folder in failed.values():
        assert "door Bearer ***" in (folder / "recording.json").read_text()
