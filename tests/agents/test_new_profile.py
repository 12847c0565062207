"""A profile that `harness agents new` writes loads as it stands, says what it is for, and stays short."""

from pathlib import Path

import pytest

from harness.agents.new_profile import commented_profile, kinds_to_write
from harness.agents.profile import ProfileError, load_profile, profile_kinds

_SCHEMES = {"webrtc": "https://", "sip": "sip:"}
KINDS = [kind for kind in kinds_to_write() if kind != "plugin"]


def written(folder: Path, text: str) -> Path:
    file = folder / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_there_is_one_for_every_kind() -> None:
    assert set(kinds_to_write()) == set(profile_kinds())


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
    url = f'{_SCHEMES.get(kind, "wss://")}bot.example.org/"x"'
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
