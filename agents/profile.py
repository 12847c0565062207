"""An agent's profile: all settings of its behaviour in one TOML file with a hash.

A rating belongs to one exact configuration, so a profile is closed (an unknown key is an error, not a silent no-op) and
hashed, and runs keep what of it is plain. Errors are one line that names file, line and field, because profiles are written
by hand. Keys and tokens are never in a profile: it names environment variables.
"""

import difflib
import tomllib
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from harness.agents.profile_base import AgentProfile, ProcessSettings
from harness.agents.profile_kinds import CascadeProfile, PluginProfile, TextProfile, profile_class, profile_kinds
from harness.agents.secrets import learn_file
from harness.agents.toml_lines import line_of, syntax_error

__all__ = [
    "AgentProfile",
    "CascadeProfile",
    "PluginProfile",
    "ProcessSettings",
    "ProfileError",
    "TextProfile",
    "load_profile",
    "parse_profile",
    "shipped_profiles",
]

SHIPPED: Final = Path(__file__).parent / "profiles"


class ProfileError(Exception):
    """A profile that cannot be used; the message is one line with the file, the place and the remedy."""


def shipped_profiles() -> tuple[str, ...]:
    """The names of the shipped profiles, sorted."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


def load_profile(name_or_path: str | Path) -> AgentProfile:
    """The profile of a shipped name or of a TOML file.

    Raises:
        ProfileError: no such name or file, or the file is malformed; one line with file, line and field.
    """
    path = _find(name_or_path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ProfileError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ProfileError(f"{path}, line {line}: not UTF-8 text") from error
    return parse_profile(text, path)


def parse_profile(text: str, path: Path) -> AgentProfile:
    """The profile that a TOML text describes; `path` is what errors name and relative paths are relative to.

    Raises:
        ProfileError: the text is malformed; one line with file, line and field.
    """
    learn_file(text)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, words = syntax_error(text, error)
        raise ProfileError(f"{path}, line {line}: not valid TOML: {words}") from error
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in profile_kinds():
        known = ", ".join(f'"{k}"' for k in profile_kinds())
        what = f"{kind!r} is not a kind of agent" if "kind" in data else "missing"
        raise ProfileError(f"{path}, line {line_of(text, ['kind'])}: kind: {what}; choose one of {known}")
    try:
        profile = profile_class(kind).model_validate({"name": path.stem, **data})
    except ValidationError as error:
        raise ProfileError(_one_line(error, text, path)) from error
    return profile.as_written(text, path)


def _find(name_or_path: str | Path) -> Path:
    path = Path(name_or_path)
    if path.suffix == ".toml" or len(path.parts) > 1:
        if not path.is_file():
            raise ProfileError(f"{path}: no such profile file; shipped profiles: {', '.join(shipped_profiles())}")
        return path
    names = shipped_profiles()
    if str(path) in names:
        return SHIPPED / f"{path}.toml"
    close = difflib.get_close_matches(str(path), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise ProfileError(
        f'unknown agent "{path}": {hint}shipped profiles: {", ".join(names) or "none"}; '
        "or give the path of a profile file (.toml)"
    )


def _one_line(error: ValidationError, text: str, path: Path) -> str:
    problems = error.errors(include_url=False)
    first = problems[0]
    place = _keys(tomllib.loads(text), first["loc"])
    field = ".".join(str(part) for part in place) or "profile"
    words = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        words = "unknown setting; check its spelling, and that it belongs to this kind"
    elif first["type"] == "missing":
        words = "missing"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{path}, line {line_of(text, place)}: {field}: {words}{more}".replace("\n", " ")


def _keys(data: Any, place: tuple[str | int, ...]) -> list[str | int]:
    """The place in the file's own keys: pydantic also names the chosen member of a tagged union, which is no key."""
    keys: list[str | int] = []
    for k, part in enumerate(place):
        in_table = isinstance(data, dict) and part in data
        in_list = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if in_table or in_list:
            data = data[part]
        elif k < len(place) - 1:
            continue
        keys.append(part)
    return keys
