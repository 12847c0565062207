"""The replies of a file to a pack's conversations, and the reason of every row that is left out.

A conversation has one reply of an agent, so the first counts. Whose a reply is becomes its name on every board: a name under
which people's replies are shown is refused, because a program's would be read as a person's.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from statistics import median
from typing import Final

from harness.errors import UserError
from harness.imported.rows import Fault, RowRead, rows_of
from harness.printable import printable
from harness.scenarios.context import Context
from harness.store.manifest import SEAT_KINDS
from harness.tables.names import NamesRead, one_name

MOST_AGENTS: Final = 200
"""More are the values of another column: nobody rates a board of thousands."""
PEOPLES: Final = frozenset({*SEAT_KINDS.values(), "human", "humans", "person", "persons"})
"""Names that a page would show as people's."""
_OF_PEOPLE: Final = ("human:", "ref:")
_SECONDS_BELOW_MS: Final = 30.0
"""A median latency under this is likelier one in seconds: no network answers so soon."""
_LONGEST_NAME: Final = 60
_MOST_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class RepliesRead:
    """The replies of a file, with `system` the agent's name in the run, and what of its `rows` was left out."""

    replies: tuple[RowRead, ...]
    rows: int
    left_out: tuple[Fault, ...] = ()
    not_taken: tuple[Fault, ...] = ()
    """Latencies that were left out of replies that count."""
    families: Mapping[str, str] = field(default_factory=dict)
    """Agent → the model family that the file names, where it names one."""
    notes: tuple[str, ...] = ()

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents, sorted."""
        return tuple(sorted({reply.system for reply in self.replies}))

    def unanswered(self) -> dict[str, int]:
        """Agent → the conversations of the file that it has no reply to; without agents that have them all."""
        contexts = {reply.context for reply in self.replies}
        missing = {name: len(contexts) - sum(r.system == name for r in self.replies) for name in self.agents}
        return {name: count for name, count in missing.items() if count}


def read_replies(path: Path, maps: Mapping[str, str], contexts: Sequence[Context], pack: str) -> RepliesRead:
    """The replies of a file to these contexts of the pack of this name.

    Raises:
        UserError: the file cannot be read, or none of its rows is a reply to one of the contexts.
    """
    known = {context.id for context in contexts}
    found: dict[tuple[str, str], RowRead] = {}
    left_out: list[Fault] = []
    not_taken: list[Fault] = []
    spelled: dict[str, str] = {}
    names = NamesRead()
    rows = 0
    for row in rows_of(path, maps):
        if isinstance(row, Fault):
            (not_taken if row.kind == "latency" else left_out).append(row)
            rows += row.kind != "latency"
            continue
        rows += 1
        try:
            reply = _named(row, known, names, path.stem)
        except _NotTaken as fault:
            left_out.append(Fault(row.where, fault.kind, str(fault)))
            continue
        if (other := spelled.setdefault(reply.system, row.system)) != row.system:
            alike = f"{row.system[:40]!r} and {other[:40]!r} would both be the agent {reply.system}; give one another name"
            left_out.append(Fault(row.where, "names_alike", alike))
            continue
        place = (reply.context, reply.system)
        if place in found:
            again = f"is a second reply of {reply.system!r} to {reply.context!r}; the first ({found[place].where}) counts"
            left_out.append(Fault(row.where, "twice", again))
            continue
        found[place] = reply
        if len(spelled) > MOST_AGENTS:
            raise UserError(
                f"{path}: names over {MOST_AGENTS} agents; is another column the agent's? name it: --map COLUMN=agent"
            )
    if not found:
        raise UserError(_why_none(path, pack, contexts, left_out))
    replies = tuple(found.values())
    notes = [*names.notes(), *_notes(path, replies, spelled)]
    families = {r.system: r.family for r in replies if r.family}
    return RepliesRead(replies, rows, tuple(left_out), tuple(not_taken), families, tuple(notes))


class _NotTaken(Exception):
    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


def _named(row: RowRead, known: set[str], names: NamesRead, stem: str) -> RowRead:
    """The reply under its context's id and its agent's name. Raises `_NotTaken`."""
    try:
        context = one_name(row.context)
        system = names.one("system", row.system or stem, row.where)
    except (ValueError, UserError) as error:
        raise _NotTaken("name", str(error).removeprefix(f"{row.where}: ")) from None
    if context not in known:
        near = get_close_matches(context, known, n=1, cutoff=0.8)
        meant = f"; is it {near[0]!r}?" if near else ""
        raise _NotTaken("unknown_context", f"names a context that the pack does not have, {context[:80]!r}{meant}")
    if system.lower() in PEOPLES or system.lower().startswith(_OF_PEOPLE):
        why = f"{system[:40]!r} is a name of people's replies, and those in a file are a program's; give the agent another name"
        raise _NotTaken("name_of_people", why)
    agent = agent_name(system)
    if not agent:
        raise _NotTaken("name", f"{system[:40]!r} is no agent's name; it needs a letter or a digit")
    return replace(row, context=context, system=agent)


def agent_name(system: str) -> str:
    """The name of an agent for a system's: letters, digits, dots, dashes and underscores; empty if nothing is left.

    >>> agent_name("GPT-4o (temp 0.7)")
    'GPT-4o-temp-0.7'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", system).strip("-._")[:_LONGEST_NAME].rstrip("-._")


def _notes(path: Path, replies: Sequence[RowRead], spelled: Mapping[str, str]) -> list[str]:
    notes = []
    renamed = [f"{given!r} is {name}" for name, given in spelled.items() if given and given != name]
    if renamed:
        more = f"; and {len(renamed) - _MOST_SHOWN} more" if len(renamed) > _MOST_SHOWN else ""
        notes.append(f"Agents whose names have other characters than a folder takes: {'; '.join(renamed[:_MOST_SHOWN])}{more}.")
    if not any(spelled.values()):
        notes.append(f"{printable(path.name, one_line=True)} has no column of agents, so all replies are one agent's.")
    for what in ("ttft_ms", "ttfa_ms"):
        given = [value for reply in replies if (value := getattr(reply, what)) is not None]
        if given and median(given) < _SECONDS_BELOW_MS:
            notes.append(f"Half of {what} are under {median(given):g} ms: if the file has seconds, multiply them by 1,000.")
    return notes


def _why_none(path: Path, pack: str, contexts: Sequence[Context], left_out: Sequence[Fault]) -> str:
    if not left_out:
        return f"{path}: has no row; each is a reply, with its context, system and text"
    if all(fault.kind == "unknown_context" for fault in left_out):
        some = ", ".join(context.id for context in contexts[:_MOST_SHOWN])
        first = left_out[0]
        return (
            f"{path}: no row names a context of the pack {pack} (such as {some}); {first.where} {first.why}; "
            "name another --pack, or the column of contexts with --map COLUMN=context"
        )
    return f"{path}: has no row that can be used; {left_out[0].where} {left_out[0].why}"
