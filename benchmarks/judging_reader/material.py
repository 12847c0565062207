"""Groups of graded replies to one conversation, from everything that the reader is fitted on or measured on.

One form for all: people's ratings and authors' grades both become a worth from 0 to 1, so that one fit and one measurement
serve them. iEval (Svikhnushina et al. 2022, CC BY 4.0): each person talked with four chatbots about one trouble and ranked
them; a bot's turns are joined, as everywhere a whole conversation is compared, and its tokenised spelling is mended, because
spacing tells one bot from another without a word being read.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.graded_replies import FOLDER, GradedConversation, first_fit, read_origin
from benchmarks.judging_people import LAYOUTS, RATERS, items, worth

SETS = Path(__file__).parents[1] / "judging_sets"
BY_HAND = ("harm", "plain")
BOTS = ("Pink", "Purple", "Yellow", "Green")
BEST_RANK = 3
"""Ranks run from 1 to 3, ties included."""
PREFIX = {"seeker": "S", "supporter": "P"}
_SPACED = (
    (re.compile(r"\s+([.,!?;:])"), r"\1"),
    (re.compile(r"\s*'\s+(?=(s|m|re|ve|ll|d|t)\b)"), "'"),
    (re.compile(r"(?<=n) 't\b"), "'t"),
    (re.compile(r"\s+"), " "),
)


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply, what it is worth from 0 to 1, and the kind of its fault if it was made to have one."""

    text: str
    worth: float
    kind: str = ""

    @property
    def words(self) -> int:
        return max(1, len(self.text.split()))


@dataclass(frozen=True, slots=True)
class Group:
    """Replies that may be compared: all to `turns`, or each to its own turns where `own` has them."""

    origin: str
    cluster: str
    turns: tuple[str, ...]
    replies: tuple[Reply, ...]
    emotion: str = ""
    own: tuple[tuple[str, ...], ...] = ()


def authors() -> dict[str, tuple[Group, ...]]:
    """The graded conversations that were written for this project, by origin."""
    read = {"first fit": first_fit(), **{path.stem: read_origin(path) for path in sorted(FOLDER.glob("*.jsonl"))}}
    return {name: tuple(graded(name, conversations)) for name, conversations in read.items()}


def by_hand() -> tuple[tuple[Group, ...], ...]:
    """Replies that would do harm, and replies that only miss, beside ones that help, at equal and at opposite lengths."""
    return tuple(tuple(graded(name, read_origin(SETS / f"reader_{name}.jsonl"))) for name in BY_HAND)


def unseen() -> dict[str, tuple[Group, ...]]:
    """The origins that are read once, by a reader that is finished."""
    folder = Path(__file__).parents[1] / "judging_unseen"
    return {path.stem: tuple(graded(path.stem, read_origin(path))) for path in sorted(folder.glob("*.jsonl"))}


def graded(origin: str, conversations: Iterable[GradedConversation]) -> Iterator[Group]:
    """Authors' grades as groups."""
    for c in conversations:
        replies = tuple(Reply(reply.text, (reply.grade - 1) / 4, reply.kind) for reply in c.replies)
        yield Group(origin, c.id, c.turns, replies, c.emotion)


def ieval(path: Path) -> tuple[Group, ...]:
    """Every person's four conversations on one trouble, worth as that person ranked them."""
    found = []
    for task in json.loads(path.read_text(encoding="utf-8")):
        for valence in ("positive", "negative"):
            bots = [task[valence][bot] for bot in BOTS]
            said = [[line.removeprefix("-").strip() for line in bot["chat_log"].split("\n")] for bot in bots]
            replies = tuple(
                Reply(mended(" ".join(lines[1::2])), (bot["Rating"] - 1) / (BEST_RANK - 1))
                for bot, lines in zip(bots, said, strict=True)
            )
            first = tuple((f"S: {lines[0]}",) for lines in said)
            found.append(Group("ieval", f"ieval-{task['part']}", first[0], replies, task[valence]["emotion"], first))
    return tuple(found)


def published(folder: Path) -> dict[str, tuple[Group, ...]]:
    """Kumar et al.'s sets, by set and kind of rater; where there is one reply a context, replies to different ones."""
    found = {}
    for layout in LAYOUTS:
        read = items(folder, layout)
        for raters in RATERS:
            given = worth(folder, layout, raters)
            groups = []
            for group in sorted({read[key].group for key in given if key in read}):
                keys = [key for key in sorted(given) if key in read and read[key].group == group]
                own = tuple(tuple(f"{PREFIX[t.role]}: {t.text}" for t in read[key].turns) for key in keys)
                replies = tuple(Reply(read[key].reply, given[key]) for key in keys)
                groups.append(Group(f"{layout.name}/{raters}", group, own[0], replies, "", own))
            found[f"{layout.name}/{raters}"] = tuple(groups)
    return found


def mended(text: str) -> str:
    """The text without the spaces that a tokeniser put in."""
    for spaced, without in _SPACED:
        text = spaced.sub(without, text)
    return text.strip()
