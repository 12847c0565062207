"""The servers whose metrics can be read: for each the table of its names, from its own documentation and source."""

from textwrap import shorten
from typing import Final

from harness.servers.adapter import Adapter, Names, Part, RequestNames, timed
from harness.servers.page import NotMetrics, Page

_VLLM: Final = Adapter(
    server="vllm",
    recognised_by=("vllm:",),
    columns={
        **timed("queue", "vllm:request_queue_time_seconds"),
        **timed("prefill", "vllm:request_prefill_time_seconds"),
        **timed("decode", "vllm:request_decode_time_seconds"),
        **timed("ttft", "vllm:time_to_first_token_seconds"),
        "finished": Names(("vllm:request_success_total", "vllm:request_success")),
        "prefix_asked": Names(("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total")),
        "prefix_found": Names(("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total")),
        "running": Names(("vllm:num_requests_running",)),
        "waiting": Names(("vllm:num_requests_waiting",)),
        "cache_use": Names(("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"), join="largest"),
        "started": Names(("process_start_time_seconds",), join="largest"),
    },
    model_labels=("model_name",),
    request=RequestNames("metrics", prefill=Part("time_to_first_token_ms"), queue=Part("queue_time_ms")),
    span=RequestNames(
        "llm_request",
        prefill=Part("gen_ai.latency.time_in_model_prefill", unit_ms=1_000),
        queue=Part("gen_ai.latency.time_in_queue", unit_ms=1_000),
    ),
)
"""vLLM: histograms of each part of a request, in seconds; `prefill` ends with the first token. Per request:
`--enable-per-request-metrics` adds `metrics` to the last chunk of a stream (its `time_to_first_token_ms` begins where the
request leaves the queue), and `--otlp-traces-endpoint` sends a span `llm_request`, in seconds. Series of engine 1 and
further count other requests than those of engine 0, so all are added. Gauges are set after each step. Source: vLLM's
documentation of production metrics, and `vllm/v1/metrics/loggers.py`, `vllm/tracing`."""

_SGLANG: Final = Adapter(
    server="sglang",
    recognised_by=("sglang:", "sglang_"),
    columns={
        **timed("queue", "sglang:queue_time_seconds", "sglang_queue_time_seconds"),
        **timed("prefill", "sglang:per_stage_req_latency_seconds", where=(("stage", "prefill_forward"),)),
        **timed("ttft", "sglang:time_to_first_token_seconds", "sglang_time_to_first_token_seconds"),
        "finished": Names(("sglang:e2e_request_latency_seconds_count", "sglang_e2e_request_latency_seconds_count")),
        "prefix_asked": Names(("sglang:prompt_tokens_total",)),
        "prefix_found": Names(("sglang:cached_tokens_total",)),
        "running": Names(("sglang:num_running_reqs", "sglang_num_running_reqs")),
        "waiting": Names(("sglang:num_queue_reqs", "sglang_num_queue_reqs")),
        "cache_use": Names(("sglang:token_usage", "sglang_token_usage"), join="largest"),
        "started": Names(("process_start_time_seconds",), join="largest"),
    },
    model_labels=("model_name",),
    ranks=("tp_rank", "pp_rank", "moe_ep_rank"),
    request=RequestNames(
        "meta_info",
        prefill=Part("prefill_finished_time", minus="forward_entry_time", unit_ms=1_000),
        queue=Part("queue_time", unit_ms=1_000),
    ),
)
"""SGLang with `--enable-metrics`: the queue as a histogram, prefill as one of its per-stage latencies, all in seconds. Workers
of a tensor-parallel model may all count the same requests, so only the first is read of each data-parallel replica
(`dp_rank`, whose first worker need not have number 0); replicas serve different requests, and are added. Its gauges are set
when a prefill begins, without the new requests, and then every 40 steps. `meta_info` has a request's own times in seconds,
in answers of its own `/generate`: streams of its OpenAI API have none. Source: SGLang's documentation of production metrics,
and `sglang/srt/observability`, `sglang/srt/managers`."""

_TGI: Final = Adapter(
    server="tgi",
    recognised_by=("tgi_",),
    columns={
        **timed("queue", "tgi_request_queue_duration"),
        **timed("prefill", "tgi_batch_inference_duration", where=(("method", "prefill"),)),
        **timed("decode", "tgi_batch_inference_duration", where=(("method", "decode"),)),
        "finished": Names(("tgi_request_duration_count",)),
        "running": Names(("tgi_batch_current_size",)),
        "waiting": Names(("tgi_queue_size",)),
    },
)
"""Text Generation Inference: the queue per request, and prefill per batch, in seconds. A batch that prefills one request is
that request's prefill, and only such are split (see `harness.servers.split`). Nothing of a single request is in its streamed
answers. `tgi_batch_current_size` is set once a first prefill is over. Source: TGI's reference of metrics."""

