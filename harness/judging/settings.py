"""Judges on file: one TOML per judge, shipped or the user's own.

A judge's identity is part of every verdict and of the cache key, so the file names id, family and version, and a file
that says something this program would ignore is refused. Keys are named by environment variable and never held here.
"""

import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.secrets import learn_file
from harness.errors import UserError

_SHIPPED = "judges"


class JudgeSettings(BaseModel):
    """One judge. `api = "embedded"` runs here; the others are asked over HTTP."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,60}$")]
    family: Annotated[str, Field(min_length=1, max_length=40)]
    version: Annotated[str, Field(min_length=1, max_length=60)]
    about: str = ""
    api: Literal["openai", "anthropic", "embedded"] = "openai"
    base_url: Annotated[str, Field(pattern=r"^https?://")] | None = None
    model: str = ""
    key_env: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")] | None = None
    """Environment variable that holds the key; none for a local server."""
    structured: Literal["json_schema", "json_object", "none"] = "json_schema"
    """What the server can enforce. The answer is validated here in every case."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    max_tokens: Annotated[int, Field(ge=64, le=32_000)] = 600
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    extra: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Further request fields, for example a reasoning effort."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 60.0
    attempts: Annotated[int, Field(ge=1, le=20)] = 5
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    price_in: Annotated[float, Field(ge=0)] | None = None
    """US dollars per million prompt tokens; null when not known, then the dry run prints no cost."""
    price_out: Annotated[float, Field(ge=0)] | None = None


def shipped_judges() -> tuple[str, ...]:
    """Names of the judges that ship."""
    folder = resources.files("harness.judging") / _SHIPPED
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")))


def load_judge_settings(name_or_path: str) -> JudgeSettings:
    """Settings of a shipped judge by name, or of the TOML file at a path.

    Raises:
        UserError: no such judge, unreadable TOML (with its line), or a field that is wrong (with its name).
    """
    if name_or_path in shipped_judges():
        text, where = (resources.files("harness.judging") / _SHIPPED / f"{name_or_path}.toml").read_text(), name_or_path
    else:
        path = Path(name_or_path)
        if path.suffix != ".toml" or not path.is_file():
            raise UserError(
                f"judge {name_or_path!r}: no such judge; choose one of {', '.join(shipped_judges())}, or give a .toml file"
            )
        try:
            text, where = path.read_text(encoding="utf-8"), str(path)
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"judge file {path}: cannot be read ({error})") from error
    learn_file(text)
    try:
        settings = JudgeSettings.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"judge file {where}: not valid TOML ({error})") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"judge file {where}: {'.'.join(map(str, first['loc'])) or 'file'}: {first['msg']}") from error
    if settings.api != "embedded" and not (settings.base_url and settings.model):
        raise UserError(f"judge file {where}: a judge asked over HTTP needs base_url and model")
    return settings
