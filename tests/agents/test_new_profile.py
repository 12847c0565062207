"""A profile that `harness agents new` writes loads as it stands, says what it is for, and stays short."""

from pathlib import Path

import pytest

from harness.agents import profile as profiles
from harness.agents.connections import spec
from harness.agents.connections.about import TCP, About
from harness.agents.new_profile import commented_profile
from harness.agents.profile import ProfileError, load_profile, profile_kinds

_SCHEMES = {"webrtc": "https://", "sip": "sip:", "vapi": "https://", "ultravox": "https://"}
KINDS = [kind for kind in profile_kinds() if kind != "plugin"]


def written(folder: Path, text: str) -> Path:
    file = folder / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("kind", KINDS)
def test_it_loads_as_it_stands(kind: str, tmp_path: Path) -> None:
    text = commented_profile(kind)
    profile = load_profile(written(tmp_path, text))
    assert profile.kind == kind
    settings = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(settings) <= 10
    assert text.startswith("#")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("cascade", "text")])
def test_an_agent_that_already_runs_is_not_started(kind: str, tmp_path: Path) -> None:
    url = f"{_SCHEMES.get(kind, 'wss://')}bot.example.org" + ('/"x"' if kind != "sip" else ":5070;user=phone")
    profile = load_profile(written(tmp_path, commented_profile(kind, url=url)))
    assert profile.process_settings is None
    assert profile.running_url == url


def test_its_own_command_is_kept_word_by_word(tmp_path: Path) -> None:
    words = ("uv", "run", "bot.py", "--port", "{port}", "a b")
    profile = load_profile(written(tmp_path, commented_profile("pipecat-eval", command=words)))
    assert profile.process_settings is not None
    assert profile.process_settings.command == words


def test_a_connection_that_is_not_installed_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match='no connection "name-of-the-connection" is installed'):
        load_profile(written(tmp_path, commented_profile("plugin")))


@pytest.mark.parametrize("kind", sorted(set(spec.WIRES) - {"scripted"}))
def test_a_wire_has_its_own_words(kind: str) -> None:
    told = spec.about(kind)
    assert told is not None
    assert all(line.startswith("# ") for line in told.comment)
    assert ("{port}" in told.url) == bool(told.command), "a hosted agent is started by nobody"
    assert told.comment[0] in commented_profile(kind)


def test_a_new_wire_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that `agents new` says of it is in its module; nothing else of the project is touched but the list of wires."""
    (tmp_path / "smoke_signals.py").write_text(
        "from typing import Literal\n"
        "from harness.agents.connections.about import TCP, About\n"
        "from harness.agents.profile_spoken import PcmBot\n"
        "class Profile(PcmBot):\n    kind: Literal['smoke']\n"
        "PROFILE = Profile\n"
        "ABOUT = About(('# Agents that send smoke.',), 'ws://127.0.0.1:{port}/hill', './serve --port {port}', TCP)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for reader in (spec, profiles):
        monkeypatch.setattr(reader, "WIRES", {**spec.WIRES, "smoke": "smoke_signals"})
    told = spec.about("smoke")
    assert told == About(("# Agents that send smoke.",), "ws://127.0.0.1:{port}/hill", "./serve --port {port}", TCP)
    text = commented_profile("smoke")
    assert text.startswith('# Agents that send smoke.\nkind = "smoke"\nurl = "ws://127.0.0.1:{port}/hill"\n')
    assert TCP in text


def test_a_bot_elsewhere_is_told_how_to_give_its_key() -> None:
    assert "# api_key_env" in commented_profile("pipecat", "wss://bot.example.org/ws-client")
    assert "api_key_env" not in commented_profile("pipecat")
    assert "api_key_env" not in commented_profile("sip", "sip:agent@example.org"), "it has no such setting"
