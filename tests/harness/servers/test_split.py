"""One wait, split: by the server's words on the request, by its counters, and not at all."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.servers.samples import ServerSample
from harness.servers.split import RequestTimings, ServerSplit, Wait, split
from harness.servers.windows import trusted
from harness.timeline import NS_PER_MS
from tests.harness.servers.test_windows import MS, sample

WAIT = Wait("llm", 1_000 * MS, 1_200 * MS, over_ns=1_600 * MS)


def parts(found: ServerSplit | None) -> dict[str, float | None]:
    assert found is not None
    assert found.whole_ms == pytest.approx(
        (found.queue_ms or 0) + (found.compute_ms or 0) + (found.idle_ms or 0) + found.unexplained_ms
    )
    return {name: getattr(found, f"{name}_ms") for name in ("queue", "prefill", "first_decode", "idle", "unexplained")}


def test_a_servers_own_words_split_the_wait_and_the_rest_is_unexplained() -> None:
    found = split(WAIT, RequestTimings("vllm", prefill_ms=120, queue_ms=60), None)
    assert parts(found) == {"queue": 60, "prefill": 120, "first_decode": None, "idle": None, "unexplained": 20}
    assert found is not None
    assert (found.source, found.compute_ms) == ("request", 120)
    assert found.explained_share == pytest.approx(0.9)


def test_a_queue_lasts_until_the_server_says_that_it_begins() -> None:
    found = split(WAIT, RequestTimings("llama.cpp", 120, decode_ms=15, begun_ns=1_050 * MS, stopped_ns=()), None)
    assert parts(found) == {"queue": 50, "prefill": 120, "first_decode": 15, "idle": 0, "unexplained": 15}


def test_words_that_were_read_too_late_leave_a_queue_no_longer_than_there_is_room_and_explain_less() -> None:
    found = split(WAIT, RequestTimings("llama.cpp", 120, begun_ns=1_095 * MS, stopped_ns=()), None)
    assert parts(found)["queue"] == 80
    assert found is not None
    assert found.late_ms == 15
    assert found.explained_share == pytest.approx(1 - 15 / 200)


def test_time_in_which_the_agent_had_stopped_the_server_is_idle_and_no_computing() -> None:
    stops = ((900 * MS, 1_010 * MS), (1_100 * MS, 1_130 * MS), (1_190 * MS, 1_400 * MS))
    found = split(WAIT, RequestTimings("llama.cpp", 120, begun_ns=1_040 * MS, stopped_ns=stops), None)
    assert parts(found) == {"queue": 30, "prefill": 90, "first_decode": None, "idle": 50, "unexplained": 30}


def test_without_a_word_on_the_queue_it_is_unexplained_and_that_is_said() -> None:
    found = split(WAIT, RequestTimings("llama.cpp", 120), None)
    assert parts(found) == {"queue": None, "prefill": 120, "first_decode": None, "idle": None, "unexplained": 80}
    assert found is not None
    assert found.note == "its server does not say how long this request waited"


def test_words_longer_than_the_wait_are_refused() -> None:
    found = split(WAIT, RequestTimings("vllm", prefill_ms=3_000, queue_ms=60), None)
    assert found is not None
    assert (found.source, found.queue_ms, found.unexplained_ms) == ("none", None, 200)
    assert "its server says 3,060 ms, more than the 200 ms of the wait" in found.note


@pytest.mark.parametrize(
    ("whole", "said", "taken"), [(200, 219, True), (200, 221, False), (2_000, 2_099, True), (2_000, 2_101, False)]
)
def test_words_may_be_longer_than_the_wait_by_20_ms_or_a_twentieth(whole: int, said: int, taken: bool) -> None:
    found = split(Wait("llm", 0, whole * MS), RequestTimings("vllm", prefill_ms=said - 9, queue_ms=9), None)
    assert found is not None
    assert (found.source == "request") == taken
    if taken:
        assert found.unexplained_ms == whole - said
        assert found.explained_share == pytest.approx(1 - (said - whole) / whole), "what is too much explains no more"


def test_a_stop_during_the_first_decode_is_no_decoding() -> None:
    own = RequestTimings("llama.cpp", 100, decode_ms=60, begun_ns=1_020 * MS, stopped_ns=((1_140 * MS, 1_150 * MS),))
    assert parts(split(WAIT, own, None)) == {"queue": 20, "prefill": 100, "first_decode": 50, "idle": 10, "unexplained": 20}


def test_a_wait_that_ends_as_it_begins_is_none() -> None:
    assert split(Wait("llm", 7, 7), RequestTimings("vllm", 0), None) is None


def _around(queue_n: float = 1, running: float = 1, **more: float) -> list[ServerSample]:
    """Samples around the wait: one request before, then `queue_n` more, of 40 ms queue and 130 ms prefill in all."""
    counted: dict[str, Any] = {
        "queue_ms": 7.0,
        "prefill_ms": 11.0,
        "queue_n": 1.0,
        "prefill_n": 1.0,
        "finished": 1.0,
        "work": 10.0,
    }
    after: dict[str, Any] = {"queue_ms": 47.0, "prefill_ms": 141.0, "queue_n": 1 + queue_n, "prefill_n": 1 + queue_n,
             "finished": 1 + queue_n, "work": 90.0}  # fmt: skip
    free: dict[str, Any] = {"running": 0.0, "waiting": 0.0}
    more_of: dict[str, Any] = dict(more)
    return [
        sample(890, **counted, **free, **more_of),
        sample(990, **counted, **free, **more_of),
        sample(1_090, **counted, running=running, waiting=0.0),
        sample(1_790, **after, **free),
        sample(1_890, **after, **free),
    ]


def test_counters_split_a_wait_while_its_request_was_alone() -> None:
    found = split(WAIT, None, trusted(_around()))
    assert parts(found) == {"queue": 40, "prefill": 130, "first_decode": None, "idle": 0, "unexplained": 30}
    assert found is not None
    assert (found.source, found.server, found.running) == ("counters", "vllm", 1)


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        (_around(queue_n=3), "3 requests were in this window, and counters cannot tell them apart"),
        (_around(running=2), "2 requests were in this window, and counters cannot tell them apart"),
        (_around(queue_n=0), "its server counted no request in this window"),
        (_around()[:3], "no samples on both sides of this wait"),
        ([*_around()[:2], sample(1_790, finished=0.0)], "its counters went back once: it began again"),
        ([sample(0, "did not answer within 1 s")], "1 of 1 pages were not read: it did not answer within 1 s"),
        ([sample(990, work=1.0, running=0.0), sample(1_790, work=5.0, running=0.0)], "its page does not count requests"),
    ],
)
def test_counters_that_cannot_split_a_wait_leave_it_whole_and_say_why(samples: list[ServerSample], words: str) -> None:
    found = split(WAIT, None, trusted(samples))
    assert found is not None
    assert (found.source, found.unexplained_ms, found.explained_share) == ("none", 200, 0)
    assert words in found.note
    assert "\n" not in found.note


def test_a_request_that_was_not_alone_is_split_by_its_own_timings() -> None:
    found = split(WAIT, RequestTimings("vllm", 120, queue_ms=60), trusted(_around(queue_n=3, running=5)))
    assert found is not None
    assert (found.source, found.queue_ms, found.running) == ("request", 60, 5)


def test_without_the_end_of_its_request_counters_may_be_anothers_and_split_nothing() -> None:
    open_end = replace(WAIT, over_ns=None)
    found = split(open_end, None, trusted(_around()))
    assert found is not None
    assert (found.source, found.unexplained_ms, found.running) == ("none", 200, 1)
    assert found.note == "the end of its request is not known, and counters may be another's"


def test_a_server_counts_a_request_a_moment_after_its_end() -> None:
    early = [*_around()[:3], sample(1_740, finished=1.0, queue_n=1.0, queue_ms=7.0, running=0.0, waiting=0.0), *_around()[3:]]
    assert parts(split(WAIT, None, trusted(early)))["queue"] == 40


def test_the_share_of_the_prefix_cache_is_of_the_prompts_until_the_request_is_over() -> None:
    # SGLang counts a prompt when its request is over; then what grew before the first token is another request's.
    prompts = ((990, 1_000, 100), (1_090, 1_000, 100), (1_290, 1_100, 190), (1_790, 1_400, 250))
    samples = trusted([sample(at, prefix_asked=asked, prefix_found=hit) for at, asked, hit in prompts])
    own = RequestTimings("sglang", 120, queue_ms=60)
    found = split(WAIT, own, samples)
    assert found is not None
    assert found.prefix_share == pytest.approx(150 / 400)
    open_end = split(replace(WAIT, over_ns=None), own, samples)
    assert open_end is not None
    assert open_end.prefix_share is None
    impossible = split(
        WAIT, own, trusted([sample(990, prefix_asked=0, prefix_found=0), sample(1_790, prefix_asked=4, prefix_found=5)])
    )
    assert impossible is not None
    assert impossible.prefix_share is None


def test_a_batch_of_two_is_nobodys_prefill() -> None:
    found = split(
        WAIT,
        None,
        trusted([replace(s, columns={**s.columns, "prefill_n": 2 * s.columns.get("prefill_n", 0.5)}) for s in _around()]),
    )
    assert parts(found) == {"queue": 40, "prefill": None, "first_decode": None, "idle": 0, "unexplained": 160}
    assert found is not None
    assert found.note == "its page has no computing"


@pytest.mark.parametrize("samples", [_around(queue_n=3), _around()[:3], [sample(990, work=1.0), sample(1_790, work=5.0)]])
def test_a_reason_why_a_trace_was_not_joined_comes_first(samples: list[ServerSample]) -> None:
    found = split(WAIT, None, trusted(samples), "its traces are apart")
    assert found is not None
    assert found.note == "its traces are apart"


def test_a_reason_alone_is_a_wait_that_nobody_splits() -> None:
    found = split(WAIT, None, None, "its traces are apart")
    assert found is not None
    assert (found.source, found.unexplained_ms, found.note) == ("none", 200, "its traces are apart")


def test_an_agents_clock_that_is_hardly_known_places_no_wait_between_samples() -> None:
    unsure = Wait("llm", WAIT.begin_ns, WAIT.end_ns, WAIT.over_ns, unsure_ms=400)
    found = split(unsure, None, trusted(_around()))
    assert found is not None
    assert found.note == "the agent's clock is known to ±400 ms, too little to place this wait between samples"
    own = split(unsure, RequestTimings("vllm", 120, queue_ms=60), trusted(_around()))
    assert own is not None
    assert (own.source, own.running, own.idle_ms) == ("request", None, None)
    for unsure_ms, source in ((99, "counters"), (101, "none")):
        near = split(replace(unsure, unsure_ms=unsure_ms), None, trusted(_around()))
        assert near is not None
        assert near.source == source


def test_a_stage_without_queue_on_its_page_has_only_what_the_page_has() -> None:
    samples = [sample(990, ttft_ms=0.0, ttft_n=0.0, running=0.0), sample(1_790, ttft_ms=190.0, ttft_n=1.0, running=0.0)]
    found = split(WAIT, None, trusted(samples))
    assert found is not None
    assert (found.source, found.note) == ("none", "its page has no queue and no computing")


def test_idle_time_is_measured_and_never_the_rest() -> None:
    free: dict[str, Any] = {"running": 0.0, "waiting": 0.0, "work": 4.0}
    idle = trusted([sample(1_000, **free), sample(1_050, **free), sample(1_190, running=1.0, waiting=0.0, work=9.0)])
    found = split(WAIT, RequestTimings("vllm", prefill_ms=80, queue_ms=20), idle)
    assert parts(found) == {"queue": 20, "prefill": 80, "first_decode": None, "idle": 48, "unexplained": 52}
    full = split(WAIT, RequestTimings("vllm", prefill_ms=150, queue_ms=30), idle)
    assert parts(full)["idle"] == 20, "no more than the other parts leave"
    over = split(WAIT, RequestTimings("vllm", prefill_ms=175, queue_ms=30), idle)
    assert parts(over)["idle"] == 0


def test_nothing_is_made_of_a_server_that_says_nothing() -> None:
    assert split(WAIT, None, None) is None
    assert split(WAIT, None, trusted([])) is None


TIMES = st.floats(0, 1_000)


@given(TIMES, TIMES, st.none() | TIMES, st.none() | TIMES, st.lists(st.tuples(TIMES, TIMES), max_size=4))
def test_parts_always_sum_to_the_wait_and_none_is_negative(
    whole: float, prefill: float, decode: float | None, begun: float | None, stops: list[tuple[float, float]]
) -> None:
    wait = Wait("llm", 5_000 * NS_PER_MS, round((5_000 + whole + 1) * NS_PER_MS))
    ordered = sorted(t for pair in stops for t in pair)
    intervals = tuple(
        (round((5_000 + a) * NS_PER_MS), round((5_000 + b) * NS_PER_MS))
        for a, b in zip(ordered[::2], ordered[1::2], strict=True)
    )
    said = round((5_000 + begun) * NS_PER_MS) if begun is not None else None
    found = split(wait, RequestTimings("llama.cpp", prefill, decode, None, said, intervals), None)
    assert found is not None
    parts(found)
    for value in (found.queue_ms, found.prefill_ms, found.first_decode_ms, found.idle_ms):
        assert value is None or value >= -1e-6
    assert 0 <= found.explained_share <= 1
