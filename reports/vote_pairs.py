"""Pairs that the page asks people about, and their form for its script.

The page embeds the first part of a random order and no more: a run of twenty agents has tens of thousands of pairs, and a
person votes on some dozens. A pair names two replies that the page has already, so it takes a few bytes. Its rate may say how
sure judges were of it, and nothing says of which reply.
"""

from dataclasses import asdict, dataclass, field
from typing import Any, Final, get_args

from harness.reports.notice import Notice
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.study.study import Study
from harness.votes.vote import Option
from harness.wording import command

MOST_PAIRS: Final = 120
"""Pairs on the page for each way to meet them: over an hour at half a minute a vote (`benchmarks/report_vote_pace.py`), and a
few kilobytes."""


@dataclass(frozen=True, slots=True)
class ShownReply:
    """One reply of a pair. `place`: its place in the page's conversation, turns first and then references; `from_ms` and
    `to_ms`: its part of the turn's sound file."""

    system: str
    place: int
    from_ms: float = 0.0
    to_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class VotePair:
    """Two replies, the systems in the order of their names. `context`: its place on the page."""

    context: int
    first: ShownReply
    second: ShownReply
    rate: float = 1.0
    """`Judgment.draw_rate` of a vote on it."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What a person is asked for."""

    votes: tuple[tuple[int, int], ...] = ()
    """Numbers of votes that give an answer, the fewest first, each with its minutes; none where these pairs give none."""
    conversations: int = FEWEST_CLUSTERS
    """Conversations that an answer takes."""
    words: str = ""
    """What these votes give, in one sentence without its full stop."""


@dataclass(frozen=True, slots=True)
class LinePairs:
    """The pairs of one line condition, which has a board of its own, as read and as heard."""

    condition: str
    read: tuple[VotePair, ...]
    heard: tuple[VotePair, ...] = ()
    asks_read: Asking = field(default_factory=Asking)
    asks_heard: Asking = field(default_factory=Asking)


@dataclass(frozen=True, slots=True)
class QuickVote:
    """The pairs that a page asks about, of one run; only line conditions with a pair."""

    run: str = ""
    """`RunManifest.id`, which the votes state."""
    lines: tuple[LinePairs, ...] = ()
    folder: str = ""
    """Folder of the run, as its owner named it."""
    notice: Notice = field(default_factory=lambda: Notice(Study(), ("vote.stored_here",)))
    """What people read before the first pair."""
    left_out: int = 0
    """Conversations with a crisis or an illness, which are asked of nobody."""
    why_not: str = ""
    """Why there are none, in one sentence."""

    @property
    def any(self) -> bool:
        """True if there is a pair to vote on."""
        return bool(self.lines)


def vote_data(vote: QuickVote) -> dict[str, Any]:
    """What the page's script needs; systems are numbers, named once."""
    asked = [pair for line in vote.lines for pair in (*line.read, *line.heard)]
    systems = sorted({reply.system for pair in asked for reply in (pair.first, pair.second)})
    number = {name: k for k, name in enumerate(systems)}

    def row(pair: VotePair) -> list[Any]:
        sides = [[number[r.system], r.place, round(r.from_ms), round(r.to_ms)] for r in (pair.first, pair.second)]
        return [pair.context, *sides, round(pair.rate, 6)]

    return {
        "run": vote.run,
        "add": command("add-votes", vote.folder, "--add"),
        "left_out": vote.left_out,
        "words": vote.notice.study.texts.for_script("shared", "study", "vote", "quick_vote"),
        "notice": vote.notice.for_script(),
        "systems": systems,
        "options": list(zip(get_args(Option), vote.notice.study.texts.several("shared.options"), strict=True)),
        "lines": [
            {
                "condition": line.condition,
                "heard_text": [row(pair) for pair in line.read],
                "audio": [row(pair) for pair in line.heard],
                "asks": {"heard_text": asdict(line.asks_read), "audio": asdict(line.asks_heard)},
            }
            for line in vote.lines
        ],
    }
