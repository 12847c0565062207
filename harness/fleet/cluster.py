"""The part of Ray that a run needs: connecting to a cluster, its nodes' resources, and streams of messages from tasks.

Each message of Ray's generator tasks is fetched once and released, so a run of any length has a few sessions in memory. Ray's
own retries stay off, because a task that is run again would play calls again (`harness.fleet.scheduler` knows the rest). No
other file imports Ray: it is an extra, and takes a second to load.
"""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from harness.errors import UserError
from harness.fleet.messages import Job, Lost, Message, ShardJob
from harness.installation import install_command, missing_modules
from harness.wording import listed

LOCAL: Final = "local"
"""Ray's word for a cluster of this machine alone, which ends with the run."""
REACHED_WITHIN_S: Final = 3.0
"""Timeout for an address: Ray itself tries for a minute before it reports that nobody listens there."""
GIB: Final = 2**30
_CLIENT: Final = "ray://"


@dataclass(frozen=True, slots=True)
class Needs:
    """Resources that a running shard uses: CPUs and GPUs (fractions allowed), and memory in bytes (0: not declared)."""

    cpus: float = 1.0
    gpus: float = 0.0
    memory_bytes: int = 0

    def in_words(self) -> str:
        """The resources in words: `2 CPUs, 1 GPU and 4 GiB`."""
        words = [f"{self.cpus:g} CPU{'s' if self.cpus != 1 else ''}"]
        words += [f"{self.gpus:g} GPU{'s' if self.gpus != 1 else ''}"] if self.gpus else []
        words += [f"{self.memory_bytes / GIB:g} GiB"] if self.memory_bytes else []
        return listed(words)


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of the cluster."""

    id: str
    address: str
    cpus: float
    gpus: float
    memory_bytes: float

    def holds(self, needs: Needs) -> int:
        """The number of shards that the node can run at once."""
        fits = [self.cpus / needs.cpus] if needs.cpus else []
        fits += [self.gpus / needs.gpus] if needs.gpus else []
        fits += [self.memory_bytes / needs.memory_bytes] if needs.memory_bytes else []
        return int(min(fits, default=1.0))


class Stream:
    """A running task, as its consumer sees it."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator


class RayCluster:
    """A cluster that this process is connected to."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def nodes(self) -> list[Node]:
        """The nodes that are alive."""
        found = []
        for node in self._ray.nodes():
            has = node["Resources"]
            if node["Alive"]:
                address, gpus = node["NodeManagerAddress"], has.get("GPU", 0.0)
                found.append(Node(node["NodeID"], address, has.get("CPU", 0.0), gpus, has.get("memory", 0.0)))
        return found

    def on_each(self, nodes: Sequence[Node], task: Callable[[ShardJob], str], job: ShardJob) -> dict[str, str]:
        """Run a short task once on each node; returns the lines that they gave, by node address, without empty ones.

        An error in a task (no harness on the node, another Python) is a line too.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        remote = self._ray.remote(task)
        asked = [
            (
                node,
                remote.options(
                    num_cpus=0, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False)
                ).remote(job),
            )
            for node in nodes
        ]
        lines = {}
        for node, reference in asked:
            try:
                line = self._ray.get(reference)
            except self._ray.exceptions.RayError as error:
                line = _last_line(error)
            if line:
                lines[node.address] = line
        return lines

    def share(self, value: bytes) -> Any:
        """Store a value on the cluster, for many tasks to use."""
        return self._ray.put(value)

    def begin(self, task: Callable[..., Iterator[Message]], job: Job, needs: Needs, *shared: Any) -> Stream:
        """Queue a task on a node with the resources that it needs; nodes are filled evenly."""
        asks = {"memory": needs.memory_bytes} if needs.memory_bytes else {}
        remote = self._ray.remote(task).options(
            num_cpus=needs.cpus, num_gpus=needs.gpus, **asks,
            max_retries=0, num_returns="streaming", scheduling_strategy="SPREAD", name=f"shard {job.name}",
        )  # fmt: skip
        return Stream(remote.remote(job, *shared))

    def messages(self, streams: Sequence[Stream], within_s: float) -> list[tuple[Stream, Message | Lost | None]]:
        """The new messages of these streams, at most one each; None for a stream that has ended. Waits this long for the first.

        Raises:
            Exception: raised by a task; a bug of the harness.
        """
        of = {stream.generator: stream for stream in streams}
        ready, _ = self._ray.wait(list(of), num_returns=1, timeout=within_s, fetch_local=False)
        if ready:
            ready, _ = self._ray.wait(list(of), num_returns=len(of), timeout=0, fetch_local=False)
        return [(of[generator], self._next(generator)) for generator in ready]

    def cancel(self, streams: Sequence[Stream], within_s: float) -> None:
        """Stop tasks as Ctrl-C would, and wait at most this long until they have ended."""
        for stream in streams:
            self._ray.cancel(stream.generator)
        waiting = [stream.generator.completed() for stream in streams]
        if waiting:
            self._ray.wait(waiting, num_returns=len(waiting), timeout=within_s, fetch_local=False)

    def _next(self, generator: Any) -> Message | Lost | None:
        exceptions = self._ray.exceptions
        try:
            message: Message = self._ray.get(next(generator))
        except StopIteration:
            return None
        except exceptions.RayTaskError as error:
            # A cancelled task ends as if it had failed.
            if isinstance(error.cause, exceptions.TaskCancelledError | KeyboardInterrupt):
                return Lost("it was cancelled")
            raise error.as_instanceof_cause() from error
        except exceptions.RayError as error:
            return Lost(_last_line(error))
        return message


