"""Text Generation Inference: the queue per request, and prefill per batch, in seconds.

A batch that prefills one request is that request's prefill, and only such are split (see `harness.servers.split`). Nothing of a
single request is in its streamed answers. `tgi_batch_current_size` is set once a first prefill is over.

Source: TGI's reference of metrics.
"""

from typing import Final

from harness.servers.adapter import Adapter, Names, timed

ADAPTER: Final = Adapter(
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
