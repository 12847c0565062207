"""Files of strangers: every way in which one can be hostile or wrong ends in one line, soon, for every reader."""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.agents.profile import load_profile
from harness.audio.synthesis_service import load_service_voices
from harness.audio.voice_error import VoiceError
from harness.errors import UserError
from harness.foreign_files import FileFault, json_lines, parse_json, read_text
from harness.foreign_toml import line_of, parse_toml
from harness.foreign_yaml import parse_yaml
from harness.gate.budgets import read_budgets
from harness.judging.settings import load_judge_settings
from harness.run.plan import load_events
from harness.scenarios.pack import load_pack

TOML: list[Callable[[Path], object]] = [load_profile, lambda path: load_judge_settings(str(path)), load_service_voices]
YAML: list[Callable[[Path], object]] = [load_pack, read_budgets, lambda path: load_events(str(path))]
DEEP = 3_000


def refusal(read: Callable[[Path], object], path: Path) -> str:
    with pytest.raises((UserError, VoiceError)) as caught:
        read(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert len(message) < 600
    return message


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("read", TOML)
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'kind = "text"\nx = ' + b"[" * DEEP + b"]" * DEEP, "line 2|:2: "),
        (b'kind = "text"\nx = ' + b"{a=" * DEEP + b"1" + b"}" * DEEP, "nested"),
        (b"a" + b".a" * DEEP + b" = 1", "nested"),
        (b"[a" + b".a" * DEEP + b"]", "nested"),
        (b"x = " + b"9" * 5_000, "TOML"),
        (b"a = 1\na = 2", "line 2|:2: "),
        (b"x = 1\n" * 2_000_000, "MiB"),
        ("x = 1".encode("utf-16"), "UTF-8"),
        ("x = 1".encode("utf-16-le"), "NUL"),
    ],
)  # fmt: skip
def test_a_hostile_toml_is_one_line(read: Callable[[Path], object], content: bytes, says: str, tmp_path: Path) -> None:
    message = refusal(read, written(tmp_path, "mine.toml", content))
    assert any(part in message for part in says.split("|"))


LAUGHS = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (c + 1, c + 1, b",".join([b"*%c" % c] * 9)) for c in range(ord("a"), ord("i"))
)


@pytest.mark.parametrize("read", YAML)
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (LAUGHS, "anchors"),
        (b"schema: 1\nevents: []\ncontexts: " + b"[" * DEEP + b"]" * DEEP, "nested"),
        (b"schema: 1\nschema: 2", "twice"),
        (b"schema: !!python/object/apply:os.getcwd []", "tags"),
        (b"schema: " + b"9" * 5_000, "9999"),
        (b"\tschema: 1", "not YAML"),
        ("schema: 1".encode("utf-16"), "UTF-8"),
        (b"schema: 1\n\0", "NUL"),
        (b"x: 1\n" * 2_000_000, "MiB"),
    ],
)  # fmt: skip
def test_a_hostile_yaml_is_one_line(read: Callable[[Path], object], content: bytes, says: str, tmp_path: Path) -> None:
    assert says in refusal(read, written(tmp_path, "mine.yaml", content))


@pytest.mark.parametrize("read", [*TOML, *YAML])
def test_what_is_no_file_is_one_line(read: Callable[[Path], object], tmp_path: Path) -> None:
    for name in ("loop.toml", "loop.yaml"):
        (tmp_path / name).symlink_to(tmp_path / name)
        refusal(read, tmp_path / name)
    for name in ("endless.toml", "endless.yaml"):
        (tmp_path / name).symlink_to("/dev/zero")
        refusal(read, tmp_path / name)
    os.mkdir(tmp_path / "folder.toml")
    refusal(read, tmp_path / "folder.toml")


def test_a_byte_order_mark_and_windows_lines_change_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, "mine.toml", b'\xef\xbb\xbfkind = "raw-pcm"\r\nurl = "ws://a/b"\r\n')
    assert load_profile(path).kind == "raw-pcm"
    assert parse_yaml(read_text(written(tmp_path, "m.yaml", b"\xef\xbb\xbfa: 1\r\nb: x\r\n"))).data == {"a": 1, "b": "x"}


@pytest.mark.parametrize(
    "text",
    [
        'x = """' + "[" * 100 + '"""',
        "x = '''" + "{" * 100 + "'''",
        'x = "' + "[" * 100 + '"  # ' + "[" * 100,
        "x = '" + "." * 100 + "'",
        "x = [" + "1.5, " * 500 + "]",
        'x = """a\\"""' + "[" * 100 + '"""""',
    ],
)
def test_brackets_and_dots_in_texts_are_not_depth(text: str) -> None:
    assert set(parse_toml(text)) == {"x"}


@pytest.mark.parametrize("unit", ['"""', "'''", '\\"""', '"a', "[", "x.", '"""\\', "#", "\n[[a]]", "='''\n"])
def test_the_time_of_a_toml_grows_with_its_length(unit: str) -> None:
    def seconds(text: str) -> float:
        best = float("inf")
        for _ in range(3):
            begun = time.process_time()
            with contextlib.suppress(FileFault):
                parse_toml(text)
            best = min(best, time.process_time() - begun)
        return best

    short, long = ("x = " + unit * (n // len(unit)) for n in (40_000, 320_000))
    assert seconds(long) < 32 * seconds(short) + 0.05  # eight times the length; quadratic is 64 times


def test_the_line_of_a_setting_is_found_in_every_form() -> None:
    text = 'a = 1\n[b]\nc = [\n 1,\n]\nd.e = 2\n[[r]]\nx = 1\n[[r]]\nx = """\n[b]\n"""\n[r.s]\ny = { z = 1 }\n'
    places = {
        ("a",): 1, ("b",): 2, ("b", "c"): 3, ("b", "c", 0): 3, ("b", "d", "e"): 6, ("r", 0, "x"): 8, ("r", 1): 9,
        ("r", 1, "x"): 10, ("r", 1, "s"): 13, ("r", 1, "s", "y", "z"): 14, ("none",): 1, ("b", "none"): 2,
    }  # fmt: skip
    assert {place: line_of(text, place) for place in places} == places


def test_a_line_of_a_long_file_is_found_in_time() -> None:
    text = "".join(f"k{n} = 1\n" for n in range(20_000))
    assert line_of(text, ["k19999"]) == 20_000  # by growing prefixes this took minutes


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85"])
def test_json_lines_end_with_a_line_feed_alone(char: str, tmp_path: Path) -> None:
    path = written(tmp_path, "x.jsonl", f'"a{char}b"\r\n2\n'.encode())
    assert list(json_lines(path)) == [(1, f"a{char}b"), (2, 2)]


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "[" * 200 + "]" * 200, "[" * 100_000, "NaN", "9" * 5_000, "{"])
def test_json_that_misleads_is_one_line(text: str) -> None:
    with pytest.raises(FileFault) as caught:
        parse_json(text)
    assert "\n" not in str(caught.value)


def test_depth_is_of_what_is_open_and_not_of_all_that_was() -> None:
    assert len(parse_yaml("- [a]\n" * 40).data) == 40
    nested = "[" * 16 + "]" * 16
    assert parse_yaml(nested).data
    with pytest.raises(FileFault, match="nested more than 16 deep"):
        parse_yaml(f"[{nested}]")
