"""Settings of judges from files: one TOML per judge, shipped or the user's own.

`local:NAME` and `local:FILE.gguf` need no file: such a judge is identified by its model's bytes.

A judge's identity is part of every verdict and of the cache key, so the file names id, family and version, and a file
with a field that this program would ignore is refused. Keys are named by environment variable and never stored here.
"""

from importlib import resources
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.agents.secrets import learn_file
from harness.errors import UserError
from harness.foreign_files import FileFault, read_text
from harness.foreign_problems import in_sentences, problems
from harness.foreign_toml import line_of, parse_toml
from harness.judging.judge import installed_judges, make_installed
from harness.judging.sound import HearingSettings
from harness.models.chat_model import identify
from harness.nearest import did_you_mean
from harness.tables.json_rows import validated

LOCAL: Final = "local"
_SHIPPED = "judges"


class JudgeSettings(BaseModel):
    """One judge. `api = "embedded"` runs here, `"local"` too or on a llama.cpp server; `"installed"` is another package's;
    the others are asked over HTTP."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,60}$")]
    family: Annotated[str, Field(min_length=1, max_length=40)]
    version: Annotated[str, Field(min_length=1, max_length=60)]
    about: str = ""
    api: Literal["openai", "anthropic", "gemini", "embedded", "local", "installed"] = "openai"
    base_url: Annotated[str, Field(pattern=r"^https?://")] | None = None
    model: str = ""
    """The model's name on the server; for `local` a weight's name or the path of a GGUF file; for `installed` its entry
    point."""
    key_env: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")] | None = None
    """Environment variable that holds the key; none for a local server."""
    structured: Literal["json_schema", "json_object", "none"] = "json_schema"
    """The format that the server can enforce. The answer is validated here in every case."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    max_tokens: Annotated[int, Field(ge=64, le=32_000)] = 600
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    extra: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Further request fields, for example a reasoning effort; for `installed` the options that it is made with."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 60.0
    attempts: Annotated[int, Field(ge=1, le=20)] = 5
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    threads: Annotated[int, Field(ge=1, le=256)] | None = None
    """Threads of a local model; None takes every core that this process may use."""
    gpu_layers: Annotated[int, Field(ge=0, le=999)] = 0
    """Layers of a local model that are put on a GPU, where llama.cpp was built for one."""
    context_tokens: Annotated[int, Field(ge=512, le=1_000_000)] = 8_192
    """Tokens that a local model can read at once: instructions, conversation and both replies."""
    price_in: Annotated[float, Field(ge=0)] | None = None
    """US dollars per million prompt tokens; without both prices, those that ship (`prices`), if the model is there."""
    price_out: Annotated[float, Field(ge=0)] | None = None

    audio: HearingSettings | None = None
    """How the server takes sound; None: the judge reads text."""

    @model_validator(mode="after")
    def _takes_sound_as_its_api_does(self) -> Self:
        if self.audio is not None and self.api not in ("openai", "gemini"):
            raise ValueError(f'[audio]: a judge hears with api = "openai" or "gemini", not {self.api!r}')
        if self.audio is not None and self.audio.part is not None and self.api == "gemini":
            raise ValueError('[audio] part: is for api = "openai" alone; leave it out')
        return self

    @property
    def judge_id(self) -> str:
        """Name with version, as verdicts have it."""
        return f"{self.id}@{self.version}"

    @property
    def runs_here(self) -> bool:
        """True if it costs this machine's time and no money."""
        return self.api in ("embedded", "local")

    @property
    def orders_itself(self) -> bool:
        """True if its verdict cannot depend on the order shown, so that no audits of that are asked. An installed judge states
        it itself, once it is made; until then audits are counted."""
        return self.api in ("embedded", "local")


class JudgeOfSettings:
    """What every judge that is made of settings says of itself."""

    def __init__(self, settings: JudgeSettings, concurrency: int = 1) -> None:
        self._settings = settings
        self.id, self.family, self.concurrency = settings.judge_id, settings.family, concurrency
        self.hears = settings.audio is not None


def shipped_judges() -> tuple[str, ...]:
    """Names of the judges that ship."""
    folder = resources.files("harness.judging") / _SHIPPED
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")))


def known_judges() -> str:
    """The judges that can be named, in words."""
    return f"{', '.join((*shipped_judges(), *installed_judges()))}, local:FILE.gguf, or a .toml file"


def load_judge_settings(name_or_path: str) -> JudgeSettings:
    """Settings of a shipped judge by name, of a local model (`local:NAME`, `local:FILE.gguf`), of a judge that another package
    brings by its name there, or of the TOML file at a path.

    Raises:
        UserError: no such judge or model, unreadable TOML (with its line), or a field that is wrong (with its name).
    """
    if name_or_path == LOCAL or name_or_path.startswith(f"{LOCAL}:"):
        return _local(name_or_path.partition(":")[2])
    if name_or_path in shipped_judges():
        text, where = (resources.files("harness.judging") / _SHIPPED / f"{name_or_path}.toml").read_text(), name_or_path
    elif name_or_path in installed_judges():
        made = make_installed(name_or_path, {})
        name, _, version = made.id.partition("@")
        return validated(
            JudgeSettings,
            {"id": name, "family": made.family, "version": version, "api": "installed", "model": name_or_path},
            f"installed judge {name_or_path}",
        )
    else:
        path = Path(name_or_path)
        if path.suffix != ".toml" or not path.is_file():
            near = did_you_mean(name_or_path, (*shipped_judges(), *installed_judges()))
            choose = f"{near} Judges are" if near else "; choose one of"
            raise UserError(f"judge {name_or_path!r}: no such judge{choose} {known_judges()}")
        try:
            text, where = read_text(path), str(path)
        except FileFault as fault:
            raise UserError(f"judge file {fault.at(path, ', line ')}") from None
    learn_file(text)
    try:
        given = parse_toml(text)
    except FileFault as fault:
        raise UserError(f"judge file {fault.at(Path(where), ', line ')}") from None
    try:
        settings = JudgeSettings.model_validate(given)
    except ValidationError as error:
        found = problems(error, JudgeSettings, given, "a judge")
        raise UserError(f"judge file {in_sentences(where, found, lambda place: line_of(text, place))}") from error
    if settings.api == "local" and bool(settings.base_url) == bool(settings.model):
        raise UserError(
            f"judge file {where}: a local judge needs model (a GGUF file) or base_url (a llama.cpp server), one of them"
        )
    if settings.api == "installed":
        _refuse_unlike(settings, where)
        return settings
    if not settings.runs_here and not (settings.base_url and settings.model):
        raise UserError(f"judge file {where}: a judge asked over HTTP needs base_url and model")
    return settings


def _refuse_unlike(settings: JudgeSettings, where: str) -> None:
    """Refuse a file that gives another id: verdicts have the judge's own id, so the file's judge would never answer."""
    made = make_installed(settings.model, settings.extra)
    if (made.id, made.family) != (settings.judge_id, settings.family):
        raise UserError(
            f"judge file {where}: the judge calls itself {made.id} of family {made.family}; write its id, version and family so"
        )


def _local(model: str) -> JudgeSettings:
    if not model:
        raise UserError(f"--judge {LOCAL}: needs --model NAME or FILE.gguf (or in one word: --judge {LOCAL}:FILE.gguf)")
    found = identify(model)
    return JudgeSettings(id=LOCAL, family=found.family, version=found.version, api="local", model=model, timeout_s=600)
