"""SGLang with `--enable-metrics`: the queue as a histogram, prefill as one of its per-stage latencies, all in seconds.

Workers of a tensor-parallel model may all count the same requests, so only the first is read of each data-parallel replica
(`dp_rank`, whose first worker need not have number 0); replicas serve different requests, and are added. Its gauges are set
when a prefill begins, without the new requests, and then every 40 steps. `meta_info` has a request's own times in seconds, in
answers of its own `/generate`: streams of its OpenAI API have none.

Source: SGLang's documentation of production metrics, and `sglang/srt/observability`, `sglang/srt/managers`.
"""

from typing import Final

from harness.servers.adapter import Adapter, Names, Part, RequestNames, timed

ADAPTER: Final = Adapter(
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
