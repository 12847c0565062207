"""The reader's network: the six layers of MiniLM, the upper ones with low-rank corrections, and a linear score.

The lower layers keep their weights, so their states are computed once and every epoch begins above them: a fit then takes
minutes on two cores. The score is linear in two means of the last layer's states (over the reply, and the first token's), so
that it needs nothing but the encoder at its use, and longer replies have no larger vectors than short ones.
"""

import math
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from harness.judging.sentence_encoder import safetensors

LAYERS, HEADS, WIDTH = 6, 12, 384
FROZEN = 4
"""Layers that stay as they are; set by time, and not varied."""
RANK = 16
"""Of 384; not varied."""
CONTEXT_TOKENS, REPLY_TOKENS = 64, 192
"""Set by time, and not varied."""
NAMES = {"S": "person", "P": "helper"}


@dataclass(frozen=True, slots=True)
class Tokens:
    """A conversation and a reply as the encoder takes them; `kinds` are 1 on the reply."""

    ids: tuple[int, ...]
    kinds: tuple[int, ...]


class Text:
    """The tokenizer of the encoder."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._tokenizer = Tokenizer.from_str(archive.read("tokenizer.json").decode())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._cls, self._sep = self._tokenizer.encode("").ids

    def read(self, turns: Sequence[str], reply: str) -> Tokens:
        """Of the conversation its end, of the reply its beginning."""
        said = " ".join(f"{NAMES[turn[0]]}: {turn[3:]}" for turn in turns) if len(turns) > 1 else turns[0][3:]
        before = self._tokenizer.encode(said, add_special_tokens=False).ids[-CONTEXT_TOKENS:]
        after = self._tokenizer.encode(reply, add_special_tokens=False).ids[:REPLY_TOKENS]
        ids = (self._cls, *before, self._sep, *after, self._sep)
        return Tokens(ids, (0,) * (len(before) + 2) + (1,) * (len(after) + 1))


class LowRank(nn.Module):  # type: ignore[misc]
    """A frozen linear map with a correction of rank `RANK`, zero at first."""

    def __init__(self, weight: Tensor, bias: Tensor, rank: int) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("bias", bias)
        self.down = nn.Parameter(torch.randn(rank, weight.shape[1]) / math.sqrt(weight.shape[1]))
        self.up = nn.Parameter(torch.zeros(weight.shape[0], rank))

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias) + functional.linear(functional.linear(x, self.down), self.up)


class Layer(nn.Module):  # type: ignore[misc]
    """One layer of BERT."""

    def __init__(self, weights: dict[str, Tensor], n: int, rank: int) -> None:
        super().__init__()
        block = f"encoder.layer.{n}."

        def linear(name: str) -> LowRank:
            return LowRank(weights[f"{block}{name}.weight"], weights[f"{block}{name}.bias"], rank)

        self.query, self.key, self.value = (linear(f"attention.self.{part}") for part in ("query", "key", "value"))
        self.out, self.up, self.down = linear("attention.output.dense"), linear("intermediate.dense"), linear("output.dense")
        for name, place in (("attended", "attention.output.LayerNorm"), ("fed", "output.LayerNorm")):
            self.register_buffer(f"{name}_weight", weights[f"{block}{place}.weight"])
            self.register_buffer(f"{name}_bias", weights[f"{block}{place}.bias"])
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        b, t, _ = x.shape
        q, k, v = (part(x).view(b, t, HEADS, -1).transpose(1, 2) for part in (self.query, self.key, self.value))
        seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        seen = self.dropout(self.out(seen.transpose(1, 2).reshape(b, t, WIDTH)))
        x = functional.layer_norm(x + seen, (WIDTH,), self.attended_weight, self.attended_bias, 1e-12)
        fed = self.dropout(self.down(functional.gelu(self.up(x))))
        return functional.layer_norm(x + fed, (WIDTH,), self.fed_weight, self.fed_bias, 1e-12)


class Upper(nn.Module):  # type: ignore[misc]
    """The layers that are tuned, and the score."""

    def __init__(self, weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(weights, n, RANK) for n in range(FROZEN, LAYERS))
        self.score = nn.Linear(2 * WIDTH, 1, bias=False)
        nn.init.zeros_(self.score.weight)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x: Tensor, mask: Tensor, reply: Tensor) -> Tensor:
        """Of each text the mean state over its reply beside the state of its first token."""
        for layer in self.layers:
            x = layer(x, mask)
        share = reply.to(x.dtype)
        mean = (x * share[..., None]).sum(1) / share.sum(1, keepdim=True)
        return torch.cat([mean, x[:, 0]], dim=1)

    def scored(self, vectors: Tensor) -> Tensor:
        """The score of each vector."""
        scores: Tensor = self.score(self.dropout(vectors)).squeeze(1)
        return scores


class Lower:
    """The layers that stay as they are."""

    def __init__(self, weights: dict[str, Tensor], frozen: int = FROZEN) -> None:
        self._weights = weights
        self._layers = [Layer(weights, n, 1).eval() for n in range(frozen)]

    def states(self, tokens: Sequence[Tokens]) -> list[Tensor]:
        """The states below the tuned layers, of each text."""
        found: list[Tensor] = [torch.empty(0)] * len(tokens)
        for batch in by_length([len(t.ids) for t in tokens], 8_192):
            size = max(len(tokens[n].ids) for n in batch)
            ids, kinds = (torch.zeros(len(batch), size, dtype=torch.long) for _ in range(2))
            mask = torch.zeros(len(batch), size, dtype=torch.bool)
            for row, n in enumerate(batch):
                length = len(tokens[n].ids)
                ids[row, :length], kinds[row, :length] = torch.tensor(tokens[n].ids), torch.tensor(tokens[n].kinds)
                mask[row, :length] = True
            w = self._weights
            x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][kinds]
            x = x + w["embeddings.position_embeddings.weight"][:size]
            x = functional.layer_norm(x, (WIDTH,), w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"], 1e-12)
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
                for layer in self._layers:
                    x = layer(x, mask)
            for row, n in enumerate(batch):
                found[n] = x[row, : len(tokens[n].ids)].half()
        return found


def load(zip_path: Path) -> tuple[dict[str, Tensor], Text]:
    """The encoder's weights and its tokenizer."""
    with zipfile.ZipFile(zip_path) as archive:
        raw = safetensors(archive.read("model.safetensors"))
        return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in raw.items()}, Text(archive)


def padded(states: Sequence[Tensor], tokens: Sequence[Tokens]) -> tuple[Tensor, Tensor, Tensor]:
    """States, mask and the reply's places, of texts of different lengths."""
    size = max(len(t.ids) for t in tokens)
    x = torch.zeros(len(tokens), size, WIDTH)
    mask = torch.zeros(len(tokens), size, dtype=torch.bool)
    reply = torch.zeros(len(tokens), size, dtype=torch.bool)
    for row, (state, t) in enumerate(zip(states, tokens, strict=True)):
        x[row, : len(t.ids)] = state.float()
        mask[row, : len(t.ids)] = True
        reply[row, : len(t.ids)] = torch.tensor(t.kinds, dtype=torch.bool)
    return x, mask, reply


def by_length(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Indices of texts, shortest first, in batches of at most `most` tokens with their padding."""
    batch: list[int] = []
    for n in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[n] > most:
            yield batch
            batch = []
        batch.append(n)
    if batch:
        yield batch
