"""One turn of a conversation as an agent's connection and its language model see it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Message:
    """A past turn in an agent's history.

    `role` follows the chat convention of language-model endpoints: the seeker is `user`, the supporter `assistant`.
    """

    role: Literal["user", "assistant"]
    text: str
