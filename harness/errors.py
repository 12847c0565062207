"""The ways a run can fail that a user can mend.

Everything else is a bug and shows its traceback. These carry one line that says what is wrong, where, and how to
mend it, because the command line prints that line alone: `UserError` leaves with exit code 2 (the input was wrong or
something needed is missing), `AgentError` (the agent or a service under test failed) and `StorageError` (the disk did)
with exit code 3.
"""

from __future__ import annotations


class UserError(Exception):
    """Bad input, or something missing on this machine; the message is one line."""


class AgentError(Exception):
    """An agent or a service under test could not start, died, or answered wrongly; the message is one line."""


class StorageError(Exception):
    """The disk is full, read-only or gone; what was finished is kept; the message is one line."""
