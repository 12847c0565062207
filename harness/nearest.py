"""The nearest known word to a misspelt one: of commands, options, settings of files, columns and names."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

ALIKE: Final = 0.6
"""Least likeness (difflib's ratio): `modle` and `model` have 0.8, a swapped pair of letters in four
0.75; under 0.6 come unrelated short words, such as `seed` for `speed_test`."""


def nearest(word: str, known: Iterable[str], alike: float = ALIKE) -> str | None:
    """The known word that is most like this one, whatever its case; None if none is alike.

    >>> nearest("modle", ["model", "mode", "prompt"]), nearest("xyz", ["model"])
    ('model', None)
    """
    folded = {_plain(name): name for name in reversed(list(known))}
    # difflib counts letters in order, so to it `modle` is nearer to `mode` than to `model`, whose letters it has.
    swapped = [name for name in folded if sorted(name) == sorted(_plain(word))]
    found = swapped or get_close_matches(_plain(word), folded, n=1, cutoff=alike)
    return folded[found[0]] if found else None


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The question behind an unknown word, `; did you mean model?`; empty if no known word is alike."""
    found = nearest(word, known)
    return f"; did you mean {found}?" if found is not None else ""


def or_one_of(word: str, known: Iterable[str]) -> str:
    """What to do behind an unknown word: the question after the nearest one, else all of them, `; choose one of a, b`."""
    names = list(known)
    return did_you_mean(word, names) or f"; choose one of {', '.join(names)}"
