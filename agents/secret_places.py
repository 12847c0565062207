"""The places of secrets: variables, fields, flags, headers and parts of an address that contain one.

Few keys are recognisable by form (`harness.agents.secret_shapes`), so they are known by place: by the name beside them, or
because a whole place is private (the user and query of a URL, headers, a call's parameters). A short or plain word in such a
place is taken for a setting (`language = "english"`): masking it wherever it occurs would falsify what agents say. Under a
name for secrets only (`DB_PASS`, `--password`) a word from 8 letters is masked everywhere too, and a
shorter one is masked in its place.

Pure functions of the standard library alone, so that the supervisor of an agent can use them.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from harness.agents.secret_shapes import is_path_token

LEAST_CHARACTERS: Final = 6
"""Least length of a value that a user put in a place for secrets."""
LEAST_IN_ENVIRONMENT: Final = 8
"""Least length of the value of a variable whose name suggests a secret."""
PLAIN_WORD_CHARACTERS: Final = 15
"""Letters, dashes and underscores up to this length are a word (`english`), and no key, but under a name of a password."""

_WORDS: Final = frozenset(
    ("auth", "authorization", "bearer", "cookie", "credential", "dsn", "header", "jwt", "pass", "pat", "pin", "sas",
     "signature", "webhook")
)  # fmt: skip
_ENDINGS: Final = ("key", "token", "secret", "password", "passphrase", "passwd", "passcode", "pwd", "pw")
_PASSWORDS: Final = ("password", "passphrase", "passwd", "passcode", "pwd", "pw", "secret")
_PASSWORD_WORDS: Final = frozenset(("pass", "pat", "jwt", "pin", "dsn"))
"""Names for secrets only, so that even a plain word behind them is one; a `key` may be of a table, a `token` one
that was counted."""
_PAIRS: Final = (["connection", "string"], ["conn", "str"])
"""Names of two words, neither of which is one alone."""
_SESSION: Final = "session"
"""As the last word of a setting (`session=…`, as cookies have it) a secret; before a colon it names a call in a log."""
_WORKING_FOLDERS: Final = frozenset(("PWD", "OLDPWD", "INIT_CWD"))
_NO_SECRETS: Final = frozenset(
    ("anonymous", "changeme", "default", "disabled", "enabled", "false", "language", "max_completion_tokens", "none",
     "not-needed", "null", "optional", "password", "postgres", "required", "secret", "true", "unauthorised",
     "undefined", "unset")
)  # fmt: skip
"""Values under a secret's name that are not secrets, or that everybody knows."""
_PRIVATE_TABLES: Final = frozenset(("headers", "extra_headers", "default_headers", "additional_headers", "parameters"))
_NOT_THE_VALUE: Final = ("env", "file", "path", "argument")
"""Last words of names that say where a secret is, but do not contain it (`api_key_env`)."""

VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""`${NAME}` in an address or a header: the value of an environment variable, filled in when the call is dialled."""
_FILLED: Final = frozenset(("url", "start_url", "headers"))
"""The settings in which it is filled in."""
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s\"'<>\\]+")
_SEGMENT: Final = re.compile(r"[^/;=]++")
_SCHEME: Final = re.compile(r"\b(?:Bearer|Basic)\s+([^\s\"',;\\]{8,})", re.IGNORECASE)
_KIND: Final = r"(?:(?:Bearer|Basic|Token|ApiKey|Key|Digest) {1,3}+)?"
"""The kind of credentials in a header, before them."""
_NAMED: Final = re.compile(
    r"(?<![\w.-])(-{0,2}+[A-Za-z][\w.-]{0,60}+)(?:\\{0,8}+[\"'])?+[ \t]{0,3}+([:=])>?+[ \t]{0,3}+"
    rf"{_KIND}(\\{{0,8}}+[\"'])?+{_KIND}"
)
"""Up to where a value begins. Tried once a word: logs are hostile text, and a pattern that backs up through a long line would
hold the agent up."""
_VALUE: Final = re.compile(r"[^\s\"',;&{}\\]++")
_QUOTED: Final = re.compile(r"[^\s\"'\\]++")
_PHRASES: Final = {'"': re.compile(r"[^\"\\\r\n]{1,1000}+(?=\\{0,8}+\")"), "'": re.compile(r"[^'\\\r\n]{1,1000}+(?=\\{0,8}+')")}
"""All between two quotes: a password may be a phrase."""
_ELEMENT: Final = re.compile(r"<([A-Za-z][\w.-]{0,60}+)>([^<>\s]{4,1000}+)</")
_AFTER_FLAG: Final = re.compile(
    r"(?<![\w-])(--?[A-Za-z][\w-]{0,40}+)(?:[ \t]{1,3}+|[\"'],[ \t]{0,2}+)[\"']?([^\s\"',;&{}\\-][^\s\"',;&{}\\]*+)"
)
"""`--pin 4711`, and `'--pin', '4711'` as a list of words prints."""
_USER_FLAGS: Final = frozenset(("-u", "--user", "--proxy-user", "-U"))
"""Flags of curl, wget and similar programs with a name, a colon and a password."""
_FLAG: Final = re.compile(r"--?([A-Za-z][\w-]*)(?:=(.*))?$", re.DOTALL)
_KEY_LIKE: Final = re.compile(r"(?=.*[A-Za-z])(?=.*\d)|.*[^A-Z\W][A-Z]", re.DOTALL)
"""Letters and digits, or capitals inside: neither a word nor a number."""
_RUN: Final = re.compile(r"[A-Za-z0-9]{16,}+")
_KEY_LIKE_RUN: Final = re.compile(r"[A-Za-z]++\d|\d++[A-Za-z]")


def looks_secret(name: str) -> bool:
    """True if a variable, field, flag or header of this name contains a secret."""
    parts = [part.lower() for part in re.split(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])", name) if part]
    if not parts or parts[-1] in _NOT_THE_VALUE or name in _WORKING_FOLDERS:
        return False
    bare = [form for part in parts for form in _one_and_many(part)]
    if parts[-1] == _SESSION or any(parts[k : k + 2] in _PAIRS for k in range(len(parts) - 1)):
        return True
    return any(part in _WORDS or part.endswith(_ENDINGS) for part in bare)


def _one_and_many(part: str) -> tuple[str, str]:
    """A part of a name without its number, and what it is one of (`keys`: `key`; but `pass` is `pass`)."""
    bare = part.rstrip("0123456789")
    return bare, bare.removesuffix("s")


def holds_only_secrets(name: str) -> bool:
    """True if a name can only contain a secret, so that a plain word or a short number under it is one too."""
    if not looks_secret(name):
        return False
    parts = [part.lower() for part in re.split(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])", name) if part]
    bare = parts[-1].rstrip("0123456789")
    return bare in _PASSWORD_WORDS or bare.endswith(_PASSWORDS) or parts[-2:] == ["api", "key"]


def is_secret_under(name: str, value: str) -> bool:
    """True if a text is secret as the value of a setting of this name."""
    if not value or not looks_secret(name) or _is_none(value):
        return False
    like_a_key = len(value) >= LEAST_IN_ENVIRONMENT and _KEY_LIKE.match(value) is not None and " " not in value
    return like_a_key or holds_only_secrets(name)


def assigned(text: str) -> Iterator[str]:
    """The values in free text after a secret's name (`api_key=…`, `X-Api-Key: …`), without plain words and numbers."""
    for start, end in _assigned(text):
        if end - start >= LEAST_IN_ENVIRONMENT and _KEY_LIKE.match(text, start, end):
            yield text[start:end]


def mask_assigned(text: str, mask: str) -> str:
    """The text with what `assigned` finds masked in its place, and with every value of a setting or a flag that can hold
    nothing but a secret, be it a word or four digits."""
    pieces, last = [], 0
    for start, end in _assigned(text):
        pieces += [text[last:start], mask]
        last = end
    text = "".join([*pieces, text[last:]]) if pieces else text
    if "</" in text:
        text = _ELEMENT.sub(lambda found: _in_place(found, 2, mask) if looks_secret(found[1]) else found[0], text)
    return _AFTER_FLAG.sub(lambda found: _without_argument(found, mask), text) if "-" in text else text


