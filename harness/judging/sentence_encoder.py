"""Sentence embeddings by all-MiniLM-L6-v2, on the CPU, without torch.

The weights come as a zip of safetensors (Apache-2.0); CTranslate2, which the recogniser brings anyway, runs such an encoder
in int8 at a few milliseconds a reply. The file is converted to CTranslate2's form once, beside the zip.
"""

import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError
from harness.local_programs import are_here, call
from harness.models.assembly import are_whole, seal

LAYOUT_VERSION = 1
DIMENSIONS = 384
LONGEST_TOKENS = 256
"""Tokens that the model was trained to read; a reply meant to be spoken is far shorter."""
BATCH_TOKENS = 1_024
"""Tokens read at once, padding included: 60 words and their sentences fit twice, and memory stays within a few megabytes."""
_LAYERS, _HEADS = 6, 12
_NEEDS: Final = ("ctranslate2", "tokenizers")
_SENTENCE = re.compile(r"[^.!?…]+[.!?…]*")

Vectors = NDArray[np.float32]


class SentenceEncoder:
    """A loaded encoder. One text at a time or many; not thread-safe."""

    def __init__(self, folder: Path, threads: int = 2) -> None:
        import ctranslate2
        from tokenizers import Tokenizer

        self._encoder = ctranslate2.Encoder(str(folder), device="cpu", compute_type="int8", intra_threads=threads)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST_TOKENS)

    @classmethod
    def load(cls, zip_path: Path, threads: int = 2) -> "SentenceEncoder":
        """Load the encoder, after converting it if that has not been done.

        Raises:
            UserError: the file is missing or damaged; or no Python here has the `local` extra.
        """
        if not zip_path.is_file():
            raise UserError(f"embedded judge: no encoder weights at {zip_path}; run `harness models`")
        if not are_here(_NEEDS):
            return _Away(zip_path, threads)
        folder = zip_path.with_name(f"{zip_path.stem}.ct2-int8-v{LAYOUT_VERSION}")
        if not are_whole(folder):
            shutil.rmtree(folder, ignore_errors=True)
            _lay_out(zip_path, folder)
        return cls(folder, threads)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors (texts × 384): the mean over tokens, as the model was trained."""
        return np.stack([unit(states.mean(axis=0)) for states in self.token_states(texts)])

    def token_states(self, texts: Sequence[str]) -> list[Vectors]:
        """The last layer's states (tokens × 384) of each text.

        Texts of one length are read together: a batch is padded to its longest text, so one long reply beside its short
        sentences would cost every one of them its own length, in time and in memory.
        """
        tokens = [self._tokenizer.encode(text).ids for text in texts]
        found: list[Vectors] = [np.empty((0, DIMENSIONS), dtype=np.float32)] * len(tokens)
        for batch in _by_length([len(ids) for ids in tokens]):
            hidden = np.asarray(self._encoder.forward_batch([tokens[n] for n in batch]).last_hidden_state, dtype=np.float32)
            for row, n in enumerate(batch):
                found[n] = hidden[row, : len(tokens[n])]
        return found


class _Away(SentenceEncoder):
    """An encoder in the process that has its packages (`harness.local_programs`)."""

    def __init__(self, zip_path: Path, threads: int) -> None:
        self._place = (zip_path, threads)
        self.token_states(())

    def token_states(self, texts: Sequence[str]) -> list[Vectors]:
        return call(_token_states, *self._place, list(texts), why="the embedded judge", modules=_NEEDS)


@lru_cache(maxsize=1)
def _loaded(zip_path: Path, threads: int) -> SentenceEncoder:
    return SentenceEncoder.load(zip_path, threads)


def _token_states(zip_path: Path, threads: int, texts: Sequence[str]) -> list[Vectors]:
    return _loaded(zip_path, threads).token_states(texts)


def unit(vectors: Vectors) -> Vectors:
    """Each row divided by its length."""
    return np.asarray(vectors / (np.linalg.norm(vectors, axis=-1, keepdims=True) + 1e-9), dtype=np.float32)


def _by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices of the texts, shortest first, in batches of at most `BATCH_TOKENS` tokens with their padding."""
    batch: list[int] = []
    for n in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        if batch and (len(batch) + 1) * lengths[n] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(n)
    if batch:
        yield batch


