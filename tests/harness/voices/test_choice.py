"""Which voice speaks for a wish: what ships, what the user's file adds or takes over, and never what a pack asks for."""

from importlib.metadata import version
from pathlib import Path

import pytest

from harness.agents.cascade import settings
from harness.audio.caller_voices import CALLER_VOICES, HIBARI
from harness.errors import UserError
from harness.experiment import Experiment
from harness.run.fixed_plan import pin_of
from harness.run.plan import make_plan
from harness.scenarios.pack import load_pack
from harness.store.manifest import package_versions
from harness.voices.choice import VOICES_FILE, open_voices

ENTRY = '[{name}]\nservice = "pipecat.services.openai.tts.OpenAITTSService"\nkey_env = "ANNAS_KEY"\n'


@pytest.fixture
def voices_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "mine.toml"
    monkeypatch.setenv(VOICES_FILE, str(file))
    return file


def test_the_users_voices_stand_beside_those_that_ship_and_may_take_their_names(voices_file: Path) -> None:
    voices_file.write_text(ENTRY.format(name="anna") + ENTRY.format(name="jo"))
    voices = open_voices(load_pack("heart-mini"))
    assert voices.name_of("anna") == "anna (OpenAITTSService)"
    assert voices.name_of("jo") == "jo (OpenAITTSService)"
    assert voices.name_of("ned") == "ned"
    assert voices.name_of("nobody-knows") == "joe"


def test_a_missing_key_is_one_line_before_anything_is_rendered(voices_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANNAS_KEY", raising=False)
    voices_file.write_text(ENTRY.format(name="anna"))
    pack = load_pack("heart-mini")
    with pytest.raises(UserError, match="ANNAS_KEY"):
        open_voices(pack).prepare([(pack.contexts[0].spoken, "anna")], lambda: None)


def test_a_malformed_file_is_one_line_that_names_the_variable(voices_file: Path) -> None:
    voices_file.write_text("[anna]\n")
    with pytest.raises(UserError, match=rf"{VOICES_FILE}: .*mine.toml, line 1: \[anna\] service") as caught:
        open_voices(load_pack("heart-mini"))
    assert "\n" not in str(caught.value)


def test_a_voices_file_beside_a_pack_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VOICES_FILE, raising=False)
    (tmp_path / "voices.toml").write_text(ENTRY.format(name="joe"))
    assert open_voices(load_pack("heart-mini")).services == {}


def test_who_speaks_is_drawn_from_the_seed_and_never_has_the_voice_of_an_agent_under_test() -> None:
    pack = load_pack("heart-open")
    drawn = list(map(open_voices(pack, 1).wish_of, pack.contexts))
    assert len(set(drawn)) == 8
    assert drawn == list(map(open_voices(pack, 1).wish_of, pack.contexts))
    assert drawn != list(map(open_voices(pack, 2).wish_of, pack.contexts))
    sex = {"male": "man", "female": "woman"}
    assert all(CALLER_VOICES[name].sex == sex[c.voice] for name, c in zip(drawn, pack.contexts, strict=True))
    beside_joe = list(map(open_voices(pack, 1, {"piper-joe"}).wish_of, pack.contexts))
    assert "joe" not in beside_joe
    assert all(then == now for then, now in zip(drawn, beside_joe, strict=True) if then != "joe"), "others keep their voice"


def test_an_agent_that_speaks_with_hibari_hears_no_caller_with_that_voice() -> None:
    """The package's voice is no weight of the store, and yet an agent's own."""
    plan = make_plan(Experiment(agents=("polaris-like",), pack="heart-open"))
    assert plan.own_voices == {HIBARI}
    assert HIBARI not in plan.weights
    voices = open_voices(plan.pack, 1, plan.own_voices)
    drawn = {voices.wish_of(context) for context in plan.contexts}
    assert drawn == {name for name, voice in CALLER_VOICES.items() if voice.drawn} - {"ann"}
    both = make_plan(Experiment(agents=("polaris-like", "baseline")))
    assert both.own_voices == {HIBARI, "piper-joe"}


def test_the_agents_voice_is_named_like_a_weight_in_the_manifest() -> None:
    number, network, digest = pin_of(HIBARI).split()
    assert number == version("hibari-tts") == package_versions()["hibari-tts"]
    assert (network, len(digest)) == ("hibari.onnx", 64)
    assert settings.HIBARI == HIBARI, "one name for callers and agents"
