"""Protocol of a judge: it is shown two anonymous replies and says which is better, or fails with a named failure.

Endpoints and the embedded judge share this protocol, so designs, caches, checks and canaries treat them alike. A judge
never raises anything but `JudgeFailure`: questions without a verdict are recorded as missing, and nothing is guessed.

Other installed packages bring judges too: a name in an entry-point group, and a callable that makes the judge. Such a judge is
made before a batch starts, so that a broken package is reported at once and by name, and not after every call has been played.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Final, Literal, Protocol

from harness.agents.secrets import redact_foreign
from harness.errors import UserError
from harness.judging.completion import Completion
from harness.judging.sound import Clip
from harness.scenarios.context import Context, Turn

Place = Literal["first", "second"]
FailureKind = Literal[
    "rate_limited",
    "server_error",
    "timeout",
    "connection",
    "malformed",
    "refused",
    "rejected",
    "quota",
    "unavailable",
    "defect",
]
"""`refused`: the model declined. `rejected`: the request itself was refused (4xx), so that asking again is useless. `quota`: no
credit is left. `defect`: the judge's program broke on the question, which is nobody's fault but ours."""
ENTRY_POINT_GROUP: Final = "heart_voice_harness.judges"
"""A name, and a callable `(options) -> Judge`; `options` is `[extra]` of a judge's file, else empty."""
_ASKED_OF_ALL: Final = ("id", "family", "fingerprint", "concurrency", "orders_itself")
_ID: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,60}@\S{1,60}")


@dataclass(frozen=True, slots=True)
class Question:
    """The question to a judge: the conversation and two replies in order. Nothing in it names a system."""

    turns: tuple[Turn, ...]
    first: str
    second: str
    second_turns: tuple[Turn, ...] | None = None
    """The conversation that the second reply answers, if it differs from the first one's (replay); None: the same."""
    whole_alone: bool = False
    """True where only the whole counts, as in a check: a judge that pays for every axis may leave them out."""
    sounds: tuple[Clip, Clip] | None = None
    """Both replies as heard, for a judge that hears; None: they are read."""

    @classmethod
    def of(cls, context: Context, first: Completion, second: Completion) -> "Question":
        """The question for one context: its conversation, or, where replies answer separate conversations, theirs."""
        turns, others = first.turns or context.turns, second.turns or context.turns
        sounds = (first.sound, second.sound) if first.sound is not None and second.sound is not None else None
        return cls(turns, first.text, second.text, None if others == turns else others, sounds=sounds)

    @property
    def turns_of_second(self) -> tuple[Turn, ...]:
        """The conversation that the second reply answers."""
        return self.turns if self.second_turns is None else self.second_turns

    def swapped(self) -> "Question":
        """The same question in the other order."""
        turns_of_first = self.second_turns and self.turns
        sounds = self.sounds and (self.sounds[1], self.sounds[0])
        return Question(self.turns_of_second, self.second, self.first, turns_of_first, self.whole_alone, sounds)


def hears(judge: object) -> bool:
    """True if a judge takes sound and no text of replies; one of another package says so by an attribute `hears`."""
    return bool(getattr(judge, "hears", False))


@dataclass(frozen=True, slots=True)
class PlaceMark:
    """A winner by place, with strength 1–5."""

    winner: Place
    strength: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer by place. `axes` holds only the axes where one side is clearly better."""

    winner: Place
    strength: int
    axes: Mapping[str, PlaceMark] = field(default_factory=dict)
    rationale: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    log_odds: float | None = None
    """ln P(first is better) − ln P(second is better), for a judge that knows its own log odds; a check shows their worth."""
    seconds: float | None = None
    """Time from the question to the answer, retries included."""


class JudgeFailure(Exception):
    """A question that got no usable answer, after all bounded retries.

    `said` is what the server or the model said, `mend` what the user can do, `attempts` how often the question was sent (0: its
    judge was not asked any more). `final`: no other question would be answered either.
    """

    def __init__(
        self,
        kind: FailureKind,
        detail: str,
        *,
        attempts: int = 1,
        status: int | None = None,
        said: str = "",
        mend: str = "",
        final: bool = False,
    ) -> None:
        self.detail = redact_foreign(detail)
        super().__init__(f"{kind}: {self.detail}")
        self.kind: FailureKind = kind
        self.attempts, self.status, self.final = attempts, status, final
        self.said, self.mend = redact_foreign(said), redact_foreign(mend)


class Judge(Protocol):
    """One judge with an identity. Use as `async with judge:` so that models and connections are released.

    >>> import asyncio, harness
    >>> from harness.judging import Question, Verdict
    >>> class Shorter:
    ...     id = fingerprint = "shorter@1"
    ...     family, concurrency, orders_itself = "rule", 1, True
    ...     async def compare(self, question):
    ...         return Verdict("first" if len(question.first) <= len(question.second) else "second", strength=3)
    ...     async def __aenter__(self):
    ...         return self
    ...     async def __aexit__(self, *exc):
    ...         return None
    >>> judge: harness.Judge = Shorter()
    >>> asyncio.run(judge.compare(Question(turns=(), first="I see.", second="I see what you mean."))).winner
    'first'
    """

    @property
    def id(self) -> str:
        """Name with version, as in `Judgment.judge`."""

    @property
    def family(self) -> str:
        """Model family; the judge does not judge pairs where exactly one side is of it."""

    @property
    def fingerprint(self) -> str:
        """Hash of everything that changes its answers (model, version, prompt, rubric, parameters)."""

    @property
    def concurrency(self) -> int:
        """Number of questions that it takes at once."""

    @property
    def orders_itself(self) -> bool:
        """True if its verdict cannot depend on the order shown, because it scores each reply alone."""

    async def compare(self, question: Question) -> Verdict:
        """Answer, or raise `JudgeFailure`."""

    async def __aenter__(self) -> "Judge": ...

    async def __aexit__(self, *exc: object) -> None: ...


def installed_judges() -> tuple[str, ...]:
    """Names of the judges that installed packages bring, sorted."""
    return tuple(sorted({point.name for point in entry_points(group=ENTRY_POINT_GROUP)}))


def make_installed(name: str, options: Mapping[str, Any]) -> Judge:
    """The judge of an entry point, not yet entered.

    Raises:
        UserError: no package brings it, the package fails, or its object is no judge.
    """
    points = list(entry_points(group=ENTRY_POINT_GROUP, name=name))
    if not points:
        known = ", ".join(installed_judges()) or "none"
        raise UserError(f"judge {name!r}: no installed package brings it; installed judges: {known}")
    where = f"judge {name!r}: {points[0].value}"
    try:
        judge = points[0].load()(dict(options))
        absent = [part for part in _ASKED_OF_ALL if getattr(judge, part, None) is None]
    except Exception as error:  # another package's code, which may raise anything
        said = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{where} failed ({redact_foreign(said)}); mend or uninstall its package") from error
    absent += [part for part in ("compare", "__aenter__", "__aexit__") if not callable(getattr(judge, part, None))]
    if absent:
        raise UserError(f"{where} gave no judge: it lacks {', '.join(absent)} (docs/python.md says what a judge is)")
    if not _ID.fullmatch(str(judge.id)):
        raise UserError(f"{where}: its id {judge.id!r} must be a name and a version, such as kind-words@1")
    return judge  # type: ignore[no-any-return]  # checked above as far as a protocol can be
