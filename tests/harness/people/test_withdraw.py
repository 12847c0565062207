"""Whoever withdraws is gone: after a kill at any step, beside an export, while a part arrives, while the run is judged."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from harness.errors import UserError
from harness.people.alone import alone
from harness.people.caller import take_in as taking
from harness.people.caller.as_pack import Words
from harness.people.caller.take_in import write_packs
from harness.people.part_files import TAKES
from harness.people.records import DATABASE, Person, SeatStore, Take
from harness.people.seat import CONSENT
from harness.people.supporter.conversations import Conversations
from harness.people.supporter.into_run import PersonsReply, add_people
from harness.people.supporter.take_in import take_in
from harness.people.track import RATE_HZ
from harness.people.withdraw import FOLDER, JOURNAL, end_withdrawals, withdraw_everywhere, withdraw_on_page
from harness.progress import RunProgress
from harness.reports.invited import Refused
from harness.scenarios.pack import load_pack
from harness.store.run_store import RunStore
from tests.harness.conftest import Finished
from tests.harness.people.conftest import ServeSeat
from tests.harness.people.spoken import spoken
from tests.harness.people.supporter.conftest import played, played_once
from tests.harness.people.test_sittings import TwoItems

__all__ = ["played", "played_once"]

VOICE: Final = bytes(range(1, 201)) * 40
LEAVES: Final = """
import os, signal, sys
from pathlib import Path
left, folder, name = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
import harness.people.caller.take_in
from harness.people.withdraw import withdraw_everywhere
steps = {"os.rename", "os.remove", "os.rmdir"}
def step(event, values):
    global left
    if event in steps and ".pyc" not in str(values[0]):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(step)
withdraw_everywhere(folder, name)
"""


def kept(
    records: SeatStore, secret: str, pcm: bytes = VOICE, *, turn: tuple[float, float] = (0.0, 0.05)
) -> tuple[Person, Take]:
    """A caller with one kept recording."""
    person = records.begin(secret, "caller", False, CONSENT)
    take = records.open_take(person, "turn", "free-1", RATE_HZ, {}, "page-000001")
    size = 2 * RATE_HZ
    for k in range(-(-len(pcm) // size)):
        records.add_part(take, k, k * RATE_HZ, pcm[k * size : (k + 1) * size])
    decided = {"start_s": turn[0], "end_s": turn[1], "pauses": []}
    return person, records.set_take(take, "kept", decided=decided)


def traces(folder: Path, *words: bytes) -> list[Path]:
    return [
        path
        for path in folder.rglob("*")
        if any(word in os.fsencode(path.relative_to(folder)) for word in words)
        or (path.is_file() and any(word in path.read_bytes() for word in words))
    ]


def made_pack(out: Path, person: str) -> None:
    """What an export left, and one that was killed: files with a name and a voice."""
    for name in ("pack", ".pack.old", ".pack.new-x"):
        folder = out / name / "recordings"
        folder.mkdir(parents=True)
        (folder / "pauses.csv").write_text(person, encoding="utf-8")
        (folder / f"{person}.flac").write_bytes(VOICE)


@pytest.mark.parametrize("step", range(0, 16, 3))
@pytest.mark.parametrize("again", ["same command", "next opening"])
def test_a_kill_at_any_step_leaves_a_withdrawal_that_is_ended(tmp_path: Path, step: int, again: str) -> None:
    with closing(SeatStore(tmp_path)) as records:
        person, _ = kept(records, "secret")
    made_pack(tmp_path, person.id)
    done = subprocess.run([sys.executable, "-c", LEAVES, str(step), tmp_path, person.id], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert traces(tmp_path, person.id.encode(), VOICE)
    if again == "same command":
        assert "1 recording." in withdraw_everywhere(tmp_path, person.id)
    else:
        with closing(SeatStore(tmp_path)) as records:
            assert end_withdrawals(tmp_path, records, wait=False)
    assert traces(tmp_path, person.id.encode(), VOICE) == []
    with closing(SeatStore(tmp_path)) as records:
        assert records.withdrawn == 1


def test_a_discarded_recording_that_a_kill_left_goes_at_the_next_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = SeatStore(tmp_path)
    person = records.begin("secret", "caller", False, CONSENT)
    take = records.open_take(person, "turn", "free-1", RATE_HZ, {}, "page-000001")
    records.add_part(take, 0, 0, VOICE)
    with monkeypatch.context() as killed:
        killed.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            records.discard(take)
    assert traces(tmp_path / TAKES, VOICE)
    records.close()
    SeatStore(tmp_path).close()
    assert traces(tmp_path, VOICE) == []


def test_a_sweep_leaves_what_is_being_recorded_and_what_is_kept(tmp_path: Path) -> None:
    records = SeatStore(tmp_path)
    person, mine = kept(records, "secret")
    running = records.open_take(person, "turn", "free-2", RATE_HZ, {}, "page-000001")
    records.add_part(running, 0, 0, VOICE)
    with closing(SeatStore(tmp_path)) as second:
        assert [len(second.parts(take)) for take in (mine, running)] == [1, 1]


def test_nothing_is_stored_for_somebody_who_has_gone(tmp_path: Path) -> None:
    """Another process withdraws them, so that this one's lock says nothing."""
    records = SeatStore(tmp_path)
    person = records.begin("secret", "caller", False, CONSENT)
    take = records.open_take(person, "turn", "free-1", RATE_HZ, {}, "page-000001")
    records.add_part(take, 0, 0, VOICE)
    withdraw_everywhere(tmp_path, person.id)
    records.add_part(take, 1, RATE_HZ, VOICE)
    records.deal(person, 0, "free-1")
    with pytest.raises(Refused, match=r"^seat\.refused\.removed$"):
        records.open_take(person, "turn", "free-1", RATE_HZ, {}, "page-000001")
    with pytest.raises(Refused, match=r"^seat\.refused\.removed$"):
        records.set_take(take, "kept")
    assert records.dealt_to_all() == []
    records.close()
    assert traces(tmp_path, person.id.encode(), VOICE) == []


