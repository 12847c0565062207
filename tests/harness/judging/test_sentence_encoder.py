"""The form of the encoder that is made from its weight, and what becomes of it when it is damaged."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from harness import models
from harness.judging.sentence_encoder import LAYOUT_VERSION, SentenceEncoder
from harness.models.assembly import SEAL, are_whole


@pytest.mark.parametrize("damaged", ["model.bin", pytest.param("tokenizer.json", marks=pytest.mark.long)])
def test_a_whole_form_is_not_made_again_and_a_damaged_one_is(damaged: str, tmp_path: Path) -> None:
    weight = tmp_path / "minilm.zip"
    shutil.copy(models.resolve("minilm-l6"), weight)
    before = SentenceEncoder.load(weight).encode(["It is hard to hear that."])
    form = weight.with_name(f"minilm.ct2-int8-v{LAYOUT_VERSION}")
    written_ns = (form / "model.bin").stat().st_mtime_ns
    SentenceEncoder.load(weight)
    assert (form / "model.bin").stat().st_mtime_ns == written_ns

    content = {name: (form / name).read_bytes() for name in ("model.bin", "tokenizer.json", SEAL)}
    for name, first in content.items():
        spoilt = bytearray(first)
        spoilt[len(spoilt) // 2] ^= 0x55
        (form / name).write_bytes(bytes(spoilt))
        assert not are_whole(form)
        (form / name).write_bytes(first)
    (form / damaged).write_bytes(content[damaged][:-1])
    again = SentenceEncoder.load(weight).encode(["It is hard to hear that."])
    assert (form / damaged).read_bytes() == content[damaged]
    assert np.array_equal(before, again)
