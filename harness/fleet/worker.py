"""The worker of a cluster: it plays a shard by `harness run --shard` in a separate process, and sends the results.

The shard is played by the same command as on a machine without a cluster, so that no figure depends on how its
machine was found. Its process is separate because it needs a main thread, signals and a working folder, and because what it
leaves in memory should end with the shard. The worker only reads the shard's folder, where a session exists once it is whole on
disk.

A task that is cancelled, or whose machine asks it to end, stops its run as Ctrl-C would. If it is killed, the kernel
stops the run (`harness.with_parent`).
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

from harness.errors import UserError
from harness.figures.cells import Failure
from harness.fleet.messages import Answered, Ended, Job, JudgeJob, Message, Played, ShardJob
from harness.fleet.process import HarnessProcess
from harness.fleet.shipping import RUN, packed_rest, packed_session, unpacked
from harness.judging import VerdictCache
from harness.run.fixed_plan import read_plan, refuse_another_plan
from harness.run.plan import make_plan
from harness.shards.judge_shards import folder_of
from harness.store.database import DATABASE
from harness.store.paths import VERDICTS
from harness.store.run_store import RunStore

LOOK_EVERY_S: Final = 0.5
"""Interval of the search for finished sessions: a call takes tens of seconds, and a search reads a list of names."""
_PLACE: Final = "heart-shard-"


def play_shard(job: ShardJob) -> Iterator[Message]:
    """Play one shard here. The last message is `Ended`."""
    _forget_the_dead()
    with tempfile.TemporaryDirectory(prefix=f"{_PLACE}{os.getpid()}-") as place, _in_folder_of(job):
        folder = Path(place) / RUN
        plan, elsewhere = Path(place) / "plan.json", Path(place) / "elsewhere.txt"
        plan.write_text(job.plan, encoding="utf-8")
        elsewhere.write_text("\n".join(job.elsewhere), encoding="utf-8")
        arguments = ["run", "--plan", str(plan), "--shard", job.name, "--elsewhere", str(elsewhere)]
        arguments += ["--out", str(folder), "--json"]
        with HarnessProcess(arguments) as playing:
            sent: set[str] = set()
            goes_on = True
            while goes_on:
                goes_on = playing.goes_on(LOOK_EVERY_S)
                yield from playing.said()
                yield from _finished(folder, sent)
            told, error = playing.told()
            pack = packed_rest(folder, sent) if (folder / DATABASE).exists() else None
            left = [f for f in (told or {}).get("failures", ()) if f["kind"] == "not_played"]
            yield Ended(error, pack, died=told is None, not_played=tuple(Failure.model_validate(f) for f in left))


def judge_shard(job: JudgeJob, run: bytes) -> Iterator[Message]:
    """Ask the questions of one shard of a judging here. The last message is `Ended`.

    Args:
        run: the run as `harness.fleet.shipping.packed_rest` packs it, without recordings.
    """
    _forget_the_dead()
    with tempfile.TemporaryDirectory(prefix=f"{_PLACE}{os.getpid()}-") as place, _in_folder_of(job):
        folder = unpacked(run, Path(place))
        answers = folder_of(folder, (job.shard, job.of)) / VERDICTS
        with VerdictCache(answers) as cache:
            cache.add_rows(job.known)
        sent = {key for key, _ in job.known}
        with HarnessProcess(["judge", "run", str(folder), "--shard", job.name, *job.arguments, "--json"]) as judging:
            goes_on = True
            while goes_on:
                goes_on = judging.goes_on(LOOK_EVERY_S)
                yield from judging.said()
                with VerdictCache(answers) as cache:
                    rows = tuple(cache.rows(sent))
                if rows:
                    sent |= {key for key, _ in rows}
                    yield Answered(rows)
            told, error = judging.told()
            yield Ended(error, None, died=told is None)


def prepare(job: ShardJob) -> str:
    """Check that this node can play the plan, and download its weights, once for all shards that it will get.

    Returns one line with the reason if it cannot, otherwise an empty one.
    """
    from harness import models
    from harness.local_programs import local_python

    try:
        with tempfile.TemporaryDirectory(prefix=_PLACE) as place, _in_folder_of(job):
            path = Path(place) / "plan.json"
            path.write_text(job.plan, encoding="utf-8")
            fixed = read_plan(path)
            plan = make_plan(fixed.experiment)
            refuse_another_plan(plan, fixed, "the plan")
            local_python("speaking to an agent and hearing it")
            for name in fixed.weights:
                models.resolve(name)
    except UserError as error:
        return " ".join(str(error).split())
    return ""


def _finished(folder: Path, sent: set[str]) -> Iterator[Played]:
    if not (folder / DATABASE).exists():
        return
    with contextlib.closing(RunStore.open(folder, to_resume=True)) as store:
        for session in sorted(store.finished_ids() - sent):
            sent.add(session)
            yield Played(session, packed_session(store, session))


@contextlib.contextmanager
def _in_folder_of(job: Job) -> Iterator[None]:
    if not Path(job.cwd).is_dir():
        yield
        return
    with contextlib.chdir(job.cwd):
        yield


def _forget_the_dead() -> None:
    """Delete recordings that killed workers left in this node's temporary folder; their run has all finished sessions."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PLACE}*-*"):
        owner = folder.name.removeprefix(_PLACE).partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)