def test_parts_that_arrive_while_their_speaker_withdraws_do_not_outlive_it(tmp_path: Path) -> None:
    here, there = SeatStore(tmp_path), SeatStore(tmp_path)
    for k in range(20):
        person = here.begin(f"secret {k}", "caller", False, CONSENT)
        take = here.open_take(person, "turn", "free-1", RATE_HZ, {}, "page-000001")

        def sends(take: Take = take) -> None:
            for number in range(12):
                here.add_part(take, number, number * RATE_HZ, VOICE)

        sending = threading.Thread(target=sends)
        sending.start()
        there.leave(person.id)
        sending.join()
    assert traces(tmp_path, VOICE) == []


def test_a_recording_that_cannot_be_deleted_is_said_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = SeatStore(tmp_path)
    person, _ = kept(records, "secret")
    with monkeypatch.context() as failing:
        failing.setattr(os, "unlink", lambda *_, **__: (_ for _ in ()).throw(PermissionError(1, "Operation not permitted")))
        assert not withdraw_on_page(tmp_path, records, person.id)
        with pytest.raises(UserError, match="not permitted"):
            SeatStore(tmp_path)
    assert list(records.leaving()) == [person.id]
    records.close()
    withdraw_everywhere(tmp_path, person.id)
    assert traces(tmp_path, person.id.encode(), VOICE) == []


# Packs


def spoken_by(records: SeatStore, secret: str, k: int) -> Person:
    turn = spoken(k)
    return kept(records, secret, turn.samples.astype("<i2").tobytes(), turn=(0.5, turn.end_s))[0]


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A transcriber's place, taken by a count of what it was asked."""
    asked: list[int] = []

    def heard(samples: "np.ndarray[tuple[int], np.dtype[np.int16]]", _: int) -> str:
        asked.append(len(samples))
        return f"Words of {len(samples)} samples."

    monkeypatch.setattr(taking, "installed_transcriber", lambda: Words("counter", heard))
    return asked


