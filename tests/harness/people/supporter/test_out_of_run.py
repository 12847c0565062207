"""A withdrawal: nothing of the person is left in the run's folder, and everything of the others is."""

import csv
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.people.supporter.out_of_run import remove_person
from harness.people.withdraw import withdraw_everywhere
from harness.recording.sitting import SITTING_FILE
from harness.reports.listening.answers import VoteStore
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.plan import Item, Slot
from harness.store.paths import VOTE_FILES
from harness.store.run_store import RunStore
from harness.votes.votes_of_run import count_votes
from tests.harness.conftest import Finished
from tests.harness.people.supporter.conftest import Answer
from tests.present import present

VOTE = {"context": "first", "subset": "regular", "system_a": "people", "system_b": "scripted", "rater": "ann", "vote": "a_much",
        "reason": "somebody has not slept"}  # fmt: skip


def files_with(folder: Path, *words: str) -> list[str]:
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(word.encode() in path.read_bytes() or word in str(path) for word in words)
    ]


@pytest.mark.long
def test_nothing_of_a_person_is_left(played: Path, answer: Answer, harness_here: Callable[..., Finished]) -> None:
    answer(played, ("P-anna", "first", "second"), ("P-ben", "first", "third"), ("P-anna", "third", "fourth"))
    assert harness_here("judge", "run", "--judge", "embedded").code == 0
    assert harness_here("report", "run").code == 0
    votes = played / "votes"
    votes.mkdir()
    others = {**VOTE, "system_a": "raw-pcm-answers", "reason": "warm"}
    (votes / "votes.jsonl").write_text("".join(json.dumps(v) + "\n" for v in (VOTE, others)), encoding="utf-8")
    store = RunStore.open(played)
    count_votes(store)
    folder = played / "listening" / "ab"
    with closing(VoteStore(folder)) as answers:
        slots = (Slot(context="first", system="people"), Slot(context="first", system="scripted"))
        other = tuple(Slot(context="second", system=name) for name in ("raw-pcm-answers", "scripted"))
        items = (Item(role="main", context="first", slots=slots), Item(role="main", context="second", slots=other))
        rater = answers.begin("secret", "rater", ListeningDesign().model_dump_json(), items)
        answers.answer(rater, 0, {"choice": 1, "reason": "has not slept"}, None, 9.0)
        answers.answer(rater, 1, {"choice": -1}, None, 9.0)
    texts = {s.id: s.heard_text for s in store.sessions() if s.key.agent == "people"}
    first, third = texts["first__people__seeded__clean__r0"], texts["third__people__seeded__clean__r0"]
    assert first
    assert third
    before = [r for r in store.judgments() if "people" not in (r.system_a, r.system_b)]

    removed = remove_person(store, "P-anna")

    assert removed.sessions == 2
    assert removed.verdicts > 0
    assert removed.votes == 2
    assert files_with(played, "P-anna", first, third, "has not slept", "third__people") == []
    left = [s for s in store.sessions() if s.key.agent == "people"]
    assert [(s.key.context_id, s.key.repeat) for s in left] == [("first", 1)]
    assert [r for r in store.judgments() if "people" not in (r.system_a, r.system_b)] == before
    assert {r.replicate for r in store.judgments() if "people" in (r.system_a, r.system_b)} == {1}
    assert [json.loads(line)["reason"] for line in (votes / "votes.jsonl").read_text().splitlines()] == ["warm"]
    with closing(VoteStore(folder)) as answers:
        assert [a.item.role for a in answers.answers()] == ["break", "main"]
    store.close()
    assert harness_here("judge", "run", "--judge", "embedded").code == 0
    # The next person takes the free place.
    assert [s.key.repeat for s in answer(played, ("P-cleo", "first", "fourth"))] == [0]
    store = RunStore.open(played)
    assert remove_person(store, "P-anna").sessions == 0
    assert remove_person(store, "P-ben").sessions == remove_person(store, "P-cleo").sessions == 1
    assert store.manifest.seated == frozenset()
    store.close()
    assert harness_here("report", "run").code == 0


def test_the_keys_of_vote_files_lose_the_pairs_of_who_withdrew_and_know_that_they_did(played: Path, answer: Answer) -> None:
    answer(played, ("P-anna", "first", "second"))
    same = {"subset": "regular", "system_a": "people", "system_b": "scripted", "presentation": "heard_text"}
    pairs = {"mine": same | {"context": "first"}, "other": same | {"context": "second"}}
    key = {"schema": 1, "kind": "heart-vote-key", "file": "k7q2m9", "run": "r", "made": "", "consent": "I agree.",
           "consent_version": "0a1b", "completion_code": "C0DE", "pairs": pairs}  # fmt: skip
    place = played / VOTE_FILES / "k7q2m9.json"
    place.parent.mkdir()
    place.write_text(json.dumps(key))
    with closing(RunStore.open(played)) as store:
        assert remove_person(store, "P-anna").sessions == 1
    left = json.loads(place.read_text())
    assert (list(left["pairs"]), left["withdrawn"]) == (["other"], ["mine"])
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_withdrawal_that_was_killed_is_ended_by_the_next(played: Path, answer: Answer) -> None:
    (session,) = answer(played, ("P-anna", "first", "second"))
    store = RunStore.open(played)
    store.remove_replies({("first", "people", 0)})  # killed before the files
    assert (session.folder / SITTING_FILE).exists()
    assert remove_person(store, "P-anna").sessions == 1
    assert not session.folder.exists()
    assert store.manifest.seated == frozenset()


