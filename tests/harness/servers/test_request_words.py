"""A request's own timings, in answers and in spans."""

from dataclasses import replace

import pytest

from harness.agents.connection import Mark
from harness.servers.request_words import of_answer, of_spans
from harness.servers.split import RequestTimings, Wait
from harness.timeline import NS_PER_S

WAIT = Wait("llm", 100 * NS_PER_S, 101 * NS_PER_S)


def test_each_servers_answer_is_read_by_its_own_names() -> None:
    llama = {"timings": {"prompt_ms": 46.057, "predicted_ms": 0.001, "cache_n": 210}}
    vllm = {"metrics": {"queue_time_ms": 5.5, "time_to_first_token_ms": 80.25, "generation_time_ms": 500.0}}
    sglang = {"meta_info": {"queue_time": 0.25, "forward_entry_time": 1.7e9, "prefill_finished_time": 1.7e9 + 0.5}}
    assert of_answer(llama, 7, [[3, 9]]) == RequestTimings("llama.cpp", 46.057, 0.001, None, 7, ((3, 9),))
    assert of_answer(vllm, None, None) == RequestTimings("vllm", 80.25, None, 5.5)
    assert of_answer(sglang, None, None) == RequestTimings("sglang", 500, None, 250)


@pytest.mark.parametrize(
    "said",
    [{}, {"timings": {}}, {"timings": 3}, {"timings": {"prompt_ms": "40"}}, {"timings": {"prompt_ms": -1}},
     {"timings": {"prompt_ms": True}}, {"timings": {"prompt_ms": float("nan")}}, {"metrics": {"queue_time_ms": 4}},
     {"meta_info": {"prefill_finished_time": 1, "forward_entry_time": 2}}, {"timings": {"prompt_ms": float("inf")}},
     {"timings": {"prompt_ms": 10**400}}],
)  # fmt: skip
def test_what_no_server_says_is_no_timing(said: dict[str, object]) -> None:
    assert of_answer(said, None, None) is None


@pytest.mark.parametrize("stops", [3, "ab", [[1]], [[1, "2"]], [[1, 2.5]], [[-1, 4]], [1, 2]])
def test_stops_that_are_no_intervals_are_not_known(stops: object) -> None:
    found = of_answer({"timings": {"prompt_ms": 4}}, None, stops)
    assert found is not None
    assert found.stopped_ns is None


def span(at_s: float, queue_s: float = 0.05) -> Mark:
    detail = {"gen_ai.latency.time_in_queue": queue_s, "gen_ai.latency.time_in_model_prefill": 0.4, "end_ns": 1}
    return Mark("span.llm_request", round(at_s * NS_PER_S), 0, detail)


def test_the_one_span_of_the_server_that_began_in_the_wait_is_its_request() -> None:
    assert of_spans([span(90), span(100.01), span(120)], WAIT) == (RequestTimings("vllm", 400, None, 50), "")
    assert of_spans([Mark("span.llm", 100 * NS_PER_S, 0, {"metrics.ttfb": 0.2})], WAIT) == (None, "")


def test_a_trace_may_begin_a_little_before_the_request_was_stamped() -> None:
    assert of_spans([span(99.985)], WAIT)[0] is not None
    assert of_spans([span(99.975)], WAIT)[0] is None


def test_two_requests_at_once_cannot_be_assigned() -> None:
    found, why = of_spans([span(100.01), span(100.5)], WAIT)
    assert found is None
    assert why == "2 requests of its server's traces began in this wait, and none is known to be this one"


def test_spans_of_a_clock_that_is_apart_are_not_joined() -> None:
    found, why = of_spans([span(100 - 3_600)], WAIT)
    assert found is None
    assert why == "its server's nearest trace began 3,600.0 s before it: another request, or clocks apart"
    assert of_spans([span(95), span(103)], WAIT)[1].startswith("its server's nearest trace began 3.0 s after it")


def test_a_wait_on_a_clock_that_is_hardly_known_has_no_trace_of_its_own() -> None:
    found, why = of_spans([span(100.01)], replace(WAIT, unsure_ms=400))
    assert found is None
    assert why == "the agent's clock is known to ±400 ms, too little to know which of its server's traces is this request's"
