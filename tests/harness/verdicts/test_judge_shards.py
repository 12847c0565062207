"""A run judged in parts: every question is put once, and the rows are those of a judging in one go."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cli import _run as command
from harness.experiment import Experiment
from harness.judging.validation.labelled import gold_pairs
from harness.progress import RunProgress
from harness.run.plan import make_plan, new_manifest
from harness.store.database import locked
from harness.store.run_store import RunStore
from harness.verdicts.judge import RunJudging, judge_shard
from tests.harness.conftest import PEERS, peer
from tests.harness.judging.conftest import pass_red_lines

OF = 3


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Path]:
    """The log of an endpoint that judges by rule; its profile lies beside it."""
    better = tmp_path / "better.json"
    better.write_text(json.dumps([pair.better for pair in gold_pairs()]))
    log = tmp_path / "asked.jsonl"
    log.touch()
    line = [sys.executable, str(PEERS / "endpoint.py"), str(log), "--better", str(better)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        url = serving.stdout.readline().strip()
        for name in ("whole", "parts"):
            (tmp_path / f"{name}.toml").write_text(
                f'id = "by-rule"\nfamily = "rules"\nversion = "1"\nmodel = "m"\nbase_url = "{url}/{name}/v1"\n'
            )
            pass_red_lines(tmp_path / f"{name}.toml")
        yield log
        serving.kill()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    plan = make_plan(Experiment(agents=(str(peer("raw-pcm-echo")), str(peer("pipecat-echo"))), limit=4, repeats=2))
    store = RunStore.create(tmp_path / "run", new_manifest(plan), plan.contexts)
    for key in plan.session_keys():
        session = store.commit_session(key, partial=store.partial_folder(key), started_ns=1)
        store.set_heard(session.id, f"{key.agent} has {'more ' * key.repeat}words for {key.context_id}", ())
    store.close()
    return tmp_path / "run"


def questions(log: Path, of: str) -> Counter[str]:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return Counter(line["asked"] for line in lines if line["run"] == of)


def rows(folder: Path) -> list[dict[str, Any]]:
    store = RunStore.open(folder)
    try:
        return [row.model_dump() for row in store.judgments()]
    finally:
        store.close()


def test_parts_put_every_question_once_and_give_the_rows_of_a_judging_in_one_go(
    asked: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = shutil.copytree(run, tmp_path / "whole-run")
    assert command(["judge", "run", str(whole), "--judge", str(tmp_path / "whole.toml"), "--json"]) == 0
    judge = ["--judge", str(tmp_path / "parts.toml"), "--json"]
    counts = []
    for k in (2, 3, 1):
        capsys.readouterr()
        assert command(["judge", "run", str(run), "--shard", f"{k}/{OF}", *judge]) == 0
        counts.append(json.loads(capsys.readouterr().out)["calls"])
        assert rows(run) == [], "a shard writes no rows"
    assert min(counts) > 0
    assert command(["judge", "run", str(run), "--shard", f"1/{OF}", *judge]) == 0
    assert questions(asked, "parts").total() == sum(counts), "a shard that is asked for again puts nothing"

    capsys.readouterr()
    assert command(["judge", "run", str(run), *judge]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["calls"] == 0
    assert rows(run) == rows(whole)
    assert questions(asked, "parts") == questions(asked, "whole")
    assert not list((run / "verdicts").iterdir()), "their answers are in the run's own store"


def test_shards_judged_at_the_same_time_on_several_machines_are_laid_together_by_copying_their_folders(
    asked: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machines = [shutil.copytree(run, tmp_path / f"machine-{k}") for k in range(1, OF + 1)]

    async def all_at_once() -> None:
        quiet = RunProgress(quiet=True)
        how = [RunJudging((str(tmp_path / "parts.toml"),), shard=(k, OF)) for k in range(1, OF + 1)]
        await asyncio.gather(*(judge_shard(RunStore.open(m), one, quiet) for m, one in zip(machines, how, strict=True)))

    asyncio.run(all_at_once())
    for machine in machines:
        shutil.copytree(machine / "verdicts", run / "verdicts", dirs_exist_ok=True)
    assert command(["judge", "run", str(run), "--judge", str(tmp_path / "parts.toml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 0
    whole = shutil.copytree(run, tmp_path / "whole-run")
    for file in whole.glob("verdicts.sqlite*"):
        file.unlink()
    assert command(["judge", "run", str(whole), "--judge", str(tmp_path / "whole.toml"), "--json"]) == 0
    assert questions(asked, "parts") == questions(asked, "whole")


@pytest.mark.usefixtures("asked")
def test_what_would_ask_twice_or_mix_two_dealings_is_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = ["--judge", str(tmp_path / "parts.toml")]
    assert command(["judge", "run", str(run), "--shard", f"1/{OF}", *judge]) == 0
    capsys.readouterr()
    with locked(run / "verdicts" / f"1-of-{OF}"):
        assert command(["judge", "run", str(run), "--shard", f"1/{OF}", *judge]) == 2
        assert "another harness process is writing this run" in capsys.readouterr().err
    for line, said in (
        (["--shard", "1/4"], f"belongs to a judging in {OF} shards; another number would ask twice"),
        (["--shard", "4/3"], "--shard 4/3: must be I/N"),
        (["--shard", "1/3", "--until-separated", "best"], "--shard 1/3: judges a part of a run"),
        (["--shard", "1/3", "--dry-run"], "--shard 1/3: judges a part of a run"),
    ):
        assert command(["judge", "run", str(run), *judge, *line]) == 2
        err = capsys.readouterr().err
        assert said in err
        assert len(err.strip().splitlines()) == 1
    (run / "verdicts" / f"1-of-{OF}" / "verdicts.sqlite").write_bytes(b"not a database, but long enough to be read as one" * 20)
    assert command(["judge", "run", str(run), *judge]) == 2
    assert "is damaged" in capsys.readouterr().err
