"""vLLM: histograms of each part of a request, in seconds; `prefill` ends with the first token.

Per request: `--enable-per-request-metrics` adds `metrics` to the last chunk of a stream (its `time_to_first_token_ms` begins
where the request leaves the queue), and `--otlp-traces-endpoint` sends a span `llm_request`, in seconds. Series of engine 1 and
further count other requests than those of engine 0, so all are added. Gauges are set after each step.

Source: vLLM's documentation of production metrics, and `vllm/v1/metrics/loggers.py`, `vllm/tracing`.
"""

from typing import Final

from harness.servers.adapter import Adapter, Names, Part, RequestNames, timed

ADAPTER: Final = Adapter(
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
