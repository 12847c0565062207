"""The reader: MiniLM with low-rank corrections of its upper layers, which reads a reply together with its conversation.

Sentence vectors of the reply alone cannot say whether it answers *this* person, and a head on them learns little but the
number of words. The corrections are a few hundred kilobytes beside weights that are there anyway, and are added to them once,
when the encoder is converted; after that a reading costs what an embedding costs. Both ends of a score are linear in means of
states, so a longer reply has no larger vector than a short one.

Its fit, and each origin held out from it: `benchmarks/judging_reader`.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.judging.sentence_encoder import Correction, Vectors, laid_out, without_extra
from harness.scenarios.context import Turn

CONTEXT_TOKENS, REPLY_TOKENS = 64, 192
"""Of the conversation its last tokens and of the reply its first ones, as in the fit: some 45 and 140 words."""
NAMES = {"seeker": "person", "supporter": "helper"}
WEIGHTS_PATH = "data/reader.npz"


@dataclass(frozen=True, slots=True)
class Reading:
    """One reply as the reader sees it."""

    score: float
    """Higher is better; only differences between replies to one conversation mean anything."""
    faults: tuple[float, ...]
    """Log odds of each fault in `Weights.faults`."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What the fit found: corrections by the name of the weight that they are added to, and the two linear ends."""

    version: str
    faults: tuple[str, ...]
    corrections: dict[str, Correction]
    score: NDArray[np.float32]
    fault_weights: NDArray[np.float32]
    fault_bias: NDArray[np.float32]

    @classmethod
    def load(cls) -> "Weights":
        """The weights that ship."""
        with (
            resources.as_file(resources.files("harness.judging") / WEIGHTS_PATH) as path,
            np.load(path, allow_pickle=False) as data,
        ):
            names = sorted({key.removesuffix(":up") for key in data.files if key.endswith(":up")})
            return cls(
                version=str(data["version"]),
                faults=tuple(str(name) for name in data["faults"]),
                corrections={
                    name: Correction(data[f"{name}:up"].astype(np.float32), data[f"{name}:down"].astype(np.float32))
                    for name in names
                },
                score=data["score"].astype(np.float32),
                fault_weights=data["fault_weights"].astype(np.float32),
                fault_bias=data["fault_bias"].astype(np.float32),
            )


class Reader:
    """A loaded reader. Not thread-safe."""

    def __init__(self, folder: Path, weights: Weights, threads: int = 2) -> None:
        import ctranslate2
        from tokenizers import Tokenizer

        self._encoder = ctranslate2.Encoder(str(folder), device="cpu", compute_type="int8", intra_threads=threads)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._cls, self._sep = (self._tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
        self.weights = weights

    @classmethod
    def load(cls, zip_path: Path, threads: int = 2) -> "Reader":
        """Load the reader, after adding its corrections to the encoder's weights if that has not been done.

        Raises:
            UserError: the encoder's file is missing or damaged; or the `local` extra is not installed.
        """
        without_extra()
        weights = Weights.load()
        name = f"{zip_path.stem}.reader-{weights.version}"
        for old in zip_path.parent.glob(f"{zip_path.stem}.reader-*"):
            if not old.name.startswith(name):
                shutil.rmtree(old, ignore_errors=True)
        return cls(laid_out(zip_path, name, weights.corrections), weights, threads)

    def read(self, turns: Sequence[Turn], replies: Sequence[str]) -> tuple[Reading, ...]:
        """What the reader makes of several replies to one conversation."""
        before = self._ids(said(turns))[-CONTEXT_TOKENS:]
        found = []
        for reply in replies:
            after = self._ids(reply)[:REPLY_TOKENS]
            ids = [self._cls, *before, self._sep, *after, self._sep]
            kinds = [0] * (len(before) + 2) + [1] * (len(after) + 1)
            states: Vectors = np.asarray(
                self._encoder.forward_batch([ids], token_type_ids=[kinds]).last_hidden_state, dtype=np.float32
            )[0]
            vector = np.concatenate([states[len(before) + 2 :].mean(axis=0), states[0]])
            faults = self.weights.fault_weights @ vector + self.weights.fault_bias
            found.append(Reading(float(self.weights.score @ vector), tuple(float(odds) for odds in faults)))
        return tuple(found)

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)


def said(turns: Sequence[Turn]) -> str:
    """A conversation as one text; who speaks is named only where more than one turn is there."""
    if len(turns) == 1:
        return turns[0].text
    return " ".join(f"{NAMES[turn.role]}: {turn.text}" for turn in turns)
