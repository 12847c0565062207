"""A run judged on a real cluster: every question is put once, whoever is killed, and the rows are those of a judging here."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from harness.cli import _run as command
from tests.endpoint import endpoint, judge_by_rule, questions, rows, unjudged
from tests.harness.conftest import Finished
from tests.harness.fleet.conftest import Starts


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Path]:
    """The folder of an endpoint that judges by rule, and of its profiles."""
    with endpoint(tmp_path, "--delay-s", 0.02) as url:
        for name in ("near", "far"):
            judge_by_rule(tmp_path / f"{name}.toml", f"{url}/{name}/v1", "concurrency = 1\n")
        yield tmp_path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return unjudged(tmp_path / "run", 8)


@pytest.mark.long
def test_a_run_judged_on_a_cluster_has_the_rows_of_one_judged_here_though_a_worker_is_killed(
    cluster: Starts, asked: Path, run: Path, tmp_path: Path, harness_command: Callable[..., Finished]
) -> None:
    near = shutil.copytree(run, tmp_path / "near-run")
    assert command(["judge", str(near), "--judge", str(tmp_path / "near.toml"), "--json"]) == 0
    here = cluster(2)
    far = ("--judge", str(tmp_path / "far.toml"))
    line = [sys.executable, "-m", "harness", "judge", str(run), *far, "--ray", here.address, "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as judging:
        while judging.poll() is None and questions(asked, "far").total() < 10:
            time.sleep(0.05)
        at = questions(asked, "far").total()
        for process in psutil.Process(here.pid).children(recursive=True):
            if "--shard" in process.cmdline():
                process.kill()
                break
        out, err = judging.communicate(timeout=300)
    assert judging.returncode == 0, err
    assert at >= 10
    assert "lost (" in err
    assert rows(run) == rows(near)
    twice = questions(asked, "far") - questions(asked, "near")
    assert twice.total() <= 1 + int(1.0 / 0.02), "more was asked again than was on its way at the kill"
    assert not questions(asked, "near") - questions(asked, "far")
    assert not list((run / "verdicts").iterdir()), "their answers are in the run's own store"
    assert json.loads(out)["missing"] == 0
    before = questions(asked, "far").total()
    again = harness_command("judge", run, "--judge", tmp_path / "far.toml", "--ray", here.address, "--json")
    assert again.code == 0, again.err
    assert questions(asked, "far").total() == before, "a run that is judged again asks nothing"


def test_what_judges_no_run_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more in (["--shard", "1/2"], ["--dry-run"], ["--until-separated", "best"]):
        assert command(["judge", str(run), "--judge", "embedded", "--ray", "auto", *more]) == 2
        assert "--ray auto: judges a run in parts" in capsys.readouterr().err
