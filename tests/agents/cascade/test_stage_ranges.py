"""Ranges of a profiler that follow a session's marks: their names, and that each one ends."""

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from harness.agents import marks
from harness.agents.cascade.session_marks import DOMAIN, LONGEST_NAME, SessionMarks, StageRanges, stage_ranges
from harness.agents.profile import load_profile
from harness.store.session import SessionKey

NAME = "c-1__mine__seeded__clean__r1"


class Trace:
    """What a profiler would show: the name of each range, and the ids that are open."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.open: set[int] = set()

    def start(self, name: str) -> int:
        self.names.append(name)
        self.open.add(len(self.names) - 1)
        return len(self.names) - 1

    def end(self, number: int) -> None:
        self.open.remove(number)

    @property
    def open_names(self) -> list[str]:
        return [self.names[number] for number in sorted(self.open)]


Stamp = tuple[str, dict[str, object]]


def followed(*stamps: Stamp) -> tuple[Trace, StageRanges]:
    trace = Trace()
    ranges = StageRanges(NAME, trace.start, trace.end)
    for name, detail in stamps:
        ranges.follow(name, detail)
    return trace, ranges


def turn(request: int) -> list[Stamp]:
    of: dict[str, object] = {"request": request}
    piece: dict[str, object] = {"request": request, "piece": 1}
    return [
        (marks.SPEECH_STARTED, {}), (marks.SILENCE_SEEN, {}), (marks.ASR_STARTED, {}), (marks.ASR_DONE, {}),
        (marks.TURN_DECIDED, {}), (marks.LLM_REQUESTED, of), (marks.LLM_FIRST_TOKEN, of), (marks.TTS_STARTED, piece),
        (marks.TTS_FIRST_AUDIO, piece), (marks.LLM_DONE, of), (marks.TTS_DONE, piece),
    ]  # fmt: skip


def test_ranges_are_named_by_session_turn_and_stage_and_all_end() -> None:
    trace, _ = followed(*turn(1), *turn(2))
    stages = ["endpoint", "asr", "llm to first token", "llm", "tts to first audio, piece 1", "tts, piece 1"]
    assert trace.names == [f"{NAME} turn {number}: {stage}" for number in (1, 2) for stage in stages]
    assert not trace.open


def test_a_request_on_speculation_belongs_to_the_turn_that_is_not_yet_decided() -> None:
    trace, _ = followed(*turn(1), (marks.SPEECH_STARTED, {}), (marks.SILENCE_SEEN, {}), (marks.LLM_REQUESTED, {"request": 2}))
    assert trace.open_names == [f"{NAME} turn 2: {stage}" for stage in ("endpoint", "llm to first token", "llm")]


def test_speech_of_a_next_turn_takes_nothing_from_the_reply_that_is_still_made() -> None:
    late: Stamp = (marks.TTS_STARTED, {"request": 1, "piece": 2})
    trace, _ = followed(*turn(1), (marks.SPEECH_STARTED, {}), late)
    assert trace.open_names[-1] == f"{NAME} turn 1: tts, piece 2"


def test_pauses_begin_the_wait_for_the_end_anew() -> None:
    trace, _ = followed((marks.SPEECH_STARTED, {}), (marks.SILENCE_SEEN, {}), (marks.SILENCE_SEEN, {}))
    assert trace.names == [f"{NAME} turn 1: endpoint"] * 2
    assert len(trace.open) == 1


def test_transcriptions_side_by_side_both_end() -> None:
    begun: list[Stamp] = [(marks.ASR_STARTED, {}), (marks.ASR_STARTED, {})]
    assert len(followed(*begun)[0].open) == 2
    assert not followed(*begun, (marks.ASR_DONE, {}), (marks.ASR_DONE, {}))[0].open


def test_a_withdrawn_reply_ends_with_the_next_request_and_a_broken_call_with_itself() -> None:
    withdrawn: list[Stamp] = [(marks.LLM_REQUESTED, {"request": 1}), (marks.TTS_STARTED, {"request": 1, "piece": 1})]
    trace, ranges = followed(*withdrawn, (marks.LLM_REQUESTED, {"request": 2}))
    assert trace.open_names == [f"{NAME} turn 1: llm to first token", f"{NAME} turn 1: llm"]
    ranges.close()
    assert not trace.open


def test_a_reply_without_a_token_or_sound_leaves_nothing_open() -> None:
    of: dict[str, object] = {"request": 1}
    silent: list[Stamp] = [(marks.LLM_REQUESTED, of), (marks.TTS_STARTED, of), (marks.LLM_DONE, of), (marks.TTS_DONE, of)]
    assert not followed(*silent)[0].open


def test_speech_that_goes_on_ends_the_wait_for_its_end() -> None:
    assert not followed((marks.SPEECH_STARTED, {}), (marks.SILENCE_SEEN, {}), (marks.SPEECH_STARTED, {}))[0].open


def test_of_two_transcriptions_the_one_that_began_first_ends_first() -> None:
    begun: list[Stamp] = [(marks.ASR_STARTED, {}), (marks.ASR_STARTED, {})]
    assert followed(*begun, (marks.ASR_DONE, {}))[0].open == {1}


def test_an_end_without_a_beginning_is_nothing() -> None:
    assert followed((marks.ASR_DONE, {}), (marks.TTS_DONE, {"request": 9, "piece": 1}))[0].names == []


def test_a_long_name_is_cut() -> None:
    trace = Trace()
    StageRanges("x" * 5_000, trace.start, trace.end).follow(marks.ASR_STARTED, {})
    assert len(trace.names[0]) < LONGEST_NAME + 100


def test_without_the_package_there_are_none_and_marks_are_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nvtx", None)
    assert stage_ranges(NAME) is None
    found = SessionMarks(stage_ranges(NAME))
    found.stamp(marks.ASR_STARTED)
    found.close()
    assert found.last(marks.ASR_STARTED) is not None


def test_the_package_is_called_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    real = pytest.importorskip("nvtx")
    begun: list[tuple[str, str]] = []

    def start_range(message: str, *, domain: str) -> Any:
        begun.append((message, domain))
        return real.start_range(message, domain=domain)

    monkeypatch.setitem(sys.modules, "nvtx", SimpleNamespace(start_range=start_range, end_range=real.end_range))
    found = SessionMarks(stage_ranges(NAME))
    for name, detail in turn(1):
        found.stamp(name, **detail)  # type: ignore[arg-type]
    found.close()
    assert len(begun) == 6
    assert {domain for _, domain in begun} == {DOMAIN}


def test_marks_reach_the_wire_whether_or_not_they_have_ranges() -> None:
    trace = Trace()
    found = SessionMarks(StageRanges(NAME, trace.start, trace.end))
    sent: list[str] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message["name"])

    async def delivered() -> None:
        found.stamp(marks.ASR_STARTED)
        found.stamp(marks.ASR_DONE, text="Hello.")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(found.deliver(send), 0.2)

    asyncio.run(delivered())
    assert sent == [marks.ASR_STARTED, marks.ASR_DONE]


def test_only_our_own_agent_is_given_the_sessions_name() -> None:
    key = SessionKey("c 1/ä", "0" * 64, "baseline", "1" * 64, "seeded", "clean", 1)
    ours = load_profile("baseline")
    spec = ours.in_session(ours.connection("ws://127.0.0.1:9/ws"), key.session_id)
    assert spec.url.startswith("ws://127.0.0.1:9/ws?session=c+1%2F%C3%A4__baseline__seeded")
    text = load_profile("smollm2-text")
    with pytest.raises(Exception, match="not spoken to"):
        text.connection("http://127.0.0.1:9/v1")
