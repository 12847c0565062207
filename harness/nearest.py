"""The nearest known word to a misspelt one: of commands, options, settings of files, columns and names."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

ALIKE: Final = 0.6
"""Least likeness (difflib's ratio): `modle` and `model` have 0.8, a swapped pair of letters in four
0.75; under 0.6 come unrelated short words, such as `seed` for `speed_test`."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like this one, whatever its case; None if none is alike.

    >>> nearest("modle", ["model", "mode", "prompt"]), nearest("xyz", ["model"])
    ('model', None)
    """
    folded = {name.casefold().replace("-", "_"): name for name in reversed(list(known))}
    found = get_close_matches(word.casefold().replace("-", "_"), folded, n=1, cutoff=ALIKE)
    return folded[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The question behind an unknown word, `; did you mean model?`; empty if no known word is alike."""
    found = nearest(word, known)
    return f"; did you mean {found}?" if found is not None else ""
