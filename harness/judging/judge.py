"""What a judge is: something that is shown two anonymous replies and says which is better, or fails by name.

Endpoints and the embedded judge share this protocol, so designs, caches, checks and canaries know no difference. A judge
never raises anything but `JudgeFailure`: what cannot be judged is recorded missing, and nothing is guessed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from scenarios.context import Context, Turn

Place = Literal["first", "second"]
FailureKind = Literal[
    "rate_limited", "server_error", "timeout", "connection", "malformed", "refused", "rejected", "unavailable"
]
"""`refused`: the model declined. `rejected`: the request itself was refused (4xx), so that asking again is useless."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is shown: the conversation and two replies in order. Nothing in it names a system."""

    turns: tuple[Turn, ...]
    first: str
    second: str

    @classmethod
    def of(cls, context: Context, first: str, second: str) -> "Question":
        """The question for one context."""
        return cls(context.turns, first, second)

    def swapped(self) -> "Question":
        """The same question in the other order."""
        return Question(self.turns, self.second, self.first)


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


class JudgeFailure(Exception):
    """A question that got no usable answer, after all bounded retries."""

    def __init__(self, kind: FailureKind, detail: str, *, attempts: int = 1) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind: FailureKind = kind
        self.detail = detail
        self.attempts = attempts


class Judge(Protocol):
    """One judge with an identity. Use as `async with judge:` so that models and connections are let go."""

    @property
    def id(self) -> str:
        """Name with version, as it stands in `Judgment.judge`."""

    @property
    def family(self) -> str:
        """Model family; the judge keeps away from pairs where exactly one side is of it."""

    @property
    def fingerprint(self) -> str:
        """Everything that changes its answers (model, version, prompt, rubric, parameters), hashed."""

    @property
    def concurrency(self) -> int:
        """How many questions it takes at once."""

    @property
    def orders_itself(self) -> bool:
        """Whether its verdict cannot depend on the order shown, because it scores each reply alone."""

    async def compare(self, question: Question) -> Verdict:
        """Answer, or raise `JudgeFailure`."""

    async def __aenter__(self) -> "Judge": ...

    async def __aexit__(self, *exc: object) -> None: ...
