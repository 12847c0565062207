"""A disk that is full, read-only or gone ends a run in one line and exit 3; what was finished stays, and --resume goes on."""

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness.store.run_store import RunStore
from tests.harness.conftest import Finished, begin_run, peer

SHORT, LONG = "I miss them.", " ".join(["I walk home and nobody is there."] * 3)
PACK = f"""
pack: short-then-long
source: tests
licence: Apache-2.0
contexts:
  - {{id: short, subset: regular, emotion: sadness, problem: loss, turns: [{{role: seeker, text: "{SHORT}"}}]}}
  - {{id: long, subset: regular, emotion: sadness, problem: loss, turns: [{{role: seeker, text: "{LONG}"}}]}}
"""
ONLY_THE_SHORT_FITS = 900_000
"""Bytes a file may have: the caller hands over its two signals plain, 64 kB a second of a call."""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    path = tmp_path / "pack.yaml"
    path.write_text(PACK, encoding="utf-8")
    return path


def begin(
    folder: Path, pack: Path, *more: str, largest_file: int | None = None, virtual: bool = False
) -> subprocess.Popen[str]:
    def limited() -> None:
        if largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    return begin_run(folder, pack, "--agent", peer("scripted"), *more, virtual=virtual, preexec_fn=limited)


def end(running: subprocess.Popen[str], timeout_s: float = 120) -> Finished:
    try:
        out, err = running.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        running.kill()
        raise
    return Finished(running.returncode, out, err)


def until_one_is_finished(running: subprocess.Popen[str], folder: Path, timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and running.poll() is None:
        if (folder / "run.sqlite").exists():
            store = RunStore.open(folder, to_resume=True)
            finished = store.finished_ids()
            store.close()
            if finished:
                return
        time.sleep(0.02)
    raise AssertionError("no session was finished in time")


def the_line(done: Finished) -> str:
    assert done.code == 3, done.err
    assert "Traceback" not in done.err
    (line,) = [text for text in done.err.splitlines() if text.startswith("harness: ")]
    return line


def finished(folder: Path) -> set[str]:
    with closing(RunStore.open(folder)) as store:
        return {store.session(name).key.context_id for name in store.finished_ids()}


@pytest.mark.long
def test_what_fits_is_kept_and_the_rest_is_played_once_there_is_room(pack: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    line = the_line(end(begin(folder, pack, largest_file=ONLY_THE_SHORT_FITS, virtual=True)))
    assert line.startswith(f"harness: {folder}: cannot be written (File too large); 1 of 2 sessions are finished and saved")
    assert " MB are free; free some space, then: harness run --resume --out " in line
    assert [path.name for path in (folder / "sessions").iterdir()] == ["short__scripted__seeded__clean__r0"]
    assert finished(folder) == {"short"}
    kept = (folder / "sessions" / "short__scripted__seeded__clean__r0" / "recording.json").read_bytes()
    done = end(begin(folder, pack, "--resume", virtual=True))
    assert done.code == 0, done.err
    assert finished(folder) == {"short", "long"}
    assert (folder / "sessions" / "short__scripted__seeded__clean__r0" / "recording.json").read_bytes() == kept


def test_a_run_that_can_have_no_room_says_so_before_it_begins(pack: Path) -> None:
    folder = Path("/dev/shm") / f"no-room-{os.getpid()}"
    repeats = shutil.disk_usage(folder.parent).free // 400_000
    line = the_line(end(begin(folder, pack, "--repeats", str(repeats))))
    assert "the run needs about " in line
    assert " MB are free; free some space, or choose another place with --out" in line
    assert not folder.exists()


def test_a_folder_that_vanishes_is_named_and_not_made_again(pack: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    running = begin(folder, pack)
    until_one_is_finished(running, folder)
    shutil.rmtree(folder)
    assert "cannot be written (the folder is gone)" in the_line(end(running))
    assert not folder.exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("may not mount a small disk here (needs root); the limit on file sizes above is tried everywhere")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def full(disk: Path) -> None:
    room = os.statvfs(disk)
    (disk / "ballast").write_bytes(bytes(room.f_bavail * room.f_frsize))


def test_a_read_only_disk_is_named_before_anything_is_played(pack: Path, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert "ead-only" in the_line(end(begin(small_disk / "run", pack)))
    assert list(small_disk.iterdir()) == []


@pytest.mark.long
def test_a_disk_that_fills_in_the_middle_of_a_run_ends_it(pack: Path, small_disk: Path) -> None:
    folder = small_disk / "run"
    running = begin(folder, pack)
    until_one_is_finished(running, folder)
    full(small_disk)
    line = the_line(end(running))
    assert "full" in line or "No space left" in line
    assert "1 of 2 sessions are finished and saved" in line
    assert finished(folder) == {"short"}
