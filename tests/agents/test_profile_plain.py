"""What of a profile is kept: plain settings as they are, all else as a hash that cannot be turned round."""

import itertools
import tomllib
from pathlib import Path
from urllib.parse import quote

import pytest

from harness.agents.new_profile import commented_profile
from harness.agents.profile import parse_profile, profile_kinds
from harness.agents.profile_plain import PLAIN, compared, hidden, shown

BOT = """
kind = "raw-pcm"
url = "wss://me:{1}@host.example/ws?sid={0}"
# the word is {0}
description = "My bot. password={0}"
[process]
command = ["sh", "run.sh", "--password={0}", "-u", "me:{0}", "--pin", "{0}", "-p{0}", "{0}"]
env = {{ DB_PASS = "{0}", MYSQL_PWD = "{0}", GITHUB_PAT = "{0}", MODE = "{0}", OTEL_EXPORTER_OTLP_HEADERS = "x={0}" }}
ready_url = "http://u:{0}@127.0.0.1:7000/"
"""


@pytest.mark.parametrize("secret", ["opensesame", "4711", "abc", "x7/Kq+90aB", "hunter2"])
def test_a_secret_at_any_place_of_a_profile_is_not_kept(secret: str) -> None:
    escaped = quote(secret, safe="")
    profile = parse_profile(BOT.format(secret, escaped), Path("mine.toml"))
    assert secret not in profile.shown_text
    assert escaped not in profile.shown_text
    assert tomllib.loads(profile.shown_text)["process"]["command"][:3] == ["sh", "run.sh", f"--password={hidden(secret)}"]


def test_settings_of_plugins_and_calls_are_hidden_with_their_names_shown() -> None:
    text = 'kind = "twilio"\nurl = "ws://h/ws"\nparameters = { language = "en", pin = "4711" }\n'
    kept = tomllib.loads(parse_profile(text, Path("mine.toml")).shown_text)
    assert kept["parameters"] == {"language": hidden("en"), "pin": hidden("4711")}
    options = {"options": {"pin": 4711, "on": True, "deep": [{"password": "abc"}]}}
    assert shown(options) == {"options": {"pin": hidden(4711), "on": hidden(True), "deep": [{"password": hidden("abc")}]}}


def test_a_setting_that_nobody_listed_is_hidden() -> None:
    assert shown({"a_new_setting": "abc", "name": "abc"}) == {"a_new_setting": hidden("abc"), "name": "abc"}
    assert shown({"name": 4711, "model": True, "tries": "4711"}) == {
        "name": hidden(4711), "model": hidden(True), "tries": hidden("4711"),
    }  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind in profile_kinds() if kind != "plugin"])
def test_of_a_first_profile_everything_is_plain(kind: str) -> None:
    written = commented_profile(kind)
    kept = tomllib.loads(parse_profile(written, Path("mine.toml")).shown_text)
    wanted = tomllib.loads(written)
    for words in (kept, wanted):
        words.get("process", {}).get("command", [])[2:4] = []  # `--transport webrtc`: a word that could be anything
    assert kept == wanted


def test_a_hidden_value_can_be_compared_and_fits_many_others() -> None:
    assert hidden("opensesame") == hidden("opensesame") != hidden("opensesame2")
    fits = sum(hidden(f"{pin:04d}") == hidden("4711") for pin in range(10_000))
    assert fits >= 20, "whoever tries all PINs is left with many"


def test_the_hash_of_a_profile_is_no_way_to_check_a_guess() -> None:
    """As many of all PINs give the same hash as fit the short one: all else of the profile is known to who guesses."""
    text = 'kind = "raw-pcm"\nurl = "ws://h/ws?pin={0}"\n[process]\ncommand = ["run", "--pin", "{0}"]\n'
    of = [parse_profile(text.format(f"{pin:04d}"), Path("m.toml")).hash for pin in range(1000)]
    assert 200 < len(set(of)) <= 256
    changed = [a != b for a, b in itertools.pairwise(of)]
    assert sum(changed) > 0.98 * len(changed), "a changed secret is noticed"


def test_every_change_of_a_plain_setting_changes_the_hash() -> None:
    text = 'kind = "raw-pcm"\nurl = "ws://h/ws"\ninput_rate_hz = {}\n'
    assert len({parse_profile(text.format(rate), Path("m.toml")).hash for rate in range(8_000, 9_000)}) == 1_000


def test_a_hash_does_not_hang_on_what_this_process_has_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"name": "my-bot-4711", "url": "wss://host-4711.example/ws"}
    before = compared(settings)
    from harness.agents import secrets

    monkeypatch.setattr(secrets, "_current", secrets.Redactor.of(["my-bot-4711", "host-4711"]))
    assert compared(settings) == before
    assert "4711" not in str(shown(settings))


def test_the_list_names_settings_that_there_are() -> None:
    assert all(place.split(".")[0] in {"process", "cascade", "metrics", *PLAIN} for place in PLAIN)


def test_a_password_in_an_address_counts_where_profiles_are_compared() -> None:
    one, other = (compared({"url": f"wss://me:{password}@h.example/"}) for password in ("opensesame-47", "sesameopen-74"))
    assert one != other
    assert "opensesame" not in str(one)
