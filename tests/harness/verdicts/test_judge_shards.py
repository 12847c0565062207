"""A run judged in parts: every question is put once, and the rows are those of a judging in one go."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cli import _run as command
from harness.progress import RunProgress
from harness.store.database import locked
from harness.store.run_store import RunStore
from harness.verdicts.judge import RunJudging, judge_shard
from tests.endpoint import endpoint, judge_by_rule, questions, rows, unjudged
from tests.harness.judging.conftest import pass_red_lines

OF = 3


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Path]:
    """The folder of an endpoint that judges by rule, and of its profiles."""
    with endpoint(tmp_path) as url:
        for name in ("whole", "parts"):
            pass_red_lines(judge_by_rule(tmp_path / f"{name}.toml", f"{url}/{name}/v1"))
        yield tmp_path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return unjudged(tmp_path / "run", 4)


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
