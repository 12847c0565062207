"""Profiles: what they refuse, where they say so, and what a hash covers."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.agents.connections.pipecat_ws import PipecatProfile
from harness.agents.model_family import family_of
from harness.agents.profile import (
    CascadeProfile,
    ProfileError,
    TextProfile,
    load_profile,
    parse_profile,
    shipped_profiles,
)
from harness.foreign_toml import line_of

HERE = Path("profiles/mine.toml")

BOT = """\
# A bot of mine.
kind = "pipecat"
url = "ws://127.0.0.1:8765/ws"

[process]
command = [
  "python",   # their own
  "bot.py",
]
env = { MODE = "test" }
"""


def refused(text: str) -> str:
    with pytest.raises(ProfileError) as caught:
        parse_profile(text, HERE)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(HERE))
    return message


def test_a_users_bot_needs_little() -> None:
    bot = parse_profile(BOT, HERE)
    assert isinstance(bot, PipecatProfile)
    assert bot.name == "mine"
    assert bot.process_settings is not None
    assert bot.process_settings.command == ("python", "bot.py")
    assert not bot.accepts_a_history
    assert bot.connection("ws://x/ws").url == "ws://x/ws"
    assert bot._source_text == BOT


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        (BOT + "redy_timeout_s = 3\n", 11, "process.redy_timeout_s"),
        (BOT + "ready_timeout_s = 0\n", 11, "process.ready_timeout_s"),
        (BOT.replace('"bot.py"', "17"), 6, "process.command[1]"),
        (BOT.replace("ws://", "http://"), 3, "url"),
        (BOT.replace('env = { MODE = "test" }', 'env = { OPENAI_API_KEY = "sk-1" }'), 5, "process"),
        (BOT + 'ready_pattern = "(("\n', 5, "process"),
        ('kind = "pipecat"\n', 1, "give url"),
        ('kind = "pipecat"\nurl = "ws://a/b"\ninput_rate_hz = 100\n', 3, "input_rate_hz"),
        ('\n\nkind = "telepathy"\n', 3, "kind"),
        ('name = "a"\n', 1, "kind is missing"),
        ('name = "../a"\nkind = "cascade"\n', 1, "name"),
        ('kind = "text"\nbase_url = "http://a/v1"\n', 1, "model is missing"),
        ('kind = "cascade"\n\n[cascade.llm]\nmodel = "x"\ntemperature = "hot"\n', 5, "cascade.llm.temperature"),
        (
            'kind = "cascade"\n[cascade.stt]\nservice = "streaming-whisper"\npadding_frames = -1\n'
            '[cascade.endpoint]\npolicy = "fixed"\nsilence_ms = 3\n',
            4,
            "cascade.stt.padding_frames",
        ),
        ('kind = "cascade"\n[cascade.stt]\nservice = "ears"\n', 2, "cascade.stt"),
        ('kind = "cascade"\n[cascade\n', 2, "not valid TOML"),
        ('kind = "cascade\n', 1, "not valid TOML"),
        ('kind = "text"\nmodel = """\nunfinished\n', 3, "not valid TOML"),
        ('kind = "text"\nkind = "text"\n', 2, "not valid TOML"),
    ],
)
def test_an_error_is_one_line_with_file_line_and_field(text: str, line: int, field: str) -> None:
    message = refused(text)
    assert f", line {line}: " in message
    assert field in message


def test_a_secret_in_a_profile_is_refused_and_not_repeated() -> None:
    assert "sk-1" not in refused(BOT.replace('MODE = "test"', 'MY_TOKEN = "sk-1"'))


def test_a_file_that_is_not_text_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_bytes(b'kind = "text"\nmodel = "\xff\xfe"\n')
    with pytest.raises(ProfileError, match=r"odd\.toml, line 2: not UTF-8"):
        load_profile(path)


def test_an_unknown_name_is_answered_with_what_there_is() -> None:
    with pytest.raises(ProfileError) as caught:
        load_profile("polaris-lik")
    assert "\n" not in str(caught.value)
    for name in shipped_profiles():
        assert name in str(caught.value)
    with pytest.raises(ProfileError, match="no such profile file"):
        load_profile("nowhere/mine.toml")


def test_every_shipped_profile_loads_under_its_own_name() -> None:
    for name in shipped_profiles():
        assert load_profile(name).name == name


def test_the_hash_covers_settings_and_nothing_else() -> None:
    bot = parse_profile(BOT, HERE)
    words = 'description = "x"\nabout_replies = "y"\n'
    moved = parse_profile(words + BOT.replace("# A bot of mine.", ""), Path("elsewhere/mine.toml"))
    assert moved.hash == bot.hash
    for change in (BOT.replace("test", "live"), BOT.replace("bot.py", "bot2.py"), "input_rate_hz = 8000\n" + BOT):
        assert parse_profile(change, HERE).hash != bot.hash


