"""The plain settings of a profile, which may be stored in clear: a typed list. All others are stored as a short hash.

Runs are shared, and a profile can contain a secret anywhere: in a word of the command, in a parameter, in a comment. So a
setting is stored in clear only if it is on this list and of the form given there; one of a new wire is hidden until it is
added.

The hash shows if two runs had the same value, and must not reveal it to someone who tries all short passwords, however long
they compute. So it is short: of a million common passwords 3,900 fit 8 bits, of 10,000 PINs 39. The price is that one change
in 256 of a hidden setting goes unseen by `--resume`; changes of plain settings are all seen.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from harness.agents.secret_places import in_settings, looks_secret
from harness.agents.secret_shapes import random_strings
from harness.agents.secrets import Redactor, redact_foreign

HASH_DIGITS: Final = 2
HIDDEN: Final = "hashed:"


class Form(Enum):
    """The form of a plain setting."""

    NUMBER = "number"
    """A number, or yes or no."""
    NAME = "name"
    """A word of a list, a model's or a voice's name, the name of a variable, a path."""
    ADDRESS = "address"
    """Shown without user, password and query."""
    TEXT = "text"
    """Sentences for a model or a reader, shown without what is secret by its place or shape."""
    COMMAND = "command"
    """Words of which only the program, files of code, flags' names and placeholders are shown."""
    SETTINGS = "settings"
    """A closed table of names and numbers."""


PLAIN: Final[Mapping[str, Form]] = MappingProxyType(
    {
        "name": Form.NAME, "kind": Form.NAME, "family": Form.NAME, "stated_family": Form.NAME, "model": Form.NAME,
        "voice": Form.NAME, "transcription_model": Form.NAME, "connection": Form.NAME, "connection_kind": Form.NAME,
        "api_key_env": Form.NAME, "api_secret_env": Form.NAME, "agent_name": Form.NAME, "room": Form.NAME,
        "prompt": Form.NAME, "reasoning_effort": Form.NAME, "delegation_model": Form.NAME,
        "encoding": Form.NAME, "reply_encoding": Form.NAME,
        "description": Form.TEXT, "about_replies": Form.TEXT,
        "system_prompt": Form.TEXT, "instructions": Form.TEXT, "system_messages": Form.TEXT,
        "url": Form.ADDRESS, "start_url": Form.ADDRESS, "base_url": Form.ADDRESS, "ice_servers": Form.ADDRESS,
        "open_timeout_s": Form.NUMBER, "greets": Form.NUMBER, "rtvi": Form.NUMBER, "accepts_history": Form.NUMBER,
        "input_rate_hz": Form.NUMBER, "output_rate_hz": Form.NUMBER, "max_tokens": Form.NUMBER, "timeout_s": Form.NUMBER,
        "tries": Form.NUMBER, "speed": Form.NUMBER, "temperature": Form.SETTINGS, "top_p": Form.SETTINGS,
        "greeting": Form.TEXT, "experimental": Form.NUMBER,
        "think": Form.SETTINGS, "listen": Form.SETTINGS, "speak": Form.SETTINGS,
        "turn_detection": Form.SETTINGS, "cascade": Form.SETTINGS, "cascade.llm.base_url": Form.ADDRESS,
        "process.command": Form.COMMAND, "process.cwd": Form.NAME, "process.ready_url": Form.ADDRESS,
        "process.also": Form.SETTINGS,
        "process.ready_pattern": Form.TEXT, "process.ready_timeout_s": Form.NUMBER, "process.stop_timeout_s": Form.NUMBER,
        "process.nice": Form.NUMBER,
        "agent_id": Form.NAME, "language": Form.NAME, "activity_detection": Form.SETTINGS, "generation": Form.SETTINGS,
        "codecs": Form.NAME, "be_called": Form.NUMBER, "proxy": Form.ADDRESS, "identity": Form.ADDRESS,
        "username": Form.NAME, "password_env": Form.NAME,
        "wire": Form.SETTINGS, "wire.opens": Form.TEXT, "wire.then": Form.TEXT,
        "wire.places.request": Form.TEXT, "wire.hears.message": Form.TEXT,
        "wire.speaks.at": Form.TEXT, "wire.speaks.rate_at": Form.TEXT,
        "wire.history.user": Form.TEXT, "wire.history.assistant": Form.TEXT, "wire.answers.message": Form.TEXT,
        "metrics.url": Form.ADDRESS, "metrics.server": Form.NAME, "metrics.stage": Form.NAME, "metrics.model": Form.NAME,
    }
)  # fmt: skip
_NAME: Final = re.compile(r"[\w./:@+ -]{0,120}")
_KEY: Final = re.compile(r"[A-Za-z][\w-]{0,60}")
_ADDRESS: Final = re.compile(r"(?:[a-z]+://|(?:stun|turns?):)[^\s@?#]*|sip:(?:[^\s:@;?#]+@)?[^\s@?#]+")
"""The name before the host of a telephone's address is whom to call, and no secret."""
_FLAG: Final = re.compile(r"-[A-Za-z]|--[a-z][a-z-]{1,30}")
_FLAG_AND_VALUE: Final = re.compile(r"(--[a-z][a-z-]{1,30}=)(.+)", re.DOTALL)
_PROGRAM: Final = re.compile(r"[\w./~+-]{1,200}")
_CODE: Final = re.compile(r"[\w./~+-]{1,200}\.(?:py|sh|js|mjs|ts|rb|jar|toml|ya?ml|json)")
_PLACEHOLDER: Final = re.compile(r"[\w./:-]{0,40}\{(?:port|python)\}[\w./:-]{0,40}")


