"""Verdicts and votes put into a run, of any boards and beside those that are there."""

from collections.abc import Iterable

from harness.store.judgment import Judgment
from harness.store.run_store import RunStore


def put(store: RunStore, rows: Iterable[Judgment]) -> None:
    """Stores the rows; no earlier one goes for them."""
    store.replace_judgments((), rows, "", "")