def test_full_duplex_is_said_by_a_profile_and_left_out_changes_no_hash() -> None:
    bot = parse_profile(BOT, HERE)
    assert parse_profile("full_duplex = false\n" + BOT, HERE).hash == bot.hash
    duplex = parse_profile("full_duplex = true\n" + BOT, HERE)
    assert (duplex.is_full_duplex, bot.is_full_duplex) == (True, False)
    assert duplex.hash != bot.hash
    assert duplex.connection("ws://x") == bot.connection("ws://x")


def test_model_servers_are_one_table_or_several_and_no_part_of_the_hash() -> None:
    bot = parse_profile(BOT, HERE)
    one = parse_profile(BOT + '[metrics]\nurl = "http://127.0.0.1:8000/metrics"\nserver = "vllm"\n', HERE)
    several = parse_profile(BOT + '[[metrics]]\nserver = "vllm"\n[[metrics]]\nstage = "tts"\nmodel = "kokoro"\n', HERE)
    assert [(m.url, m.server, m.stage) for m in one.metrics] == [("http://127.0.0.1:8000/metrics", "vllm", "llm")]
    assert [(m.url, m.server, m.stage, m.model) for m in several.metrics] == [
        (None, "vllm", "llm", None), (None, None, "tts", "kokoro"),
    ]  # fmt: skip
    assert bot.metrics == ()
    assert bot.hash == one.hash == several.hash
    assert "url" not in one.connection("ws://x/ws").options
    assert 8000 in one.spoken_ports, "the server works for the agent"


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ('[metrics]\nserver = "ollama"\n', "metrics.0.server"),
        ('[metrics]\nurl = "127.0.0.1:8000"\n', "metrics.0.url"),
        ('[metrics]\nstage = "vad"\n', "metrics.0.stage"),
        ("[metrics]\nperiod_ms = 10\n", "metrics.0.period_ms"),
    ],
)
def test_a_wrong_setting_of_a_model_server_is_named(table: str, field: str) -> None:
    assert field.rsplit(".", 1)[-1] in refused(BOT + table)


def test_an_address_of_metrics_is_shown_without_what_may_be_secret() -> None:
    text = BOT + '[metrics]\nurl = "http://user:sesame99@h/metrics?key=sesame99"\nserver = "vllm"\n'
    shown = parse_profile(text, HERE).shown_text
    assert "sesame99" not in shown
    assert "vllm" in shown


def test_weights_are_those_that_the_machine_must_hold() -> None:
    cascade = parse_profile('kind = "cascade"\n', HERE)
    assert isinstance(cascade, CascadeProfile)
    assert "smollm2-135m" in cascade.weights
    remote = parse_profile('kind = "cascade"\n[cascade.llm]\nmodel = "m"\nbase_url = "http://a/v1"\n', HERE)
    assert "m" not in remote.weights
    local_text = parse_profile('kind = "text"\nmodel = "smollm2-135m"\n', HERE)
    assert isinstance(local_text, TextProfile)
    assert local_text.weights == ("smollm2-135m",)
    assert parse_profile('kind = "text"\nmodel = "m"\nbase_url = "http://a/v1"\n', HERE).weights == ()


def test_a_family_is_read_from_the_model_unless_stated() -> None:
    assert parse_profile('kind = "text"\nmodel = "smollm2-135m"\n', HERE).family == "smollm2"
    assert parse_profile('kind = "text"\nmodel = "smollm2-135m"\nfamily = "mine"\n', HERE).family == "mine"
    assert parse_profile(BOT, HERE).family is None
    named = {
        "Qwen/Qwen3-8B": "qwen",
        "gpt-5": "gpt",
        "o3": "gpt",
        "llama-3.1-8b": "llama",
        "/m/SmolLM2.gguf": "smollm2",
    }
    assert {model: family_of(model) for model in named} == named


KEYS = st.text("abcdefgh-", min_size=1, max_size=6)


@settings(deadline=None)
@given(st.lists(st.tuples(KEYS, st.integers(0, 2)), min_size=1, max_size=12, unique_by=lambda k: k[0]))
def test_the_line_of_every_key_is_found(keys: list[tuple[str, int]]) -> None:
    lines: list[str] = []
    truth: dict[str, int] = {}
    for key, shape in keys:
        lines += ["# a comment", ""]
        truth[key] = len(lines) + 1
        lines += [[f"{key} = 1"], [f"{key} = [", "  1,", "]"], [f'{key} = """', f"{key} = 2", '"""']][shape]
    text = "\n".join(lines)
    assert {key: line_of(text, [key]) for key in truth} == truth


def test_a_wire_of_another_package_is_used_by_name() -> None:
    text = 'kind = "plugin"\nconnection = "scripted"\nurl = "ws://a/b"\n[options]\nrefuses = "no"\n'
    plugin = parse_profile(text, HERE)
    spec = plugin.connection("ws://a/b")
    assert (spec.kind, spec.options["refuses"]) == ("scripted", "no")
    message = refused(text.replace("scripted", "pigeon"))
    assert "raw-pcm" in message
