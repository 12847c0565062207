"""`--mode replay` over a real socket: every seeker turn is spoken and timed, the agent's own replies stand between them."""

import os
import signal
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest

from harness.recording.record import Recording
from harness.run.caller_turns import AFTER_REPLY_MS
from harness.store.run_store import RunStore
from harness.store.session import Session
from harness.verdicts.conversations import conversation_of
from tests.harness.conftest import Finished, begin_run, harness, peer
from tests.harness.run.test_run_resume import family_of, wait_for_a_session, wait_until_gone

AGENTS = ("raw-pcm-echo", "scripted", "raw-pcm-deaf")
HEAD = """
pack: replayed
source: tests
licence: Apache-2.0
contexts:
"""
KITCHEN = """
  - id: kitchen
    subset: regular
    emotion: sadness
    problem: moving away
    turns:
      - {role: supporter, text: Hello there.}
      - {role: seeker, text: "My brother moved out on Sunday morning."}
      - {role: supporter, text: These words of the pack are never said.}
      - {role: seeker, text: "He took the radio. <pause 240> And the blue chairs."}
      - {role: supporter, text: Nor are these.}
      - {role: seeker, text: "Now the kitchen is very quiet."}
    references:
      - {id: good, author: authored, quality: 5, text: "A quiet kitchen, without his radio. When do you notice it most?"}
"""
EXAM = """
  - id: exam
    subset: regular
    emotion: worry
    problem: exams
    turns:
      - {role: seeker, text: "The exam is tomorrow."}
      - {role: supporter, text: Nobody says this either.}
      - {role: seeker, text: "I have not opened the book."}
"""


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Path]:
    """One conversation replayed to an agent that echoes, one that falls silent and one that takes no history, all at once."""
    place = tmp_path_factory.mktemp("replayed")
    pack, folder = place / "kitchen.yaml", place / "r"
    pack.write_text(HEAD + KITCHEN, encoding="utf-8")
    agents = [word for name in AGENTS for word in ("--agent", str(peer(name)))]
    line = ("run", *agents, "--mode", "replay", "--pack", pack, "--concurrency", 3, "--judge", "embedded", "--json")
    done = harness(place, *line, "--out", folder, virtual=True)
    assert done.code == 0, done.err
    return done, folder


def session_of(folder: Path, agent: str) -> tuple[Session, Recording]:
    store = RunStore.open(folder)
    (session,) = (each for each in store.sessions() if each.key.agent == agent)
    return session, store.recording(session)


def test_every_turn_is_spoken_and_timed_and_the_last_reply_is_judged(replayed: tuple[Finished, Path]) -> None:
    done, folder = replayed
    assert done.json["agents"]["raw-pcm-echo"]["turns"] == 3
    session, recording = session_of(folder, "raw-pcm-echo")
    assert session.key.mode == "replay"

    spoken = [turn for turn in recording.caller.turns if turn.kind == "turn"]
    timings = session.turn_timings
    assert len(spoken) == len(timings) == 3
    for timing in timings:
        assert timing.ttfa_ms is not None
        assert timing.ttfa_ms > 0
        assert not timing.no_reply
    assert [timing.pauses_marked for timing in timings] == [0, 1, 0]

    # It was given the pack's opening alone, and kept the thread of one call through all turns.
    assert [m.detail["turns"] for m in recording.marks if m.name == "history_taken"] == [1]
    assert [m.detail["answered"] for m in recording.marks if m.name == "reply_done"] == [1, 2, 3]

    # Each turn waits until the reply to the one before has been heard out.
    for before, timing, after in zip(spoken, timings, spoken[1:], strict=False):
        assert timing.reply_end_ms is not None
        began_ms = after.start_sample / recording.caller.rate_hz * 1000
        assert began_ms >= timing.spoken_end_ms + timing.reply_end_ms + AFTER_REPLY_MS - 150
        assert after.start_sample > before.end_sample

    # The agent says the caller's words back, so what was heard tells which reply it belongs to.
    assert session.heard_text is not None
    assert "quiet" in session.heard_text.lower()
    assert "sunday" not in session.heard_text.lower()
    # What is judged is the last reply to the conversation as it was: the agent's own replies, not the pack's.
    (context,) = RunStore.open(folder).contexts()
    said = conversation_of(session, context)
    assert said is not None
    assert [turn.role for turn in said] == [turn.role for turn in context.turns]
    assert [turn.text for turn in said if turn.role == "seeker"] == [
        turn.text for turn in context.turns if turn.role == "seeker"
    ]
    assert said[0] == context.turns[0]
    assert "sunday" in said[2].text.lower()
    assert "radio" in said[4].text.lower()

    rows = RunStore.open(folder).judgments()
    assert {tuple(sorted((row.system_a, row.system_b))) for row in rows if row.purpose == "main"} == set(
        combinations(sorted([*AGENTS, "ref:good"]), 2)
    )


def test_an_agent_that_falls_silent_on_the_way_is_charged_with_the_turn_it_left(replayed: tuple[Finished, Path]) -> None:
    done, folder = replayed
    session, recording = session_of(folder, "scripted")
    assert [timing.no_reply for timing in session.turn_timings] == [False, True]
    assert recording.ended == "no_reply"
    assert not session.heard_text
    figures = done.json["agents"]["scripted"]
    assert (figures["turns"], figures["no_reply"]) == (2, 1), "the third turn found no occasion"


def test_an_agent_that_accepts_no_history_is_replayed_to_without_the_greeting(
    harness_here: Callable[..., Finished], replayed: tuple[Finished, Path], tmp_path: Path
) -> None:
    _, folder = replayed
    pack = folder.parent / "kitchen.yaml"
    seeded = harness_here("run", "--agent", peer("raw-pcm-deaf"), "--pack", pack, "--out", tmp_path / "r")
    assert seeded.code == 2
    assert "--mode replay" in seeded.err
    session, recording = session_of(folder, "raw-pcm-deaf")
    assert session.status == "finished"
    assert [m.detail["turns"] for m in recording.marks if m.name == "history_taken"] == [0]


@pytest.mark.long
def test_a_killed_replay_goes_on_in_its_mode_and_plays_nothing_twice(
    harness_command: Callable[..., Finished], tmp_path: Path
) -> None:
    folder, pack = tmp_path / "r", tmp_path / "exam.yaml"
    pack.write_text(HEAD + EXAM, encoding="utf-8")
    running = begin_run(folder, pack, "--agent", peer("raw-pcm-echo"), "--mode", "replay", "--repeats", 2)
    wait_for_a_session(folder)
    family = family_of(running.pid)
    os.kill(running.pid, signal.SIGKILL)
    _, err = running.communicate(timeout=60)
    assert "Traceback" not in err
    assert not wait_until_gone(family)
    kept = {s.id: s.started_ns for s in RunStore.open(folder).sessions() if s.status == "finished"}
    assert len(kept) == 1

    other = harness_command("run", "--resume", "--out", folder, "--mode", "seeded")
    assert other.code == 2
    assert "mode was replay, is now seeded" in other.err

    done = harness_command("run", "--resume", "--out", folder, "--judge", "none", "--json")
    assert done.code == 0, done.err
    after = {s.id: s for s in RunStore.open(folder).sessions()}
    assert len(after) == 2
    assert all(after[k].started_ns == at for k, at in kept.items()), "a finished session was played again"
    assert [len(s.turn_timings) for s in after.values()] == [2, 2]
    assert done.json["agents"]["raw-pcm-echo"]["turns"] == 4
