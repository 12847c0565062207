"""A withdrawal: nothing of the person is left in the run's folder, and everything of the others is."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from harness.people.supporter.out_of_run import remove_person
from harness.recording.sitting import SITTING_FILE
from harness.reports.listening.answers import VoteStore
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.plan import Item, Slot
from harness.store.run_store import RunStore
from harness.votes.votes_of_run import count_votes
from tests.harness.conftest import Finished
from tests.harness.people.supporter.conftest import Answer

VOTE = {"context": "first", "subset": "regular", "system_a": "people", "system_b": "scripted", "rater": "ann", "vote": "a_much",
        "reason": "somebody has not slept"}  # fmt: skip


def files_with(folder: Path, *words: str) -> list[str]:
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(word.encode() in path.read_bytes() or word in str(path) for word in words)
    ]


def test_nothing_of_a_person_is_left(played: Path, answer: Answer, harness_command: Callable[..., Finished]) -> None:
    answer(played, ("P-anna", "first", "second"), ("P-ben", "first", "third"), ("P-anna", "third", "fourth"))
    assert harness_command("judge", "run", "--judge", "embedded").code == 0
    assert harness_command("report", "run").code == 0
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
    assert harness_command("judge", "run", "--judge", "embedded").code == 0
    # The next person takes the free place.
    assert [s.key.repeat for s in answer(played, ("P-cleo", "first", "fourth"))] == [0]
    store = RunStore.open(played)
    assert remove_person(store, "P-anna").sessions == 0
    assert remove_person(store, "P-ben").sessions == remove_person(store, "P-cleo").sessions == 1
    assert store.manifest.seated == frozenset()
    store.close()
    assert harness_command("report", "run").code == 0


def test_a_withdrawal_that_was_killed_is_ended_by_the_next(played: Path, answer: Answer) -> None:
    (session,) = answer(played, ("P-anna", "first", "second"))
    store = RunStore.open(played)
    store.remove_replies({("first", "people", 0)})  # killed before the files
    assert (session.folder / SITTING_FILE).exists()
    assert remove_person(store, "P-anna").sessions == 1
    assert not session.folder.exists()
    assert store.manifest.seated == frozenset()


def test_a_program_of_the_same_name_stays(played: Path, answer: Answer) -> None:
    answer(played, ("P-anna", "first", "second"), automatic=True)
    answer(played, ("P-anna", "first", "second"))
    store = RunStore.open(played)
    assert remove_person(store, "P-anna").sessions == 1
    assert store.manifest.seated == {"rehearsal"}
