"""The speaker of a recording, named by pseudonym in the source of its context.

A pack says how far it carries only if it is known which turns come from one mouth. The source of a context is where a reader
looks for that; so it is written in fixed words that a program reads as well, and no field is added to the format. A context
with another source has no known speaker.
"""

import re
from dataclasses import dataclass
from typing import Final

AUTOMATIC: Final = "automatic speaker (rehearsal), no person"
_SOURCE: Final = re.compile(
    rf"(?P<who>speaker|{re.escape(AUTOMATIC)}:) (?P<name>[a-z0-9][a-z0-9-]*), (?:retelling|about) [a-z0-9-]+"
)


@dataclass(frozen=True, slots=True)
class Speaker:
    """A speaker by pseudonym. `automatic`: a program, whose pauses say nothing about people."""

    name: str
    automatic: bool


def source_of(speaker: Speaker, prompt: str, *, topic: bool, words_by: str | None) -> str:
    """The source of a recorded context. `prompt`: id of the retold context or of the topic; `words_by`: the program that
    transcribed it, or None.

    >>> source_of(Speaker("p1", automatic=False), "mini-second-redundancy", topic=False, words_by=None)
    'speaker p1, retelling mini-second-redundancy'
    """
    who = f"{AUTOMATIC}: {speaker.name}" if speaker.automatic else f"speaker {speaker.name}"
    words = f"; words by {words_by}, a program, unchecked" if words_by else ""
    return f"{who}, {'about' if topic else 'retelling'} {prompt}{words}"


def speaker_of(source: str) -> Speaker | None:
    """The speaker that a source names; None if it names none."""
    found = _SOURCE.match(source)
    return Speaker(found["name"], found["who"] != "speaker") if found else None
