"""Voices that speak a stretch of text: the interface for a renderer, and its implementation with Piper.

A caller must say the same thing in the same way to every agent. Piper draws noise that onnxruntime cannot reset in a live
session, so a session is made for each turn from a seed, on one thread; with memory reuse planning off this takes 0.1 s instead
of 1.5 s. A renderer uses the best of three kinds of voice: `ShapingVoice` also sets pitch and timbre, `AlignedVoice` speaks a
turn whole and knows where each stretch ends, a plain `Synthesiser` speaks each stretch alone, which sounds more finished than a
person's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np

from harness.audio.pcm import Float32
from harness.audio.prosody import Prosody, Speaker
from harness.audio.speech_floor import Stretch
from harness.audio.voice_error import VoiceError, imported

VOWELS = frozenset("aeiouyæɐɑɒɔəɚɛɜɝɪʊʌᵻɨʉøœɯɤAIOQWY")
"""IPA as Piper's espeak writes it, and the one-letter diphthongs of hibari's alphabet."""
_MARKS = frozenset(" ,.;:!?—…\"“”'()-")


@dataclass(frozen=True, slots=True)
class Piece:
    """The phonemes of one stretch inside one sentence; `lengthening` is a factor on those of its last syllable."""

    stretch: int
    phonemes: tuple[str, ...]
    lengthening: float = 1.0

    @property
    def last_syllable(self) -> range:
        """The indices of the phonemes from the last vowel to the last sound; empty without a vowel."""
        vowels = [k for k, symbol in enumerate(self.phonemes) if symbol in VOWELS]
        if not vowels:
            return range(0)
        sounds = [k for k, symbol in enumerate(self.phonemes) if symbol not in _MARKS]
        return range(vowels[-1], sounds[-1] + 1)


def sentences_of(
    stretches: Sequence[Stretch], phonemes: Callable[[str], Sequence[Sequence[str]]], most_phonemes: int | None = None
) -> list[list[Piece]]:
    """The pieces of each sentence of a turn. `phonemes` gives a text's sentences as phonemes.

    The network gets whole sentences, which may contain several stretches: a sentence with a pause inside is spoken in one
    pass and cut afterwards, so its first half sounds like the first half of a sentence. Stretches are converted to phonemes
    one by one, so that the place of the cut among the phonemes is known.

    A sentence longer than `most_phonemes` is divided between two stretches.
    """
    sentences: list[list[Piece]] = []
    open_sentence = False
    for k, stretch in enumerate(stretches):
        said = [tuple(found) for found in phonemes(stretch.text) if found]
        for j, found in enumerate(said):
            last = j + 1 == len(said)
            piece = Piece(k, found, stretch.ending.final_lengthening if last else 1.0)
            fits = most_phonemes is None or (
                bool(sentences) and sum(len(p.phonemes) + 1 for p in sentences[-1]) + len(found) <= most_phonemes
            )
            if j == 0 and open_sentence and fits:
                sentences[-1].append(piece)
            else:
                sentences.append([piece])
        if said:
            open_sentence = not stretch.closes
    return sentences


class AnyVoice(Protocol):
    """What every voice says of itself: `identity` names its bytes and version, and is part of the cache key of renderings."""

    @property
    def identity(self) -> str: ...

    @property
    def rate_hz(self) -> int: ...


class Synthesiser(AnyVoice, Protocol):
    """A voice that speaks each stretch alone.

    >>> import harness
    >>> import numpy as np
    >>> from harness.audio.speech import render_turn
    >>> class Tone:
    ...     identity, rate_hz = "tone:1", 16_000
    ...     def speak(self, texts, seed):
    ...         second = 0.1 * np.sin(np.arange(16_000) * 2 * np.pi * 220 / 16_000)
    ...         return [[second.astype(np.float32)] for _ in texts]
    >>> voice: harness.Voice = Tone()
    >>> render_turn("It is tomorrow already.", None, voice, None).duration_s
    1.0
    """

    def speak(self, texts: Sequence[str], seed: int) -> list[list[Float32]]:
        """The sentences of each text as signals at `rate_hz`, as the voice makes them, silence at their edges included.

        The same arguments give the same samples.
        """
        ...


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence spoken in one pass: mono samples, and (stretch, one past its last sample) for each piece of it."""

    samples: Float32
    pieces: tuple[tuple[int, int], ...]


