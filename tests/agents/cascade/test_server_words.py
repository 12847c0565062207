"""What a model's server says of a request reaches the harness as marks, under its own names and as numbers alone."""

import asyncio
from typing import Any

import pytest
from openai.types.chat import ChatCompletionChunk

from harness.agents import marks
from harness.agents.cascade.server_words import ServerWords
from harness.agents.cascade.session_marks import MarkMessage, SessionMarks
from harness.agents.llm_server import LlmServer, ServerOptions

LLAMA = {"cache_n": 210, "prompt_n": 1, "prompt_ms": 46.057, "predicted_n": 1, "predicted_ms": 0.001}


def chunk(content: str | None = None, choice: dict[str, Any] | None = None, **extra: Any) -> ChatCompletionChunk:
    choices = [{"index": 0, "finish_reason": None, "delta": {"content": content}, **(choice or {})}]
    facts = {"id": "x", "created": 1, "model": "m", "object": "chat.completion.chunk", "choices": choices, **extra}
    return ChatCompletionChunk.model_validate(facts)


async def stamped(session: SessionMarks) -> list[MarkMessage]:
    found: list[MarkMessage] = []

    async def keep(mark: MarkMessage) -> None:
        found.append(mark)

    sending = asyncio.create_task(session.deliver(keep))
    await asyncio.sleep(0.01)
    sending.cancel()
    return found


async def test_begin_and_timings_are_stamped_once_and_the_chunk_that_says_only_the_begin_is_not_passed_on() -> None:
    session = SessionMarks()
    words = ServerWords(session)
    words.request()
    progress = {"total": 211, "cache": 0, "processed": 0, "time_ms": 0}
    assert not words.hear(chunk(prompt_progress=progress), 3)
    assert not words.hear(chunk(prompt_progress={**progress, "processed": 211}), 3)
    assert words.hear(chunk("The", timings=LLAMA), 3)
    words.pass_on(3)
    assert words.hear(chunk(" sea", timings={**LLAMA, "predicted_ms": 39.3}), 3)
    words.pass_on(3)
    begun, timings = await stamped(session)
    assert (begun["name"], begun["detail"]) == (marks.LLM_BEGUN, {"request": 3, "progress": progress})
    assert (timings["name"], timings["detail"]) == (marks.LLM_TIMINGS, {"request": 3, "timings": LLAMA})


async def test_progress_beside_a_piece_of_the_reply_takes_none_of_it() -> None:
    words = ServerWords(SessionMarks())
    words.request()
    assert words.hear(chunk("The", prompt_progress={"total": 9}), 1)
    assert not words.hear(chunk("", prompt_progress={"total": 9}), 1)


async def test_a_server_that_speaks_at_the_end_alone_is_heard_then() -> None:
    session = SessionMarks()
    words = ServerWords(session)
    words.request()
    assert words.hear(chunk("The"), 1)
    words.pass_on(1)
    facts = {"queue_time_ms": 5.5, "time_to_first_token_ms": 80.25, "mean_itl_ms": None}
    assert words.hear(chunk(metrics=facts), 1)
    assert words.hear(chunk(choice={"meta_info": {"queue_time": 0.25}}), 1)
    words.pass_on(1)
    (found,) = await stamped(session)
    assert found["detail"] == {
        "request": 1, "metrics": {"queue_time_ms": 5.5, "time_to_first_token_ms": 80.25}, "meta_info": {"queue_time": 0.25},
    }  # fmt: skip


async def test_a_request_without_words_stamps_nothing_and_words_belong_to_one_request() -> None:
    session = SessionMarks()
    words = ServerWords(session)
    words.request()
    words.hear(chunk("a", timings=LLAMA), 1)
    words.request()
    words.hear(chunk("b"), 2)
    words.pass_on(2)
    words.pass_on(2)
    assert await stamped(session) == []


@pytest.mark.parametrize("said", ["fast", 3, None, [], {"text": "a secret"}, {"n": float("inf"), "b": True, "deep": {"n": 1}}])
async def test_only_numbers_are_passed_on(said: object) -> None:
    session = SessionMarks()
    words = ServerWords(session)
    words.request()
    assert words.hear(chunk("a", timings=said), 1)
    words.pass_on(1)
    assert await stamped(session) == []


async def test_a_server_cannot_stamp_marks_of_its_own_making() -> None:
    session = SessionMarks()
    words = ServerWords(session)
    words.request()
    words.hear(chunk(prompt_progress={"at_ns": 7, "request": 9, "time_ms": 1}), 1)
    words.hear(chunk("a", timings={"at_ns": 7, "x" * 5_000: 1, **{f"n{k}": k for k in range(100)}}), 1)
    words.pass_on(1)
    begun, timings = await stamped(session)
    assert begun["at_ns"] != 7
    assert begun["detail"]["request"] == 1
    assert timings["at_ns"] != 7
    assert len(timings["detail"]["timings"]) == 40
    assert max(map(len, timings["detail"]["timings"])) == 60


async def test_the_stops_of_the_model_during_the_wait_are_passed_on() -> None:
    session = SessionMarks()
    asked: list[tuple[int, int]] = []

    def stops(begin_ns: int, end_ns: int) -> list[list[int]]:
        asked.append((begin_ns, end_ns))
        return [[begin_ns, end_ns]]

    words = ServerWords(session, stops)
    words.request()
    session.stamp(marks.LLM_REQUESTED, at_ns=10, request=1)
    words.hear(chunk("a", timings=LLAMA), 1)
    session.stamp(marks.LLM_FIRST_TOKEN, at_ns=30, request=1)
    words.pass_on(1)
    assert asked == [(10, 30)]
    assert (await stamped(session))[-1]["detail"]["stopped_ns"] == [[10, 30]]


async def test_without_the_mark_of_a_request_its_stops_are_not_known() -> None:
    session = SessionMarks()
    words = ServerWords(session, lambda begin_ns, end_ns: [[begin_ns, end_ns]])
    words.request()
    words.hear(chunk("a", timings=LLAMA), 1)
    session.stamp(marks.LLM_FIRST_TOKEN, at_ns=30, request=1)
    words.pass_on(1)
    assert (await stamped(session))[-1]["detail"].get("stopped_ns") is None


def test_the_time_in_which_the_model_is_paused_is_measured_with_overlapping_pauses_as_one() -> None:
    import time

    server = LlmServer(ServerOptions(model="none"))
    first_ns = time.monotonic_ns()
    with server.paused():
        inside_ns = time.monotonic_ns()
        with server.paused():
            pass
        assert server.stopped_between(first_ns, inside_ns)[-1][1] == inside_ns, "one that has not ended"
    over_ns = time.monotonic_ns()
    ((begin_ns, end_ns),) = server.stopped_between(first_ns, over_ns)
    assert first_ns <= begin_ns <= inside_ns < end_ns <= over_ns
    assert server.stopped_between(inside_ns, inside_ns + 1) == [[inside_ns, inside_ns + 1]]
    assert server.stopped_between(over_ns, over_ns + 10) == []
