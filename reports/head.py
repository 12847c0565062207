"""The head of a page: who answered what, what was played, and what to do next, as a person would say it.

A reader who has seen no such page asks these before any figure, and a folder's name, a mode or a date of ISO 8601 answers none.
"""

from collections.abc import Sequence
from typing import Final

from harness.reports.view import PageView
from harness.store.manifest import RunManifest
from harness.wording import counted, listed, when

NAMED: Final = 3
"""More agents are counted: a title is read at a glance."""
_LETTERS: Final = 60
"""Names that are longer together do not fit on a phone's two rows, so they are counted too."""
_CLEAN: Final = "clean"
_TURNS: Final = {
    "seeded": "each agent was given what had been said and answered the caller's last words",
    "replay": "each agent heard every turn of the caller",
    "recorded": "calls that already happened, measured and not played",
}


def title(agents: Sequence[str], packs: Sequence[str], *, runs: int = 1, calls: bool = False, people: bool = False) -> str:
    """`echo-bot and kind-bot on heart-mini`, `20 agents on heart-open`; of recorded calls and of people alone in their words.

    Args:
        agents: the agents that answered, without people.
        packs: the names of the packs.
        runs: the number of runs on the page.
        calls: true for calls that already happened.
        people: true if people answered too.
    """
    names, where = list(dict.fromkeys(agents)), listed(list(dict.fromkeys(packs)))
    together = listed(names)
    who = together if names and len(names) <= NAMED and len(together) <= _LETTERS else counted(len(names), "agent")
    if len(names) == 1:
        who = names[0]
    if people:
        who = f"{who} beside people" if names else "People"
    what = f"{who} in recorded calls" if calls else f"{who} on {where}"
    return what if runs == 1 else f"{what}, {counted(runs, 'run')}"


def title_of(manifests: Sequence[RunManifest], *, people: bool) -> str:
    """The title of a page of these runs."""
    return title(
        [agent.name for manifest in manifests for agent in manifest.played],
        [manifest.pack for manifest in manifests],
        runs=len(manifests),
        calls=all(manifest.calls is not None for manifest in manifests),
        people=people,
    )


def date_of(manifests: Sequence[RunManifest]) -> str:
    """The moment of one run, or the first and the last of several."""
    moments = sorted({manifest.created for manifest in manifests})
    return " to ".join(dict.fromkeys(when(moment) for moment in (moments[0], moments[-1])))


def setting_of(manifests: Sequence[RunManifest]) -> str:
    """How the conversations were played, in one sentence without its full stop: the line, and what an agent was asked."""
    modes = list(dict.fromkeys(manifest.mode for manifest in manifests))
    turns = "; ".join(_TURNS[mode] for mode in modes)
    if modes == ["recorded"]:
        return turns
    if all(manifest.replies is not None for manifest in manifests):
        return "answered in a file, which states the replies: nothing was played"
    if all(agent.kind == "text" for manifest in manifests for agent in manifest.played):
        return f"sent as text: {turns.replace('heard', 'read')}"
    lines = list(dict.fromkeys(name for manifest in manifests for name in manifest.conditions))
    spoken = "spoken over a clean line" if lines == [_CLEAN] else f"spoken over {counted(len(lines), 'line')} ({listed(lines)})"
    return f"{spoken}: {turns}"


def next_step(view: PageView) -> tuple[str, str, str]:
    """What to do next, in one sentence: the words before its command, the command, and those after it. All are empty where
    there is no more to do than to listen, and the command where there is none."""
    if not view.valid:
        return "Run ", "harness doctor", ", which says what slowed this machine, and play the run again."
    if not view.ways:
        return "", "", ""
    sentence = f"{view.ways[0].partition('; ')[0].rstrip('.')}."
    before, run, rest = sentence.partition(" run harness ")
    if not run:
        return sentence, "", ""
    command, colon, after = rest.partition(": ")
    return f"{before} run ", f"harness {command}", f"{colon}{after}"
