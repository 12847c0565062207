"""Shards that are really played, merged and judged: to the last digit the run that was not dealt, in all that has no clock."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness.cli import _run as command
from harness.store.run_store import RunStore
from tests.endpoint import endpoint, judge_by_rule, writer
from tests.harness.conftest import peer

OF = 4


@pytest.fixture
def judge_and_agent(tmp_path: Path) -> Iterator[str]:
    """A judge and a text agent that answer by rule."""
    with endpoint(tmp_path) as url:
        yield f"{url}/shards/v1"


def judged(folder: Path, judge: Path, capsys: pytest.CaptureFixture[str], *reads: str) -> Any:
    assert command(["judge", str(folder), "--judge", str(judge), *reads, "--json"]) == 0
    capsys.readouterr()
    assert command(["rank", str(folder), "--json"]) == 0
    ranking = json.loads(capsys.readouterr().out)
    with closing(RunStore.open(folder)) as store:
        sessions = [(s.id, s.key, s.status, s.failure_kind, s.written_text, s.understood_text) for s in store.sessions()]
        manifest = store.manifest
        plan = [manifest.context_ids, manifest.voices, manifest.agents, manifest.models, manifest.conditions, manifest.events]
        return ranking, sessions, plan, [row.model_dump() for row in store.judgments()], store.contexts()


@pytest.mark.models
@pytest.mark.parametrize("voice", [False, pytest.param(True, marks=pytest.mark.long)])
def test_four_shards_merged_are_the_whole_run_to_the_last_digit(
    judge_and_agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], voice: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    judge = judge_by_rule(tmp_path / "judge.toml", judge_and_agent)
    what = ["--agent", str(writer(tmp_path, judge_and_agent)), "--limit", "9"]
    what += ["--agent", str(peer("scripted")), "--concurrency", "4"] if voice else ["--repeats", "2"]
    assert command(["plan", *what, "--out", "plan.json", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert planned["calls"] == 18
    assert command(["run", *what, "--judge", "none", "--out", "whole", "--json"]) == 0
    folders = []
    for k in (3, 1, 4, 2):
        folders.append(f"s{k}")
        assert command(["run", "--plan", "plan.json", "--shard", f"{k}/{OF}", "--out", f"s{k}", "--json"]) == 0
    capsys.readouterr()
    assert command(["merge", *folders, "--out", "merged", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["plan"], told["sessions"], told["left"]) == (planned["id"], planned["calls"], 0)
    assert [machine["shards"] for machine in told["machines"].values()] == [[1, 2, 3, 4]]
    reads = ("--reads", "written") if voice else ()
    # Each run would ask a further third of the red lines, and so know more of the judge than the one before.
    command(["judge", "check", "--judge", str(judge), "--json"])
    ranking, *rest = judged(Path("whole"), judge, capsys, *reads)
    again, *merged = judged(Path("merged"), judge, capsys, *reads)
    assert merged == rest
    for found in (ranking, again):  # where a point lies in the joint figure hangs on the clock
        for clock in ("joint", "joint_variants", "slope"):
            found.pop(clock)
        # So does whether a machine that others use could pace the calls.
        found["warnings"] = [said for said in found["warnings"] if not said.startswith("INVALID: ")]
    assert again == ranking
    assert {"writer"} < set(ranking["systems"])
    assert command(["report", "merged", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["agents"]) == ({"writer", "scripted"} if voice else {"writer"})


def test_options_that_do_not_go_together_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(["plan", "--agent", "baseline", "--limit", "4", "--out", "plan.json"]) in (0, None)
    capsys.readouterr()
    fixed = json.loads(Path("plan.json").read_text())
    Path("other.json").write_text(json.dumps({**fixed, "versions": {**fixed["versions"], "numpy": "0.1"}}))
    Path("broken.json").write_text("{}")
    for line, said in (
        (["--plan", "plan.json", "--shard", "5/4"], "--shard 5/4: must be I/N"),
        (["--plan", "plan.json", "--shard", "1/9"], "use at most 4 shards"),
        (["--plan", "plan.json", "--agent", "patient"], "--agent: already set by the plan"),
        (["--plan", "plan.json", "--barge-in", "5"], "--barge-in: already set by the plan"),
        (["--plan", "none.json"], "--plan none.json: cannot be read"),
        (["--plan", "broken.json"], "--plan broken.json: is not a plan of this harness"),
        (
            ["--plan", "other.json", "--shard", "1/2"],
            "this machine would play something else: versions: numpy is",
        ),
        (["--agent", "baseline", "--shard", "1/2", "--judge", "embedded"], "--judge embedded: a shard is judged after"),
    ):
        assert command(["run", *line]) == 2
        err = capsys.readouterr().err
        assert said in err, err
        assert len(err.strip().splitlines()) == 1
    assert command(["merge", "nowhere", "--out", "x"]) == 2
    assert "nowhere: holds no run" in capsys.readouterr().err
    assert command(["run", "--agent", "baseline", "--write-plan", "no/such/folder/plan.json"]) == 2
    assert "--write-plan no/such/folder/plan.json: cannot be written" in capsys.readouterr().err
    assert not Path("runs").exists()