@contextmanager
def connected(address: str) -> Iterator[RayCluster]:
    """The cluster at an address: `auto` (the one that this machine is part of), `host:port`, or `local`.

    Raises:
        UserError: Ray is not installed, or the address has no cluster, or one of another version.
    """
    if missing_modules(("ray",)):
        raise UserError(f"--ray {address}: needs the extra 'ray'; install it on every node with: {install_command('ray')}")
    if address.startswith(_CLIENT):
        raise UserError(
            f"--ray {address}: is the address of a Ray client; run this on a machine of the cluster, with --ray auto"
        )
    _refuse_nobody(address)
    # A cluster that is started here sends no usage statistics.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    quiet = {"logging_level": "ERROR", "log_to_driver": False, "include_dashboard": False if address == LOCAL else None}
    try:
        ray.init(address=address, configure_logging=False, **quiet)
    except (ConnectionError, ValueError) as error:
        raise UserError(f"--ray {address}: {_not_let_in(address)}") from error
    except RuntimeError as error:
        raise UserError(
            f"--ray {address}: cannot be joined ({_last_line(error)}); use one Ray and one Python on all"
        ) from error
    try:
        yield RayCluster(ray)
    finally:
        ray.shutdown()


def _refuse_nobody(address: str) -> None:
    host, colon, port = address.rpartition(":")
    if not colon:
        if address not in ("auto", LOCAL):
            raise UserError(f"--ray {address}: must be auto, {LOCAL}, or HOST:PORT as `ray start --head` prints it")
        return
    try:
        socket.create_connection((host, int(port)), REACHED_WITHIN_S).close()
    except (OSError, ValueError, OverflowError) as error:
        raise UserError(f"--ray {address}: {_nobody(address)}") from error


def _nobody(address: str) -> str:
    where = "this machine is part of no cluster" if address == "auto" else "no cluster answers there"
    return f"{where}; start one with `ray start --head`, or name its HOST:PORT"


def _not_let_in(address: str) -> str:
    if address in ("auto", LOCAL):
        return _nobody(address)
    return "no Ray cluster answers there, or it refuses this machine's token; see `ray get-auth-token`"


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def refuse_without_room(nodes: Sequence[Node], needs: Needs) -> list[Node]:
    """The nodes that have room for a shard.

    Raises:
        UserError: there is none; a task would wait forever.
    """
    fit = [node for node in nodes if node.holds(needs)]
    if not fit:
        most = max(nodes, key=lambda node: (node.cpus, node.gpus), default=None)
        has = "it has no node" if most is None else f"its largest node has {Needs(most.cpus, most.gpus).in_words()}"
        raise UserError(
            f"--ray: no node of the cluster has {needs.in_words()} for a shard; {has}; ask for less, as in --ray auto,cpus=1"
        )
    return fit
