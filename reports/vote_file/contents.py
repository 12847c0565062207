"""What a vote file asks, and its key: the pairs of the quick vote, stripped of everything that says whose a reply is.

Pairs, conversations and replies are numbers in it or ids drawn at random. Which of a pair is the key's `system_a` is drawn
too: in the order of names, whoever looks into the page could tell one agent from the other. Every reply that is heard begins
with its first sound, at one loudness.
"""

import hashlib
import random
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean
from typing import Any, Final, Literal, get_args

from harness.errors import UserError
from harness.figures.summary import RunSummary
from harness.ranking.votes_needed import minutes
from harness.reports.listening import sound
from harness.reports.notice import Notice
from harness.reports.quick_vote import quick_vote
from harness.reports.session_audio import draw_sessions
from harness.reports.session_view import SessionView
from harness.reports.sessions import sessions
from harness.reports.shown_runs import alone
from harness.reports.vote_pairs import QuickVote, ShownReply, VotePair
from harness.scenarios.context import Context
from harness.store.judgment import Presentation
from harness.store.run_store import RunStore
from harness.study.study import Study
from harness.votes.vote import Option
from harness.votes.vote_file import KeyPair, VoteFileKey

Medium = Literal["sound", "text"]
ASKED: Final = 20
"""Votes asked of one person, if there are as many pairs; a session should stay under half an hour (ITU-T P.808). Who wants to
may go on."""
CHECK_EVERY: Final = 20
"""One attention check in so many votes."""
FEWEST_FOR_CHECK: Final = 4
"""Pairs of a block with a check: in fewer it would stand out."""
_CODE_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ23456789"
"""No vowels, which could spell something, and nothing that looks like something else."""


@dataclass(frozen=True, slots=True)
class VoteFile:
    """A vote file that is not written yet. `data`: what its script needs; `sounds`: MP3 files by the number of the reply."""

    data: Mapping[str, Any]
    sounds: tuple[bytes, ...]
    notice: Notice
    key: VoteFileKey
    asked: int
    minutes: int
    left_out: int
    """Conversations of the run with a crisis in them."""
    to_read: int
    """Conversations with a pair to read: more than can be heard where a reply has no sound of its own."""
    names_said: tuple[str, ...]
    """Agents whose name is a word of their own replies, which no page can take out."""


