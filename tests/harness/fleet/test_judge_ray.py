"""A run judged on a real cluster: every question is put once, whoever is killed, and the rows are those of a judging here."""

import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.cli import _run as command
from harness.experiment import Experiment
from harness.judging.validation.labelled import gold_pairs
from harness.run.plan import make_plan, new_manifest
from harness.store.run_store import RunStore
from tests.harness.conftest import PEERS, Finished, peer
from tests.harness.fleet.conftest import Starts


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Path]:
    """The log of an endpoint that judges by rule; its profiles lie beside it."""
    better, log = tmp_path / "better.json", tmp_path / "judged.jsonl"
    better.write_text(json.dumps([pair.better for pair in gold_pairs()]))
    log.touch()
    line = [sys.executable, str(PEERS / "endpoint.py"), str(log), "--better", str(better), "--delay-s", "0.02"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        url = serving.stdout.readline().strip()
        for name in ("near", "far"):
            text = (
                f'id = "by-rule"\nfamily = "rules"\nversion = "1"\nmodel = "m"\nconcurrency = 1\nbase_url = "{url}/{name}/v1"\n'
            )
            (tmp_path / f"{name}.toml").write_text(text)
        yield log
        serving.kill()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    plan = make_plan(Experiment(agents=(str(peer("raw-pcm-echo")), str(peer("pipecat-echo"))), limit=8, repeats=2))
    store = RunStore.create(tmp_path / "run", new_manifest(plan), plan.contexts)
    for key in plan.session_keys():
        session = store.commit_session(key, partial=store.partial_folder(key), started_ns=1)
        store.set_heard(session.id, f"{key.agent} has {'more ' * key.repeat}words for {key.context_id}", ())
    store.close()
    return tmp_path / "run"


def rows(folder: Path) -> list[dict[str, Any]]:
    store = RunStore.open(folder)
    try:
        return [row.model_dump() for row in store.judgments()]
    finally:
        store.close()


def questions(log: Path, of: str) -> Counter[str]:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return Counter(line["asked"] for line in lines if line["run"] == of)


@pytest.mark.long
def test_a_run_judged_on_a_cluster_has_the_rows_of_one_judged_here_though_a_worker_is_killed(
    cluster: Starts, asked: Path, run: Path, tmp_path: Path, harness_command: Callable[..., Finished]
) -> None:
    near = shutil.copytree(run, tmp_path / "near-run")
    assert command(["judge", str(near), "--judge", str(tmp_path / "near.toml"), "--json"]) == 0
    here = cluster(2)
    line = [
        sys.executable,
        "-m",
        "harness",
        "judge",
        str(run),
        "--judge",
        str(tmp_path / "far.toml"),
        "--ray",
        here.address,
        "--json",
    ]
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
