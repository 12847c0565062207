"""One rater's session: the contents of a step for the page, and the checks of answers.

The page gets labels, texts and keyed addresses of sounds; never a system, a file, a role or a known answer. A check
does not differ from other items: it has the same parts, and its answer is taken and acknowledged in the same way. An answer is
accepted only for the current step, only after all its sounds were sent, and not before they can have been heard.
"""

import hashlib
import hmac
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.reports.invited import Refused
from harness.reports.listening import headphones
from harness.reports.listening.answers import Rater, VoteStore
from harness.reports.listening.design import ListeningDesign, scales
from harness.reports.listening.material import Material, seconds
from harness.reports.listening.plan import Item, passed
from harness.study.study import Study

Json = dict[str, Any]
HEARING_SHARE = 0.9
"""Share of a sound's length after which it counts as heard: clocks of browser and server differ."""
LONGEST_REASON = 100_000
LETTERS = "AB"


class Sessions:
    """The logic of raters' sessions, independent of the web server."""

    def __init__(
        self,
        votes: VoteStore,
        material: Material,
        design: ListeningDesign,
        study: Study,
        hearing_share: float = HEARING_SHARE,
    ) -> None:
        self._hearing_share = hearing_share
        self._votes = votes
        self._material = material
        self._design = design
        self._study = study
        self._t = study.texts
        self._secret = votes.media_secret

    def step(self, rater: Rater) -> Json:
        """The current step for the page; first the study's questions about the person."""
        if questions := self._votes.participants.questions(rater.id, self._study):
            return {"kind": "about", "questions": questions, "position": 0, "total": len(rater.plan)}
        position = self._due(rater)
        total = len(rater.plan)
        if position is None:
            return {"kind": "unheard", "position": 0, "total": total}
        if position >= total:
            end = {"code": self._study.completion_code, "way_back": self._study.way_back, "name": rater.id}
            return {"kind": "done", "position": position, "total": total, **end}
        item = _asked_today(rater.plan[position])
        self._votes.serve(rater, position)
        shown: Json = {
            "kind": self._kind(item),
            "position": position,
            "total": total,
            "practice": item.role == "practice",
        }
        if item.role in ("level", "headphones"):
            shown["sounds"] = [self._address(rater, position, "0")]
        if item.role == "headphones":
            shown["instruction"] = headphones.words(self._votes.failed_rounds(rater), self._t)
        if shown["kind"] in ("pair", "rating"):
            shown |= self._replies(rater, position, item)
        return shown

    def _due(self, rater: Rater) -> int | None:
        """The first step without answer; None for a rater who failed the headphone trials."""
        position = self._votes.position(rater)
        trials = headphones.trials(rater.plan)
        if not trials or position != trials.stop or headphones.heard(self._votes.passed(rater, trials)):
            return position
        if self._votes.failed_rounds(rater) + 1 >= headphones.ROUNDS:
            # Their items become available to others.
            self._votes.leave(rater)
            return None
        self._votes.set_aside(rater, trials)
        return self._votes.position(rater)

    def _item(self, rater: Rater, position: int) -> Item:
        """The step in its current form."""
        item = _asked_today(rater.plan[position])
        if item.role != "headphones":
            return item
        return headphones.in_round(item, self._votes.failed_rounds(rater), position, self._secret, rater.id)

    def _kind(self, item: Item) -> str:
        if item.role in ("level", "headphones", "break"):
            return item.role
        return "pair" if self._design.kind == "ab" else "rating"

    def _replies(self, rater: Rater, position: int, item: Item) -> Json:
        assert item.context is not None
        conversation = self._material.by_id[item.context]
        sound = self._design.medium == "sound"
        texts = [self._material.by_id[slot.context].replies[slot.system].text for slot in item.slots]
        return {
            "history": [list(turn) for turn in conversation.history],
            "caller": self._address(rater, position, "caller") if sound else None,
            "replies": [
                {
                    "label": self._t("shared.reply", letter=LETTERS[k]) if len(item.slots) > 1 else self._t("shared.the_reply"),
                    "sound": self._address(rater, position, str(k)) if sound else None,
                    "text": None if sound else texts[k],
                }
                for k in range(len(item.slots))
            ],
            "choices": [*zip(range(-2, 3), self._t.several("shared.options"), strict=True)]
            if self._design.kind == "ab"
            else [],
            "scales": [
                [name, self._t(f"listen.scale.{name}_question"), self._t.several(f"listen.scale.{name}")]
                for name in scales(self._design.medium)
                if self._design.kind == "acr"
            ],
            "reason_characters": self._design.reason_characters,
            "draft": self._key(rater, position, "draft"),
        }

    def _address(self, rater: Rater, position: int, place: str) -> str:
        return f"/sound/{self._key(rater, position, place)}"

    def _key(self, rater: Rater, position: int, place: str) -> str:
        return hmac.new(self._secret, f"{rater.id}\0{position}\0{place}".encode(), hashlib.sha256).hexdigest()[:40]

    def sound(self, rater: Rater, key: str) -> Path | None:
        """The file of an address in the current step of this rater; None for any other address."""
        position = self._due(rater)
        if position is None or position >= len(rater.plan):
            return None
        for place, path in self._sounds(self._item(rater, position)).items():
            if hmac.compare_digest(self._key(rater, position, place), key):
                self._votes.fetch(rater, position, place)
                return path
        return None

    def _sounds(self, item: Item) -> dict[str, Path]:
        if self._design.medium == "text" or item.role == "break":
            return {}
        if item.role == "level":
            return {"0": self._material.level()}
        if item.role == "headphones":
            return {"0": self._material.headphones(item.expected or 1)}
        assert item.context is not None
        found = {
            str(k): self._material.stimulus(
                slot.context, slot.system, gap_ms=slot.gap_ms, degraded=slot.degraded, after=item.context
            )
            for k, slot in enumerate(item.slots)
        }
        return {"caller": self._material.caller(item.context), **found}

    def take(self, rater: Rater, position: object, answer: Mapping[str, object]) -> None:
        """Store an answer. The same one sent again is not an error and changes nothing.

        Raises:
            Refused: it is for another step, incomplete, or too early to have heard the sounds.
        """
        due = self._due(rater)
        if due is None or self._ended_a_round(rater, position, due):
            return
        if not isinstance(position, int) or isinstance(position, bool) or not 0 <= position <= due:
            raise Refused("listen.refused.not_due")
        if position < due:
            return
        if position == len(rater.plan):
            raise Refused("listen.refused.all_answered")
        item = self._item(rater, position)
        kept = self._checked(item, answer)
        first_shown_s = self._votes.serve(rater, position)
        took_s = time.time() - first_shown_s
        sounds = self._sounds(item)
        if not set(sounds) <= self._votes.fetched(rater, position):
            raise Refused("listen.refused.hear_first")
        hearing_s = sum(seconds(path) for path in sounds.values())
        if took_s < self._hearing_share * hearing_s:
            raise Refused("listen.refused.hear_to_its_end")
        self._votes.answer(rater, position, kept, passed(item, kept, self._design), max(took_s - hearing_s, 0.0), item)

    def _ended_a_round(self, rater: Rater, position: object, due: int) -> bool:
        """True if this answer ended a failed round and is sent again by a page that lost the reply."""
        trials = headphones.trials(rater.plan)
        return position in trials[1:] and due in trials[:1] and self._votes.failed_rounds(rater) > 0

    def _checked(self, item: Item, answer: Mapping[str, object]) -> dict[str, object]:
        """The parts of an answer that belong to the item."""
        if item.role in ("level", "break"):
            return {}
        if item.role == "headphones":
            return {"tone": _whole(answer.get("tone"), 1, 3, "listen.refused.choose_tone")}
        if self._design.kind == "acr":
            return {name: _whole(answer.get(name), 1, 5, "listen.refused.answer_all") for name in scales(self._design.medium)}
        choice = _whole(answer.get("choice"), -2, 2, "listen.refused.choose")
        reason = answer.get("reason")
        if not isinstance(reason, str) or len(reason.strip()) < self._design.reason_characters:
            raise Refused("listen.refused.say_why")
        if len(reason) > LONGEST_REASON:
            raise Refused("listen.refused.too_long")
        return {"choice": choice, "reason": reason.strip()}


def _asked_today(item: Item) -> Item:
    """The step as it is asked. Plans of older versions have items that told their rater what to choose, and nobody is asked."""
    return Item(role="break") if item.role == "attention" else item


def _whole(value: object, low: int, high: int, otherwise: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise Refused(otherwise)
    return value
