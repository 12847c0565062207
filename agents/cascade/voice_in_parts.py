"""A Piper voice that outputs the beginning of a piece while the rest of it is still being decoded.

Piper's networks work in two steps: the whole text becomes frames, and a decoder, which takes two thirds of the time and looks
a few frames to either side, makes sound of these. The parts are each decoded with a margin of frames that is thrown away, and
are then what one decoding would have given. On two idle cores the first sound of three, four and ten words came after 60, 56
and 48 % of the time that one decoding took.

Piper scales every piece to full range, and the loudest sample is known only when all is decoded. Here one factor holds for all
that the voice says; it also keeps the pieces of a reply equally loud.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx.utils import Extractor
from piper import AudioChunk, PiperVoice, SynthesisConfig

from harness.agents.cascade.settings import SettingsFailed

FIRST_FRAMES: Final = 24
"""The first part: 280 ms of sound at 22,050 Hz. Voices begin with 30 to 60 ms of near-silence; the rest is time enough for the
next part, which is twice as long and takes 40 ms to make, 80 beside a busy language model."""
MARGIN_FRAMES: Final = 10
"""Context of the decoder of Piper's medium voices on either side: with 10 frames joined parts differ by 1e-6 from one
decoding, with 8 by 1e-3. A voice that looks farther is refused."""
_DECODER_INPUT: Final = "dec.conv_pre.weight"
"""The weights of the decoder's first layer; what else goes into that layer are the frames."""
_SAME: Final = 1e-4
"""Parts that differ by less than this from one decoding are the same: 16-bit samples are 3e-5 apart."""
_SENTENCE: Final = "I am here, and I am listening to you."
_LOUDER: Final = 1.15
"""Factor for loudness: of 60 pieces of replies the loudest was 1.17 times as loud as that sentence said without the voice's
random variation."""


class VoiceInParts(PiperVoice):
    """`voice` with its network cut in two at the decoder. `weights` is the voice's .onnx file.

    Raises:
        SettingsFailed: the network has no such decoder, or one that looks farther than `MARGIN_FRAMES`.
    """

    def __init__(self, voice: PiperVoice, weights: Path, options: onnxruntime.SessionOptions) -> None:
        super().__init__(**{field.name: getattr(voice, field.name) for field in fields(voice)})
        providers = list(voice.session.get_provider_options().items())
        first, second = _halves(weights)
        # Where Piper runs its network it now gets frames, and still sees to speakers and scales.
        self.session = onnxruntime.InferenceSession(first, sess_options=options, providers=providers)
        self._decoder = onnxruntime.InferenceSession(second, sess_options=options, providers=providers)
        self._frames_name: str = self._decoder.get_inputs()[0].name
        ids = self.phonemes_to_ids(self.phonemize(_SENTENCE)[0])
        frames = self._frames(ids, SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0))
        whole = self._decode(frames)
        joined = np.concatenate(list(self._parts(frames)))
        if len(joined) != len(whole) or np.abs(joined - whole).max() > _SAME:
            raise SettingsFailed(f"the voice {weights.name} cannot be decoded in parts: its decoder looks too far ahead")
        self._gain = 1 / (_LOUDER * float(np.abs(whole).max()))

    def synthesize(
        self, text: str, syn_config: SynthesisConfig | None = None, include_alignments: bool = False
    ) -> Iterable[AudioChunk]:
        """Sound in parts, the first of `FIRST_FRAMES` frames and each later one twice as long as the one before.

        Parts carry no alignments, asked for or not.
        """
        del include_alignments
        volume = self._gain * (1.0 if syn_config is None else syn_config.volume)
        for phonemes in filter(None, self.phonemize(text)):
            ids = self.phonemes_to_ids(phonemes)
            for part in self._parts(self._frames(ids, syn_config)):
                yield AudioChunk(
                    sample_rate=self.config.sample_rate,
                    sample_width=2,
                    sample_channels=1,
                    audio_float_array=np.clip(part * np.float32(volume), -1.0, 1.0),
                    phonemes=phonemes,
                    phoneme_ids=ids,
                )

    def _frames(self, ids: list[int], config: SynthesisConfig | None) -> NDArray[np.float32]:
        """The frames for the decoder, shape (1, channels, frames)."""
        frames = np.asarray(self.phoneme_ids_to_audio(ids, config), np.float32)
        return frames.reshape(1, frames.shape[0], -1)

    def _parts(self, frames: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
        """Sound of `frames`, part by part: float samples that together are one decoding's."""
        count = frames.shape[2]
        start, length = 0, FIRST_FRAMES
        while start < count:
            end = min(start + length, count)
            before, after = max(0, start - MARGIN_FRAMES), min(count, end + MARGIN_FRAMES)
            sound = self._decode(frames[:, :, before:after])
            per_frame = len(sound) // (after - before)
            yield sound[(start - before) * per_frame : (end - before) * per_frame]
            start, length = end, 2 * length

    def _decode(self, frames: NDArray[np.float32]) -> NDArray[np.float32]:
        sound: NDArray[np.float32] = self._decoder.run(None, {self._frames_name: frames})[0]
        return sound.reshape(-1)


def _halves(weights: Path) -> tuple[bytes, bytes]:
    """The network up to the decoder's input, and the decoder, each as a separate model."""
    model = onnx.load(weights)
    entrance = next((node.input[0] for node in model.graph.node if _DECODER_INPUT in node.input), None)
    if entrance is None:
        raise SettingsFailed(f"the voice {weights.name} cannot be decoded in parts: it has no decoder of Piper's kind")
    cut = Extractor(model)
    inputs = [given.name for given in model.graph.input]
    outputs = [given.name for given in model.graph.output][:1]
    decoder = cut.extract_model([entrance], outputs)
    known = {entrance, "", *(weight.name for weight in decoder.graph.initializer)}
    known.update(output for node in decoder.graph.node for output in node.output)
    if lacking := sorted({name for node in decoder.graph.node for name in node.input} - known):
        raise SettingsFailed(
            f"the voice {weights.name} cannot be decoded in parts: besides frames its decoder needs {', '.join(lacking)}"
        )
    return cut.extract_model(inputs, [entrance]).SerializeToString(), decoder.SerializeToString()
