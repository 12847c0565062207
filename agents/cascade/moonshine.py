"""Moonshine tiny, a recogniser that costs as much as there is to hear, and continues from words that it has heard before.

Whisper's encoder runs over eight seconds at least (`short_context_whisper`), and CTranslate2 takes as long for a text whose
beginning is known as for a new one. Moonshine's encoder has no least window, and its decoder takes the known beginning in one
step, so words are transcribed while they are spoken, and only the last are left when the caller falls silent. Measured beside
Whisper tiny.en: a third to half of the time for 2 to 6 s of speech, at 7.8 % against 8.1 % word errors
(docs/evidence/agent-listening.md).

Source: Jeffries et al. 2024, "Moonshine: Speech Recognition for Live Transcription and Voice Commands"; weights and their
tokeniser are those of the package `moonshine-voice` (MIT).
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from harness.agents.cascade.recogniser import RATE_HZ, Heard, looks_looped, on_threads, quietest_place
from harness.agents.cascade.reply_loops import before_repetition

_BEGIN: Final = 1
_END: Final = 2
_TOKENS_PER_SECOND: Final = 6.5
"""The model's own limit, in its authors' package: a decoder that says more is in a loop."""
_TOKENS_BESIDE: Final = 6
_LEAST_SAMPLES: Final = RATE_HZ // 4
"""The encoder's three convolutions need a few frames; a click of 50 ms is padded to this."""
_MOST_SAMPLES: Final = 9 * RATE_HZ
"""Longer sound is cut where it is quietest: exported with 512 frames of 24 ms, the decoder fails over 12 s."""
_HEADS: Final = 8
_HEAD_SIZE: Final = 36
_WORD_BEGINS: Final = "\N{LOWER ONE EIGHTH BLOCK}".encode()
"""The tokeniser's mark of a blank before a token."""


class Moonshine:
    """A Moonshine model on one processor. Safe to share by sessions. `weights` is the model's folder."""

    piece_from_s = 1.5
    """A piece costs 16 ms of encoding per second, so it is closed at the first pause after this."""
    stretch_most_s = _MOST_SAMPLES / RATE_HZ

    def __init__(self, weights: str, threads: int = 1) -> None:
        options, folder = on_threads(threads), Path(weights)

        def load(name: str) -> onnxruntime.InferenceSession:
            return onnxruntime.InferenceSession(folder / name, sess_options=options, providers=["CPUExecutionProvider"])

        self._encoder, self._decoder = load("encoder_model.ort"), load("decoder_model_merged.ort")
        self._past = [given.name for given in self._decoder.get_inputs() if given.name.startswith("past_key_values")]
        self._outputs = [given.name for given in self._decoder.get_outputs()]
        self._tokens = read_tokens((folder / "tokenizer.bin").read_bytes())
        self.transcribe(np.zeros(RATE_HZ, np.float32))

    def transcribe(
        self,
        samples: NDArray[np.float32],
        least_words: int = 0,
        known: Sequence[int] = (),
        stop: threading.Event | None = None,
    ) -> Heard:
        """The words in `samples` (16 kHz, -1 to 1).

        `known`: tokens with which they begin, as an earlier call heard them. With fewer than `least_words` words the known
        beginning is doubted, and all is heard anew. `stop`: if it is set, the result is what was heard until then.
        """
        pieces = _split(samples)
        if len(pieces) > 1:
            heard = [self._piece(piece, (), stop) for piece in pieces]
            return Heard(" ".join(h.text for h in heard if h.text), 0)
        heard = [self._piece(samples, known, stop)]
        if known and len(heard[0].text.split()) < least_words:
            heard.append(self._piece(samples, (), stop))
        best = max(heard, key=lambda h: len(h.text.split()))
        return Heard(best.text, len(heard) - 1, best.tokens)

    def text_of(self, tokens: Sequence[int]) -> str:
        """The text of tokens; those of control have none."""
        joined = b"".join(self._tokens[token] for token in tokens if token > _END)
        return joined.replace(_WORD_BEGINS, b" ").decode(errors="ignore").strip()

    def agreed(self, one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
        """The beginning that two transcripts share, without its last word, which more sound may yet change."""
        same = next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
        while same and not self._tokens[one[same - 1]].startswith(_WORD_BEGINS):
            same -= 1
        return tuple(one[: max(0, same - 1)])

    def states(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """The encoder's states, shape (states, 288), one for each 24 ms."""
        padded = np.zeros((1, max(len(samples), _LEAST_SAMPLES)), np.float32)
        padded[0, : len(samples)] = samples
        given = {"input_values": padded, "attention_mask": np.ones(padded.shape, np.int64)}
        (states,) = self._encoder.run(None, given)
        return np.asarray(states[0], np.float32)

    def _piece(self, samples: NDArray[np.float32], known: Sequence[int], stop: threading.Event | None) -> Heard:
        states = self.states(samples)[None]
        seconds = len(samples) / RATE_HZ
        tokens = self._decode(states, known, int(seconds * _TOKENS_PER_SECOND) + _TOKENS_BESIDE, stop)
        text = self.text_of(tokens)
        return Heard(before_repetition(text), 0) if looks_looped(text, seconds) else Heard(text, 0, tuple(tokens))

    def _decode(self, states: NDArray[np.float32], known: Sequence[int], most: int, stop: threading.Event | None) -> list[int]:
        given: dict[str, Any] = {
            "encoder_hidden_states": states,
            "encoder_attention_mask": np.ones(states.shape[:2], np.int64),
            "input_ids": np.array([[_BEGIN, *known]], np.int64),
            "use_cache_branch": np.array([False]),
        }
        given |= {name: np.zeros((1, _HEADS, 0, _HEAD_SIZE), np.float32) for name in self._past}
        tokens = list(known)
        while len(tokens) < most and not (stop is not None and stop.is_set()):
            results = dict(zip(self._outputs, self._decoder.run(None, given), strict=True))
            token = int(results["logits"][0, -1].argmax())
            if token == _END:
                break
            tokens.append(token)
            continued = bool(given["use_cache_branch"][0])
            for name in self._past:
                # The encoder's keys are made in the first step, and come back empty afterwards.
                if not (continued and ".encoder." in name):
                    given[name] = results[name.replace("past_key_values", "present")]
            given["input_ids"] = np.array([[token]], np.int64)
            given["use_cache_branch"] = np.array([True])
        return tokens


def read_tokens(data: bytes) -> list[bytes]:
    """The bytes of each token in a `tokenizer.bin`: lengths of one byte, or two from 128 on, each before its token."""
    tokens, at = [], 0
    while at < len(data):
        length, at = data[at], at + 1
        if length >= 128:
            length, at = data[at] * 128 + length - 128, at + 1
        tokens.append(data[at : at + length])
        at += length
    return tokens


def _split(samples: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """The samples in pieces of at most `_MOST_SAMPLES`."""
    if len(samples) <= _MOST_SAMPLES:
        return [samples]
    cut = quietest_place(samples)
    return [*_split(samples[:cut]), *_split(samples[cut:])]
