"""The tuned layers as the file that ships: low-rank corrections in half precision, and the two linear ends.

The version is a hash of the numbers themselves, so that a judgment names the reader that made it and not a date.
"""

import hashlib
from pathlib import Path

import numpy as np

from benchmarks.judging_reader.faults import FAULTS, Ends
from benchmarks.judging_reader.net import LAYERS, Layer, Upper

PLACES = {
    "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
    "out": "attention.output.dense", "up": "intermediate.dense", "down": "output.dense",
}  # fmt: skip


def save(upper: Upper, ends: Ends, path: Path) -> str:
    """Write the weights, and return their version."""
    arrays: dict[str, np.ndarray] = {}
    layers = [layer for layer in upper.layers if isinstance(layer, Layer)]
    for n, layer in enumerate(layers, start=LAYERS - len(layers)):
        for part, place in PLACES.items():
            low_rank = getattr(layer, part)
            name = f"encoder.layer.{n}.{place}.weight"
            arrays[f"{name}:up"] = low_rank.up.detach().numpy().astype(np.float16)
            arrays[f"{name}:down"] = low_rank.down.detach().numpy().astype(np.float16)
    arrays["score"] = upper.score.weight.detach().numpy()[0].astype(np.float32)
    arrays["fault_weights"] = ends.weights.astype(np.float32)
    arrays["fault_bias"] = ends.bias.astype(np.float32)
    digest = hashlib.sha256(b"".join(arrays[name].tobytes() for name in sorted(arrays))).hexdigest()[:12]
    np.savez_compressed(path, **arrays, version=np.array(digest), faults=np.array(FAULTS))
    return digest
