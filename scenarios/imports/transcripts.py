"""A context from a transcript with speakers: WebVTT (`<v Name>text`) or SubRip, or either with `Name: text`.

The caller is the first who speaks, or is named. Neighbouring cues of one speaker are one turn; a cue without a
speaker goes on with the last. Times are not carried over: a pack's caller is rendered anew.
"""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.foreign_files import FileFault, read_text
from harness.scenarios.imports.imported import Imported, ImportFault
from harness.scenarios.imports.talk import Said, context_of

_VOICE: Final = re.compile(r"<v(?:\.[^\s<>]*)?\s+([^<>]{1,80})>")
_TAG: Final = re.compile(r"</?[A-Za-z0-9][^<>]*>")
_NAMED: Final = re.compile(r"(?:-\s*)?([^\W\d][\w .'’-]{0,39}):\s+(?=\S)")
_NO_CUES: Final = ("WEBVTT", "NOTE", "STYLE", "REGION")


def import_transcript(path: Path, caller: str | None = None, licence: str | None = None) -> Imported:
    """One context for the transcript. `caller`: the caller's name. Raises `ImportFault` if no such speaker is named."""
    try:
        spoken = list(_spoken(read_text(path)))
    except FileFault as fault:
        raise ImportFault(fault.at(path)) from None
    names = list(dict.fromkeys(name for name, _ in spoken if name))
    if not spoken or not names:
        what = (
            "names no speaker; write <v Name> or 'Name: ' before the words"
            if spoken
            else "has no cue (00:01.000 --> 00:02.000)"
        )
        raise ImportFault(f"{path}: {what}")
    chosen = next((name for name in names if caller is None or name.casefold() == caller.casefold()), None)
    if chosen is None:
        raise ImportFault(f"{path}: no {caller!r} speaks; --caller must be one of {', '.join(names[:10])}")
    said, last = [], names[0]
    for name, text in spoken:
        last = name or last
        said.append(Said("seeker" if last == chosen else "supporter", text))
    context, left = context_of(said, path, 1, str(path), {"licence": licence} if licence else {})
    others = [name for name in names if name != chosen]
    heard = f"{path}: {chosen} is the caller; " + (f"{', '.join(others)} replies" if others else "nobody replies")
    return Imported((context,), (heard, *left))


def _spoken(text: str) -> Iterator[tuple[str | None, str]]:
    """(Speaker or None, words) in the order of the cues."""
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = block.strip("\n").split("\n")
        times = next((k for k, line in enumerate(lines) if "-->" in line), None)
        if times is None or (lines[0].startswith(_NO_CUES) and times != 1):
            continue
        for line in lines[times + 1 :]:
            yield from _line(line.strip())


def _line(line: str) -> Iterator[tuple[str | None, str]]:
    first, *voices = _VOICE.split(line)
    for name, words in ((None, first), *zip(voices[::2], voices[1::2], strict=True)):
        plain = " ".join(html.unescape(_TAG.sub("", words)).split())
        found = _NAMED.match(plain) if name is None else None
        if plain:
            yield (found[1].strip(), plain[found.end() :]) if found else (html.unescape(name).strip() if name else None, plain)
