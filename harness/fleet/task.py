"""What a cluster's worker does with a shard: plays it by `harness run --shard` in a process of its own, and sends what comes
of it.

The shard is played by the same command as on a machine without a cluster, so that nothing about a figure hangs on how its
machine was found. A process of its own, because it wants a main thread, signals and a working folder, and because what a shard
leaves in memory should go with it. The worker only looks into the shard's folder, where a session exists once it is whole on
disk.

A task that is cancelled, or whose machine asks it to end, stops its run as Ctrl-C would. Of one that is killed the kernel
stops the run (`harness.fleet.child`).
"""

import contextlib
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Final

import psutil

from harness.errors import UserError
from harness.fleet.child import command
from harness.fleet.job import Ended, Message, NotPlayedThere, Played, Said, ShardJob
from harness.fleet.shipping import RUN, packed_rest, packed_session
from harness.run.fixed_plan import options_from, read_plan, refuse_another_plan
from harness.run.plan import make_plan
from harness.store.database import DATABASE
from harness.store.run_store import RunStore

LOOK_EVERY_S: Final = 0.5
"""For finished sessions: a call takes tens of seconds, and one look reads a list of names."""
ENDS_WITHIN_S: Final = 15.0
"""A run that is stopped ends within five seconds (docs/faults.md); after this one that does not is killed."""
_NOT_THE_AGENTS: Final = ("OMP_NUM_THREADS",)
"""Ray sets it to the CPUs of the task (Ray documentation, "Configuring Ray"), which would change the agents that are
measured."""
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
        with _Shard(arguments) as shard:
            sent: set[str] = set()
            while shard.goes_on(LOOK_EVERY_S):
                yield from shard.said()
                yield from _finished(folder, sent)
            yield from shard.said()
            yield from _finished(folder, sent)
            yield shard.ended(folder, sent)


def prepare(job: ShardJob) -> str:
    """Find out whether this node can play the plan, and bring its weights, once for all shards that it will be given.

    Returns the one line that says why it cannot; empty where it can.
    """
    from harness import models
    from harness.extras import require_local

    try:
        with tempfile.TemporaryDirectory(prefix=_PLACE) as place, _in_folder_of(job):
            path = Path(place) / "plan.json"
            path.write_text(job.plan, encoding="utf-8")
            fixed = read_plan(path)
            plan = make_plan(options_from(fixed, path, None))
            refuse_another_plan(plan, fixed, "the plan")
            require_local("speaking to an agent and hearing it")
            for name in fixed.weights:
                models.resolve(name)
    except UserError as error:
        return " ".join(str(error).split())
    return ""


class _Shard:
    """The process that plays, and what it has said so far."""

    def __init__(self, arguments: list[str]) -> None:
        self._lines: queue.Queue[str] = queue.Queue()
        self._process = subprocess.Popen(
            command(os.getpid(), arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_environment(os.environ),
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._out: list[str] = []
        self._last_line = ""
        self._readers = [
            threading.Thread(target=self._read, args=(self._process.stderr, self._lines.put), daemon=True),
            threading.Thread(target=self._read, args=(self._process.stdout, self._out.append), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> "_Shard":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for reader in self._readers:
            reader.join(1.0)

    def goes_on(self, within_s: float) -> bool:
        """Whether it still plays after so long."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        return self._process.returncode is None

    def said(self) -> Iterator[Said]:
        """Its lines since the last time."""
        with contextlib.suppress(queue.Empty):
            while True:
                line = self._lines.get_nowait()
                if line.strip():
                    self._last_line = line
                    yield Said(line)

    def ended(self, folder: Path, sent: set[str]) -> Ended:
        """Its last message."""
        for reader in self._readers:
            reader.join(ENDS_WITHIN_S)
        pack = packed_rest(folder, sent) if (folder / DATABASE).exists() else None
        try:
            told = json.loads("\n".join(self._out))
        except ValueError:
            return Ended(f"its process ended with code {self._process.returncode}: {self._last_line.strip()}", pack, died=True)
        if "error" in told:
            return Ended(str(told["error"]["message"]), pack)
        left = [f for f in told["failures"] if f["kind"] == "not_played"]
        why = (NotPlayedThere(f["context"], f["agent"], f["condition"], f["detail"]) for f in left)
        return Ended("", pack, not_played=tuple(why))

    @staticmethod
    def _read(stream: IO[str], keep: Callable[[str], object]) -> None:
        for line in stream:
            keep(line.rstrip("\n"))


def _finished(folder: Path, sent: set[str]) -> Iterator[Played]:
    if not (folder / DATABASE).exists():
        return
    store = RunStore.open(folder, to_resume=True)
    try:
        for session in sorted(store.finished_ids() - sent):
            sent.add(session)
            yield Played(session, packed_session(store, session))
    finally:
        store.close()


def _environment(inherited: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in inherited.items() if name not in _NOT_THE_AGENTS}


@contextlib.contextmanager
def _in_folder_of(job: ShardJob) -> Iterator[None]:
    if not Path(job.cwd).is_dir():
        yield
        return
    with contextlib.chdir(job.cwd):
        yield


def _forget_the_dead() -> None:
    """Workers that were killed left recordings in this node's temporary folder; their run has what they had finished."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PLACE}*-*"):
        owner = folder.name.removeprefix(_PLACE).partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)
