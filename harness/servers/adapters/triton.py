"""Triton Inference Server at port 8002: microseconds in the queue and in computing, model by model.

Its computing is of a whole request: of a model that answers with one result, a recogniser or an encoder, that is the stage; of
one that streams, it goes on after the first answer, and is then not used for it. Name the model (`model = "…"`): the page has
all of them. `nv_inference_first_response_histogram_ms` is there for streaming models in newer versions. The cache that it
counts is one of whole responses, and no prefix cache.

Source: Triton's `docs/user_guide/metrics.md`.
"""

from typing import Final

from harness.servers.adapter import Adapter, Names, timed

_US: Final = 0.001
_COMPUTE: Final = tuple(f"nv_inference_compute_{part}_duration_us" for part in ("input", "infer", "output"))

ADAPTER: Final = Adapter(
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
