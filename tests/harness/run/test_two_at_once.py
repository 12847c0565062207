"""Two runs on one folder at once: the second is sent away in one line, and the first does not notice."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.store.run_store import RunStore
from tests.harness.conftest import Finished, begin, peer


@pytest.mark.long
def test_the_second_is_sent_away_and_the_first_is_whole(
    harness_command: Callable[..., Finished], pack: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "r"
    line = ["run", "--agent", str(peer("scripted")), "--pack", str(pack), "--judge", "none", "--out", str(folder)]
    first = begin(*line, cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not list(folder.glob("sessions/.partial-*")):
        assert first.poll() is None, first.communicate()[1]
        assert time.monotonic() < deadline, "no call began in time"
        time.sleep(0.05)
    for second, why in (
        (["run", "--resume", "--out", folder, "--judge", "none"], "another harness process is writing this run"),
        (line, "holds another run"),
        (["remeasure", folder], "another harness process is writing this run"),
    ):
        refused = harness_command(*second)
        assert first.poll() is None, "the first was still at work"
        assert refused.code == 2
        assert why in refused.err
        assert len(refused.err.strip().splitlines()) == 1
    _, err = first.communicate(timeout=120)
    assert first.returncode == 0, err
    assert {s.status for s in RunStore.open(folder).sessions()} == {"finished"}
