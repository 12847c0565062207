"""The form of the encoder that is made from its weight, and what becomes of it when it is damaged."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from harness import models
from harness.judging.sentence_encoder import LAYOUT_VERSION, SentenceEncoder
from harness.models.assembly import SEAL


@pytest.mark.parametrize("damaged", ["model.bin", "tokenizer.json", SEAL])
def test_a_damaged_file_that_was_made_from_a_weight_is_made_again(damaged: str, tmp_path: Path) -> None:
    weight = tmp_path / "minilm.zip"
    shutil.copy(models.resolve("minilm-l6"), weight)
    before = SentenceEncoder.load(weight).encode(["It is hard to hear that."])
    made = weight.with_name(f"minilm.ct2-int8-v{LAYOUT_VERSION}") / damaged
    first = made.read_bytes()
    spoilt = bytearray(first)
    spoilt[len(spoilt) // 2] ^= 0x55
    made.write_bytes(bytes(spoilt))
    again = SentenceEncoder.load(weight).encode(["It is hard to hear that."])
    assert made.read_bytes() == first
    assert np.array_equal(before, again)


def test_a_whole_one_is_not_made_again(tmp_path: Path) -> None:
    weight = tmp_path / "minilm.zip"
    shutil.copy(models.resolve("minilm-l6"), weight)
    SentenceEncoder.load(weight)
    made = weight.with_name(f"minilm.ct2-int8-v{LAYOUT_VERSION}") / "model.bin"
    written_ns = made.stat().st_mtime_ns
    SentenceEncoder.load(weight)
    assert made.stat().st_mtime_ns == written_ns
