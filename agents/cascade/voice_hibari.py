"""The voice of the package `hibari-tts`, whose sound begins before the rest of a piece has been made.

Hibari's network works in two steps: all phonemes become frames of 12.5 ms with an F0, and a decoder, which looks a few frames
to either side, makes spectra of them. The first 300 ms are decoded, given out and heard while the rest is made. Joined parts
are one synthesis but for the decoder's 8-bit rounding: phases run on through the whole F0, and noise has a place on the time
axis.

Hibari says 0.3 s of near-silence before a piece and 0.4 s after it, which would be heard as delay and as breaks; its own
durations say where speech begins, its loudness where it ends. Text without anything to say is silence and no error.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import onnx
import onnxruntime
from loguru import logger
from numpy.typing import NDArray
from onnx.utils import Extractor

from harness.agents.cascade.recogniser import on_threads
from harness.agents.cascade.settings import SettingsFailed
from harness.audio.hibari_package import hibari_files
from harness.audio.voice_error import VoiceError

RATE_HZ: Final = 24_000
FIRST_FRAMES: Final = 24
"""The first part: 300 ms, of which at least 200 were left after its near-silence (207 pieces)."""
GROWTH: Final = 4
"""Length of each later part, in parts before it: they are made in a tenth of the time that they take to hear."""
MARGIN_FRAMES: Final = 10
"""Context of the decoder on either side: with 27 (all that its nine convolutions can see), 20, 14 and 10 frames a part differs
from a whole decoding by the decoder's rounding alone, with 6 by half as much again."""
SEAM_FRAMES: Final = 3
"""Frames beside a part that share samples with it: windows are four frames long, in pulses and again in sound."""
MOST_PHONEMES: Final = 400
"""Longest input, as in hibari: it was not trained on longer ones. Longer sentences are divided between words."""
LEAD_FRAMES: Final = 9
"""Frames kept before the first phoneme: sound began 19 to 95 ms before its nominal start (20 pieces)."""
PAUSE_MS: Final = {"sentence": 400, "comma": 100, "none": 20}
"""Longest near-silence after a piece, by its last mark. Hibari's own is about 400 ms after any; inside a sentence it makes
none of over 60 ms, not even at commas."""
_AUDIBLE: Final = 250 / 32768
"""About -42 dB of full scale, as in `harness.agents.cascade.stock`."""
GAIN: Final = 1.4
"""Hibari does not scale pieces to full range, so one factor keeps all of a reply as loud as Piper is in parts: active samples
of 207 pieces lay at -20.7 dB of full scale (standard deviation 0.5; Piper's of 63 at -21.1 and 1.7), the loudest at 0.72."""
_LONG_WORD: Final = re.compile(r"(\S{30})(?=\S)")
"""Longer words are divided: the package took 4 ms for "NoNoNo…" of 30 letters, 69 for 100 and 1,492 for 300."""
_UNKNOWN_WORD: Final = "Yatharvi"
"""Not in the dictionary. The network for such words is loaded at the first one, in 72 ms: no caller should wait for it."""
_NOISE_FRAMES: Final = 800
"""Noise is repeated after 10 s, longer than anybody's memory of a hiss."""
_DECODER_INPUT: Final = "m.dec_in.weight"
"""The weights of the decoder's first layer; what else goes into that layer are the frames."""
_SENTENCE_ENDS: Final = ".!?…"
_COMMAS: Final = ",;:—–"
_SPECTRA: Final = ("lh", "theta", "ln", "lr", "phi")

Float32 = NDArray[np.float32]
Complex64 = NDArray[np.complex64]


@dataclass(frozen=True, slots=True)
class HibariConfig:
    """The part of a Piper voice's configuration that services read."""

    sample_rate: int = RATE_HZ


@dataclass(frozen=True, slots=True)
class HibariChunk:
    """Sound in the form of Piper's chunks: mono, samples from -1 to 1."""

    audio_float_array: Float32
    sample_rate: int = RATE_HZ
    sample_width: int = 2
    sample_channels: int = 1

    @property
    def audio_int16_bytes(self) -> bytes:
        return (self.audio_float_array * 32767).astype("<i2").tobytes()


