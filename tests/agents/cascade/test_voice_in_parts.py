"""A voice decoded in parts says what the whole one says, and begins sooner."""

import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from piper import PiperVoice, SynthesisConfig

from harness.agents.cascade.settings import SettingsFailed, TtsSettings
from harness.agents.cascade.stock import load_voice
from harness.agents.cascade.voice_in_parts import FIRST_FRAMES, MARGIN_FRAMES, VoiceInParts

pytestmark = pytest.mark.models

SENTENCE = "That sounds hard, and I can hear how much it has worn you down."
QUIET: dict[str, Any] = {"noise_scale": 0.0, "noise_w_scale": 0.0}


@pytest.fixture(scope="module")
def whole(weights: dict[str, str]) -> PiperVoice:
    return load_voice(TtsSettings(), weights["piper-joe"])


@pytest.fixture(scope="module")
def in_parts(weights: dict[str, str]) -> VoiceInParts:
    voice = load_voice(TtsSettings(in_parts=True), weights["piper-joe"])
    assert isinstance(voice, VoiceInParts)
    return voice


def test_the_parts_are_the_whole_at_another_level(whole: PiperVoice, in_parts: VoiceInParts) -> None:
    config = SynthesisConfig(**QUIET)
    [one] = [chunk.audio_float_array for chunk in whole.synthesize(SENTENCE, config)]
    parts = [chunk.audio_float_array for chunk in in_parts.synthesize(SENTENCE, config)]
    joined = np.concatenate(parts)
    assert len(parts) > 2
    assert len(parts[0]) == FIRST_FRAMES * 256
    assert len(parts[1]) == 2 * len(parts[0])
    assert len(joined) == len(one)
    level = np.abs(joined).max() / np.abs(one).max()
    np.testing.assert_allclose(joined, one * level, atol=1e-4)


def test_every_sentence_of_a_text_is_said(in_parts: VoiceInParts) -> None:
    samples = [sum(len(c.audio_float_array) for c in in_parts.synthesize(t)) for t in ("Yes.", "Yes. I do. I am here.")]
    assert samples[1] > 2 * samples[0]


def test_pieces_keep_one_level_without_overload(whole: PiperVoice, in_parts: VoiceInParts) -> None:
    as_it_is = SynthesisConfig(**QUIET, normalize_audio=False)
    levels = []
    for text in ("I'm here.", SENTENCE, "Take all the time that you need!", "What happened then?"):
        [one] = [chunk.audio_float_array for chunk in whole.synthesize(text, as_it_is)]
        joined = np.concatenate([c.audio_float_array for c in in_parts.synthesize(text, SynthesisConfig(**QUIET))])
        assert np.abs(joined).max() < 1.0, text
        levels.append(float(np.abs(joined).max() / np.abs(one).max()))
    assert min(levels) > 1.0
    assert max(levels) == pytest.approx(min(levels), rel=1e-3)


@pytest.mark.long
def test_the_first_part_comes_well_before_the_whole(whole: PiperVoice, in_parts: VoiceInParts) -> None:
    first_s: dict[str, list[float]] = {"whole": [], "parts": []}
    for _ in range(15):
        for name, voice in (("whole", whole), ("parts", in_parts)):
            began_s = time.perf_counter()
            next(iter(voice.synthesize(SENTENCE)))
            first_s[name].append(time.perf_counter() - began_s)
    assert statistics.median(first_s["parts"]) < 0.8 * statistics.median(first_s["whole"])


@pytest.mark.long
def test_a_voice_with_another_decoder_is_refused(weights: dict[str, str], tmp_path: Path) -> None:
    model = onnx.load(weights["piper-joe"])
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            node.input[index] = name.replace("dec.conv_pre", "other.conv_pre")
    for initializer in model.graph.initializer:
        initializer.name = initializer.name.replace("dec.conv_pre", "other.conv_pre")
    strange = tmp_path / "strange.onnx"
    onnx.save(model, strange)
    strange.with_suffix(".onnx.json").write_text(Path(weights["piper-joe"] + ".json").read_text())
    with pytest.raises(SettingsFailed, match=r"strange\.onnx cannot be decoded in parts"):
        load_voice(TtsSettings(in_parts=True), str(strange))


def test_a_decoder_that_needs_the_speaker_is_refused(weights: dict[str, str], tmp_path: Path) -> None:
    model = onnx.load(weights["piper-joe"])
    last = next(node for node in model.graph.node if "output" in node.output)
    last.output[0] = "before the speaker"
    model.graph.node.append(onnx.helper.make_node("Add", ["before the speaker", "speaker"], ["output"]))
    model.graph.input.append(onnx.helper.make_tensor_value_info("speaker", onnx.TensorProto.FLOAT, [1]))
    several = tmp_path / "several.onnx"
    onnx.save(model, several)
    several.with_suffix(".onnx.json").write_text(Path(weights["piper-joe"] + ".json").read_text())
    with pytest.raises(SettingsFailed, match="its decoder needs speaker"):
        load_voice(TtsSettings(in_parts=True), str(several))


@pytest.mark.long
def test_a_decoder_that_looks_too_far_is_refused(weights: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.agents.cascade.voice_in_parts.MARGIN_FRAMES", MARGIN_FRAMES // 3)
    with pytest.raises(SettingsFailed, match="looks too far ahead"):
        load_voice(TtsSettings(in_parts=True), weights["piper-joe"])


@pytest.mark.skipif("CUDAExecutionProvider" in onnxruntime.get_available_providers(), reason="there is CUDA here")
def test_cuda_that_is_not_there_is_refused_and_not_replaced(weights: dict[str, str]) -> None:
    with pytest.raises(SettingsFailed, match="onnxruntime has no CUDA here, it is built without it"):
        load_voice(TtsSettings(use_cuda=True), weights["piper-joe"])


@pytest.mark.filterwarnings("ignore:Specified provider:UserWarning")
def test_cuda_that_cannot_be_loaded_is_refused_too(weights: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"])
    with pytest.raises(SettingsFailed, match="could not load it"):
        load_voice(TtsSettings(use_cuda=True), weights["piper-joe"])