def _assigned(text: str) -> Iterator[tuple[int, int]]:
    """The places of values that are secret by the name before them. `pin = 4711` and `"pin": "4711"` are written as settings
    are; `password: required` is a sentence, and only a value that is no word counts there."""
    if "=" not in text and ":" not in text:
        return
    reached = 0
    while (name := _NAMED.search(text, reached)) is not None:
        reached = name.end()
        flag = name[1].startswith("-")
        if not looks_secret(name[1]) and name[1] not in _USER_FLAGS:
            continue
        only_secrets = holds_only_secrets(name[1])
        found = (_QUOTED if name[3] else _VALUE).match(text, name.end())
        if name[3] and only_secrets:
            found = _PHRASES[name[3][-1]].match(text, name.end()) or found
        if found is None:
            continue
        reached = found.end()
        if _is_none(found[0]):
            continue
        if name[1] in _USER_FLAGS:
            if (behind := _password_of(found[0])) is not None:
                yield found.end() - len(behind), found.end()
            continue
        as_setting = name[2] == "=" or bool(name[3])
        if name[2] != "=" and name[1].lower().endswith(_SESSION):
            continue
        only_secrets = only_secrets or (flag and not _is_count(name[1], found[0]))
        if (as_setting and only_secrets) or (len(found[0]) >= LEAST_IN_ENVIRONMENT and _KEY_LIKE.match(found[0])):
            yield found.span()


def mask_path_tokens(text: str, mask: str) -> str:
    """The text with the random segments of the paths of addresses masked."""
    return _URL.sub(lambda found: _without_tokens(found[0], mask), text) if "://" in text else text


def path_tokens(address: str) -> Iterator[str]:
    """The segments of an address's path that are too random to be names of routes, as they are written there."""
    for place in _SEGMENT.finditer(_parts(address)[1]):
        if is_path_token(unquote(place[0])):
            yield place[0]


def _parts(address: str) -> tuple[str, str, str]:
    """An address up to its path, the path, and the rest."""
    begins = address.index("://") + 3
    path, end = address.find("/", begins), re.search("[?#]", address[begins:])
    ends = begins + end.start() if end else len(address)
    path = ends if path < 0 or path > ends else path
    return address[:path], address[path:ends], address[ends:]


def _without_tokens(address: str, mask: str) -> str:
    before, path, rest = _parts(address)
    return before + _SEGMENT.sub(lambda place: mask if is_path_token(unquote(place[0])) else place[0], path) + rest


def mask_behind_scheme(text: str, mask: str) -> str:
    """The text with the value after `Bearer` or `Basic` masked, unless it is a word (`a basic understanding`)."""
    return _SCHEME.sub(lambda found: _without(found, 1, mask), text)


def _without_argument(found: re.Match[str], mask: str) -> str:
    if found[1] in _USER_FLAGS:
        behind = _password_of(found[2])
        return found[0] if behind is None else found[0][: -len(behind)] + mask
    secret = found[1].startswith("--") and looks_secret(found[1]) and not _is_count(found[1], found[2])
    return _in_place(found, 2, mask) if secret and not _is_none(found[2]) else found[0]


def _password_of(value: str) -> str | None:
    """The password of `user:password`; None where there is none, or both are numbers (of a user and a group)."""
    user, _, password = value.partition(":")
    numbers = user.isdigit() and password.isdigit()
    return None if not password or _is_none(password) or password.startswith("//") or numbers else password


def _is_count(name: str, value: str) -> bool:
    return value.isdigit() and not holds_only_secrets(name)


def _is_none(value: str) -> bool:
    return value.strip("[]<>()").casefold() in _NO_SECRETS or set(value) <= set("*.<>")


def _in_place(found: re.Match[str], group: int, words: str) -> str:
    start, end = (place - found.start() for place in found.span(group))
    return found[0][:start] + words + found[0][end:]


def _without(found: re.Match[str], group: int, mask: str) -> str:
    return _in_place(found, group, mask) if _KEY_LIKE.match(found[group]) else found[0]


