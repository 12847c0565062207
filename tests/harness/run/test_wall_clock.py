"""A wall clock that steps an hour forth and back all the time moves no figure: only the monotonic clock is measured by."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.store.run_store import RunStore
from tests.harness.conftest import PEERS, Finished, peer

SITE = PEERS.parent / "virtual_time" / "sitecustomize.py"
"""What puts the caller into virtual time, where no busy machine moves a figure either."""
STEPPING = """\
import os, time
honest_ns = time.time_ns
def stepping_ns():
    now_ns = honest_ns()
    return now_ns + (3_600_000_000_000 if now_ns // 50_000_000 % 2 else -3_600_000_000_000)
time.time_ns = stepping_ns
time.time = lambda: stepping_ns() / 1e9
with open(os.environ["STEPPED"], "a") as seen:
    seen.write(f"{os.getpid()}\\n")
"""


def test_no_figure_moves(harness_command: Callable[..., Finished], pack: Path, tmp_path: Path) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(STEPPING + f"import runpy\nrunpy.run_path({str(SITE)!r})\n")
    seen = tmp_path / "stepped"
    done = harness_command(
        "run", "--agent", peer("scripted"), "--pack", pack, "--limit", 1, "--judge", "none", "--out", tmp_path / "r",
        PYTHONPATH=os.pathsep.join([str(modules), os.getcwd(), os.environ["PYTHONPATH"]]), STEPPED=str(seen),
    )  # fmt: skip
    assert done.code == 0, done.err
    assert len(set(seen.read_text().split())) >= 2, "the run and its caller read that clock"
    (reply,) = tomllib.loads((PEERS / "scripted.toml").read_text())["options"]["replies"]
    silence_ms = reply["sound"][0]["ms"]
    (session,) = RunStore.open(tmp_path / "r").sessions()
    assert session.timing is not None
    assert session.timing.ttfa_ms == pytest.approx(reply["delay_ms"] + silence_ms, abs=100)
