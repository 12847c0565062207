"""OpenAI's own types as both sides of a scripted server's wire: a field that either side makes up fails."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter


class Types:
    """The events of one protocol. `client` is its union of parameters, `server` its union of models."""

    def __init__(self, client: Any, server: Any) -> None:
        self._client: TypeAdapter[Any] = TypeAdapter(client)
        self._server: TypeAdapter[Any] = TypeAdapter(server)

    def read(self, message: str | bytes) -> dict[str, Any]:
        """A client's event; one that the types do not have is an AssertionError."""
        event: dict[str, Any] = json.loads(message)
        known = _plain(self._client.validate_python(event))
        assert known == event, f"not of the protocol: {event}"
        return event

    def write(self, kind: str, **fields: Any) -> str:
        """A server's event."""
        event = {"type": kind, **fields}
        made_up = list(_extras(self._server.validate_python(event)))
        assert not made_up, f"not of the protocol: {made_up}"
        return json.dumps(event)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, Iterable) and not isinstance(value, str) else value


def _extras(value: Any) -> Iterable[str]:
    if isinstance(value, BaseModel):
        yield from value.model_extra or ()
        for name in type(value).model_fields:
            yield from _extras(getattr(value, name))
    elif isinstance(value, list):
        for part in value:
            yield from _extras(part)
