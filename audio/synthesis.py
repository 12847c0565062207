"""Voices that speak a stretch of text: the one method a renderer needs, and Piper behind it.

A caller must say the same thing in the same way to every agent, on every machine, or latencies of different runs are not
about the same speech. Piper draws noise for its durations and its timbre, and onnxruntime cannot reset that noise in a
live session; so a session is made for each turn from a seed. With memory reuse planning off this takes 0.1 s instead of
1.5 s, and one thread makes the bytes the same whatever else runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from audio.pcm import Float32


class Synthesiser(Protocol):
    """A voice. `identity` names its bytes and version, and is part of the key under which renderings are kept."""

    @property
    def identity(self) -> str: ...

    @property
    def rate_hz(self) -> int: ...

    def speak(self, texts: Sequence[str], seed: int) -> list[list[Float32]]:
        """For each text its sentences as signals at `rate_hz`, as the voice makes them, silence at their edges included.

        The same arguments give the same samples.
        """
        ...


class VoiceError(RuntimeError):
    """A voice cannot be loaded or cannot speak; the message is one line."""


class PiperSynthesiser:
    """A Piper voice (VITS) from its `.onnx` file with the `.onnx.json` beside it.

    Raises `VoiceError` if the package or a file is missing or unreadable.
    """

    def __init__(self, model_path: Path) -> None:
        self._path = model_path
        try:
            from piper.config import PiperConfig

            settings = json.loads(Path(f"{model_path}.json").read_text(encoding="utf-8"))
            self._config: Any = PiperConfig.from_dict(settings)
            digest = hashlib.sha256(model_path.read_bytes()).hexdigest()
        except ImportError as error:
            raise VoiceError('the package "piper-tts" is missing: pip install "heart-voice-harness[local]"') from error
        except (OSError, ValueError, KeyError) as error:
            raise VoiceError(f"{model_path} is not a Piper voice with its .onnx.json beside it ({error})") from error
        self._identity = f"piper:{model_path.stem}:{digest[:16]}"

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def rate_hz(self) -> int:
        return int(self._config.sample_rate)

    def speak(self, texts: Sequence[str], seed: int) -> list[list[Float32]]:
        """See `Synthesiser.speak`. Sentences come peak-normalised, so levels are set afterwards."""
        from piper import PiperVoice

        voice = PiperVoice(session=self._session(seed), config=self._config)
        return [[np.asarray(chunk.audio_float_array, dtype=np.float32) for chunk in voice.synthesize(text)] for text in texts]

    def _session(self, seed: int) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.enable_mem_reuse = False
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        onnxruntime.set_seed(seed % (1 << 31))
        try:
            return onnxruntime.InferenceSession(str(self._path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises its own unexported kinds
            raise VoiceError(f"{self._path} cannot be loaded by onnxruntime: {str(error).splitlines()[0]}") from error
