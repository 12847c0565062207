"""Q4_1 to Q8_0 on the real file: what must stay the same stays, and the model still answers."""

from pathlib import Path

import numpy as np
import pytest

from harness.models import catalogue, resolve
from harness.models.assembly import requantise, sha256_of


@pytest.mark.models
@pytest.mark.long
def test_requantising_keeps_all_but_the_rounding_and_is_repeatable(tmp_path: Path) -> None:
    from gguf import GGUFReader, quants

    source = resolve("smollm2-135m-q4_1")
    requantise(source, tmp_path / "q8.gguf")
    pinned = next(weight for weight in catalogue() if weight.name == "smollm2-135m").files[0].sha256
    assert sha256_of(tmp_path / "q8.gguf") == pinned
    before, after = GGUFReader(source), GGUFReader(tmp_path / "q8.gguf")
    changed = {
        name
        for name, field in before.fields.items()
        if not name.startswith("GGUF.") and field.contents() != after.fields[name].contents()
    }
    assert changed == {"general.file_type"}
    assert [tensor.name for tensor in before.tensors] == [tensor.name for tensor in after.tensors]
    for old, new in list(zip(before.tensors, after.tensors, strict=True))[:20]:
        plain_old = quants.dequantize(old.data, old.tensor_type)
        plain_new = quants.dequantize(new.data, new.tensor_type)
        # Q8_0 keeps a block's largest value to within half of 1/127 of it, and stores the step as float16.
        assert np.abs(plain_old - plain_new).max() <= np.abs(plain_old).max() / 200