def in_environment(environment: Mapping[str, str]) -> Iterator[str]:
    """The values of variables with a secret's name, and the part before the host in any variable that is an address."""
    for name, value in environment.items():
        if "://" in value:
            yield from in_text(value)
        if looks_secret(name) and len(value) >= LEAST_IN_ENVIRONMENT and not os.path.exists(value):
            yield from _whole(value, holds_only_secrets(name))


def in_settings(data: Any, environment: Mapping[str, str], name: str = "") -> Iterator[str]:
    """Every secret of a table of settings (a profile, a judge's file, a voices file), those that it names by variable too."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            inside = name if looks_secret(name) or name in _PRIVATE_TABLES else str(key)
            if str(key).lower().endswith("_env") and isinstance(value, str):
                yield from _whole(environment.get(value, ""))
            yield from in_settings(value, environment, inside)
    elif isinstance(data, list | tuple):
        if all(isinstance(word, str) for word in data):
            yield from _in_command(data)
        for value in data:
            yield from in_settings(value, environment, name)
    elif isinstance(data, str):
        if name in _FILLED:
            for variable in VARIABLE.findall(data):
                yield from _whole(environment.get(variable, ""), certain=True)
            data = VARIABLE.sub("", data)
        yield from in_text(data)
        if looks_secret(name) or name in _PRIVATE_TABLES:
            yield from _whole(data, holds_only_secrets(name))


def in_text(text: str) -> Iterator[str]:
    """Secrets that a text shows by their place: in addresses, behind `Bearer`, behind a secret's name."""
    for url in _URL.findall(text):
        yield from _in_url(url)
    for found in _SCHEME.finditer(text):
        yield from _whole(found[1])
    yield from assigned(text)


def worth_masking(value: str) -> bool:
    """True if a value is long enough to be masked everywhere, and not a common one."""
    return len(value) >= LEAST_CHARACTERS and value.casefold() not in _NO_SECRETS


def _in_command(words: Sequence[str]) -> Iterator[str]:
    for word, following in zip(words, [*words, ""][1:], strict=True):
        flag = _FLAG.match(word)
        if flag and looks_secret(flag[1]):
            yield from _whole(following if flag[2] is None else flag[2], holds_only_secrets(flag[1]))
        name, separator, value = word.partition("=")
        if separator and not flag and re.fullmatch(r"[A-Za-z]\w*", name) and looks_secret(name):
            yield from _whole(value, holds_only_secrets(name))
        user, _, password = (following if word in _USER_FLAGS else "").partition(":")
        if password and not password.startswith("//"):
            yield from _whole(password, certain=True)
            yield from _whole(f"{user}:{password}")
        if len(inner := _shell_words(word)) > 1:
            yield from _in_command(inner)
        name, separator, value = word.partition(":")
        if separator and looks_secret(name) and not value.startswith("//"):
            yield from _whole(value.strip())


def _shell_words(word: str) -> list[str]:
    try:
        return shlex.split(word)
    except ValueError:
        return word.split()


def _in_url(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        user, password = parts.username or "", parts.password or ""
    except ValueError:
        return
    yield from _whole(password)
    if user and not password:
        yield from _whole(user)
    if password:
        yield f"{unquote(user)}:{unquote(password)}"
    for token in path_tokens(url):
        yield from {token, unquote(token)}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if looks_secret(name) or any(map(_KEY_LIKE_RUN.match, _RUN.findall(value))):
            yield from _whole(value)


def _whole(value: str, certain: bool = False) -> Iterator[str]:
    """A secret and its parts that are secrets alone: behind `Bearer`, in a cookie, among OTLP's headers, the lines of a PEM
    block. `certain`: by its name it can be nothing else, so that a word from 8 letters is one, too."""
    pieces = {value, value.strip(), *re.split(r"[\s;,]+", value), *(p.partition("=")[2] for p in re.split("[;,]", value))}
    for piece in pieces | {bare for p in pieces if (bare := re.sub("(?i)^(?:bearer|basic)(?: |%20)+", "", unquote(p))) != p}:
        plain = len(piece) <= PLAIN_WORD_CHARACTERS and re.fullmatch(r"[A-Za-z _-]*", piece)
        if worth_masking(piece) and (not plain or (certain and len(piece) >= LEAST_IN_ENVIRONMENT)):
            yield piece
