"""Removals by a person who read the built items: turns that pass all rules but not a careful reader.

Conversations are named by a fingerprint of their letters and digits, so that the list fits both layouts and quotes nothing.
It belongs to ESConv as published; on other data no fingerprint matches and nothing happens.
"""

import hashlib
import re
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from harness.scenarios.esconv.couplets import Couplet
from harness.scenarios.esconv.read import Dialogue

FINGERPRINT_LETTERS = 12


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    talk: str
    turn: int | None = None
    why: str


def fingerprint(dialogue: Dialogue) -> str:
    """The fingerprint of a dialogue: twelve hex digits over the letters and digits of all its messages."""
    said = re.sub(r"[^a-z0-9]", "", "".join(u.text for u in dialogue.utterances).lower())
    return hashlib.sha256(said.encode()).hexdigest()[:FINGERPRINT_LETTERS]


def reason_for_removal(couplet: Couplet) -> str | None:
    """The reader's reason to remove this couplet (or the whole dialogue); None if it was not removed."""
    listed = _listed()
    talk = fingerprint(couplet.dialogue)
    return listed.get((talk, couplet.turn)) or listed.get((talk, None))


@cache
def _listed() -> dict[tuple[str, int | None], str]:
    raw = yaml.load((Path(__file__).parent / "reviewed.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    return {(e.talk, e.turn): e.why for e in map(_Entry.model_validate, raw)}
