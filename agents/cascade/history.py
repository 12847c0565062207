"""The conversation so far, sent by a client before audio starts."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "assistant"]
    text: str


class _History(BaseModel):
    model_config = ConfigDict(extra="forbid")

    messages: list[_Message]


def parse_history(data: Any) -> list[dict[str, str]]:
    """The `data` of an RTVI `client-message` of type `history` as messages for a chat model.

    Raises:
        pydantic.ValidationError: `data` is not `{"messages": [{"role": "user" | "assistant", "text": …}, …]}`.
    """
    given = TypeAdapter(_History).validate_python(data)
    return [{"role": message.role, "content": message.text} for message in given.messages]
