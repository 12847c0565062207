"""The credentials of a call: a key, headers and tokens, put together at the moment of dialling and nowhere else.

A profile is stored with every run and travels to the caller's process, so it holds no secret: it names environment variables,
`api_key_env = "NAME"`, or `${NAME}` in a header or in an address. Every wire dials with what is made here. A value is learnt
before it is used (`harness.agents.secrets`), so that a recording, a log or an error that repeats it shows a mask.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

from harness.agents.connection import ConnectionFailed
from harness.agents.secret_places import VARIABLE
from harness.agents.secrets import learn
from harness.errors import no_key, not_set

AUTHORIZATION: Final = "Authorization"

Headers = tuple[tuple[str, str], ...]
KeyForm = tuple[str, str]
"""The header that carries a key, and what is written before the key in it."""
BEARER: Final[KeyForm] = (AUTHORIZATION, "Bearer ")


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials that a profile names, values not yet read."""

    api_key_env: str | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Header → its value, with `${NAME}` for the value of an environment variable."""
    key_form: KeyForm = BEARER

    @classmethod
    def of(cls, options: Mapping[str, Any], key_form: KeyForm = BEARER) -> "Credentials":
        """Those among the options of a connection."""
        return cls(options.get("api_key_env"), dict(options.get("headers") or {}), key_form)

    @property
    def named(self) -> tuple[str, ...]:
        """The environment variables that hold the key and the headers' secrets."""
        key = (self.api_key_env,) if self.api_key_env else ()
        return (*key, *(name for text in self.headers.values() for name in VARIABLE.findall(text)))

    def read(self) -> Headers:
        """The headers of a request, with their values.

        Raises:
            ConnectionFailed: a variable is not set, or holds what no header can carry.
        """
        header, before = self.key_form
        key = ((header, before + value_of(self.api_key_env, "api_key_env")),) if self.api_key_env else ()
        return (*key, *((name, _filled(text, f"headers.{name}")) for name, text in self.headers.items()))


def bearer(token: str) -> Headers:
    """The header of a token that a server gave for one call.

    Raises:
        ConnectionFailed: it holds what no header can carry.
    """
    learn([token])
    if not _can_be_carried(token):
        raise ConnectionFailed("start_url: its token holds characters that no header can carry", "garbage")
    return ((AUTHORIZATION, f"Bearer {token}"),)


def filled_address(url: str) -> str:
    """An address with the values of its `${NAME}`, escaped as addresses need it; unchanged without any.

    Raises:
        ConnectionFailed: a variable is not set.
    """
    return VARIABLE.sub(lambda found: quote(value_of(found[1], "the address"), safe=""), url)


def _filled(text: str, where: str) -> str:
    return VARIABLE.sub(lambda found: value_of(found[1], where), text)


def value_of(name: str, where: str) -> str:
    """The value of an environment variable, which is masked wherever it is repeated. `where`: the setting that names it.

    Raises:
        ConnectionFailed: it is not set, or holds what no header can carry.
    """
    value = os.environ.get(name)
    if not value:
        raise ConnectionFailed(f"{where}: {not_set(name)}", "unauthorised")
    learn([value])
    if not _can_be_carried(value):
        raise ConnectionFailed(f"{where}: {no_key(name)}", "unauthorised")
    return value


def _can_be_carried(value: str) -> bool:
    """True if a header can hold the value, and nothing behind it can pass for another header."""
    return value.isascii() and value.isprintable()
