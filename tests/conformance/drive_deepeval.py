"""deepeval's voice simulation, calling one agent: `python drive_deepeval.py URL OUT.json SETTINGS WAV …`.

Its three models are classes of ours, as its documentation offers: the caller's words are taken in order, its voice is the sound
file of each, and no sound is transcribed. What it measured is written as its own test case says it.
"""

import json
import sys
from pathlib import Path
from typing import Any

from deepeval.dataset import ConversationalGolden
from deepeval.models import DeepEvalBaseLLM
from deepeval.models.base_model import DeepEvalBaseSTT, DeepEvalBaseTTS
from deepeval.simulator import ConversationSimulator
from deepeval.simulator.controller import proceed
from deepeval.test_case import Audio
from deepeval.voice import VoiceConfig, WebSocketConnector

URL, OUT, SETTINGS, *SOUNDS = sys.argv[1:]
RATE_HZ = 24_000


class Words(DeepEvalBaseLLM):
    """The name of each sound file, in order, as what the caller says next."""

    left = iter(SOUNDS)

    def load_model(self, *_: Any, **__: Any) -> Any:
        return self

    def generate(self, *_: Any, schema: Any = None, **__: Any) -> Any:
        return schema(simulated_input=next(self.left))

    async def a_generate(self, *given: Any, **named: Any) -> Any:
        return self.generate(*given, **named)

    def get_model_name(self, *_: Any, **__: Any) -> str:
        return "in-order"


class Voice(DeepEvalBaseTTS):
    """The sound file that the text names."""

    sample_rate = RATE_HZ

    def load_model(self, *_: Any, **__: Any) -> Any:
        return self

    def synthesize(self, text: str, *_: Any, **__: Any) -> tuple[Audio, None]:
        return Audio.from_bytes(Path(text).read_bytes(), "audio/wav", sampleRate=RATE_HZ, encoding="wav"), None

    async def a_synthesize(self, text: str, *_: Any, **__: Any) -> tuple[Audio, None]:
        return self.synthesize(text)

    def get_model_name(self, *_: Any, **__: Any) -> str:
        return "files"


class Ear(DeepEvalBaseSTT):
    """The same words for every sound."""

    def load_model(self, *_: Any, **__: Any) -> Any:
        return self

    def transcribe(self, *_: Any, **__: Any) -> tuple[str, None]:
        return "an answer", None

    async def a_transcribe(self, *_: Any, **__: Any) -> tuple[str, None]:
        return self.transcribe()

    def get_model_name(self, *_: Any, **__: Any) -> str:
        return "constant"


def main() -> None:
    settings = json.loads(SETTINGS)
    plain = {"binary_outbound": True, "binary_inbound": True, "init_messages": [{"type": "start", "sample_rate": RATE_HZ}]}
    connector = WebSocketConnector(URL, sample_rate=RATE_HZ, **plain, **settings)
    simulator = ConversationSimulator(
        voice_config=VoiceConfig(connector=connector, tts_model=Voice(), stt_model=Ear(), output_dir=None),
        simulator_model=Words(),
        stopping_controller=lambda: proceed(),
    )
    golden = ConversationalGolden(scenario="A caller talks.", expected_outcome="The agent answers.")
    cases = simulator.simulate([golden], max_user_simulations=len(SOUNDS))
    dumped = [case.model_dump(mode="json", exclude_none=True) for case in cases]
    for turn in (turn for case in dumped for turn in case["turns"]):
        turn.get("audio", {}).pop("dataBase64", None)
    Path(OUT).write_text(json.dumps(dumped, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
