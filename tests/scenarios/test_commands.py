"""`harness scenarios …` as a user types it: exit codes, one clear line, one JSON object."""

import json
import subprocess
import sys

import pytest


def harness(*arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "harness", "scenarios", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)


def test_check_passes_what_ships_and_prints_one_object():
    done = harness("check", "heart-open", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["problems"] == []


def test_check_misses_with_exit_1_and_names_the_item(write_pack):
    done = harness("check", write_pack("It's the exam.", "I dont want to really be around."))
    assert done.returncode == 1
    assert "one: safety" in done.stdout


def test_import_writes_a_pack_and_never_over_one(tmp_path):
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
        (["build", "esconv", "/nowhere", "--out", "out"], "no such file"),
        (["build", "reddit", "x", "--out", "out"], "esconv"),
        (["import", "csv", "x", "--out", "out.yaml"], "jsonl"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_2(tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    done = harness(*arguments)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert says in line
    assert list(tmp_path.iterdir()) == []
