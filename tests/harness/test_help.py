"""Help as people read it: groups, whole sentences, plain words for values, and the nearest word to a misspelt one."""

import json
import os
import pty
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from harness.cli import _run, app
from harness.commands.help import GROUPS, first_sentence, page, visible
from harness.commands.play_options import on_cluster
from harness.errors import UserError

ROOT: Any = get_command(app)
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def visible_commands(command: Any = ROOT, path: tuple[str, ...] = ("harness",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        if not child.hidden:
            yield from visible_commands(child, (*path, name))


COMMANDS = list(visible_commands())
IDS = [" ".join(path) for path, _ in COMMANDS]


def words_of(text: str) -> str:
    return " ".join(text.split())


def test_every_command_that_help_shows_is_in_one_group_and_every_group_names_commands_that_there_are() -> None:
    shown = [name for name, command in ROOT.commands.items() if not command.hidden]
    assert Counter(name for names in GROUPS.values() for name in names) == Counter(shown)
    assert list(GROUPS) == ["Start", "Measure", "Judge", "People", "Fleet"]


def test_the_page_of_commands_names_each() -> None:
    told = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    assert [name for names in GROUPS.values() for name in names if f"`harness {name}" not in told] == []


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=IDS)
def test_a_page_says_everything_within_the_width(path: tuple[str, ...], command: Any, width: int) -> None:
    plain = page(command, path, width).plain
    assert max(map(len, plain.splitlines())) <= width
    assert not re.search(r"…|<[a-z]+[\[ >]|\{[A-Z]|\brange\b", plain), plain
    said = words_of(plain)
    for child in getattr(command, "commands", {}).values():
        assert child.hidden or first_sentence(child.help) in said
    for option in visible(command):
        assert words_of(option.help) in said
        assert option.opts[0] in said


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=IDS)
def test_every_description_is_a_sentence_and_says_its_default_once(path: tuple[str, ...], command: Any) -> None:
    assert re.match(r"[A-Z].*[.?]$", first_sentence(command.help)), command.help
    for one in [*visible(command), *(one for one in command.params if one.param_type_name == "argument")]:
        assert one.help, f"{path}: {one.name}"
        assert re.search(r"[.?]$", one.help), one.help
    for part in re.split(r"\n  (?=\S)", page(command, path, 120).plain):
        assert part.count("default:") <= 1, part


def test_a_long_page_has_panels_and_what_everybody_uses_is_first() -> None:
    for path, command in COMMANDS:
        text = page(command, path, 80).plain
        assert len(re.findall(r"^  --", text.partition("\nOptions\n")[2].partition("\n\n")[0], re.MULTILINE)) <= 12, path
    text = page(ROOT.commands["run"], ("harness", "run"), 80).plain
    assert text.index("--agent") < text.index("--out") < text.index("--condition") < text.index("--shard")


def test_a_terminal_has_colour_and_the_same_words() -> None:
    env = {**os.environ, "COLUMNS": "80", "TERM": "xterm-256color"}
    env.pop("NO_COLOR", None)
    call = [sys.executable, "-c", "from harness.cli import main; main()", "help"]
    piped = subprocess.run(call, env=env, capture_output=True, text=True, check=True).stdout
    ours, theirs = pty.openpty()
    shown = subprocess.Popen(call, env=env, stdout=theirs)
    os.close(theirs)
    read = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        read += part
    assert shown.wait() == 0
    os.close(ours)
    terminal = read.decode().replace("\r\n", "\n")
    assert "\x1b[" in terminal
    assert "\x1b[" not in piped
    assert ANSI.sub("", terminal) == piped


@pytest.mark.parametrize(
    "words",
    [
        *([group] for group in ("scenarios", "judge", "people", "label")),
        ["help"], ["--help"], ["-h"], ["help", "run"], ["run", "--help"], ["run", "--agent", "x", "--help"],
        ["help", "judge", "run"], ["help", "plan"], ["help", "scenarios", "listen"],
    ],
)  # fmt: skip
def test_a_request_for_help_is_answered_by_a_page(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(words) == 0
    assert capsys.readouterr().out.startswith("Usage: harness")


def test_groups_that_list_something_do_so_alone_and_their_pages_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    for group in ("agents", "models"):
        assert _run([group]) == 0
        assert len(capsys.readouterr().out.splitlines()) > 5
        assert _run(["help", group]) == 0
        assert f"Usage: harness {group} COMMAND" in capsys.readouterr().out


def test_version_is_a_word_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["version"]) == _run(["--version"]) == 0
    assert capsys.readouterr().out.split() == [version("heart-voice-harness")] * 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("rnu", "no command rnu; did you mean harness run?"),
        ("record", "no command record; did you mean harness people record?"),
        ("people recrod", "people: no command recrod; did you mean harness people record?"),
        ("help reprot", "no command reprot; did you mean harness report?"),
        ("run --agnt x", "run: no option --agnt; did you mean --agent?"),
        ("judge run x --jugde none", "judge run: no option --jugde; did you mean --judge?"),
        ("zzzz", "no command zzzz; harness --help lists all"),
        ("run --zzzz", "run: no option --zzzz; harness run --help lists all"),
        ("rank", "rank: TARGET is missing; harness rank --help"),
    ],
)
def test_a_misspelt_word_is_named_with_the_nearest(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(words.split()) == 2
    assert said in capsys.readouterr().err


def _options(path: str) -> dict[str, Any]:
    command = ROOT
    for name in path.split():
        command = command.commands[name]
    return {name: one for one in command.params for name in one.opts}


@pytest.mark.parametrize(
    ("path", "old"),
    [
        *((path, word) for path in ("listen", "people record", "people answer")
          for word in ("--host", "--port", "--tls-cert", "--tls-key")),
        ("run", "--ray-worker"), ("judge run", "--ray-worker"), ("run", "--agent-count"),
        ("report", "--index"), ("report", "--endpointing"), ("rank", "--csv"), ("rank", "--markdown"),
        ("report", "--to"),
    ],
)  # fmt: skip
def test_an_option_that_another_replaced_still_works_and_is_not_shown(path: str, old: str) -> None:
    assert _options(path)[old].hidden


def test_the_new_words_do_what_the_old_ones_do(tmp_path: Path) -> None:
    votes = tmp_path / "votes.jsonl"
    same = {"subset": "regular", "system_a": "x", "system_b": "y", "judge": "j", "source": "human", "presentation": "written"}
    rows = [{**same, "context": f"c{k}", "winner": "ab"[k % 3 == 0]} for k in range(12)]
    votes.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    files = [tmp_path / name for name in ("new.csv", "new.md", "old.csv", "old.md")]
    new = [word for file in files[:2] for word in ("--export", str(file))]
    assert _run(["rank", str(votes), "--draws", "20", *new]) == 0
    assert _run(["rank", str(votes), "--draws", "20", "--csv", str(files[2]), "--markdown", str(files[3])]) == 0
    assert [file.read_bytes() for file in files[:2]] == [file.read_bytes() for file in files[2:]]
    assert _run(["rank", str(votes), "--export", str(tmp_path / "board.xls")]) == 2
    assert on_cluster("auto,cpus=2,parts=3", None) == on_cluster("auto", ["cpus=2", "parts=3"])
    with pytest.raises(UserError, match=r"--ray auto,cpu=2: cpu: .*did you mean cpus"):
        on_cluster("auto,cpu=2", None)
