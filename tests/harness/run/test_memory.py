"""Agents that flood: the harness's own process and its caller stay within 300 MiB of what they took before the first call."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from harness.store.run_store import RunStore
from tests.endpoint import endpoint
from tests.harness.conftest import PEERS

MOST_MIB = 300.0
FLOODS = {"floods": "flood", "floods-marks": "flood", "floods-at-once": "flood"}
"""Behaviours of the small agent, and what each is called: sound without end, marks without end, 32 MiB in one message."""


@pytest.fixture
def flooding_endpoint(tmp_path: Path) -> Iterator[str]:
    with endpoint(tmp_path, "--behaviour", "floods") as url:
        yield url


def own_mib(root: psutil.Process) -> float:
    """Proportional memory of the run's process and its caller, in MiB; agents are not the harness's."""
    kib = 0
    for process in (root, *root.children()):
        try:
            if process.pid == root.pid or "harness.caller" in process.cmdline():
                lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
                kib += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except (psutil.Error, OSError, StopIteration):
            continue
    return kib / 1024


@pytest.mark.long
def test_floods_take_no_memory_that_is_worth_the_name(pack: Path, tmp_path: Path, flooding_endpoint: str) -> None:
    agents = []
    for behaviour in FLOODS:
        profile = tmp_path / f"{behaviour}.toml"
        profile.write_text(
            'kind = "raw-pcm"\naccepts_history = true\n[process]\nready_timeout_s = 60\n'
            f'command = ["{{python}}", "{PEERS / "agent.py"}", "--wire", "raw-pcm", "--behaviour", "{behaviour}"]\n'
        )
        agents += ["--agent", str(profile)]
    writer = tmp_path / "writer.toml"
    writer.write_text(f'kind = "text"\nmodel = "m"\ntimeout_s = 30\nbase_url = "{flooding_endpoint}/run/v1"\n')
    folder = tmp_path / "r"
    line = [*agents, "--agent", str(writer), "--pack", str(pack), "--limit", "1", "--judge", "none", "--out", str(folder)]
    running = subprocess.Popen(
        [sys.executable, "-m", "harness", "run", *line],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    root, idle_mib, most_mib = psutil.Process(running.pid), 0.0, 0.0
    while running.poll() is None:
        found_mib = own_mib(root)
        if list(folder.glob("sessions/*")):
            most_mib = max(most_mib, found_mib)
        else:
            idle_mib = found_mib
        time.sleep(0.02)
    _, err = running.communicate()
    assert running.returncode == 3, err
    sessions = RunStore.open(folder).sessions()
    assert {s.key.agent: s.failure_kind for s in sessions} == {**FLOODS, "writer": "endpoint_flood"}
    print(f"idle {idle_mib:.0f} MiB, at most {most_mib:.0f} MiB")
    assert 0 < most_mib - idle_mib < MOST_MIB
