"""A full disk under every command that writes: one line, exit 3, nothing half; and the same command ends once there is room."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.calls.made_calls import short_call, write_call
from tests.harness.conftest import Finished, peer
from tests.small_disk import SmallDisk, small_disk

__all__ = ["small_disk"]

TALK = {"turns": [{"role": "seeker", "text": "I have an exam tomorrow."}]}
PACK = """
pack: one
source: tests
licence: Apache-2.0
contexts:
  - {id: one, subset: regular, emotion: sadness, problem: loss, turns: [{role: seeker, text: "I miss them."}]}
"""
COMMANDS = {
    "measure": ("measure", "{here}/calls", "--caller", "left", "--out", "{disk}/run"),
    "measure --csv": ("measure", "{here}/calls", "--caller=left", "--out={here}/a", "--csv", "{disk}/t.csv", "--resume"),
    "report": ("report", "{here}/run", "--out", "{disk}/page"),
    "report --export": ("report", "{here}/run", "--out", "{here}/page", "--export", "{disk}/tables"),
    "report of a run on it": ("report", "{disk}/measured"),
    "plan": ("plan", "--agent", "{peer}", "--pack", "{here}/pack.yaml", "--out", "{disk}/plan.json"),
    "agents new": ("agents", "new", "raw-pcm", "--out", "{disk}/agent.toml"),
    "init": ("init", "{disk}/bot", "--kind", "demo", "--ci", "none"),
    "scenarios import": ("scenarios", "import", "jsonl", "{here}/talks.jsonl", "--out", "{disk}/pack.yaml"),
}  # fmt: skip
QUICK = ("measure", "report", "plan", "agents new", "scenarios import")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with room, in which is what the commands read."""
    place = tmp_path_factory.mktemp("room")
    write_call(place / "calls" / "one.flac", short_call())
    (place / "pack.yaml").write_text(PACK, encoding="utf-8")
    (place / "talks.jsonl").write_text(json.dumps(TALK) + "\n", encoding="utf-8")
    done = command(place, "measure", "calls", "--caller", "left", "--out", "run")
    assert done.code == 0, done.err
    return place


def command(folder: Path, *arguments: str, out: Path | None = None) -> Finished:
    with (out or Path(os.devnull)).open("wb") as printed:
        done = subprocess.run(
            [sys.executable, "-m", "harness", *arguments], cwd=folder, stdout=printed, stderr=subprocess.PIPE, text=True,
            timeout=300, check=False,
        )  # fmt: skip
    return Finished(done.returncode, "", done.stderr)


def files(disk: Path) -> dict[str, bytes]:
    return {str(path.relative_to(disk)): path.read_bytes() for path in disk.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in COMMANDS])
def test_a_full_disk_is_one_line_and_the_command_ends_once_there_is_room(name: str, here: Path, small_disk: SmallDisk) -> None:
    disk = small_disk.folder
    words = [word.format(here=here, disk=disk, peer=peer("scripted")) for word in COMMANDS[name]]
    if "{disk}/measured" in COMMANDS[name]:
        shutil.copytree(here / "run", disk / "measured")
    small_disk.fill()
    before = files(disk)
    done = command(here, *words)
    assert done.code == 3, done.err
    assert "Traceback" not in done.err
    lines = [line for line in done.err.splitlines() if line.startswith("harness: ")]
    assert len(lines) == 1, done.err
    assert str(disk) in lines[0], "where"
    assert re.search("full|No space", lines[0]), "what"
    assert re.search("free some space|make room", lines[0]), "how to mend it"
    for path, content in files(disk).items():
        finished = not path.endswith((".lock", ".log", "-journal")) and not Path(path).name.startswith(".")
        assert not finished or before.get(path) == content or path.startswith("run/"), f"{path} looks finished"
    small_disk.make_room()
    done = command(here, *words, *(("--resume",) if words[0] == "measure" and "--resume" not in words else ()))
    assert done.code == 0, done.err
    assert set(files(disk)) > set(before) - {"filler"} or "measured/report.html" in files(disk)


def test_output_that_is_led_onto_a_full_disk_is_said(here: Path, small_disk: SmallDisk) -> None:
    out = small_disk.folder / "figures.json"
    out.touch()
    small_disk.fill()
    done = command(here, "report", "run", "--json", out=out)
    assert done.code == 3, done.err
    assert "Traceback" not in done.err
    assert [line.startswith("harness: ") for line in done.err.splitlines()][-1:] == [True]


def test_sound_that_does_not_fit_names_the_disk(small_disk: SmallDisk) -> None:
    from harness.files import write_whole

    small_disk.fill()
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(small_disk.folder / "voice.flac", bytes(100_000))
    assert caught.value.filename == str(small_disk.folder / "voice.flac")
    assert os.listdir(small_disk.folder) == ["filler"], "nothing half is left"