@runtime_checkable
class AlignedVoice(AnyVoice, Protocol):
    """A voice that speaks a turn whole and knows where in it each stretch ends."""

    def speak_turn(self, stretches: Sequence[Stretch], seed: int) -> list[Passage]:
        """The sentences of a turn at `rate_hz`. The same arguments give the same samples."""
        ...


@runtime_checkable
class ShapingVoice(AnyVoice, Protocol):
    """A voice that sets pitch, melody, timbre and rate while it makes the sound, so that no vocoder need follow."""

    def perform(
        self, stretches: Sequence[Stretch], speaker: Speaker, prosody: Prosody, rate: float, seed: int
    ) -> list[list[Float32]]:
        """The sentences of each stretch as signals at `rate_hz`. The same arguments give the same samples."""
        ...


Voice = Synthesiser | AlignedVoice | ShapingVoice


class PiperSynthesiser:
    """A Piper voice (VITS) from its `.onnx` file with the `.onnx.json` beside it.

    Raises `VoiceError` if the package or a file is missing or unreadable.
    """

    def __init__(self, model_path: Path) -> None:
        self._path = model_path
        self._network: bytes | None = None
        piper = imported("piper.config", "piper-tts")
        try:
            settings = json.loads(Path(f"{model_path}.json").read_text(encoding="utf-8"))
            self._config: Any = piper.PiperConfig.from_dict(settings)
            digest = hashlib.sha256(model_path.read_bytes()).hexdigest()
        except (OSError, ValueError, KeyError) as error:
            raise VoiceError(f"{model_path} is not a Piper voice with its .onnx.json beside it ({error})") from error
        self.identity = f"piper:{model_path.stem}:{digest[:16]}"
        self.rate_hz = int(self._config.sample_rate)

    def speak_turn(self, stretches: Sequence[Stretch], seed: int) -> list[Passage]:
        """See `AlignedVoice.speak_turn`. Sentences come at the network's own level, so levels are set afterwards."""
        from piper import PiperVoice

        session = self._session(seed)
        voice = PiperVoice(session=session, config=self._config)
        return [self._said(session, voice, pieces) for pieces in sentences_of(stretches, voice.phonemize)]

    def _said(self, session: Any, voice: Any, pieces: Sequence[Piece]) -> Passage:
        """One spoken sentence. Its pieces end with their last sound; a blank between two belongs to the later one."""

        phonemes: list[str] = []
        lengthened: dict[int, float] = {}
        counts = []
        for piece in pieces:
            phonemes += [" "] if phonemes else []
            for place in piece.last_syllable:
                lengthened[len(phonemes) + place] = piece.lengthening
            phonemes += piece.phonemes
            counts.append(len(phonemes))
        ids = voice.phonemes_to_ids(phonemes)
        # Ids of the first n phonemes, without the mark that ends every sequence.
        upto = [len(voice.phonemes_to_ids(phonemes[:n])) - 1 for n in range(len(phonemes) + 1)]
        factors = np.ones((1, 1, len(ids)), dtype=np.float32)
        for place, factor in lengthened.items():
            factors[0, 0, upto[place] : upto[place + 1]] = factor
        given = {
            "input": np.array([ids], dtype=np.int64),
            "input_lengths": np.array([len(ids)], dtype=np.int64),
            "scales": np.array(
                [self._config.noise_scale, self._config.length_scale, self._config.noise_w_scale], dtype=np.float32
            ),
            STRETCH: factors,
        }
        sound, frames = session.run(["output", DURATIONS], given)
        samples = np.asarray(sound, dtype=np.float32).squeeze()
        ends = np.cumsum(frames.ravel()).astype(int) * int(self._config.hop_length)
        cuts = [int(ends[upto[count] - 1]) for count in counts[:-1]]
        cuts.append(samples.size)
        return Passage(samples, tuple((piece.stretch, cut) for piece, cut in zip(pieces, cuts, strict=True)))

    def _session(self, seed: int) -> Any:
        import onnxruntime

        if self._network is None:
            self._network = with_durations(self._path, "Ceil", None, [1, 1, "phonemes"])
        onnxruntime.set_seed(seed % (1 << 31))
        return session_of(self._network, str(self._path), reuse_memory=False)