def sentences(text: str) -> list[str]:
    """The sentences of a text, at least one; a transcript without punctuation is one sentence."""
    found = [s.strip() for s in _SENTENCE.findall(text) if re.search(r"\w", s)]
    return found or [text.strip() or "."]


def _lay_out(zip_path: Path, folder: Path) -> None:
    """Write CTranslate2's form, then rename into place, so that a killed run leaves no unfinished file."""
    scratch = Path(tempfile.mkdtemp(prefix=".ct2-", dir=folder.parent))
    try:
        try:
            _convert(zip_path, scratch)
            seal(scratch)
        except (ValueError, KeyError, zipfile.BadZipFile) as error:
            raise UserError(f"{zip_path}: not the encoder's weights ({error}); delete it and fetch it again") from error
        try:
            os.rename(scratch, folder)
        except OSError:
            if not are_whole(folder):
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _convert(zip_path: Path, out: Path) -> None:
    from ctranslate2.specs import common_spec, transformer_spec

    with zipfile.ZipFile(zip_path) as archive:
        weights = safetensors(archive.read("model.safetensors"))
        tokenizer = json.loads(archive.read("tokenizer.json"))
    encoder = transformer_spec.TransformerEncoderSpec(
        _LAYERS,
        _HEADS,
        pre_norm=False,
        activation=common_spec.Activation.GELU,
        layernorm_embedding=True,
        num_source_embeddings=2,
        embeddings_merge=common_spec.EmbeddingsMerge.ADD,
    )
    spec = transformer_spec.TransformerEncoderModelSpec(encoder)
    encoder.scale_embeddings = False
    encoder.embeddings[0].weight = weights["embeddings.word_embeddings.weight"]
    encoder.embeddings[1].weight = weights["embeddings.token_type_embeddings.weight"]
    encoder.position_encodings.encodings = weights["embeddings.position_embeddings.weight"]
    _norm(encoder.layernorm_embedding, weights, "embeddings.LayerNorm")
    for n, layer in enumerate(encoder.layer):
        block = f"encoder.layer.{n}."
        parts = [f"{block}attention.self.{part}" for part in ("query", "key", "value")]
        layer.self_attention.linear[0].weight = np.concatenate([weights[f"{part}.weight"] for part in parts])
        layer.self_attention.linear[0].bias = np.concatenate([weights[f"{part}.bias"] for part in parts])
        _linear(layer.self_attention.linear[1], weights, block + "attention.output.dense")
        _norm(layer.self_attention.layer_norm, weights, block + "attention.output.LayerNorm")
        _linear(layer.ffn.linear_0, weights, block + "intermediate.dense")
        _linear(layer.ffn.linear_1, weights, block + "output.dense")
        _norm(layer.ffn.layer_norm, weights, block + "output.LayerNorm")
    vocabulary = tokenizer["model"]["vocab"]
    spec.register_vocabulary(sorted(vocabulary, key=vocabulary.__getitem__))
    spec.config.unk_token = "[UNK]"
    spec.config.layer_norm_epsilon = 1e-12
    spec.validate()
    spec.optimize(quantization="int8")
    spec.save(str(out))
    (out / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")


def safetensors(raw: bytes) -> dict[str, NDArray[np.float32]]:
    """The tensors of a safetensors file: eight bytes of header length, a JSON header, then raw little-endian floats."""
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    tensors = {}
    for name, facts in header.items():
        if name == "__metadata__" or facts["dtype"] not in ("F32", "F16"):
            continue
        start, end = facts["data_offsets"]
        kind = np.dtype("<f4" if facts["dtype"] == "F32" else "<f2")
        data = np.frombuffer(raw[8 + length + start : 8 + length + end], dtype=kind)
        tensors[name] = np.array(data.reshape(facts["shape"]), dtype=np.float32)
    return tensors


def _norm(spec: Any, weights: dict[str, NDArray[np.float32]], name: str) -> None:
    spec.gamma, spec.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]


def _linear(spec: Any, weights: dict[str, NDArray[np.float32]], name: str) -> None:
    spec.weight, spec.bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