_LLAMA_CPP: Final = Adapter(
    server="llama.cpp",
    recognised_by=("llamacpp:",),
    columns={
        "prefill_ms": Names(("llamacpp:prompt_seconds_total",), 1_000.0),
        "decode_ms": Names(("llamacpp:tokens_predicted_seconds_total",), 1_000.0),
        "work": Names(("llamacpp:prompt_tokens_total", "llamacpp:n_decode_total"), together=True),
        "prefix_asked": Names(("llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total"), together=True),
        "prefix_found": Names(("llamacpp:prompt_tokens_cached_total",)),
        "running": Names(("llamacpp:requests_processing",)),
        "waiting": Names(("llamacpp:requests_deferred",)),
        "cache_use": Names(("llamacpp:kv_cache_usage_ratio",), join="largest"),
    },
    exact_below=1e6,
    request=RequestNames("timings", prefill=Part("prompt_ms"), decode=Part("predicted_ms")),
    started_header="Process-Start-Time-Unix",
)
"""llama.cpp's server with `--metrics`: sums of prefill and decode without a number of requests, and no queue. Its counters can
therefore split no turn, but a request's own `timings` can: in the last chunk of a stream, or in each with
`timings_per_token`. `prompt_ms` ends when the first token is known; `predicted_ms` counts from there. With `return_progress`
the first chunk says that the request has left the queue. The header `Process-Start-Time-Unix` says which process a page is
of. Gauges are those of the instant between two steps at which the page is made. Numbers have six digits: a counter of a
million and more moves in steps of ten and more. Source: llama.cpp's `tools/server/README.md`, `server-context.cpp` and
`server-task.cpp`."""

_US: Final = 0.001
_COMPUTE: Final = tuple(f"nv_inference_compute_{part}_duration_us" for part in ("input", "infer", "output"))
_TRITON: Final = Adapter(
    server="triton",
    recognised_by=("nv_inference_",),
    columns={
        "queue_ms": Names(("nv_inference_queue_duration_us",), _US),
        "queue_n": Names(("nv_inference_request_success",)),
        "compute_ms": Names(_COMPUTE, _US, together=True),
        "compute_n": Names(("nv_inference_request_success",)),
        **timed("ttft", "nv_inference_first_response_histogram_ms", ms=1.0),
        "finished": Names(("nv_inference_request_success",)),
        "waiting": Names(("nv_inference_pending_request_count",)),
    },
    model_labels=("model",),
)
"""Triton Inference Server at port 8002: microseconds in the queue and in computing, model by model. Its computing is of a whole
request: of a model that answers with one result, a recogniser or an encoder, that is the stage; of one that streams, it goes
on after the first answer, and is then not used for it. Name the model (`model = "…"`): the page has all of them.
`nv_inference_first_response_histogram_ms` is there for streaming models in newer versions. The cache that it counts is one
of whole responses, and no prefix cache. Source: Triton's `docs/user_guide/metrics.md`."""

_NIM: Final = Adapter(
    server="nim",
    recognised_by=("num_requests_running", "num_request_max", "request_finish_total"),
    columns={
        **timed("ttft", "time_to_first_token_seconds"),
        "finished": Names(("e2e_request_latency_seconds_count",)),
        "running": Names(("num_requests_running",)),
        "waiting": Names(("num_requests_waiting",)),
        "cache_use": Names(("gpu_cache_usage_perc",), join="largest"),
        "started": Names(("process_start_time_seconds",), join="largest"),
    },
)
"""NVIDIA NIM for LLMs at `/v1/metrics`: time to the first token, and no queue of its own. Its gauges are set once an iteration.
Where a NIM passes on the series of the vLLM inside it, its page is recognised as vLLM's, which says more. The numbers of a
request that `NIM_PER_REQ_METRICS_ENABLE=1` adds to answers are not read. Source: NVIDIA's documentation of NIM for LLMs,
"Observability"."""

ADAPTERS: Final[dict[str, Adapter]] = {found.server: found for found in (_VLLM, _SGLANG, _TGI, _LLAMA_CPP, _TRITON, _NIM)}
WANTED: Final = frozenset(name for adapter in ADAPTERS.values() for name in adapter.wanted)
"""The names of all series that any of them reads."""
_NAMES_SHOWN: Final = 3


def adapter_for(page: Page, server: str | None) -> Adapter:
    """The adapter of a page: that of the named server, or of the one that is recognised.

    Raises:
        NotMetrics: the page is of another server, or of none that is known.
    """
    known = ", ".join(ADAPTERS)
    if server is None:
        found = next((adapter for adapter in ADAPTERS.values() if adapter.recognises(page)), None)
        if found is None:
            raise NotMetrics(f"is of a server that is not known (its series: {_some(page)}); known are {known}")
        return found
    adapter = ADAPTERS[server]
    if not adapter.recognises(page):
        expected = " or ".join(f"{beginning}…" for beginning in adapter.recognised_by)
        raise NotMetrics(f"is not of {server}: it has no series {expected} (its series: {_some(page)}); known are {known}")
    return adapter


def _some(page: Page) -> str:
    names = sorted(page.names)
    return ", ".join(shorten(name, 60) for name in names[:_NAMES_SHOWN]) + (", …" if len(names) > _NAMES_SHOWN else "")
