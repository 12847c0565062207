"""Untrusted text made safe for a terminal: an escape sequence in an endpoint's error must not move the cursor, colour a line,
ring the bell or set a window's title, and half a character of UTF-16 must not prevent output.

The only rule for what may be shown; used for all words of an agent, an endpoint or another program that are printed or stored
to be printed. The standard library alone, because secrets are masked with it in the supervisor of an agent.
"""

import re
import unicodedata
from typing import Final

DOT: Final = "·"
_OWN_COLOURS: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7e]")
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def printable(text: str, *, one_line: bool = False) -> str:
    """The text with a dot for each control, formatting or half character; line breaks and tabs stay unless `one_line`."""
    if text.isprintable():
        return text
    kept = "" if one_line else "\n\t"
    return "".join(c if c in kept or c.isprintable() or unicodedata.category(c) == "Zs" else DOT for c in text)


def visible_json(text: str) -> str:
    """JSON of the same value, with an escape for each character that could not be shown; JSON has such only in its texts."""
    return text if text.isascii() and "\x7f" not in text else _NOT_ASCII.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    if printable(found[0]) == found[0]:
        return found[0]
    pair = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{pair[k]:02x}{pair[k + 1]:02x}" for k in range(0, len(pair), 2))


def for_terminal(text: str) -> str:
    """This program's own output, progress and colours included, with a dot for every other control character: the last check,
    for text that was not checked before."""
    if _UNSEEN.search(text) is None:
        return text
    pieces, last = [], 0
    for own in _OWN_COLOURS.finditer(text):
        pieces += [_UNSEEN.sub(DOT, text[last : own.start()]), own[0]]
        last = own.end()
    return "".join([*pieces, _UNSEEN.sub(DOT, text[last:])])
