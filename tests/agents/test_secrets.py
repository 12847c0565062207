"""Secrets: what is taken for one, in which forms it is found, and what is left alone."""

import base64
import html
import json
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.agents.profile import load_profile, shipped_profiles
from harness.agents.secret_places import in_environment, in_settings, looks_secret
from harness.agents.secrets import MASK, RedactedLines, Redactor

KEY = "sk-4711/abc+def="


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY", "apiKey", "X-Api-Key", "AUTH", "db_password", "ACCESSTOKEN", "AWS_SECRET_2", "Cookie", "tokens",
        "DB_PASS", "MYSQL_PWD", "GITHUB_PAT", "pin", "JWT", "SENTRY_DSN", "OTEL_EXPORTER_OTLP_HEADERS", "headers", "PGPASSWD",
        "PW", "PW2", "dbPw", "db.pw", "db-pw", "SESSION", "SLACK_WEBHOOK", "SAS", "CONNECTION_STRING", "connectionString",
        "LICENSE_KEY", "AWS_ACCESS_KEY_ID", "CLIENT_SECRET", "CREDENTIALS", "COOKIES", "db.passphrase",
    ],
)  # fmt: skip
def test_names_that_hold_secrets(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "GIT_AUTHOR_NAME", "api_key_env", "TOKENIZERS_PARALLELISM", "KEYBOARD", "author", "key_argument", "PWD", "OLDPWD",
        "PATH", "pattern", "spin", "compass", "bypass", "pwm", "keyboard", "XDG_SESSION_ID", "string", "connection",
        "token_file",
    ],
)  # fmt: skip
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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DB_PASS", "opensesame"), ("MYSQL_PWD", "opensesame"), ("GITHUB_PAT", "opensesame"), ("SENTRY_DSN", "opensesame"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=opense4me,tenant=a"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=b,c=Bearer%20opense4me"),
    ],
)  # fmt: skip
def test_a_variable_that_holds_nothing_but_secrets_may_hold_a_word(name: str, value: str) -> None:
    masked = Redactor.of(in_environment({name: value}))
    word = "opense4me" if "4" in value else "opensesame"
    assert masked(f"The service said: '{word}'.") == f"The service said: '{MASK}'."


@pytest.mark.parametrize("name", ["DB_PASS", "A_TOKEN", "AUTH_MODE", "API_KEY"])
@pytest.mark.parametrize("word", ["password", "postgres", "disabled", "required", "changeme", "anonymous", "short"])
def test_a_word_that_everybody_uses_is_looked_for_nowhere(name: str, word: str) -> None:
    assert not set(in_environment({name: word}))


ROOT = Path(__file__).parents[2]
SHIPPED = sorted(
    path for room in ("agents", "docs/recipes", "harness/judging/judges") for path in (ROOT / room).rglob("*.toml")
)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_no_word_of_a_file_that_ships_is_a_secret(path: Path) -> None:
    """`max_tokens_field` names a field and `refusals` our own kinds of failure: masked, an error would lose its remedy."""
    assert not Redactor.of(in_settings(tomllib.loads(path.read_text()), {})).values


