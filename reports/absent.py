"""The sections that a page does not have, with the reason and the command that would fill each.

Six headings over "nothing was judged" hide that the seventh has something. So an empty section is neither on the page nor in
its contents, and one list at the end names it; its old address (`#quality`) leads to its entry there.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from harness.reports.failures import losses
from harness.reports.view import PageView
from harness.wording import command

DRAWN: Final = frozenset({"quality", "latency", "servers", "endpointing", "events", "interaction", "strategies", "cautions"})
"""Addresses of the sections that are nothing without charts, rows or cautions."""


@dataclass(frozen=True, slots=True)
class Absent:
    """Sections that are absent for one reason. `anchors`: (address, name) of each; `command`: what fills them, if anything."""

    anchors: tuple[tuple[str, str], ...]
    why: str
    command: str = ""


def is_there(view: PageView, anchor: str, filled: Collection[str]) -> bool:
    """True if a section has content. `filled`: the addresses of those with charts or rows."""
    has = {
        "gate": bool(view.gates),
        "vote": view.vote.any,
        "baseline": view.baseline is not None,
        "trust": bool(view.judges or view.agreement or view.audits),
        "listening": bool(view.listening),
        "missing": bool(losses(view)),
    }
    return has.get(anchor, anchor in filled or anchor not in DRAWN)


def absent(view: PageView, names: Mapping[str, str]) -> tuple[Absent, ...]:
    """These sections (address → name) as absent ones, those of one reason together."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for anchor, name in names.items():
        if (reason := _reason(view, anchor)) is not None:
            found.setdefault(reason, []).append((anchor, name))
    return tuple(Absent(tuple(anchors), why, command) for (why, command), anchors in found.items())


def _reason(view: PageView, anchor: str) -> tuple[str, str] | None:
    """(why, command) of an empty section; None for one that few runs have, which nobody misses."""
    spoken = any(agent.spoken for agent in view.agents)
    match anchor:
        case "quality" | "trust":
            return "no reply has been judged", command("judge", "run", view.folder, "--judge", "NAME")
        case "latency":
            return "no turn has a latency", ""
        case "endpointing" | "interaction":
            return ("no turn has been timed" if spoken else "a text agent has no sound to measure"), ""
        case "strategies":
            return "the replies have not been classified by strategy", command(
                "label", "strategies", view.folder, "--judge", "NAME"
            )
        case "listening":
            return "no listening test has a rater yet, and people's judgment is what judges stand in for", command(
                "listen", view.folder
            )
        case "vote":
            return (view.vote.why_not.removesuffix("."), "") if view.vote.why_not else None
        case "missing":
            return "nothing was lost: every session was played, timed and counted", ""
        case _:
            return None
