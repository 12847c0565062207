"""An agent's profile: everything that decides how it behaves, in one TOML file with a hash.

A rating belongs to one exact configuration, so a profile is closed (an unknown key is an error, not a silent no-op) and
hashed, and runs keep it as written. Errors are one line that names file, line and field, because profiles are written
by hand. Keys and tokens never stand in a profile: it names environment variables.
"""

import difflib
import hashlib
import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, StringConstraints, ValidationError, model_validator

from agents.cascade.settings import CascadeSettings
from agents.connections.spec import ConnectionSpec
from agents.toml_lines import line_of, syntax_error

ProfileKind = Literal["cascade", "pipecat", "raw-pcm", "text"]
OWN_OPEN_TIMEOUT_S: Final = 60.0
"""The cascade may warm its prompt cache with the history before it acknowledges: seconds on a busy pair of cores."""
SHIPPED: Final = Path(__file__).parent / "profiles"

_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)S?$", re.IGNORECASE)

AgentName = Annotated[str, StringConstraints(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
SampleRate = Annotated[int, Field(ge=8_000, le=48_000)]
Seconds = Annotated[float, Field(gt=0, le=3_600)]
WebSocketUrl = Annotated[str, StringConstraints(pattern=r"^wss?://\S+$")]


class ProfileError(Exception):
    """A profile that cannot be used; one line that says which file, where in it, and what to do."""


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ProcessSettings(_Settings):
    """How the harness starts a user's own agent. `{port}` stands for a free port, `{python}` for this interpreter.

    The agent is ready when the first of these that is given holds: `ready_url` answers (HTTP 2xx, or for `ws:` and
    `tcp:` a connection is accepted), `ready_pattern` (a regular expression) is found in a line of its output; with
    neither, it prints one JSON line `{"event": "ready", "url": "ws://…"}`.
    """

    command: Annotated[tuple[str, ...], Field(min_length=1)]
    cwd: str = "."
    """Working folder, relative to the profile's own."""
    env: dict[str, str] = Field(default_factory=dict)
    """Added to the harness's environment, from which `PYTHONPATH` and the like are taken out first."""
    ready_url: str | None = None
    ready_pattern: str | None = None
    ready_timeout_s: Seconds = 120.0
    stop_timeout_s: Seconds = 5.0
    """How long the agent has to end by itself after SIGTERM before it is killed."""
    nice: Annotated[int, Field(ge=0, le=19)] = 0

    @model_validator(mode="after")
    def _can_be_started(self) -> Self:
        if self.ready_url is not None and self.ready_pattern is not None:
            raise ValueError("give ready_url or ready_pattern, not both")
        if self.ready_url is not None and not re.match(r"^(https?|wss?|tcp)://\S+$", self.ready_url):
            raise ValueError("ready_url must begin with http://, https://, ws://, wss:// or tcp://")
        if self.ready_pattern is not None:
            try:
                re.compile(self.ready_pattern)
            except re.error as error:
                raise ValueError(f"ready_pattern is not a regular expression: {error}") from error
        for name, value in self.env.items():
            if value and _SECRET.search(name):
                raise ValueError(
                    f"env.{name} looks like a secret, and profiles are kept in every run: "
                    "leave it out and set it in the environment, which the agent inherits"
                )
        return self


class AgentProfile(_Settings):
    """What every kind of agent has. `load_profile` makes the subclass that the file's `kind` names."""

    name: AgentName
    kind: ProfileKind
    description: str = ""
    stated_family: str | None = Field(default=None, alias="family")

    _source: Path | None = PrivateAttr(default=None)
    _source_text: str = PrivateAttr(default="")

    @property
    def family(self) -> str | None:
        """Family of the language model, so that no judge of the same family judges it; None when it is not known."""
        return self.stated_family

    @property
    def source(self) -> Path | None:
        """The file it came from; None for a profile made in a program."""
        return self._source

    @property
    def source_text(self) -> str:
        """The file as it was written."""
        return self._source_text

    @property
    def folder(self) -> Path:
        """What relative paths of the profile are relative to."""
        return self._source.parent if self._source else Path.cwd()

    @property
    def hash(self) -> str:
        """SHA-256 of every setting with its value (comments, order, description and the file's place do not count)."""
        content = self.model_dump(mode="json", exclude={"description"})
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    @property
    def weights(self) -> tuple[str, ...]:
        """Names that the model store must resolve before the agent can start."""
        return ()

    @property
    def process_settings(self) -> ProcessSettings | None:
        """How a user's own agent is started; None where the harness knows, or where it already runs elsewhere."""
        return None

    @property
    def running_url(self) -> str | None:
        """Where it answers, when the profile says so; an agent without `process_settings` runs there already."""
        return None

    @property
    def accepts_a_history(self) -> bool:
        """Whether the conversation so far can be given to it; if not, contexts are played in `replay` mode."""
        return True

    def connection(self, url: str) -> ConnectionSpec:
        """How the caller reaches it, once it runs and is known to answer at `url`."""
        raise ProfileError(f'agent "{self.name}" is of kind "{self.kind}", which is not spoken to (asked for {url})')


class CascadeProfile(AgentProfile):
    """The cascade that ships: `[cascade]` holds its settings."""

    kind: Literal["cascade"]
    cascade: CascadeSettings = CascadeSettings()

    @property
    def family(self) -> str | None:
        return self.stated_family or family_of(self.cascade.llm.model)

    @property
    def weights(self) -> tuple[str, ...]:
        return self.cascade.weight_names

    def connection(self, url: str) -> ConnectionSpec:
        options = {"accepts_history": True, "open_timeout_s": OWN_OPEN_TIMEOUT_S}
        return ConnectionSpec(kind="pipecat", url=url, options=options)


class _SpokenElsewhere(AgentProfile):
    """A user's own bot: one that runs already (`url`), or one that the harness starts (`[process]`)."""

    url: WebSocketUrl | None = None
    process: ProcessSettings | None = None
    input_rate_hz: SampleRate = 16_000
    accepts_history: bool = False
    open_timeout_s: Seconds = 15.0

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.url is None and self.process is None:
            raise ValueError("give url (of a running agent) or a [process] table (to have it started)")
        if self.url is None and self.process is not None and (self.process.ready_url or self.process.ready_pattern):
            raise ValueError("url is needed with ready_url or ready_pattern: only a JSON ready line brings its own")
        return self

    @property
    def process_settings(self) -> ProcessSettings | None:
        return self.process

    @property
    def running_url(self) -> str | None:
        return self.url

    @property
    def accepts_a_history(self) -> bool:
        return self.accepts_history

    def _options(self) -> dict[str, Any]:
        return {
            "accepts_history": self.accepts_history,
            "input_rate_hz": self.input_rate_hz,
            "open_timeout_s": self.open_timeout_s,
        }


class PipecatProfile(_SpokenElsewhere):
    """A pipecat bot that serves pipecat's WebSocket wire (protobuf frames, RTVI messages)."""

    kind: Literal["pipecat"]
    rtvi: bool = True
    """Whether the bot answers RTVI's `client-ready`; without, audio starts as soon as the line is open."""

    def connection(self, url: str) -> ConnectionSpec:
        return ConnectionSpec(kind="pipecat", url=url, options={**self._options(), "rtvi": self.rtvi})


class RawPcmProfile(_SpokenElsewhere):
    """Any bot that takes and gives PCM16LE mono as binary WebSocket messages."""

    kind: Literal["raw-pcm"]
    output_rate_hz: SampleRate = 16_000
    """Rate of the agent's audio until it states another in a `start` message."""

    def connection(self, url: str) -> ConnectionSpec:
        return ConnectionSpec(
            kind="raw-pcm", url=url, options={**self._options(), "output_rate_hz": self.output_rate_hz}
        )


class TextProfile(AgentProfile):
    """An OpenAI-compatible endpoint asked for the next turn in writing: temperature 0, top-p 1, streamed."""

    kind: Literal["text"]
    model: Annotated[str, StringConstraints(min_length=1)]
    """The endpoint's model name; without `base_url`, a name of the model store or the path of a GGUF file."""
    base_url: Annotated[str, StringConstraints(pattern=r"^https?://\S+$")] | None = None
    api_key_env: str | None = None
    """Name of the environment variable that holds the endpoint's key."""
    max_tokens: Annotated[int, Field(ge=1, le=32_768)] = 120
    timeout_s: Seconds = 60.0
    system_prompt: str | None = None
    """Replaces the rules of the task that every system gets by default."""

    @property
    def family(self) -> str | None:
        return self.stated_family or family_of(self.model)

    @property
    def weights(self) -> tuple[str, ...]:
        embedded = self.base_url is None and "/" not in self.model and not self.model.endswith(".gguf")
        return (self.model,) if embedded else ()

    @property
    def running_url(self) -> str | None:
        return self.base_url


_KINDS: Final[dict[str, type[AgentProfile]]] = {
    "cascade": CascadeProfile,
    "pipecat": PipecatProfile,
    "raw-pcm": RawPcmProfile,
    "text": TextProfile,
}


def shipped_profiles() -> tuple[str, ...]:
    """Names of the profiles that come with the harness, sorted."""
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
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, words = syntax_error(text, error)
        raise ProfileError(f"{path}, line {line}: not valid TOML: {words}") from error
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        known = ", ".join(f'"{k}"' for k in _KINDS)
        what = f"{kind!r} is not a kind of agent" if "kind" in data else "missing"
        raise ProfileError(f"{path}, line {line_of(text, ['kind'])}: kind: {what}; choose one of {known}")
    try:
        profile = _KINDS[kind].model_validate({"name": path.stem, **data})
    except ValidationError as error:
        raise ProfileError(_one_line(error, text, path)) from error
    profile._source = path.resolve()
    profile._source_text = text
    return profile


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


def family_of(model: str) -> str | None:
    """The family that a model's name says, in small letters: `Qwen/Qwen3-8B` → `qwen`, `smollm2-135m` → `smollm2`."""
    name = model.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if re.match(r"^o[1-9](\W|$)|^chatgpt", name):
        return "gpt"
    found = re.match(r"smollm\d?|[a-z]+", name)
    return found[0] if found else None
