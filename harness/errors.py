"""Errors of a run that a user can fix.

Every other exception is a bug and shows its traceback. These carry one line that says what is wrong, where, and how to
fix it, because the command line prints only that line: `UserError` exits with code 2 (the input was wrong or
something needed is missing), `AgentError` (the agent or a service under test failed) and `StorageError` (the disk failed)
with code 3.
"""

from __future__ import annotations


class UserError(Exception):
    """Bad input, or something missing on this machine; the message is one line.

    >>> import harness
    >>> try:
    ...     harness.load_run("nowhere")
    ... except harness.UserError as error:
    ...     print(error)
    nowhere: holds no run (no run.sqlite in it); name the folder that `harness run` printed
    """


class AgentError(Exception):
    """An agent or a service under test could not start, died, or answered wrongly; the message is one line.

    An agent's last log lines may follow it.

    >>> import harness
    >>> try:
    ...     harness.run_agents("broken.toml", pack="exam.yaml", judges=(), out="broken-run")
    ... except harness.AgentError as error:
    ...     print(error)
    agent "broken" could not start (exit code 1); its log is broken-run/logs/broken.log; its last log lines:
    no model file
    """


class StorageError(Exception):
    """The disk is full, read-only or gone; finished work is saved; the message is one line."""


def not_set(variable: str) -> str:
    """The sentence on an environment variable that should hold a key, and is not set."""
    return f"environment variable {variable} is not set: set it to the key or token"


def no_key(variable: str) -> str:
    """The sentence on one that holds what no header can carry."""
    return f"environment variable {variable} holds characters that no key has: set it again"
