"""Every adapter on a page with its server's own names and invented values."""

from pathlib import Path
from typing import get_args

import pytest

from harness.agents.profile_base import MetricsSettings
from harness.servers.adapter import COUNTERS, Column
from harness.servers.adapters import ADAPTERS, WANTED, adapter_for
from harness.servers.page import NotMetrics, Page, read_page
from harness.servers.samples import ServerSample
from harness.servers.windows import idle_ns, trusted
from harness.timeline import NS_PER_MS

MS = NS_PER_MS
PAGES = Path(__file__).parent / "pages"
EXPECTED = {
    "vllm": {
        "queue_ms": 500, "queue_n": 20, "prefill_ms": 1_500, "prefill_n": 20, "decode_ms": 9_000, "decode_n": 20,
        "ttft_ms": 2_500, "ttft_n": 20, "finished": 20, "prefix_asked": 1_000, "prefix_found": 750,
        "running": 3, "waiting": 4, "cache_use": 0.5, "started": 1.7e9,
    },
    "sglang": {
        "queue_ms": 200, "queue_n": 10, "prefill_ms": 700, "prefill_n": 10, "ttft_ms": 1_000, "ttft_n": 10, "finished": 10,
        "prefix_asked": 500, "prefix_found": 100, "running": 3, "waiting": 1, "cache_use": 0.3,
    },
    "tgi": {
        "queue_ms": 900, "queue_n": 30, "prefill_ms": 1_200, "prefill_n": 24, "decode_ms": 40_000, "decode_n": 2_000,
        "finished": 30, "running": 5, "waiting": 2,
    },
    "nim": {"ttft_ms": 800, "ttft_n": 4, "finished": 4, "running": 1, "waiting": 0, "cache_use": 0.125},
    "llama.cpp": {
        "prefill_ms": 250, "decode_ms": 500, "work": 50, "prefix_asked": 120, "prefix_found": 90, "running": 1, "waiting": 3,
    },
    "triton": {
        "queue_ms": 4, "queue_n": 8, "compute_ms": 31.5, "compute_n": 8, "finished": 8, "waiting": 2,
    },
}  # fmt: skip
MODEL = {"vllm": "m/one", "triton": "asr"}


def page(server: str) -> Page:
    return read_page((PAGES / f"{server}.txt").read_text(encoding="utf-8"), WANTED)


@pytest.mark.parametrize("server", ADAPTERS)
def test_a_page_gives_every_column_in_ms_counts_and_shares(server: str) -> None:
    adapter = adapter_for(page(server), server)
    assert adapter.read(page(server), MODEL.get(server)) == pytest.approx(EXPECTED[server])


@pytest.mark.parametrize("server", ADAPTERS)
def test_a_page_is_recognised_without_its_name_and_by_no_other(server: str) -> None:
    assert adapter_for(page(server), None).server == server
    for other in ADAPTERS.values():
        assert other.recognises(page(server)) == (other.server == server)


def test_without_a_model_all_models_of_a_page_count_together() -> None:
    assert ADAPTERS["vllm"].read(page("vllm"))["running"] == 10
    assert ADAPTERS["vllm"].read(page("vllm"), "m/two") == {"running": 7, "started": 1.7e9}


def test_of_old_and_new_names_the_newer_counts_and_the_old_one_is_not_added() -> None:
    both = 'vllm:kv_cache_usage_perc 0.5\nvllm:gpu_cache_usage_perc 0.9\nvllm:gpu_prefix_cache_hits_total{engine="0"} 4\n'
    assert ADAPTERS["vllm"].read(read_page(both, WANTED)) == {"cache_use": 0.5, "prefix_found": 4}


def test_a_page_of_an_unknown_server_is_named_in_one_sentence() -> None:
    other = read_page("ollama_requests_total 3\nollama_load_seconds 1\n", WANTED)
    with pytest.raises(NotMetrics, match=r"server that is not known.*ollama_load_seconds.*known are vllm, sglang"):
        adapter_for(other, None)
    with pytest.raises(NotMetrics, match=r"is not of vllm: it has no series vllm:….*ollama_requests_total") as caught:
        adapter_for(other, "vllm")
    assert "\n" not in str(caught.value)


def test_profiles_may_name_exactly_the_servers_that_can_be_read() -> None:
    named = get_args(MetricsSettings.model_fields["server"].annotation)
    assert set(get_args(named[0])) == set(ADAPTERS)


def test_counters_are_columns() -> None:
    assert set(COUNTERS) < set(get_args(Column))
    for adapter in ADAPTERS.values():
        assert set(adapter.columns) <= set(get_args(Column)), adapter.server


@pytest.mark.parametrize("server", ADAPTERS)
def test_only_a_page_whose_gauges_are_of_the_instant_can_show_that_a_server_is_idle(server: str) -> None:
    # A server that sets its gauges after each step has this page while it computes the prefill of its only request.
    columns = {**ADAPTERS[server].read(page(server), MODEL.get(server)), "running": 0.0, "waiting": 0.0}
    trust = trusted([ServerSample(k * MS, k * MS + 1, 0, "bot", "llm", server, columns) for k in (0, 100)])
    assert (idle_ns(trust, 20 * MS, 80 * MS) is not None) == (server == "llama.cpp")


def test_of_each_replica_the_first_worker_counts_whatever_its_number() -> None:
    ranks = ((0, 0, 0, 3), (0, 1, 0, 3), (1, 10, 0, 5), (1, 9, 0, 4), (1, 9, 1, 6))
    rows = [f'sglang:num_running_reqs{{dp_rank="{dp}",tp_rank="{tp}",pp_rank="{pp}"}} {n}' for dp, tp, pp, n in ranks]
    assert ADAPTERS["sglang"].read(read_page("\n".join(rows), WANTED)) == {"running": 3 + 4}


def test_a_counter_that_its_page_rounds_is_left_out() -> None:
    read = ADAPTERS["llama.cpp"].read
    exact = "llamacpp:prompt_tokens_total 999999\nllamacpp:n_decode_total 7\n"
    assert read(read_page(exact, WANTED)) == {"work": 1_000_006, "prefix_asked": 999_999}
    rounded = "llamacpp:prompt_tokens_total 1.23457e+06\nllamacpp:n_decode_total 7\nllamacpp:requests_processing 1\n"
    assert read(read_page(rounded, WANTED)) == {"running": 1}