class HibariVoice:
    """Hibari with the interface of a Piper voice. With `in_parts`, the beginning of a sentence comes before its rest.

    Raises:
        SettingsFailed: the package is missing, or its network is not the one known here.
    """

    config = HibariConfig()

    def __init__(self, threads: int = 1, in_parts: bool = True) -> None:
        try:
            files = hibari_files()
        except VoiceError as missing:
            raise SettingsFailed(str(missing)) from missing
        from hibari import Hibari
        from hibari.g2p import G2P

        first, second, self._frames, self._durations = _halves(files.network.read_bytes())
        self._encoder = _session(first, threads)
        self._decoder = _session(second, threads)
        self._vocabulary: dict[str, int] = json.loads(files.vocabulary.read_text(encoding="utf-8"))
        self._g2p = G2P()
        self._g2p(_UNKNOWN_WORD)
        self._split = Hibari.split_sentences
        self._in_parts = in_parts
        bins = int(self._decoder.get_outputs()[0].shape[1])
        pairs = np.random.default_rng(0).standard_normal((bins, 2 * _NOISE_FRAMES), dtype=np.float32)
        self._noise: Complex64 = pairs.view(np.complex64)

    def synthesize(self, text: str) -> Iterator[HibariChunk]:
        """Sound in parts, the first of `FIRST_FRAMES` frames and each later one `GROWTH` times as long as the one before."""
        sentences = list(self._sentences(text))
        for number, ids in enumerate(sentences, 1):
            given = {"ids": np.array([ids], dtype=np.int64), "speed": np.ones(1, dtype=np.float32)}
            frames, f0, durations = self._encoder.run([self._frames, "f0", self._durations], given)
            count = frames.shape[2]
            # Durations count pairs of frames in this network; their sum says how many frames one of them is.
            lead = round(float(durations.ravel()[0]) * count / float(durations.sum()))
            for start, end in self._parts(max(0, lead - LEAD_FRAMES), count):
                sound = self._sound(frames, f0[0], start, end) * np.float32(GAIN)
                if end == count:
                    sound = _with_pause(sound, PAUSE_MS[_mark(text) if number == len(sentences) else "sentence"])
                yield HibariChunk(np.clip(sound, -1.0, 1.0))

    def _sentences(self, text: str) -> Iterator[list[int]]:
        for sentence in self._split(_LONG_WORD.sub(r"\1 ", text)):
            ids: list[int] = []
            for word in self._phonemes(sentence).split(" "):
                spoken = [self._vocabulary[symbol] for symbol in word if symbol in self._vocabulary][:MOST_PHONEMES]
                if ids and len(ids) + 1 + len(spoken) > MOST_PHONEMES:
                    yield [0, *ids, 0]
                    ids = []
                ids += [self._vocabulary[" "], *spoken] if ids and spoken else spoken
            if ids:
                yield [0, *ids, 0]

    def _phonemes(self, sentence: str) -> str:
        """The phonemes of a sentence, without words on which the package fails (a raised 1): an agent speaks on."""
        try:
            return str(self._g2p(sentence))
        except Exception as error:  # a dictionary's rules, which may raise anything on strange text
            words = sentence.split()
            if len(words) < 2:
                logger.warning("hibari cannot say {!r}: {}", sentence, error)
                return ""
            return " ".join(filter(None, map(self._phonemes, words)))

    def _parts(self, start: int, count: int) -> Iterator[tuple[int, int]]:
        length = FIRST_FRAMES if self._in_parts else count
        while start < count:
            # No short last part: it would be near-silence, and where speech ended could not be heard in it.
            end = start + length if start + 2 * length < count else count
            yield start, end
            start, length = end, GROWTH * length

    def _sound(self, frames: Float32, f0: Float32, start: int, end: int) -> Float32:
        """The samples of frames `start` to `end`, as they are in a synthesis of all frames."""
        from hibari import dsp

        count = frames.shape[2]
        low, high = max(0, start - SEAM_FRAMES), min(count, end + SEAM_FRAMES)
        before, after = max(0, low - MARGIN_FRAMES), min(count, high + MARGIN_FRAMES)
        decoded = self._decoder.run(_SPECTRA, {self._frames: frames[:, :, before:after]})
        lh, theta, ln, lr, phi = (spectrum[0][:, low - before : high - before] for spectrum in decoded)
        # From the sentence's first frame, so that the phase of the voice runs on; one frame more, as F0 is interpolated.
        pulses = dsp.pulses(f0[: high + 1])[low * dsp.HOP : high * dsp.HOP]
        spectrum = dsp.stft(pulses, high - low)
        spectrum *= _polar(lh, np.pi * np.tanh(theta))
        spectrum += self._noise[:, np.arange(low, high) % _NOISE_FRAMES] * dsp.ex(ln)
        spectrum += _polar(lr, phi)
        sound: Float32 = dsp.ola(spectrum)
        return sound[(start - low) * dsp.HOP : (end - low) * dsp.HOP]


def _polar(log_size: Float32, angle: Float32) -> Complex64:
    from hibari import dsp

    out = np.empty(angle.shape, dtype=np.complex64)
    np.cos(angle, out=out.real)
    np.sin(angle, out=out.imag)
    out *= dsp.ex(log_size)
    return out


def _mark(text: str) -> Literal["sentence", "comma", "none"]:
    last = text.rstrip(" \n\t\"'”’)]")[-1:]
    return "sentence" if last and last in _SENTENCE_ENDS else "comma" if last and last in _COMMAS else "none"


def _with_pause(sound: Float32, most_ms: float) -> Float32:
    """`sound` with at most this much near-silence after it."""
    loud = np.flatnonzero(np.abs(sound) > _AUDIBLE)
    return sound[: int(loud[-1]) + 1 + round(most_ms * RATE_HZ / 1000)] if loud.size else sound


def _halves(network: bytes) -> tuple[bytes, bytes, str, str]:
    """The network up to the decoder's input, the decoder, and the names of frames and durations that the first one gives."""
    model = onnx.load_from_string(network)
    entrance = next((node.input[0] for node in model.graph.node if _DECODER_INPUT in node.input), None)
    outputs = {given.name for given in model.graph.output}
    rounded = [node.output[0] for node in model.graph.node if node.op_type == "Round"]
    durations = [node.output[0] for node in model.graph.node if node.op_type == "Clip" and node.input[0] in rounded]
    if entrance is None or len(durations) != 1 or not outputs.issuperset((*_SPECTRA, "f0")):
        raise SettingsFailed("hibari's network is not the one known here: install hibari-tts 0.2")
    cut = Extractor(model)
    encoder = cut.extract_model([given.name for given in model.graph.input], [entrance, "f0", *durations])
    decoder = cut.extract_model([entrance], list(_SPECTRA))
    return encoder.SerializeToString(), decoder.SerializeToString(), str(entrance), str(durations[0])


def _session(network: bytes, threads: int) -> Any:
    return onnxruntime.InferenceSession(network, sess_options=on_threads(threads), providers=["CPUExecutionProvider"])
