"""Runs on a real cluster of this machine: what comes of them, what they refuse, and what the cluster's end means for them."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import _run as command
from harness.experiment import Experiment
from harness.fleet import cluster as clusters
from harness.fleet.messages import ShardJob
from harness.fleet.worker import prepare
from harness.installation import install_command
from harness.run.fixed_plan import fixed
from harness.run.plan import make_plan
from harness.store.run_store import RunStore
from tests.harness.conftest import Finished
from tests.harness.fleet.conftest import Starts, asked


@pytest.mark.long
def test_a_run_on_a_cluster_is_the_run_without_one(
    cluster: Starts,
    writer: Path,
    pack: Path,
    tmp_path: Path,
    harness_command: Callable[..., Finished],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Slow, because a real cluster is started, and a process of `harness` for each shard."""
    line = ["run", "--agent", str(writer), "--pack", str(pack), "--judge", "none", "--json"]
    far, near = tmp_path / "far", tmp_path / "near"
    done = harness_command(*line, "--ray", cluster(2).address, "--out", far)
    assert done.code == 0, done.err
    assert len(asked(tmp_path)) == 2
    assert "Preparing 1 node" in done.err
    assert "Calls on 2 shards (2)" in done.err
    assert command([*line, "--out", str(near)]) == 0
    one, other = (
        [(s.key, s.status, s.written_text) for s in store.sessions()] for store in (RunStore.open(far), RunStore.open(near))
    )
    assert one == other
    assert RunStore.open(far).contexts() == RunStore.open(near).contexts()
    assert (far / "report.html").exists()
    capsys.readouterr()
    for more, said in (
        ([*line[1:], "--out", str(far)], "holds another run; add --resume"),
        (["--resume", "--out", str(near)], "was not begun on a cluster; resume it without --ray"),
        (["--resume", "--out", str(far), "--seed", "3"], "--seed is already set by the run in"),
    ):
        assert command(["run", "--ray", "auto", *(a for a in more if a != "--json")]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.long
def test_a_node_without_weights_is_named_before_anything_is_played(
    writer: Path, pack: Path, tmp_path: Path, harness_command: Callable[..., Finished]
) -> None:
    line = ["run", "--agent", "polaris-like", "--agent", writer, "--pack", pack, "--judge", "none", "--ray", "local"]
    nowhere = {"HEART_HARNESS_CACHE": str(tmp_path / "cache"), "HEART_HARNESS_OFFLINE": "1", "HEART_HARNESS_MODEL_PATH": ""}
    for more, said in (
        ([], " cannot play the plan: "),
        (["--ray-cpus", "4096"], "no node of the cluster has 4096 CPUs for a shard; its largest node has "),
    ):
        done = harness_command(*line, *more, "--out", "run", **nowhere)
        assert done.code == 2, done.err
        assert said in done.err.strip().splitlines()[-1]
    assert asked(tmp_path) == []


def test_what_a_node_lacks_is_found_out_there_in_one_line(
    writer: Path, pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEART_HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HEART_HARNESS_OFFLINE", "1")
    here = fixed(make_plan(Experiment(agents=(str(writer),), pack=str(pack))))

    def line(**changes: object) -> str:
        plan = here.model_copy(update=changes)
        return prepare(ShardJob(1, 1, os.getcwd(), plan.model_dump_json(by_alias=True)))

    assert line() == ""
    assert "this machine would play something else: versions: numpy is" in line(versions={**here.versions, "numpy": "0.1"})
    spoken = fixed(make_plan(Experiment(agents=("polaris-like",), pack=str(pack))))
    lacking = prepare(ShardJob(1, 1, os.getcwd(), spoken.model_dump_json(by_alias=True)))
    assert lacking
    assert len(lacking.splitlines()) == 1


def test_what_cannot_be_is_said_in_one_line(
    writer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{free.getsockname()[1]}"
    line = ["run", "--agent", str(writer), "--judge", "none", "--out", "x"]
    for more, said in (
        (["--ray", nobody], f"--ray {nobody}: no cluster answers there; start one with `ray start --head`"),
        (["--ray", "ray://here:10001"], "is the address of a Ray client; run this on a machine of the cluster"),
        (["--ray", "somewhere"], "--ray somewhere: must be auto, local, or HOST:PORT"),
        (["--ray", "auto", "--shard", "1/2"], "--shard 1/2: with --ray every shard is played"),
        (["--ray-cpus", "2"], "--ray-worker cpus=2: is for a run on a cluster; write --ray auto,cpus=2"),
    ):
        assert command([*line, *more]) == 2
        err = capsys.readouterr().err
        assert said in err, err
        assert len(err.strip().splitlines()) == 1
    monkeypatch.setattr(clusters, "missing_modules", lambda _: ("ray",))
    assert command([*line, "--ray", "auto"]) == 2
    assert f"needs the extra 'ray'; install it on every node with: {install_command('ray')}" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
