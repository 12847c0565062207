"""Secrets: what is taken for one, in which forms it is found, and what is left alone."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.agents.profile import load_profile, parse_profile, shipped_profiles
from harness.agents.secret_places import in_environment, in_settings, looks_secret
from harness.agents.secrets import MASK, RedactedLines, Redactor

KEY = "sk-4711/abc+def="


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "apiKey", "X-Api-Key", "AUTH", "db_password", "ACCESSTOKEN", "AWS_SECRET_2", "Cookie", "tokens"]
)
def test_names_that_hold_secrets(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize(
    "name", ["GIT_AUTHOR_NAME", "api_key_env", "TOKENIZERS_PARALLELISM", "KEYBOARD", "author", "key_argument"]
)
def test_names_that_hold_none(name: str) -> None:
    assert not looks_secret(name)


def test_the_environment_is_searched_by_name_and_not_for_words_paths_and_switches(tmp_path: Path) -> None:
    environment = {
        "MY_KEY": KEY, "PROXY": "http://me:p4ssw0rd@proxy:80", "SSH_AUTH_SOCK": str(tmp_path), "AUTH_MODE": "password",
        "A_TOKEN": "short-1", "NAME": "not-a-key-4711",
    }  # fmt: skip
    assert set(in_environment(environment)) == {KEY, "p4ssw0rd", "me:p4ssw0rd"}


def test_settings_are_searched_by_name_place_and_variable() -> None:
    found = set(
        in_settings(
            {
                "url": "wss://bot:hunter22@host/ws?token=tok-1234&model=tiny-2",
                "key_env": "NAMED",
                "parameters": {"language": "english", "account": "acc-1234"},
                "options": {"headers": {"X-Room": "room-1234"}},
                "process": {
                    "command": [
                        "run",
                        "--api-key",
                        "flag-1234",
                        "--token=tok-5678",
                        "-H",
                        "X-Key: head-1234",
                        "--port",
                        "80801",
                    ],
                    "env": {"AUTH": "Bearer bear-1234", "MODE": "test-mode-1"},
                },
            },
            {"NAMED": "named-1234"},
        )
    )
    assert found >= {
        "hunter22", "tok-1234", "named-1234", "acc-1234", "room-1234", "flag-1234", "tok-5678", "head-1234", "bear-1234",
    }  # fmt: skip
    assert not found & {"english", "tiny-2", "80801", "test-mode-1"}


@pytest.mark.parametrize(
    "text",
    [
        f"plain {KEY}.", "quoted sk-4711%2Fabc%2Bdef%3D", '{"json": "sk-4711/abc+def="}', "basic c2stNDcxMS9hYmMrZGVmPQ==",
        "wss://u:whatever@host/x", "GET /ws?session=whatever", "Authorization: Bearer whatever-1",
    ],
)  # fmt: skip
def test_it_is_found_in_every_form(text: str) -> None:
    masked = Redactor.of([KEY])(text)
    assert MASK in masked
    assert not any(form in masked for form in (KEY, "sk-4711", "c2stNDcx", "whatever"))


def test_what_is_no_secret_is_left_as_it_is() -> None:
    words = (
        "I have a basic understanding of it. The key: patience. Tokens: 12345678. first_token=1234567890123 "
        'at_ns": 4711471147114711, api_key_env = "OPENAI_API_KEY", max_tokens = 120, http://host:80/path#part'
    )
    assert Redactor.of(["47114711", "none", "seeded"]).foreign(words) == words
    for name in shipped_profiles():
        assert load_profile(name).shown_text == load_profile(name).source_text


def test_what_others_write_is_masked_by_its_name() -> None:
    told = "config: {'api_key': 'abcd1234efgh', 'password': \"p4ssw0rd!\"} X-Api-Key: zzzz9999"
    masked = Redactor.of([]).foreign(told)
    assert not any(value in masked for value in ("abcd1234efgh", "p4ssw0rd!", "zzzz9999"))


def test_a_profile_is_kept_without_its_secrets_and_hashed_with_them() -> None:
    text = (
        'kind = "twilio"\nurl = "wss://bot:pw@host/ws?sid=1234"\n# token = "old-token-1"\n'
        'parameters = { language = "en", secret = "abc" }\n'
    )
    profile = parse_profile(text, Path("mine.toml"))
    assert profile.shown_text == (
        'kind = "twilio"\nurl = "wss://***@host/ws?sid=***"\n# token = "***"\n'
        'parameters = { language = "en", secret = "***" }\n'
    )
    assert profile.shown_text == profile.shown_text
    assert parse_profile(text.replace("abc", "abd"), Path("mine.toml")).hash != profile.hash


@settings(deadline=None)
@given(st.lists(st.integers(0, 400), max_size=12))
def test_a_secret_is_masked_wherever_pieces_meet(cuts: list[int]) -> None:
    raw = (f"one {KEY} two\n" * 4 + f"\xff\xfe {KEY}" * 3 + "\rlast, without an end: " + KEY).encode("latin-1")
    lines, out, start = RedactedLines(Redactor.of([KEY])), b"", 0
    for end in [*sorted(min(cut, len(raw)) for cut in cuts), len(raw)]:
        out += lines.feed(raw[start:end])
        start = end
    out += lines.flush()
    assert out == raw.replace(KEY.encode(), MASK.encode())


def test_a_line_without_end_is_passed_on_and_still_masked() -> None:
    lines = RedactedLines(Redactor.of([KEY]))
    out = b"".join(lines.feed((f"{n:06d} {KEY} ").encode()) for n in range(20_000)) + lines.flush()
    assert KEY.encode() not in out
    assert out.count(MASK.encode()) == 20_000


@pytest.mark.parametrize("unit", ["a", "a.", "?a", "://", "key=", "Bearer ", "key: '"])
def test_no_text_takes_longer_than_its_length_asks(unit: str) -> None:
    def seconds(length: int) -> float:
        text, redactor = unit * (length // len(unit)), Redactor.of([KEY])
        began = time.process_time()
        redactor.foreign(text)
        return time.process_time() - began

    seconds(1_000)
    assert seconds(400_000) < 40 * max(seconds(40_000), 0.002)
