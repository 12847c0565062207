"""The caller's seat: something told in one's own words, and where its speaker paused and ended."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from pydantic import ValidationError

from harness.audio.pcm import Int16
from harness.audio.recorded_turns import NoTurn
from harness.people.caller.ends import Corrections, FoundEnds, Impossible, corrected, found_ends
from harness.people.caller.prompts import PER_PERSON, TOPIC_IDS, Prompt, dealt, prompts_of, topics
from harness.people.examiner import Examiner
from harness.people.loop_back import LoopBack
from harness.people.records import Person, SeatName, SeatStore, Take
from harness.people.seat import Json
from harness.people.track import RATE_HZ, Track, track_of
from harness.reports.invited import Refused
from harness.scenarios.pack import load_pack
from harness.study.study import Study

TOPICS_SHOWN: Final = 6
"""Topics to choose from: as many as fit a telephone's screen."""
FREE: Final = "free-"
"""Beginning of the name of an item without a prompt to retell."""
WAVE_BINS: Final = 240
"""Bars of the drawn sound: one for each three pixels of the widest page."""


class CallerSeat:
    """The seat of people who are recorded as callers. `pack`: None for free topics alone."""

    name: Final[SeatName] = "caller"
    page: Final = "caller.html"
    loop_back_first: Final = False

    def __init__(
        self, records: SeatStore, pack: str | None = None, turns: int = PER_PERSON, study: Study | None = None
    ) -> None:
        """Raises UserError if there is no such pack."""
        self._records = records
        self._turns = turns
        self._prompts = {} if pack is None else {p.id: p for p in prompts_of(load_pack(pack)).usable}
        self.study = study or Study()
        self._topics = topics(self.study.texts)
        self._examiner = Examiner(self.study.texts)

    def next_for(self, person: Person) -> Json:
        """The prompt that is due, with topics to choose instead; `done` after the last."""
        items = self._records.dealt(person) or self._deal(person)
        takes = self._records.takes(person.id)
        kept = {take.what for take in takes if take.state == "kept" and take.kind == "turn"}
        due = next((item for item in items if item not in kept), None)
        if due is None:
            return {"kind": "done"}
        used = {take.settings.get("topic") for take in takes if take.state == "kept"}
        prompt = self._prompts.get(due)
        unused = (topic for topic in self._topics if topic.id not in used)
        fresh = sorted(unused, key=lambda topic: self._drawn(person, due, topic.id)) or list(self._topics)
        return {
            "kind": "prompt", "of": due, "number": len(kept) + 1, "most": len(items),
            "retell": None if prompt is None else prompt.text,
            "topics": [{"id": topic.id, "words": topic.text} for topic in fresh[:TOPICS_SHOWN]],
        }  # fmt: skip

    def _deal(self, person: Person) -> list[str]:
        """The items of a new person, stored."""
        given = Counter(what for _, what in self._records.dealt_to_all())
        seed = int.from_bytes(self._records.media_secret[:4], "big")
        items = [p.id for p in dealt(tuple(self._prompts.values()), given, seed, self._turns)]
        items += [f"{FREE}{n}" for n in range(1, self._turns - len(items) + 1)]
        for number, item in enumerate(items):
            self._records.deal(person, number, item)
        return self._records.dealt(person)

    def _drawn(self, person: Person, *what: str) -> bytes:
        return hashlib.sha256(self._records.media_secret + "\0".join((person.id, *what)).encode()).digest()

    def sound(self, person: Person, what: str) -> bytes | None:
        """None: nothing is heard in this seat."""
        del person, what
        return None

    def examined(self, take: Take, track: Track, loop: LoopBack | None) -> Json:
        """What is wrong with a recording, its turn as found, and the disagreements that its speaker decides."""
        del loop
        about: Json = {
            "faults": self._examiner.examined(take, track),
            "lasts_s": round(len(track.samples) / RATE_HZ, 3),
            "wave": _wave(track.samples),
        }
        try:
            found = self._ends(take, track)
        except NoTurn:
            if not about["faults"]:
                about["faults"] = [
                    {"code": "no_turn", "words": self.study.texts("found.no_turn"), "do": "", "again": True, "at_s": None}
                ]
            return about
        said = {fault["code"] for fault in about["faults"]}
        return about | {
            "start_s": round(found.turn.start_s, 3),
            "end_s": round(found.turn.end_s, 3),
            "pauses": [[round(a, 3), round(b, 3)] for a, b in found.turn.pauses],
            "disagreements": [
                {"code": d.code, "words": d.words, "at_s": round(d.at_s, 3)} for d in found.disagreements if d.code not in said
            ],
        }

    def _ends(self, take: Take, track: Track) -> FoundEnds:
        pressed = take.ended.get("pressed")
        pressed_s = None if pressed is None else max(0.0, (pressed - track.first) / RATE_HZ)
        with self._examiner.turn:
            return found_ends(track.samples, RATE_HZ, self._examiner.vocal, pressed_s, self.study.texts)

    def keep(self, take: Take, asked: Mapping[str, Any]) -> Json:
        """The turn as its speaker decided: start, end and pauses in seconds of the recording.

        Raises:
            Refused: an impossible decision, or there is no turn.
        """
        track = track_of(self._records.parts(take))
        try:
            decided = Corrections.model_validate({name: asked[name] for name in Corrections.model_fields if name in asked})
            turn = corrected(self._ends(take, track), decided, self.study.texts)
        except ValidationError:
            raise Refused("seat.refused.corrections") from None
        except NoTurn:
            raise Refused("seat.refused.no_turn") from None
        except Impossible as fault:
            raise Refused(str(fault)) from None
        return {"start_s": turn.start_s, "end_s": turn.end_s, "pauses": [list(pause) for pause in turn.pauses]}


def prompt_of(take: Take) -> Prompt:
    """The prompt or topic that a recording answers, by name."""
    topic = take.settings.get("topic")
    if isinstance(topic, str) and topic in TOPIC_IDS:
        return Prompt(topic, "topic", "")
    return Prompt(take.what, "topic" if take.what.startswith(FREE) else "retell", "")


def _wave(samples: Int16) -> list[float]:
    """The loudest sample of each stretch, from 0 to 1."""
    begins = np.arange(0, len(samples), max(1, -(-len(samples) // WAVE_BINS)))
    above, below = (way.reduceat(samples, begins).astype(np.int32) for way in (np.maximum, np.minimum))
    return [round(int(v) / 32_768, 3) for v in np.maximum(above, -below)]