def test_a_kill_at_any_moment_leaves_nothing_that_a_withdrawal_does_not_find(played: Path, answer: Answer) -> None:
    (session,) = answer(played, ("P-anna", "first", "second"))
    store = RunStore.open(played)
    partial = store.partial_folder(session.key)
    (partial / "agent.flac").write_bytes(b"a voice")
    order: list[str] = []
    real = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        order.append(path.name)
        if path.name == "agent.flac" and path.parent == session.folder:
            raise KeyboardInterrupt
        real(path, missing_ok)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Path, "unlink", unlink)
        with pytest.raises(KeyboardInterrupt):
            remove_person(store, "P-anna")
    assert not partial.exists()
    assert (session.folder / SITTING_FILE).exists()
    assert remove_person(store, "P-anna").sessions == 1
    assert not list((played / "sessions").glob("*people*"))
    assert not list((played / "sessions").glob("*/agent.flac.*"))


def test_a_run_without_records_is_withdrawn_from_too(played: Path, answer: Answer) -> None:
    answer(played, ("P-anna", "first", "second"), ("P-ben", "first", "third"))
    assert not (played / "people").exists()
    assert "P-anna is removed, with 1 recording." in withdraw_everywhere(played, "P-anna")
    assert files_with(played, "P-anna") == []
    store = RunStore.open(played)
    assert [present(store.sitting(s)).person for s in store.sessions() if s.key.agent == "people"] == ["P-ben"]
    with pytest.raises(UserError, match="nobody of that name"):
        withdraw_everywhere(played, "P-anna")


def test_pages_exports_and_sheets_made_of_a_reply_go(
    played: Path, answer: Answer, harness_here: Callable[..., Finished]
) -> None:
    (session,) = answer(played, ("P-anna", "first", "second"))
    said = present(session.heard_text)
    assert harness_here("judge", "run", "--judge", "embedded").code == 0
    assert harness_here("report", "run", "--out", "run/report-joint.html", "--export", "run/exported").code == 0
    assert harness_here("report", "run").code == 0
    assert harness_here("report", "run", "--vote-file", "run/asked").code == 0
    assert list((played / "asked").rglob("*.mp3"))
    exported = harness_here("label", "export", "run", "--out", "run/sheets", "--size", "40")
    assert exported.code == 0, exported.err
    sheets = sorted((played / "sheets").glob("*.csv"))
    rows = [sheet.read_text().count("\n") for sheet in sheets]
    (played / "exported" / "mine.txt").write_text("a note")
    store = RunStore.open(played)
    remove_person(store, "P-anna")
    store.close()
    assert files_with(played, "P-anna", '"people"', session.id) == []
    assert [path.name for path in played.rglob("*") if path.suffix in (".html", ".mp3")] == []
    assert [path.name for path in (played / "exported").iterdir()] == ["mine.txt"]
    assert not (played / "summary.json").exists()
    # The caller of another conversation says the same, in another column.
    left = [list(csv.DictReader(sheet.read_text().splitlines())) for sheet in sheets]
    assert [len(each) for each in left] == [n - 2 for n in rows]
    assert not [row for each in left for row in each if row["reply"] == said]
    with closing(sqlite3.connect(played / "verdicts.sqlite")) as answers:
        kept = [json.loads(text).get("rationale") for (text,) in answers.execute("SELECT json FROM verdicts")]
    assert all(kept)


def test_a_vote_that_was_withdrawn_is_in_no_free_page(tmp_path: Path) -> None:
    slots = tuple(Slot(context="first", system=name) for name in ("people", "scripted"))
    items = (Item(role="main", context="first", slots=slots),) * 40
    with closing(VoteStore(tmp_path)) as answers:
        rater = answers.begin("secret", "rater", ListeningDesign().model_dump_json(), items)
        for n in range(len(items)):
            answers.answer(rater, n, {"choice": 1, "reason": "has not slept " * 100}, None, 9.0)
        assert answers.void("first", "people") == len(items)
        assert files_with(tmp_path, "has not slept") == []


def test_a_program_of_the_same_name_stays(played: Path, answer: Answer) -> None:
    answer(played, ("P-anna", "first", "second"), automatic=True)
    answer(played, ("P-anna", "first", "second"))
    store = RunStore.open(played)
    assert remove_person(store, "P-anna").sessions == 1
    assert store.manifest.seated == {"rehearsal"}
