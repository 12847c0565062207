"""`harness scenarios …` as a user types it: exit codes, one clear line, one JSON object."""

import json
from pathlib import Path

import pytest

from tests.scenarios.conftest import Scenarios, WritePack


def test_check_passes_what_ships_and_prints_one_object(scenarios: Scenarios) -> None:
    done = scenarios("check", "heart-open", "--json")
    assert done.code == 0
    assert json.loads(done.out)["problems"] == []


def test_check_says_what_is_in_a_pack_and_who_would_speak(scenarios: Scenarios, write_pack: WritePack) -> None:
    done = scenarios("check", "heart-open")
    for told in (
        "60 regular",
        "12 adversarial",
        "19 emotions",
        "nearest pair: open-",
        "509 marked pauses, 1.8 a turn",
    ):
        assert told in done.out
    strange = scenarios("check", write_pack("    turns:", "    voice: hildegard\n    turns:"))
    assert "hildegard (unknown here: joe speaks)" in strange.out


def test_one_context_is_shown_with_how_it_is_said_and_what_its_references_are_weak_on(scenarios: Scenarios) -> None:
    shown = scenarios("show", "heart-mini", "mini-night-shift-exam")
    assert "seeker [anxiety 0.6]: Both, I think." in " ".join(shown.out.split())
    assert "quality 2, weak on E A" in " ".join(shown.out.split())
    one = json.loads(scenarios("show", "heart-mini", "mini-rota-favourites", "--json").out)
    assert one["context"]["id"] == "mini-rota-favourites"
    assert one["pauses_ms"] == [470, 290, 800, 2312, 1678, 275, 608]
    every = json.loads(scenarios("show", "heart-mini", "--json").out)
    assert len(every["contexts"]) == 12
    assert every["contexts"][0]["emotion"] == "anxiety"


def test_check_misses_with_exit_1_and_names_the_item(scenarios: Scenarios, write_pack: WritePack) -> None:
    done = scenarios("check", write_pack("It's the exam.", "I dont want to really be around."))
    assert done.code == 1
    assert "one: safety" in done.out


def test_import_writes_a_pack_and_never_over_one(scenarios: Scenarios, tmp_path: Path) -> None:
    source = tmp_path / "talks.jsonl"
    source.write_text(json.dumps({"mood": 1, "messages": [{"role": "user", "content": "It rained all week."}]}))
    done = scenarios("import", "jsonl", source, "--out", tmp_path / "talks.yaml", "--json")
    assert done.code == 0
    told = json.loads(done.out)
    assert told["items"] == 1
    assert "'mood'" in told["not_carried"][0]
    again = scenarios("import", "jsonl", source, "--out", tmp_path / "talks.yaml")
    assert again.code == 2
    assert "exists already" in again.err


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
    scenarios: Scenarios, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = scenarios(*arguments)
    assert done.code == 2
    (line,) = done.err.strip().splitlines()
    assert says in line
    assert list(tmp_path.iterdir()) == []
