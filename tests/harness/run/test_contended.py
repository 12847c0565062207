"""Other programs that hold the processor in the middle of a run, for real: every figure has its range, and they are named."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.store.run_store import RunStore
from tests.harness.conftest import PEERS, Finished, peer

Command = Callable[..., Finished]
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel does not count waiting"),
]


@contextmanager
def other_programs(count: int) -> Iterator[None]:
    # Linux shares the processor between sessions first: as one they would take no more than the agent.
    command = [sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def play(harness_in_real_time: Command, pack: Path, out: Path) -> Finished:
    return harness_in_real_time(
        "run", "--agent", peer("raw-pcm-thinks"), "--pack", pack, "--limit", 1, "--judge", "none", "--json", "--out", out
    )


def test_a_run_beside_other_programs_gives_every_figure_with_its_range(
    harness_in_real_time: Command, pack: Path, tmp_path: Path
) -> None:
    with other_programs(3 * len(os.sched_getaffinity(0))):
        done = play(harness_in_real_time, pack, tmp_path / "busy")
    assert done.code == 0, done.err
    assert "Busy: other programs use" in done.err
    assert "others used the processor" not in " ".join(done.json["invalid"])
    assert [c["code"] for c in done.json["cautions"]].count("contended") == 1
    figures = done.json["agents"]["raw-pcm-thinks"]
    assert (figures["contended"], figures["turns"], figures["ttfa_ms"]["n"]) == (1, 1, 1)
    low_ms, high_ms = figures["ttfa_ms"]["p50_range"]
    assert low_ms < high_ms == figures["ttfa_ms"]["p50"]
    assert any(name.startswith("python") for name, _ in figures["others"])
    page = Path(done.json["report"]).read_text(encoding="utf-8")
    assert "had the machine been its own" in page


def test_an_agent_by_address_on_this_machine_is_watched_as_one_that_was_started_here(
    harness_in_real_time: Command, pack: Path, tmp_path: Path
) -> None:
    agent = [sys.executable, str(PEERS / "agent.py"), "--wire", "raw-pcm", "--behaviour", "thinks"]
    with subprocess.Popen(agent, stdout=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stdout is not None
        url = json.loads(running.stdout.readline())["url"]
        profile = tmp_path / "by-address.toml"
        profile.write_text(f'kind = "raw-pcm"\naccepts_history = true\nurl = "{url}"\n')
        try:
            with other_programs(4 * len(os.sched_getaffinity(0))):
                done = harness_in_real_time(
                    "run",
                    "--agent",
                    profile,
                    "--pack",
                    pack,
                    "--limit",
                    1,
                    "--judge",
                    "none",
                    "--json",
                    "--out",
                    tmp_path / "r",
                )
        finally:
            running.kill()
    assert done.code == 0, done.err
    assert "Busy: other programs use" in done.err
    assert done.json["agents"]["by-address"]["contended"] == 1
    (session,) = RunStore.open(tmp_path / "r").sessions()
    assert session.timing is not None
    assert (session.timing.owed_ms("ttfa") or 0.0) >= 1


def test_the_same_run_on_a_quiet_machine_does_not(harness_in_real_time: Command, pack: Path, tmp_path: Path) -> None:
    done = play(harness_in_real_time, pack, tmp_path / "quiet")
    assert done.code == 0, done.err
    (session,) = RunStore.open(tmp_path / "quiet").sessions()
    assert session.timing is not None
    found = session.timing.contention
    assert found is not None
    if found.others_cores + found.stolen_cores > 0.1:
        pytest.skip(f"this machine is not quiet: {found}")
    waited = done.json["agents"]["raw-pcm-thinks"]["ttfa_ms"]
    assert waited["p50_others_ms"] < 0.25 * waited["p50"]
