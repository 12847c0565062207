"""The words of a kind of agent for `harness agents new`, which the file of its connection has as `WORDS`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KindWords:
    """The words of one kind. `settings` are lines of TOML for the settings that most users of this kind need."""

    about: tuple[str, ...]
    """Comment lines that begin the profile."""
    url: str
    """The usual address of an agent that the harness starts; `{port}` is its port."""
    command: str
    """An example of the command that starts it."""
    ready: str
    """The line of TOML that says how it is known to be ready."""
    settings: tuple[str, ...] = ()