Mask = Callable[[str], str]


def shown(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in the form that may be stored and shown."""
    return {_key(name): _shown(value, str(name), PLAIN.get(str(name)), redact_foreign) for name, value in settings.items()}


def compared(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as a hash may be made of them, wherever that is: of a setting that is not plain, and of what is secret in
    an address or a text, only the short hash counts."""
    own = Redactor.of(in_settings(settings, {})).foreign
    return {name: _shown(value, str(name), PLAIN.get(str(name)), own, whole=True) for name, value in settings.items()}


def hidden(value: object) -> str:
    """The stored form of a setting that is not plain: a short hash; empty values and False are stored unchanged."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return HIDDEN + hashlib.sha256(b"setting of a profile\0" + text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]


def _shown(value: Any, place: str, form: Form | None, mask: Mask, whole: bool = False) -> Any:
    if value is None or value == "" or value == {} or value == []:
        return value
    if isinstance(value, Mapping):
        return {
            _key(name): _shown(inner, f"{place}.{name}", _inner(form, f"{place}.{name}"), mask, whole)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        if form is Form.COMMAND:
            return [_word(str(word), k == 0, mask) for k, word in enumerate(value)]
        return [_shown(inner, place, form, mask, whole) for inner in value]
    return value if _is_plain(value, form, place, mask) else _partly(value, form, mask, whole)


def _inner(form: Form | None, place: str) -> Form | None:
    return PLAIN.get(place, Form.SETTINGS if form is Form.SETTINGS else None)


def _is_plain(value: object, form: Form | None, place: str, mask: Mask) -> bool:
    if isinstance(value, bool | int | float):
        return form in (Form.NUMBER, Form.SETTINGS)
    if not isinstance(value, str) or mask(value) != value:
        return False
    if form in (Form.NAME, Form.SETTINGS):
        return not looks_secret(place.rsplit(".", 1)[-1]) and bool(_NAME.fullmatch(value))
    return form is Form.TEXT or (form is Form.ADDRESS and bool(_ADDRESS.fullmatch(value)))


def _partly(value: object, form: Form | None, mask: Mask, whole: bool) -> Any:
    """The rest of a setting of which a part is secret, with short hashes of an address's private parts where it is compared:
    of each by itself, so that a password that stands here and in the command gives no more away than by one of them."""
    if form not in (Form.ADDRESS, Form.TEXT) or not isinstance(value, str):
        return hidden(value)
    return [mask(value), *map(hidden, _private_parts(value))] if whole and form is Form.ADDRESS else mask(value)


def _private_parts(address: str) -> list[str]:
    try:
        parts = urlsplit(address)
    except ValueError:
        return [address]
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    return [user, password, *(value for _, value in parse_qsl(parts.query, keep_blank_values=True))]


def _word(word: str, first: bool, mask: Mask) -> str:
    if (found := _FLAG_AND_VALUE.fullmatch(word)) is not None:
        return found[1] + (found[2] if _PLACEHOLDER.fullmatch(found[2]) else hidden(found[2]))
    plain = (
        _FLAG.fullmatch(word) or _PLACEHOLDER.fullmatch(word) or _CODE.fullmatch(word) or (first and _PROGRAM.fullmatch(word))
    )
    return word if plain and mask(word) == word else hidden(word)


def _key(name: object) -> str:
    text = str(name)
    return text if _KEY.fullmatch(text) and not any(random_strings(text)) else hidden(text)


def as_toml(settings: Mapping[str, Any], table: str = "") -> str:
    """The settings as a TOML text: single values first, then each table under its name."""
    alone = {name: value for name, value in settings.items() if not isinstance(value, Mapping) and value is not None}
    lines = [f"{_bare(name)} = {_literal(value)}" for name, value in alone.items()]
    text = "".join(f"{line}\n" for line in lines)
    for name, value in settings.items():
        if isinstance(value, Mapping):
            inner = f"{table}.{_bare(name)}" if table else _bare(name)
            text += f"\n[{inner}]\n{as_toml(value, inner)}"
    return text


def _literal(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_bare(name)} = {_literal(inner)}" for name, inner in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_literal(inner) for inner in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _bare(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
