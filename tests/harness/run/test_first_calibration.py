"""The first run on a machine measures its own error after the last call, keeps it, and outlives a failure of it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from harness.files import cache_folder
from harness.store.run_store import RunStore
from tests.harness.conftest import Finished, begin_run, peer


@pytest.fixture
def new_machine(tmp_path: Path) -> dict[str, str]:
    """The environment of a user whose machine was never calibrated; the weights are there."""
    cache = tmp_path / "cache"
    cache.mkdir()
    if (cache_folder() / "models").exists():
        (cache / "models").symlink_to(cache_folder() / "models")
    return {"HEART_HARNESS_CACHE": str(cache)}


@pytest.mark.long
def test_a_first_run_calibrates_once_a_later_one_quotes_it_and_one_that_was_stopped_before_makes_it_up(
    pack: Path, tmp_path: Path, new_machine: dict[str, str], harness_virtual: Callable[..., Finished]
) -> None:
    asked = ("--agent", peer("raw-pcm-echo"), "--pack", pack, "--limit", 1, "--judge", "none", "--json", "--out")
    first, later = (harness_virtual("run", *asked, tmp_path / name, **new_machine) for name in ("one", "two"))
    assert (first.code, later.code) == (0, 0), first.err + later.err
    assert first.err.index("Calls") < first.err.index("Calibrating")
    assert "Calibrating" not in later.err
    quoted = first.json["calibration"]
    assert later.json["calibration"] == quoted
    assert quoted["ttfa_p95_error_ms"] is None
    said = {caution["code"]: caution["text"] for caution in later.json["cautions"]}
    assert "all of" in said["measurement_error"]

    store = RunStore.open(tmp_path / "two")
    store.set_manifest(store.manifest.model_copy(update={"calibration": None}))
    store.close()
    for kept in (tmp_path / "cache").iterdir():
        if kept.name.startswith("calibration"):
            shutil.rmtree(kept) if kept.is_dir() else kept.unlink()
    again = harness_virtual("run", "--resume", "--judge", "none", "--json", "--out", tmp_path / "two", **new_machine)
    assert again.code == 0, again.err
    assert "Calibrating" in again.err
    assert again.json["calibration"] is not None


NO_ROOM_FOR_A_WHILE = "import sys, tempfile; tempfile.tempdir = sys.argv.pop(1); from harness.cli import main; main()"
"""The command, where the folder for short-lived files is not there: a trial's recording has nowhere to go."""


@pytest.mark.long
def test_a_calibration_that_fails_leaves_the_run_and_says_why(pack: Path, tmp_path: Path, new_machine: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM_FOR_A_WHILE, str(tmp_path / "not-there"), "run", "--agent", str(peer("raw-pcm-echo")),
         "--pack", str(pack), "--limit", "1", "--judge", "none", "--out", str(tmp_path / "r")],
        cwd=tmp_path, env={**os.environ, **new_machine}, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "not calibrated: " in done.stderr
    store = RunStore.open(tmp_path / "r")
    assert "not-there" in store.manifest.not_calibrated
    assert store.manifest.calibration is None
    store.close()


@pytest.mark.long
def test_ctrl_c_ends_a_calibration_at_once(pack: Path, tmp_path: Path, new_machine: dict[str, str]) -> None:
    begun = begin_run(tmp_path / "r", pack, "--agent", peer("raw-pcm-echo"), env=new_machine, stdout=None)
    assert begun.stderr is not None
    for line in begun.stderr:
        if "Calibrating" in line:
            break
    time.sleep(2)
    others = psutil.Process(begun.pid).children(recursive=True)
    begun.send_signal(signal.SIGINT)
    began_s = time.monotonic()
    begun.communicate(timeout=60)
    assert time.monotonic() - began_s < 5
    assert not psutil.wait_procs(others, timeout=2)[1]