def vote_file(
    store: RunStore,
    summary: RunSummary,
    *,
    medium: Medium | None = None,
    study: Study | None = None,
    post_to: str | None = None,
) -> VoteFile:
    """The vote file of a run. `medium`: None for sound where two agents have it, else text. `study`: what people read before.

    Raises:
        UserError: no conversation has two replies that can be heard, or read.
    """
    shown = alone(store, summary)
    if medium != "text":
        draw_sessions(shown, store.folder)
    views = sessions(shown, store.folder, audio=medium != "text", bundle=False)
    study = study or Study()
    vote = quick_vote(shown, views, study)
    heard = medium == "sound" or (medium is None and any(line.heard for line in vote.lines))
    found = next((line for line in vote.lines if (line.heard if heard else line.read)), None)
    if found is None:
        raise UserError(f"{store.folder}: {_why_none(vote, heard)}")
    pairs = _Pairs(found.heard if heard else found.read, shown.contexts, views)
    file = secrets.token_hex(8)
    code = study.completion_code or completion_code(file)
    presentation: Presentation = "audio" if heard else "heard_text"
    clips = [_clip(store, pairs.session(reply), reply[1]) for reply in pairs.replies] if heard else []
    asked = min(ASKED, len(pairs.pairs))
    stored = ("vote.stored", "vote.stored_until_sent" if post_to is None else "vote.stored_until_posted")
    notice = Notice(study, stored, checks=asked >= FEWEST_FOR_CHECK)
    key = VoteFileKey(
        file=file,
        run=store.manifest.id,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        consent=notice.text,
        consent_version=notice.version,
        questions=study.demographics,
        completion_code=code,
        pairs=pairs.key(found.condition, presentation),
    )
    seconds = [round(len(clip) / sound.RATE_HZ, 2) for clip in clips]
    takes = pairs.minutes(asked + asked // CHECK_EVERY, seconds)
    data = {
        "file": file,
        "code": code,
        "notice": notice.for_script(),
        "words": study.texts.for_script("shared", "study", "vote"),
        "asked": asked,
        "check_every": CHECK_EVERY,
        "fewest_for_check": FEWEST_FOR_CHECK,
        "minutes": takes,
        "post": post_to,
        "presentation": presentation,
        "options": list(zip(get_args(Option), study.texts.several("shared.options"), strict=True)),
        "talks": [[[turn.role, turn.plain] for turn in context.turns] for context in pairs.contexts],
        "replies": [{"seconds": length} for length in seconds] if heard else [{"text": text} for text in pairs.texts],
        "pairs": pairs.rows(),
    }
    return VoteFile(
        data=data,
        sounds=tuple(sound.mp3(clip) for clip in clips),
        notice=notice,
        key=key,
        asked=asked,
        minutes=takes,
        left_out=vote.left_out,
        to_read=len({pair.context for pair in found.read}),
        names_said=tuple(_names_said(pairs)),
    )


def completion_code(file: str) -> str:
    """The code that everybody who gave the asked votes sees, `K7Q2-M9XD`: the same for all, as platforms want it."""
    number = int.from_bytes(hashlib.sha256(f"completion {file}".encode()).digest())
    letters = [_CODE_LETTERS[number // len(_CODE_LETTERS) ** k % len(_CODE_LETTERS)] for k in range(8)]
    return f"{''.join(letters[:4])}-{''.join(letters[4:])}"


_Reply = tuple[str, ShownReply]
"""A conversation's id, and one of its replies."""


class _Pairs:
    """Pairs with their conversations and replies as numbers, in the order in which a pair first needs them."""

    def __init__(
        self, pairs: Sequence[VotePair], contexts: Sequence[Context], views: Mapping[str, Sequence[SessionView]]
    ) -> None:
        chance = random.SystemRandom()
        self._views = views
        self.contexts = [contexts[place] for place in dict.fromkeys(pair.context for pair in pairs)]
        self._asked = [
            (secrets.token_hex(6), contexts[pair.context], chance.sample((pair.first, pair.second), 2), pair.rate)
            for pair in pairs
        ]
        every = list(dict.fromkeys((context.id, reply) for _, context, sides, _ in self._asked for reply in sides))
        self.replies: list[_Reply] = chance.sample(every, len(every))
        self.texts = [self._text(reply) for reply in self.replies]
        self.pairs = self._asked

    def session(self, reply: _Reply) -> str:
        """The session of an agent's reply."""
        return self._views[reply[0]][reply[1].place].session

    def rows(self) -> list[list[Any]]:
        """For each pair its id, its conversation, and the key's a and b among the replies."""
        talk = {context.id: k for k, context in enumerate(self.contexts)}
        number = {reply: k for k, reply in enumerate(self.replies)}
        return [
            [pair, talk[context.id], *(number[context.id, reply] for reply in sides)] for pair, context, sides, _ in self._asked
        ]

    def key(self, condition: str, presentation: Presentation) -> dict[str, KeyPair]:
        """What each pair is."""
        text = dict(zip(self.replies, self.texts, strict=True))
        return {
            pair: KeyPair(
                context=context.id,
                subset=context.subset,
                system_a=sides[0].system,
                system_b=sides[1].system,
                presentation=presentation,
                condition=condition,
                draw_rate=rate,
                words=None if presentation == "audio" else sum(len(text[context.id, reply].split()) for reply in sides),
            )
            for pair, context, sides, rate in self._asked
        }

    def minutes(self, votes: int, seconds: Sequence[float]) -> int:
        """Minutes for so many votes. `seconds`: of each reply, if they are heard."""
        rows = self.rows()
        read = [[turn.plain for turn in self.contexts[talk].turns] for _, talk, _, _ in rows]
        if not seconds:
            read = [[*said, self.texts[a], self.texts[b]] for said, (_, _, a, b) in zip(read, rows, strict=True)]
        words = fmean(len(text.split()) for said in read for text in [" ".join(said)])
        return minutes(votes, words=words, sound_s=fmean(seconds[a] + seconds[b] for _, _, a, b in rows) if seconds else 0.0)

    def _text(self, reply: _Reply) -> str:
        context, shown = reply
        spoken = self._views[context]
        if shown.place < len(spoken):
            view = spoken[shown.place]
            return view.heard if view.heard is not None else view.written or ""
        return next(c for c in self.contexts if c.id == context).references[shown.place - len(spoken)].text


def _clip(store: RunStore, session: str, shown: ShownReply) -> sound.Sound:
    recording = store.recording(store.session(session))
    return sound.reply(recording, shown.from_ms, 0.0, shown.to_ms - shown.from_ms)


def _why_none(vote: QuickVote, heard: bool) -> str:
    if vote.why_not:
        return vote.why_not[0].lower() + vote.why_not.removesuffix(".")[1:]
    return f"no conversation has two replies to {'hear; choose --medium text' if heard else 'read'}"


def _names_said(pairs: _Pairs) -> Iterator[str]:
    said = [(shown.system, text) for (_, shown), text in zip(pairs.replies, pairs.texts, strict=True)]
    for name in sorted({system for system, _ in said}):
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
        if any(system == name and word.search(text) for system, text in said):
            yield name
