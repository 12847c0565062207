"""Figures are absent where there is no ground for one; a test that reads one says first that it is there."""

from typing import TypeVar

Figure = TypeVar("Figure")


def present(figure: Figure | None) -> Figure:
    """The figure itself."""
    assert figure is not None
    return figure


def ends(interval: tuple[float | None, float | None] | None) -> tuple[float, float]:
    """Both ends of an interval that has two."""
    low, high = present(interval)
    return present(low), present(high)