def session_of(network: bytes, name: str, *, reuse_memory: bool = True) -> Any:
    """A network on one thread of the processor. Raises `VoiceError` with its name if it cannot be loaded."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.enable_mem_reuse = reuse_memory
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises its own unexported kinds
        raise VoiceError(f"{name} cannot be loaded by onnxruntime: {str(error).splitlines()[0]}") from error


DURATIONS = "phoneme_frames"
STRETCH = "phoneme_stretch"


def with_durations(model_path: Path, rounding: str, after: str | None, shape: list[int | str]) -> bytes:
    """The network at `model_path` with one more input and one more output.

    Networks of the VITS kind and hibari's predict a duration for each phoneme, round it to frames, and spread everything else
    over those frames. The rounded durations are the exact alignment of the speech, better than any that is found afterwards;
    and a factor put in before the rounding lengthens one syllable without touching the rest. Both are made on the network's
    own graph when it is loaded; its weights stay as they are.

    `STRETCH` (float, `shape`) multiplies the input of its one `rounding` operator; `DURATIONS` is that operator's output, or
    that of the `after` operator that it feeds.

    Raises `VoiceError` if the package is missing or the network is of another kind.
    """
    onnx = imported("onnx", "onnx")
    try:
        model = onnx.load(str(model_path))
    except Exception as error:  # protobuf raises its own kinds
        raise VoiceError(f"{model_path} cannot be read as an ONNX network") from error
    graph = model.graph
    found = [node for node in graph.node if node.op_type == rounding]
    if len(found) != 1:
        raise VoiceError(f"{model_path} does not round its durations once ({len(found)} {rounding} operators)")
    node = found[0]
    last = node
    if after is not None:
        followers = [other for other in graph.node if other.op_type == after and node.output[0] in other.input]
        if len(followers) != 1:
            raise VoiceError(f"{model_path} bounds its durations in a way that is not known here")
        last = followers[0]
    graph.input.append(onnx.helper.make_tensor_value_info(STRETCH, onnx.TensorProto.FLOAT, shape))
    place = list(graph.node).index(node)
    graph.node.insert(place, onnx.helper.make_node("Mul", [node.input[0], STRETCH], [f"{STRETCH}_ed"]))
    graph.node[place + 1].input[0] = f"{STRETCH}_ed"
    graph.node.append(onnx.helper.make_node("Identity", [last.output[0]], [DURATIONS]))
    graph.output.append(onnx.helper.make_tensor_value_info(DURATIONS, onnx.TensorProto.FLOAT, None))
    return bytes(model.SerializeToString())


ENTRY_POINT_GROUP: Final = "heart_voice_harness.voices"
"""A name, and a callable `() -> Voice`."""


@dataclass(frozen=True, slots=True)
class InstalledVoice:
    """A voice of another package, by its name in the group.

    The user chose the installed packages, as a voices file; a pack can only ask for a voice by name. Only the name is sent to
    the rendering processes, and each of them makes its own voice, because a loaded model cannot be sent.
    """

    name: str

    def open(self) -> Voice:
        """The opened voice.

        Raises `VoiceError` if no package has it, or the package fails or returns something that is not a voice.
        """
        points = list(entry_points(group=ENTRY_POINT_GROUP, name=self.name))
        if not points:
            known = ", ".join(installed_voices()) or "none"
            raise VoiceError(f'voice "{self.name}": no installed package brings it; installed voices: {known}')
        try:
            voice = points[0].load()()
        except Exception as error:  # another package's code, which may raise anything
            said = " ".join(str(error).split()) or type(error).__name__
            raise VoiceError(f'voice "{self.name}": {points[0].value} failed ({said}); mend or remove its package') from error
        if not (isinstance(voice, AlignedVoice | ShapingVoice) or callable(getattr(voice, "speak", None))):
            raise VoiceError(f'voice "{self.name}": {points[0].value} gave no voice (docs/python.md says what one is)')
        return voice  # type: ignore[no-any-return]  # checked above as far as a protocol can be


def installed_voices() -> tuple[str, ...]:
    """The names of the voices from installed packages, sorted."""
    return tuple(sorted({point.name for point in entry_points(group=ENTRY_POINT_GROUP)}))
