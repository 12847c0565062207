"""People's replies in a run: measured and judged as agents' are, and counted as nothing that the run was asked to play."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.audio.level import first_sample, last_sample
from harness.errors import UserError
from harness.figures.seat import seat_words
from harness.figures.summarise import summarise
from harness.people import loop_back
from harness.people.records import SeatStore
from harness.people.supporter import take_in as taking_in
from harness.people.supporter.conversations import Conversations
from harness.people.supporter.into_run import PersonsReply, add_people, refuse_run
from harness.people.supporter.out_of_run import remove_person
from harness.people.track import Track
from harness.people.trials import measured
from harness.progress import RunProgress
from harness.recording.from_seat import RATE_HZ
from harness.recording.sitting import load_sitting
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.material import Material, seconds
from harness.reports.listening.sound import LEAD_S, TAIL_S
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection
from harness.timing.unknown_waits import NO_LATENCY
from tests.harness.conftest import Finished
from tests.harness.people.supporter.conftest import WAIT_S, Answer, persons_reply
from tests.present import present

THREE = (("P01", "first", "second"), ("P02", "first", "third"), ("P03", "first", "fourth"), ("P01", "second", "third"))


def opened(folder: Path) -> Selection:
    return Selection(RunStore.open(folder))


def test_a_person_is_measured_and_heard_as_an_agent_is(played: Path, answer: Answer) -> None:
    before = opened(played).manifest
    sessions = answer(played, *THREE)
    selection = opened(played)
    manifest = selection.manifest
    assert manifest.id == before.id
    assert [a.name for a in manifest.played] == [a.name for a in before.agents]
    assert [(a.name, a.kind, a.runs_here) for a in manifest.agents if a.seated] == [("people", "person", False)]
    assert [(s.key.context_id, s.key.repeat) for s in sessions] == [("first", 0), ("first", 1), ("first", 2), ("second", 0)]
    agents = {s.key.context_id: s.key for s in selection.of_the_plan}
    conversations = Conversations(selection.store)
    callers = {name: conversations.caller(name) for name in conversations.contexts}
    for session, (_, context, says) in zip(sessions, THREE, strict=True):
        assert session.key.context_hash == agents[context].context_hash
        caller, reply = callers[context].samples, callers[says].samples
        silent = len(caller) - 1 - present(last_sample(caller, RATE_HZ)) + present(first_sample(reply, RATE_HZ))
        timing = present(session.timing)
        assert timing.ttfa_ms == pytest.approx(1000 * WAIT_S + silent / 48, abs=12)
        assert timing.pauses_marked == 1
        assert timing.contention is None
        assert session.started_ns is None
    assert "sister" in present(sessions[1].heard_text).lower()
    assert selection.manifest.transcriber == before.transcriber
    # In a listening test a reply ends with its last word: the room around it would reveal that no agent spoke.
    material = Material(selection.store, ListeningDesign())
    said_s = len(callers["second"].samples) / RATE_HZ
    caller_s = min(LEAD_S, seconds(material.caller("first")))
    reply_s = seconds(material.stimulus("first", "people", gap_ms=200))
    assert reply_s == pytest.approx(caller_s + 0.2 + said_s + TAIL_S, abs=0.35)


def test_a_take_is_added_once_and_a_person_answers_nothing_twice(played: Path, answer: Answer) -> None:
    answer(played, THREE[0])
    assert answer(played, THREE[0]) == ()
    store = RunStore.open(played)
    other = persons_reply(store, "P01", "first", "third")
    other = type(other)(other.context, other.take, type(other.sitting)("P01", False, "s", "another take"))
    with pytest.raises(UserError, match="twice"):
        add_people(store, [other], RunProgress(quiet=True))
    nowhere = type(other)("fifth", other.take, type(other.sitting)("P02", False, "s", "take 9"))
    with pytest.raises(UserError, match="no conversation fifth"):
        add_people(store, [nowhere], RunProgress(quiet=True))
    with pytest.raises(UserError, match="the most for one"):
        add_people(store, [persons_reply(store, "P07", c, "first") for c in ("first", "second", "third", "fourth")],
                   RunProgress(quiet=True))  # fmt: skip
    assert len([s for s in store.sessions() if s.key.agent == "people"]) == 1


def test_replies_are_read_while_nobody_can_withdraw(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, other = RunStore.open(played), RunStore.open(played)

    def replies(*_: object) -> Iterator[PersonsReply]:
        with pytest.raises(UserError, match="writing this run"):
            remove_person(other, "P01")
        yield persons_reply(store, "P01", "first", "second")

    monkeypatch.setattr(taking_in, "kept_replies", replies)
    with closing(SeatStore(played / "people")) as records:
        assert taking_in.take_in(store, records, Conversations(store), RunProgress(quiet=True)) == 1
    remove_person(other, "P01")
    assert add_people(store, [], RunProgress(quiet=True)) == ()


def test_a_recording_is_never_without_its_speakers_name(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    store = RunStore.open(played)
    monkeypatch.setattr("harness.people.supporter.into_run.save", full)
    with pytest.raises(OSError, match="no space"):
        add_people(store, [persons_reply(store, "P01", "first", "second")], RunProgress(quiet=True))
    (left,) = (played / "sessions").glob(".partial-*")
    assert present(load_sitting(left)).person == "P01"
    remove_person(store, "P01")
    assert not left.exists()


def test_a_rehearsal_is_never_people(played: Path, answer: Answer) -> None:
    answer(played, ("P01", "first", "second"), automatic=True)
    answer(played, ("P01", "first", "second"))
    store = RunStore.open(played)
    kinds = {a.name: a.kind for a in store.manifest.agents if a.seated}
    assert kinds == {"rehearsal": "automatic", "people": "person"}
    assert {s.key.agent: present(store.sitting(s)).automatic for s in store.sessions() if s.key.agent in kinds} == {
        "rehearsal": True,
        "people": False,
    }


def test_a_run_that_people_cannot_answer_says_why(played: Path) -> None:
    store = RunStore.open(played)
    manifest = store.manifest
    refuse_run(store)
    store.set_manifest(manifest.model_copy(update={"mode": "replay"}))
    with pytest.raises(UserError, match="replay"):
        refuse_run(store)
    named = [manifest.agents[0].model_copy(update={"name": "people"})]
    store.set_manifest(manifest.model_copy(update={"agents": named}))
    with pytest.raises(UserError, match="people's name"):
        refuse_run(store)


@pytest.mark.long
def test_the_run_goes_on_as_if_it_had_no_people(
    played: Path, answer: Answer, harness_command: Callable[..., Finished], tmp_path: Path
) -> None:
    before = {(c.code, c.text) for c in summarise(RunStore.open(played)).cautions}
    answer(played, *THREE)
    resumed = harness_command("run", "--resume", "--out", "run", "--json")
    assert resumed.code == 0, resumed.err
    of_the_machine = {"unfinished", "unwatched", "idle_load", "failed", "not_analysed", "contended", "undecided", "no_reply"}
    after = {(c["code"], c["text"]) for c in resumed.json["cautions"] if c["code"] in of_the_machine}
    assert after <= before
    assert resumed.json["valid"]
    assert resumed.json["agents"]["people"]["turns"] == 4
    assert "people" not in resumed.json["machines"][0]["threads"]
    again = harness_command("remeasure", "run", "--json")
    assert again.code == 0, again.err
    assert again.json["sessions"] == 12
    assert again.json["changed"] == []
    (tmp_path / "limits.yaml").write_text("schema: 1\nlimits:\n  - {figure: ttfa_ms.p50, at_most: 2000}\n", encoding="utf-8")
    checked = harness_command("check", "run", "--budgets", "limits.yaml", "--json")
    assert checked.code in (0, 1, 4), checked.err
    assert {limit["agent"] for limit in checked.json["limits"]} == {"scripted", "raw-pcm-answers"}
    assert checked.json["sessions_missing"] == 0


@pytest.mark.long
def test_further_people_meet_the_agents_and_agents_meet_once(
    played: Path, answer: Answer, harness_here: Callable[..., Finished]
) -> None:
    answer(played, *THREE)
    asked = harness_here("judge", "run", "--judge", "embedded", "--dry-run", "--json")
    judged = harness_here("judge", "run", "--judge", "embedded", "--json")
    assert judged.code == 0, judged.err
    selection = opened(played)
    assert selection.replicates == (0, 1, 2)
    rows = [r for r in selection.verdicts if r.purpose == "main"]
    pairs = Counter((r.context, r.replicate, frozenset((r.system_a, r.system_b))) for r in rows)
    assert set(pairs.values()) == {1}
    assert all("people" in sides for _, n, sides in pairs if n > 0)
    for n in (1, 2):
        against = {sides - {"people"} for _, of, sides in pairs if of == n}
        assert against == {frozenset({name}) for name in ("raw-pcm-answers", "ref:good", "scripted")}
    texts = selection.reply_texts("clean", HEARD)
    assert all((r.context, side, r.replicate) in texts for r in rows for side in (r.system_a, r.system_b)
               if not r.judge.startswith("rule:"))  # fmt: skip
    assert asked.code == 0, asked.err
    assert asked.json


@pytest.mark.parametrize("name", ["person", "people", "rehearsal"])
def test_people_are_no_agent_to_play(harness_here: Callable[..., Finished], name: str) -> None:
    done = harness_here("run", "--agent", "scripted", "--agent", name)
    assert done.code == 2
    assert "people answer a run that has been played: harness people answer RUN" in done.err
    assert done.err.count("\n") == 1


def test_a_wait_of_unknown_latency_is_no_wait_and_the_words_are_judged(
    played: Path, harness_here: Callable[..., Finished]
) -> None:
    store = RunStore.open(played)
    known, other = (persons_reply(store, person, "first", "second") for person in ("P01", "P02"))
    unknown = replace(other, sitting=replace(other.sitting, loop=None))
    sure, unsure = add_people(store, [known, unknown], RunProgress(quiet=True))
    assert present(sure.timing).ttfa_ms is not None
    assert present(unsure.timing).ttfa_ms is None
    assert present(unsure.timing).discarded == NO_LATENCY
    assert present(unsure.heard_text)
    store.close()
    judged = harness_here("judge", "run", "--judge", "embedded")
    assert judged.code == 0, judged.err
    selection = opened(played)
    assert any(row.replicate == 1 and "people" in (row.system_a, row.system_b) for row in selection.verdicts)
    summary = summarise(selection.store)
    (cell,) = (cell for cell in summary.whole if cell.agent == "people")
    assert cell.discarded == {NO_LATENCY: 1}
    assert cell.ttfa_ms.p50 == present(sure.timing).ttfa_ms, "a page without a trial says nothing against the other waits"


def test_a_sittings_worst_reply_says_how_well_it_was_measured(played: Path) -> None:
    store = RunStore.open(played)
    replies = [
        persons_reply(store, "P01", context, "fourth", error_p95_ms=error)
        for context, error in (("first", 1.0), ("second", 20.1), ("third", 19.9))
    ]
    replies[0] = replace(replies[0], sitting=replace(replies[0].sitting, loop=None))
    add_people(store, replies, RunProgress(quiet=True))
    (seat,) = summarise(store).seats
    assert (seat.sittings, seat.not_calibrated, seat.over_limit, seat.largest_error_ms) == (1, 1, 1, 20.1)
    assert "within 21 ms" in seat_words(seat)


@pytest.mark.parametrize(("error_ms", "fit"), [(19.9, True), (20.1, False)])
def test_a_page_has_the_same_limit(monkeypatch: pytest.MonkeyPatch, error_ms: float, fit: bool) -> None:
    monkeypatch.setattr(loop_back, "loop_back", lambda *_: loop_back.LoopBack(2_400.0, error_ms, 0.0, 12, 12))
    page = measured(Track(RATE_HZ, 0, np.ones(9, np.int16), ()), {"played": [{"name": "loop-back", "at": 0, "frames": 9}]})
    assert page["fit"] is fit
