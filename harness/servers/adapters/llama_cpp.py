"""llama.cpp's server with `--metrics`: sums of prefill and decode without a number of requests, and no queue.

Its counters can therefore split no turn, but a request's own `timings` can: in the last chunk of a stream, or in each with
`timings_per_token`. `prompt_ms` ends when the first token is known; `predicted_ms` counts from there. With `return_progress`
the first chunk says that the request has left the queue. The header `Process-Start-Time-Unix` says which process a page is of.
Gauges are those of the instant between two steps at which the page is made. Numbers have six digits: a counter of a million and
more moves in steps of ten and more.

Source: llama.cpp's `tools/server/README.md`, `server-context.cpp` and `server-task.cpp`.
"""

from typing import Final

from harness.servers.adapter import Adapter, Names, Part, RequestNames

ADAPTER: Final = Adapter(
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
