"""Withdrawal: everything of one person goes, wherever this project has stored it."""

from collections.abc import Callable

Withdraw = Callable[[str], None]
"""Pseudonym → nothing; everything of that person is removed."""
