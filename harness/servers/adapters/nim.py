"""NVIDIA NIM for LLMs at `/v1/metrics`: time to the first token, and no queue of its own.

Its gauges are set once an iteration. Where a NIM passes on the series of the vLLM inside it, its page is recognised as vLLM's,
which says more. The numbers of a request that `NIM_PER_REQ_METRICS_ENABLE=1` adds to answers are not read.

Source: NVIDIA's documentation of NIM for LLMs, "Observability".
"""

from typing import Final

from harness.servers.adapter import Adapter, Names, timed

ADAPTER: Final = Adapter(
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
