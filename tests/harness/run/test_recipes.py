"""The recipes of docs/recipes do what they say: their own lines are run here, with two local machines for a fleet."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from tests.endpoint import endpoint, writer
from tests.harness.conftest import Finished

RECIPES = Path(__file__).parents[3] / "docs" / "recipes"


@pytest.fixture
def plan(tmp_path: Path, pack: Path, harness_virtual: Callable[..., Finished]) -> Iterator[Path]:
    """A plan of two contexts and a text agent, and a `harness` on the path."""
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "harness").write_text(f'#!/bin/sh\nexec {sys.executable} -m harness "$@"\n')
    # What stands for the network: a host is a folder, and its commands run in it.
    (commands / "ssh").write_text(f'#!/bin/sh\ncd "{tmp_path}/$1" && exec sh -c "$2"\n')
    (commands / "scp").write_text(
        "#!/bin/bash\nargs=()\n"
        f'for a in "$@"; do case $a in -q) ;; *:*) args+=("{tmp_path}/${{a/://}}");; *) args+=("$a");; esac; done\n'
        'exec cp "${args[@]}"\n'
    )
    for command in commands.iterdir():
        command.chmod(0o755)
    with endpoint(tmp_path) as url:
        path = tmp_path / "plan.json"
        done = harness_virtual("run", "--agent", writer(tmp_path, f"{url}/r/v1"), "--pack", pack, "--write-plan", path)
        assert done.code == 0, done.err
        yield path


def run_here(tmp_path: Path, line: list[str], environment: Mapping[str, str]) -> None:
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        line, cwd=tmp_path, env={**os.environ, "PATH": path, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def merged_whole(harness_virtual: Callable[..., Finished], shards: Path, tmp_path: Path) -> None:
    done = harness_virtual("merge", *sorted(shards.iterdir()), "--out", tmp_path / "run", "--json")
    assert done.code == 0, done.err
    assert (done.json["sessions"], done.json["left"]) == (2, 0)


def asked(tmp_path: Path) -> int:
    return len([line for line in (tmp_path / "asked.jsonl").read_text().splitlines() if json.loads(line)["to"] == "agent"])


@pytest.mark.models
def test_slurm(plan: Path, tmp_path: Path, harness_virtual: Callable[..., Finished]) -> None:
    line = ["bash", str(RECIPES / "slurm.sh"), "plan.json", "shards", "2"]
    for task, tasks in (("2", "2"), ("1", "1"), ("2", "1")):
        run_here(tmp_path, line, {"SLURM_ARRAY_TASK_ID": task, "SLURM_ARRAY_TASK_COUNT": tasks})
    assert asked(tmp_path) == 2, "a task that is repeated alone is the shard that it was"
    merged_whole(harness_virtual, tmp_path / "shards", tmp_path)
    assert plan.exists()
    told = subprocess.run(
        line[:-1], capture_output=True, text=True, check=False, env={**os.environ, "SLURM_ARRAY_TASK_ID": "1"}
    )
    assert told.returncode != 0
    assert "say of how many shards the plan is: sbatch --array=1-8 slurm.sh plan.json shards 8" in told.stderr


@pytest.mark.models
@pytest.mark.long
def test_kubernetes(plan: Path, tmp_path: Path, harness_virtual: Callable[..., Finished]) -> None:
    job = yaml.safe_load((RECIPES / "kubernetes.yaml").read_text())
    (container,) = job["spec"]["template"]["spec"]["containers"]
    (line,) = container["args"]
    assert f'/{job["spec"]["completions"]}"' in line, "as many shards as pods"
    assert plan.name in line
    here = [*container["command"], line.replace(f'/{job["spec"]["completions"]}"', '/2"')]
    for index, host in (("0", "heart-0-x7k2p"), ("1", "heart-1-qq8vz"), ("0", "heart-0-m4w9t")):
        named = ["unshare", "--user", "--map-root-user", "--uts", "sh", "-c", 'hostname "$HOSTNAME"; exec "$@"', "sh", *here]
        run_here(tmp_path, named, {"JOB_COMPLETION_INDEX": index, "HOSTNAME": host})
    assert asked(tmp_path) == 2, "the pod that took a lost one's place went on with its shard"
    merged_whole(harness_virtual, tmp_path / "shards", tmp_path)


@pytest.mark.models
@pytest.mark.long
def test_ssh(plan: Path, tmp_path: Path, harness_virtual: Callable[..., Finished]) -> None:
    for host in ("one", "two"):
        (tmp_path / host).mkdir()
    for _ in range(2):
        run_here(tmp_path, ["bash", str(RECIPES / "ssh.sh"), str(plan), "shards", "one", "two"], {})
    assert asked(tmp_path) == 2, "nothing was played twice"
    merged_whole(harness_virtual, tmp_path / "shards", tmp_path)