COMMANDS = (
    ["--password=opensesame"], ["--password", "opensesame"], ["-u", "me:opensesame"], ["--user", "me:opensesame"],
    ["DB_PASS=opensesame"], ["sh", "-c", "run -u me:opensesame"], ["sh", "-c", "DB_PASS=opensesame run"],
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_password_in_a_command_is_one_even_if_it_is_a_word(words: list[str]) -> None:
    assert "opensesame" in set(in_settings({"command": words}, {}))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("write", [" ".join, repr, json.dumps], ids=["line", "repr", "JSON"])
def test_a_log_that_prints_a_command_gives_no_password_away(words: list[str], write: Callable[[list[str]], str]) -> None:
    assert "opensesame" not in Redactor.of([]).foreign(f"started {write(words)}")


@pytest.mark.parametrize(
    "line",
    [
        "MYSQL_PWD=abc", "DB_PASS='abc'", 'pin = "4711"', "--pin 4711", "--pin=4711", "{'pin': '4711'}", '{"password":"abc"}',
        "GITHUB_PAT=abc", "api_key='abc'", "PW=abc", "dbPw2: 'abc'", '{\\"password\\": \\"abc\\"}', "<password>abcd</password>",
        'password = "abc with abc words"', "password => 'abc'", 'Authorization: "Token abc4711abc"',
    ],
)  # fmt: skip
def test_short_secrets_are_masked_where_they_stand(line: str) -> None:
    masked = Redactor.of([]).foreign(line)
    assert "abc" not in masked
    assert "4711" not in masked
    assert MASK in masked


@pytest.mark.parametrize(
    "line",
    [
        "password: required", "The pass: it leads over the Alps", "--max-tokens 120", "--max-tokens=120",
        "PWD=/home/user1/bots/heart2", "tokens = 120", "key = lambda x: x", "password=None", "'--port', '8080'", "-u 1000:1000",
        "session: 550e8400-e29b-41d4-a716-446655440000", "session: call4711abcd", "wss://api.example.com/v1/realtime",
        "ws://127.0.0.1:{port}/twilio-stream2/gpt-4o-realtime-preview-2024-12-17", "at ws://127.0.0.1:8765",
        "<key>abc</key> and a <b>bold</b> word", "usage: run [-u USER:PASSWORD] [--password PASSWORD]", "-u me",
        "--token-count 7000",
    ],
)  # fmt: skip
def test_ordinary_lines_are_left_alone(line: str) -> None:
    assert Redactor.of([]).foreign(line) == line


@pytest.mark.parametrize("key", [KEY, "p4ss/w\u00f6rd&<x>'y", "Qz7env/9+aB4x3", "abc/123", "aaaaaaaaaaaa>>>???1"])
def test_it_is_found_as_every_program_writes_it(key: str) -> None:
    raw = key.encode()
    encodings = [
        quote(key, safe=""), quote(key, safe="").replace("%2F", "%2f"), quote(quote(key, safe=""), safe=""), quote_plus(key),
        json.dumps(key)[1:-1], json.dumps(key)[1:-1].replace("/", "\\/"), json.dumps(json.dumps(key))[3:-3], html.escape(key),
        json.dumps(key)[1:-1].replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"), repr(key)[1:-1],
    ]  # fmt: skip
    masked = Redactor.of([key])
    for encoded in encodings:
        assert masked(f'"{encoded}"') == f'"{MASK}"', encoded
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(raw).decode()
        assert masked(f"<{whole}>") == f"<{MASK}>"
        assert masked(f"<{whole.rstrip('=')}>") == f"<{MASK}>"


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode], ids=["standard", "for addresses"])
@pytest.mark.parametrize("user", ["", "m:", "me:", "you:", "user:"])
@pytest.mark.parametrize("tail", ["", "\n", "@x"])
def test_base64_of_a_key_among_other_bytes_gives_nothing_of_it_away(
    encode: Callable[[bytes], bytes], user: str, tail: str
) -> None:
    """What base64 leaves beside the mask says less than two bytes of the key at either end."""
    key = "Qz7~~~???>>>/9+aB4xenv"
    whole = encode(f"{user}{key}{tail}".encode()).decode()
    masked = Redactor.of([key])(f"<{whole}>")
    assert MASK in masked
    left = masked.strip("<>").split(MASK)
    own = {whole[k : k + 3] for k in range(-(-len(user) * 8 // 6), (len(user) + len(key)) * 8 // 6 - 2)}
    assert not any(piece in part for part in left for piece in own)


def test_what_is_no_secret_is_left_as_it_is() -> None:
    words = (
        "I have a basic understanding of it. The key: patience. Tokens: 12345678. first_token=1234567890123 "
        'at_ns": 4711471147114711, api_key_env = "OPENAI_API_KEY", max_tokens = 120, http://host:80/path#part'
    )
    assert Redactor.of(["47114711", "none", "seeded"]).foreign(words) == words
    for name in shipped_profiles():
        assert load_profile(name).shown_text == load_profile(name)._source_text


def test_what_others_write_is_masked_by_its_name() -> None:
    told = "config: {'api_key': 'abcd1234efgh', 'password': \"p4ssw0rd!\"} X-Api-Key: zzzz9999"
    masked = Redactor.of([]).foreign(told)
    assert not any(value in masked for value in ("abcd1234efgh", "p4ssw0rd!", "zzzz9999"))


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


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a.",
        "?a",
        "://",
        "key=",
        "Bearer ",
        "key: '",
        "--pin ",
        "-u a:b ",
        "pin='",
        "eyJaaaaaaaaa.",
        "aB1",
        "ws://h/Qz7abcd4/",
        "Qz7abcd4/",
        "-----BEGIN PRIVATE KEY-----\n",
        "aB3/",
        "ghp_",
        "<a>bcde</",
        "ws://a:",
        "sk-a...",
        'pw="a',
    ],
)
def test_no_text_takes_longer_than_its_length_asks(unit: str) -> None:
    def seconds(length: int) -> float:
        text, redactor = unit * (length // len(unit)), Redactor.of([KEY])
        began = time.process_time()
        redactor.foreign(text)
        return time.process_time() - began

    seconds(1_000)
    assert seconds(400_000) < 40 * max(seconds(40_000), 0.002)