@pytest.mark.usefixtures("words")
def test_a_withdrawal_during_an_export_is_in_no_pack_afterwards(tmp_path: Path) -> None:
    records = SeatStore(tmp_path)
    going, staying = spoken_by(records, "one", 0), spoken_by(records, "two", 1)
    answers: list[bool] = []

    def withdraws(_: str) -> None:
        if not answers:
            with closing(SeatStore(tmp_path)) as page:
                answers.append(withdraw_on_page(tmp_path, page, going.id))

    write_packs(records, tmp_path, withdraws)
    assert answers == [False]
    assert {c.id.partition("-")[0] for c in load_pack(tmp_path / "pack").contexts} == {staying.id}
    assert dict(records.leaving()) == {}
    records.close()
    assert traces(tmp_path, going.id.encode()) == []


def test_a_withdrawal_makes_nobody_elses_words_anew(tmp_path: Path, words: list[int]) -> None:
    with closing(SeatStore(tmp_path)) as records:
        going, staying = spoken_by(records, "one", 0), spoken_by(records, "two", 1)
        write_packs(records, tmp_path)
    assert len(words) == 2
    before = {c.id: c.spoken.text for c in load_pack(tmp_path / "pack").contexts}
    withdraw_everywhere(tmp_path, going.id)
    assert len(words) == 2
    (left,) = load_pack(tmp_path / "pack").contexts
    assert left.id.startswith(staying.id)
    assert left.spoken.text == before[left.id]
    assert traces(tmp_path, going.id.encode()) == []


def test_a_page_removes_the_pack_and_makes_none(tmp_path: Path, words: list[int]) -> None:
    with closing(SeatStore(tmp_path)) as records:
        going, _ = spoken_by(records, "one", 0), spoken_by(records, "two", 1)
        write_packs(records, tmp_path)
        assert withdraw_on_page(tmp_path, records, going.id)
        assert not (tmp_path / "pack").exists()
        assert len(words) == 2
        write_packs(records, tmp_path)
    assert len(load_pack(tmp_path / "pack").contexts) == 1


