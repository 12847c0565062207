"""`harness scenarios …` as a user types it: exit codes, one clear line, one JSON object."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.conftest import WritePack


def harness(*arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "harness", "scenarios", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)


def test_check_passes_what_ships_and_prints_one_object() -> None:
    done = harness("check", "heart-open", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["problems"] == []


def test_check_says_what_is_in_a_pack_and_who_would_speak(write_pack: WritePack) -> None:
    done = harness("check", "heart-open")
    for told in (
        "60 regular",
        "12 adversarial",
        "19 emotions",
        "nearest pair: open-",
        "509 marked pauses, 1.8 a turn",
    ):
        assert told in done.stdout
    strange = harness("check", write_pack("    turns:", "    voice: hildegard\n    turns:"))
    assert "hildegard (unknown here: joe speaks)" in strange.stdout


def test_one_context_is_shown_with_how_it_is_said_and_what_its_references_are_weak_on() -> None:
    shown = harness("show", "heart-mini", "mini-night-shift-exam")
    assert "seeker [anxiety 0.6]: Both, I think." in " ".join(shown.stdout.split())
    assert "quality 2, weak on E A" in " ".join(shown.stdout.split())
    one = json.loads(harness("show", "heart-mini", "mini-rota-favourites", "--json").stdout)
    assert one["context"]["id"] == "mini-rota-favourites"
    assert one["pauses_ms"] == [470, 290, 800, 2312, 1678, 275, 608]
    every = json.loads(harness("show", "heart-mini", "--json").stdout)
    assert len(every["contexts"]) == 12
    assert every["contexts"][0]["emotion"] == "anxiety"


def test_check_misses_with_exit_1_and_names_the_item(write_pack: WritePack) -> None:
    done = harness("check", write_pack("It's the exam.", "I dont want to really be around."))
    assert done.returncode == 1
    assert "one: safety" in done.stdout


def test_import_writes_a_pack_and_never_over_one(tmp_path: Path) -> None:
    source = tmp_path / "talks.jsonl"
    source.write_text(json.dumps({"mood": 1, "messages": [{"role": "user", "content": "It rained all week."}]}))
    done = harness("import", "jsonl", source, "--out", tmp_path / "talks.yaml", "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["items"] == 1
    assert "'mood'" in told["not_carried"][0]
    again = harness("import", "jsonl", source, "--out", tmp_path / "talks.yaml")
    assert again.returncode == 2
    assert "exists already" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "hart-mini"], "heart-mini"),
        (["show", "heart-mini", "nobody"], "nobody"),
        (["show", "heart-mini", "mini-night-shift-exm"], "did you mean mini-night-shift-exam"),
        (["check", "heart-mini", "--every-turn"], "--listen"),
        (["build", "esconv", "/nowhere", "--out", "out"], "no such file"),
        (["build", "reddit", "x", "--out", "out"], "esconv"),
        (["import", "csv", "x", "--out", "out.yaml"], "jsonl"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = harness(*arguments)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert says in line
    assert list(tmp_path.iterdir()) == []
