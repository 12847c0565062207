"""Who can read what the harness writes: the modes of whole folders, after real commands, whatever the umask."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from harness.audio.vocal import silero
from harness.files import own_folder, own_tree, write_whole
from harness.people.caller.as_pack import KeptTake, export
from harness.people.caller.ends import Corrections, corrected, found_ends
from harness.people.caller.prompts import Prompt
from harness.people.records import SeatStore
from harness.reports.listening.answers import VoteStore
from harness.scenarios.speakers import Speaker
from tests.harness.calls.made_calls import short_call, write_call
from tests.harness.conftest import harness as command
from tests.harness.conftest import peer
from tests.harness.people.spoken import RATE_HZ, spoken

ROOT = Path(__file__).parents[2]
PACK = """
pack: one
source: tests
licence: Apache-2.0
contexts:
  - {id: one, subset: regular, emotion: sadness, problem: loss, turns: [{role: seeker, text: "I miss them."}]}
"""


@pytest.fixture(autouse=True, params=[0o000, 0o022], ids=["umask 000", "umask 022"])
def umask(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.delenv("HEART_HARNESS_UMASK", raising=False)
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def harness(folder: Path, *arguments: object) -> None:
    done = command(folder, *arguments, virtual=True)
    assert done.code == 0, done.err


def readable_by_others(place: Path) -> list[str]:
    """What in a folder, itself included, another user of the machine may read, write or enter."""
    assert any(place.rglob("*"))
    every = [place, *place.rglob("*")]
    return [f"{path.relative_to(place)} {stat.S_IMODE(path.stat().st_mode):o}" for path in every if path.stat().st_mode & 0o077]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_run_and_its_page_and_votes_are_its_users_alone(tmp_path: Path) -> None:
    (tmp_path / "pack.yaml").write_text(PACK, encoding="utf-8")
    theirs = mode(tmp_path)
    harness(tmp_path, "run", "--agent", peer("scripted"), "--pack", "pack.yaml", "--judge", "none", "--out", "run")
    harness(tmp_path, "report", "run", "--out", "shared", "--export", "tables")
    with closing(VoteStore(tmp_path / "run" / "listening" / "ab")) as votes:
        assert votes.media_secret
        assert (votes.folder / "votes.sqlite-wal").exists(), "the journal is there while it is open"
        assert readable_by_others(tmp_path / "run") == []
    assert readable_by_others(tmp_path / "shared") == []
    assert readable_by_others(tmp_path / "tables") == []
    assert mode(tmp_path) == theirs


def test_calls_that_happened_are_their_users_alone(tmp_path: Path) -> None:
    write_call(tmp_path / "calls" / "one.flac", short_call())
    theirs = mode(tmp_path / "calls")
    harness(tmp_path, "measure", "calls", "--caller", "left", "--out", "run", "--csv", "turns.csv")
    assert readable_by_others(tmp_path / "run") == []
    assert not mode(tmp_path / "turns.csv") & 0o077
    assert mode(tmp_path / "calls") == theirs, "the user's own folder is left as it is"
    # A run of an older harness, copied with wide modes, is narrowed when it is opened.
    for path in (tmp_path / "run", *(tmp_path / "run").rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    harness(tmp_path, "report", "run")
    assert readable_by_others(tmp_path / "run") == []


def test_seats_and_takes_are_their_users_alone(tmp_path: Path) -> None:
    people = tmp_path / "people"
    people.mkdir(0o755)
    (people / "takes").mkdir(0o755)
    with closing(SeatStore(people)) as records:
        person = records.begin("secret", "caller", automatic=False, consent="1")
        take = records.open_take(person, "turn", "prompt", RATE_HZ, {}, "page-000001")
        records.add_part(take, 0, 0, np.zeros(100, np.int16).tobytes())
        assert [path for path in people.iterdir() if path.name.endswith("-wal")], "the journal is there while it is open"
        assert readable_by_others(people) == []


def test_a_pack_of_people_is_its_users_alone(tmp_path: Path) -> None:
    turn = spoken(0)
    found = corrected(found_ends(turn.samples, RATE_HZ, silero(), turn.end_s + 0.4), Corrections())
    prompt = Prompt("mini-night-shift-exam", "retell", "…")
    take = KeptTake("t0", Speaker("somebody", automatic=False), prompt, turn.samples, RATE_HZ, found)
    export([take], tmp_path / "pack", silero())
    assert readable_by_others(tmp_path / "pack") == []


def test_what_is_written_for_others_has_the_users_own_modes(umask: int, tmp_path: Path) -> None:
    (tmp_path / "pack.yaml").write_text(PACK, encoding="utf-8")
    harness(tmp_path, "plan", "--agent", peer("scripted"), "--pack", "pack.yaml", "--out", "plan.json")
    assert mode(tmp_path / "plan.json") == 0o666 & ~umask


def test_a_file_is_whole_or_the_old_one(tmp_path: Path) -> None:
    path = own_folder(tmp_path / "own") / "file"
    write_whole(path, "first")
    write_whole(path, "second")
    assert (path.read_text(), mode(path), os.listdir(path.parent)) == ("second", 0o600, ["file"])
    gone = tmp_path / "nowhere" / "file"
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(gone, "x")
    assert caught.value.filename == str(gone)


def test_what_a_link_leads_to_is_left_as_it_is(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("theirs")
    outside.chmod(0o644)
    (own_folder(tmp_path / "own") / "link").symlink_to(outside)
    own_tree(tmp_path / "own")
    assert mode(outside) == 0o644


def test_the_page_on_people_says_these_modes() -> None:
    page = (ROOT / "docs" / "people.md").read_text(encoding="utf-8")
    table = page.split("## Who can read it")[1].split("\n## ")[0]
    rows = [row for row in table.splitlines() if row.startswith("| ") and "0600" in row]
    assert len(rows) >= 4
    assert all(re.search(r"0700.*0600|0600", row) for row in rows)