@pytest.mark.usefixtures("words")
def test_withdrawals_at_the_same_time_end_each_other(tmp_path: Path) -> None:
    with closing(SeatStore(tmp_path)) as records:
        people = [spoken_by(records, str(k), k % 3) for k in range(4)]
        write_packs(records, tmp_path)
    threads = [threading.Thread(target=withdraw_everywhere, args=(tmp_path, person.id)) for person in people[:3]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert traces(tmp_path, *(person.id.encode() for person in people[:3])) == []
    assert len(load_pack(tmp_path / "pack").contexts) == 1


# Loop-back trials


def test_the_sound_of_a_loop_back_trial_goes_with_its_measurement(serve_seat: ServeSeat, tmp_path: Path) -> None:
    served = serve_seat(TwoItems)
    one = served.sitter()
    one.begin()
    assert one.measure()["kind"] == "conversation"
    (trial,) = served.records.takes()
    assert trial.found["heard"]
    assert list((tmp_path / "people" / TAKES).iterdir()) == []


def test_the_sound_of_a_trial_that_never_ended_goes_with_the_next_page(serve_seat: ServeSeat, tmp_path: Path) -> None:
    one = serve_seat(TwoItems).sitter()
    one.begin()
    take = one.open("calibration", "")
    one.send(take, np.ones(RATE_HZ, np.int16), first=0)
    assert list((tmp_path / "people" / TAKES).iterdir())
    one.begin(tab="page-000002")
    assert list((tmp_path / "people" / TAKES).iterdir()) == []


# The journal


def test_a_journal_that_somebody_reads_is_emptied_later_and_said(tmp_path: Path) -> None:
    with closing(SeatStore(tmp_path)) as records:
        person, _ = kept(records, "secret")
    server = SeatStore(tmp_path)
    reader = sqlite3.connect(tmp_path / DATABASE)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM people").fetchall()
    assert withdraw_everywhere(tmp_path, person.id).endswith(JOURNAL)
    assert traces(tmp_path, person.id.encode())
    reader.close()
    with closing(SeatStore(tmp_path)):
        assert traces(tmp_path, person.id.encode()) == []
    server.close()


# Runs


@pytest.fixture
def supporter(played: Path) -> Callable[[], tuple[SeatStore, Person]]:
    """Somebody who answered a caller of the run aloud."""

    def answered() -> tuple[SeatStore, Person]:
        store = RunStore.open(played)
        caller = Conversations(store).caller("first").samples
        store.close()
        records = SeatStore(played / FOLDER)
        person = records.begin("secret", "supporter", False, CONSENT)
        take = records.open_take(person, "reply", "first", RATE_HZ, {}, "page-000001")
        sound = np.random.default_rng(3).normal(0, 8, len(caller) + 6 * RATE_HZ).astype(np.int16)
        says = spoken(0).samples
        sound[len(caller) + RATE_HZ :][: len(says)] += says[: 5 * RATE_HZ]
        for k in range(-(-len(sound) // RATE_HZ)):
            records.add_part(take, k, k * RATE_HZ, sound[k * RATE_HZ : (k + 1) * RATE_HZ].astype("<i2").tobytes())
        ended = {"played": [{"name": "caller", "at": 0, "frames": len(caller)}], "clock": [], "reason": "pressed"}
        records.set_take(take, "kept", ended=ended, found={}, decided={"no_help": True})
        return records, person

    return answered


def taken_in(run: Path, records: SeatStore) -> int:
    with closing(RunStore.open(run)) as store:
        return take_in(store, records, Conversations(store), RunProgress(quiet=True))


def test_a_withdrawal_while_the_run_is_judged_removes_the_voice_now_and_the_rest_when_it_is_free(
    played: Path, supporter: Callable[[], tuple[SeatStore, Person]], serve_seat: ServeSeat
) -> None:
    records, person = supporter()
    assert taken_in(played, records) == 1
    records.close()
    served = serve_seat(TwoItems, lambda records: lambda name: withdraw_on_page(played, records, name), folder=played / FOLDER)
    one = served.sitter()
    one.client.cookies.set("seat", "secret")
    with closing(RunStore.open(played)) as judging, judging.lock():
        assert one.post("/withdraw", {}) == {"rest_later": True}
        assert list((played / FOLDER / TAKES).iterdir()) == []
        assert one.client.get("/next").status_code == 401
        with pytest.raises(UserError, match="same command again"):
            withdraw_everywhere(played, person.id)
    assert traces(played, person.id.encode())
    assert taken_in(played, served.records) == 0
    assert dict(served.records.leaving()) == {}
    assert traces(played, person.id.encode()) == []


def test_a_withdrawal_during_a_take_in_is_not_in_the_run_afterwards(
    played: Path, supporter: Callable[[], tuple[SeatStore, Person]], monkeypatch: pytest.MonkeyPatch
) -> None:
    records, person = supporter()

    def withdraws(store: RunStore, replies: Iterable[PersonsReply], progress: RunProgress) -> object:
        replies = list(replies)
        with closing(SeatStore(played / FOLDER)) as page:
            assert not withdraw_on_page(played, page, person.id)
        return add_people(store, replies, progress)

    monkeypatch.setattr("harness.people.supporter.take_in.add_people", withdraws)
    assert taken_in(played, records) == 1
    records.close()
    assert traces(played, person.id.encode()) == []


def test_no_page_shows_a_folder_of_the_server(serve_seat: ServeSeat, tmp_path: Path) -> None:
    def fails(_: str) -> bool:
        raise UserError(f"{tmp_path}: cannot be written")

    one = serve_seat(TwoItems, lambda _: fails).sitter()
    one.begin()
    assert str(tmp_path) not in one.post("/withdraw", {}, expect=409)["error"]


def test_a_command_ends_what_a_busy_run_left_and_the_list_names_it(
    played: Path, supporter: Callable[[], tuple[SeatStore, Person]], harness_here: Callable[..., Finished]
) -> None:
    records, person = supporter()
    taken_in(played, records)
    with closing(RunStore.open(played)) as judging, judging.lock():
        assert not withdraw_on_page(played, records, person.id)
    records.close()
    assert person.id in harness_here("people", "list", "run").out
    assert harness_here("people", "withdraw", person.id, "run").code == 0
    assert person.id not in harness_here("people", "list", "run").out
    assert traces(played, person.id.encode()) == []


def test_only_one_is_alone(tmp_path: Path) -> None:
    with alone(tmp_path, wait=True) as first, alone(tmp_path, wait=False) as second:
        assert (first, second) == (True, False)
    with alone(tmp_path, wait=False) as third:
        assert third
