"""One check of text that a terminal is to print, by Unicode's categories and not by the code that it checks."""

import unicodedata


def moves_no_cursor(text: str) -> bool:
    """Whether the text is one line without controls, formatting, half characters or unassigned ones.

    `str.isprintable` asks more: it refuses a no-break space, which does no harm.
    """
    return not any((category := unicodedata.category(c)).startswith("C") or category in ("Zl", "Zp") for c in text)
