"""The wheel holds every file that a run can need, under one name."""

import zipfile
from pathlib import Path

from tests.installation.conftest import ROOMS, ROOT, tracked

SHIPPED = {"gold", "red_lines"}
"""Pairs that every judge is asked before it judges a run."""


def packed(wheel: Path) -> set[str]:
    names = zipfile.ZipFile(wheel).namelist()
    return {name for name in names if ".dist-info/" not in name}


def in_the_tree() -> set[str]:
    """The tracked files of the five rooms, by the names under which they are installed."""
    found = set()
    for name in tracked():
        room = name.split("/")[0]
        if room in ROOMS and not (ROOT / name).is_symlink():
            found.add(name if room == "harness" else f"harness/{name}")
    return found


def test_every_tracked_file_of_the_rooms_is_in_the_wheel_and_nothing_else(wheel: Path) -> None:
    assert len(in_the_tree()) > 500
    assert packed(wheel) == in_the_tree()


def test_the_wheel_has_one_name(wheel: Path) -> None:
    assert {name.split("/")[0] for name in packed(wheel)} == {"harness"}
    (top_level,) = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("top_level.txt")]
    assert zipfile.ZipFile(wheel).read(top_level).decode().split() == ["harness"]


def test_labelled_pairs_that_only_benchmarks_read_stay_out(wheel: Path) -> None:
    assert not [name for name in packed(wheel) if Path(name).suffix == ".jsonl" and Path(name).stem not in SHIPPED]
