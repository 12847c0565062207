"""The supporter's seat: a conversation in writing, its caller aloud, and a person's answer.

The person never sees how fast they were: a person who sees a wait hurries. They learn only the faults of a recording.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from harness.people.examiner import Examiner
from harness.people.faults import Played
from harness.people.loop_back import LoopBack
from harness.people.records import Person, SeatName, SeatStore, Take
from harness.people.seat import Json
from harness.people.sittings import wav
from harness.people.supporter.conversations import Conversations
from harness.people.supporter.into_run import MOST_CONTEXTS
from harness.people.supporter.replies import played_at
from harness.people.track import Track
from harness.reports.invited import Refused
from harness.study.study import Study


class SupporterSeat:
    """The seat of people who answer the callers of one run."""

    name: Final[SeatName] = "supporter"
    page: Final = "supporter.html"
    loop_back_first: Final = True

    def __init__(self, records: SeatStore, conversations: Conversations, study: Study | None = None) -> None:
        self._records = records
        self._conversations = conversations
        self._order = tuple(conversations.contexts)
        self.study = study or Study()
        self._examiner = Examiner(self.study.texts)

    def next_for(self, person: Person) -> Json:
        """The conversation that is due; `done` when the person has had three, or nothing is open."""
        mine = self._records.dealt(person)
        takes = self._records.takes()
        begun = {take.what for take in takes if take.person == person.id and take.kind == "reply"}
        due = next((what for what in mine if what not in begun), None)
        if due is None:
            # Rehearsals and people are counted apart: a program's answer leaves the place to a person.
            alike = {p.id for p in self._records.people() if p.automatic == person.automatic}
            discarded = {(t.person, t.what) for t in takes if t.state == "discarded"}
            given = [what for who, what in self._records.dealt_to_all() if who in alike and (who, what) not in discarded]
            kept = [t.what for t in takes if t.kind == "reply" and t.state == "kept" and t.person in alike]
            due = next_of(self._order, mine, given, kept, person.id, self._records.media_secret)
            if due is None:
                return {"kind": "done"}
            self._records.deal(person, len(mine), due)
        number = len([what for what in mine if what in begun]) + 1
        history = [list(turn) for turn in self._conversations.history(due)]
        return {
            "kind": "conversation",
            "of": due,
            "history": history,
            "number": number,
            "most": MOST_CONTEXTS,
            "sound": f"/sound/item/{due}",
        }

    def sound(self, person: Person, what: str) -> bytes | None:
        """The caller's turn of the conversation that is due."""
        begun = {take.what for take in self._records.takes(person.id) if take.kind == "reply"}
        due = next((dealt for dealt in self._records.dealt(person) if dealt not in begun), None)
        return wav(self._conversations.caller(what).samples) if due == what else None

    def examined(self, take: Take, track: Track, loop: LoopBack | None) -> Json:
        """What is wrong with an answer, in words for its speaker."""
        at = played_at(take)
        caller = () if at is None else (Played(self._conversations.caller(take.what).samples, at),)
        return {"faults": self._examiner.examined(take, track, caller, loop)}

    def keep(self, _: Take, asked: Mapping[str, Any]) -> Json:
        """Nothing but the person's word that no program helped.

        Raises:
            Refused: it was not given.
        """
        if asked.get("no_help") is not True:
            raise Refused("seat.refused.no_help")
        return {"no_help": True}


MOST_PEOPLE: Final = 3
"""Most people of one conversation: 12 people × 3 of 12 conversations."""


def next_of(
    contexts: Sequence[str], mine: Sequence[str], given: Iterable[str], kept: Iterable[str], person: str, seed: bytes
) -> str | None:
    """The next conversation; None when this person has had enough, or every conversation its people.

    `mine`: all that this person ever got. `given` and `kept`: conversations that people got and did not discard, and those
    whose answers are kept, once for each person.
    """
    if len(mine) >= MOST_CONTEXTS:
        return None
    covered, answered = Counter(given), Counter(kept)
    open_ = [c for c in contexts if c not in mine and answered[c] < MOST_PEOPLE]
    return min(open_, key=lambda c: (covered[c], hashlib.sha256(seed + f"{person}\0{c}".encode()).digest()), default=None)
