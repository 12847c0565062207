"""Processes that work for an agent but were not started by it: the agent behind an address of this machine, and its model
servers.

Their work is the agent's, or an agent would be reported as disturbed by its own model. They are found by every port of this
machine in the profile's addresses and by `[process] also`, which names a program or a port; searched for when a call begins,
since a server may have been restarted (20 to 60 ms).
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from socket import SOCK_DGRAM
from typing import Final

import psutil

from harness.agents.profile import AgentProfile
from harness.agents.this_machine import local_ports
from harness.printable import printable

_WORDS_LOOKED_AT: Final = 3
"""Words of a command line to check: the interpreter, `-m`, and the module. Later ones are arguments."""


@dataclass(frozen=True, slots=True)
class Companions:
    """Process ids, and the programs or ports of the profile that were not found."""

    pids: tuple[int, ...]
    missing: tuple[str, ...] = ()
    agent_seen: bool = True
    """False for an agent whose process is not visible: on another machine, in a container's network, or another user's."""

    @property
    def names(self) -> tuple[str, ...]:
        """The processes as text: `ollama (812)`."""
        found = []
        for pid in self.pids:
            with suppress(psutil.Error):
                name = printable(psutil.Process(pid).name(), one_line=True)
                found.append(f"{name} ({pid})")
        return tuple(found)


def companions_of(profile: AgentProfile, not_these: Iterable[int] = ()) -> Companions:
    """The processes that work for the agent of this profile now, without their children."""
    own_ports = local_ports(profile.running_url or "") if profile.process_settings is None else frozenset()
    seen = profile.process_settings is not None or profile.running_url is None
    never = {0, 1, os.getpid(), *not_these, *_ancestors()}
    named = [entry for entry in profile.also if isinstance(entry, str)]
    ports = dict.fromkeys((*profile.spoken_ports, *(entry for entry in profile.also if isinstance(entry, int))))
    found: dict[int, None] = {}
    missing: list[str] = []
    behind = _listeners(ports) if ports else {}
    for port in ports:
        pids = [pid for pid in behind.get(port, ()) if pid not in never]
        found |= dict.fromkeys(pids)
        seen = seen or bool(pids and (port in own_ports or port in profile.also))
        if not pids:
            missing.append(f"port {port}")
    if named:
        programs = [p for p in psutil.process_iter(("pid", "name", "cmdline")) if p.info["pid"] not in never]
        for entry in named:
            pids = [p.info["pid"] for p in programs if _is_called(entry, p.info["name"], p.info["cmdline"])]
            found |= dict.fromkeys(pids)
            seen = seen or bool(pids)
            if not pids:
                missing.append(entry)
    return Companions(tuple(found), tuple(missing), seen)


def notes_on(profiles: Iterable[AgentProfile]) -> Iterator[str]:
    """One line for each agent with companions, or whose process should be sampled but is not visible."""
    for profile in profiles:
        if not profile.runs_here and not profile.also:
            continue
        found = companions_of(profile)
        if profile.process_settings is not None and found.names and profile.also:
            yield f"{profile.name}: the work of {', '.join(found.names)} counts as the agent's"
        if not found.agent_seen:
            yield (
                f"{profile.name}: answers at this machine, but its process is not visible, so the effect of other programs on "
                'it is not measured; name its program: [process] also = ["NAME"], or run as its user'
            )
        elif found.missing:
            yield f"{profile.name}: {', '.join(found.missing)} not found here; its work would count as other programs'"


def _is_called(name: str, process_name: str | None, command: Sequence[str] | None) -> bool:
    """True if a process has this common name: `ollama`, or `vllm` for `python -m vllm.entrypoints.…`."""
    wanted = name.lower()
    if (process_name or "").lower() == wanted:
        return True
    for word in (command or ())[:_WORDS_LOOKED_AT]:
        last = PurePath(word).name.lower()
        if last in (wanted, f"{wanted}.py", f"{wanted}.exe") or last.startswith(f"{wanted}."):
            return True
    return False


def _listeners(ports: Iterable[int]) -> dict[int, list[int]]:
    """Port → the processes that listen there and are visible to this user."""
    found: dict[int, list[int]] = {port: [] for port in ports}
    with suppress(psutil.Error, OSError):
        for connection in psutil.net_connections(kind="inet"):
            port = connection.laddr.port if connection.laddr else 0
            # A telephone's port has no state: it is bound, and has no partner.
            listens = connection.status == psutil.CONN_LISTEN or (connection.type == SOCK_DGRAM and not connection.raddr)
            if listens and connection.pid and port in found:
                found[port].append(connection.pid)
    return found


def _ancestors() -> set[int]:
    """The ancestors of this process: an editor or a shell that listens on a port is not a companion of an agent."""
    with suppress(psutil.Error):
        return {parent.pid for parent in psutil.Process().parents()}
    return set()
