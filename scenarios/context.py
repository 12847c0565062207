"""The Context: one emotional-support conversation that ends on a seeker turn, in its form on disk.

The benchmark calls it an item (HEART, section 9.2). Speech directions are beside the text so that one file has both the words
and the manner; references name their author, and no text written by a program may be called human.
"""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationInfo, field_validator, model_validator

from harness.scenarios.pauses import without_pauses

Emotion = Annotated[str, StringConstraints(min_length=2, max_length=40, pattern=r"^[a-z][a-z -]*$")]
EscalationProfile = Literal["always-10", "linear-ramp", "mid-spike", "mid-ramp"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SpeechDirections(_Model):
    """The manner of a seeker turn. Pauses are marked in the text as `<pause 450>` (milliseconds of true silence)."""

    emotion: Emotion = "neutral"
    intensity: Annotated[float, Field(ge=0, le=1)] = 0.5
    rate: Annotated[float, Field(ge=0.5, le=2)] = 1.0
    """Speaking rate relative to the voice's own."""
    loudness_db: Annotated[float, Field(ge=-20, le=6)] = 0.0


class Turn(_Model):
    """One utterance. The text of a seeker turn is speech: hesitations are written, pauses are marked `<pause MS>`."""

    role: Literal["seeker", "supporter"]
    audio: str | None = None
    """A recording of this turn, relative to the pack file, in any format libsndfile reads."""
    text: Annotated[str, StringConstraints(max_length=4_000, strip_whitespace=True)]
    """Empty for a recording without transcript."""
    speech: SpeechDirections | None = None
    audio_sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    """Set when a pack is loaded, so that the context's hash depends on the recording's content."""
    pauses_s: tuple[tuple[float, float], ...] | None = None
    """The recording's pauses, (start, end) in seconds of the file; None: they are detected when it is played."""
    strategy: str | None = None

    @field_validator("text")
    @classmethod
    def _says_something(cls, text: str, before: ValidationInfo) -> str:
        if not text and (before.data.get("audio") is None or before.data.get("role") != "seeker"):
            raise ValueError("nothing is said in this turn; only a seeker turn with a recording may leave it empty")
        return text

    @model_validator(mode="after")
    def _has_pauses_in_order(self) -> Self:
        if self.pauses_s is None:
            return self
        if self.audio is None:
            raise ValueError("pauses_s are those of a recording, and audio names none")
        at = 0.0
        for start, end in self.pauses_s:
            if not at <= start < end:
                raise ValueError(f"pauses_s must follow each other and begin before they end; {start:g} to {end:g} s does not")
            at = end
        return self

    @property
    def plain(self) -> str:
        """The words without pause marks, as in a history, a prompt or a transcript."""
        return without_pauses(self.text)


def by_a_person(author: str) -> bool:
    """True if a reference's author is a person: a contributor, or the source's own supporter."""
    return author == "original" or author.startswith("human:")


class Reference(_Model):
    """A reference reply. `author`: `original`, `human:<id>`, or `authored` (written for the pack)."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    author: Annotated[str, StringConstraints(pattern=r"^(original|authored|human:[A-Za-z0-9_-]+)$")]
    text: Annotated[str, StringConstraints(min_length=1, max_length=2_000, strip_whitespace=True)]
    quality: Annotated[int, Field(ge=1, le=5)] | None = None
    """Intended quality of an authored reply, 5 best: for calibrating judges, never shown to them."""
    weak_on: tuple[Literal["H", "E", "A", "R", "T"], ...] = ()
    note: str = ""
    strategies: tuple[str, ...] = ()
    """Strategy labels that came with an original completion."""


class Context(_Model):
    """One item: history of alternating turns that ends on the seeker's turn to be spoken."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=80)]
    subset: Literal["regular", "adversarial"]
    escalation: EscalationProfile | None = None
    emotion: Emotion
    problem: Annotated[str, StringConstraints(min_length=2, max_length=60)]
    situation: str = ""
    voice: str = "default"
    """Caller voice; the renderer replaces unknown names by its default and reports it."""
    turns: Annotated[tuple[Turn, ...], Field(min_length=1, max_length=60)]
    references: tuple[Reference, ...] = ()
    source: str
    licence: str

    @model_validator(mode="after")
    def _is_a_conversation(self) -> Self:
        if self.turns[-1].role != "seeker":
            raise ValueError("turns must end on a seeker turn")
        for k, (before, after) in enumerate(zip(self.turns, self.turns[1:], strict=False)):
            if before.role == after.role:
                raise ValueError(f"turns {k + 1} and {k + 2} are both {after.role}: roles must alternate")
        if (self.subset == "adversarial") != (self.escalation is not None):
            raise ValueError("an adversarial context names its escalation profile, a regular one has none")
        if len({r.id for r in self.references}) != len(self.references):
            raise ValueError("reference ids must differ")
        return self

    @property
    def history(self) -> tuple[Turn, ...]:
        """All turns before the spoken one."""
        return self.turns[:-1]

    @property
    def spoken(self) -> Turn:
        """The seeker turn that the caller speaks."""
        return self.turns[-1]

    @property
    def timing_alone(self) -> bool:
        """True if the spoken turn is a recording without text: it cannot be judged, and only times are measured."""
        return any(not turn.text for turn in self.turns)


def spoken_indices(context: Context, mode: str) -> tuple[int, ...]:
    """The indices of the turns that the caller speaks: the last, or in replay every seeker turn."""
    if mode == "seeded":
        return (len(context.turns) - 1,)
    return tuple(k for k, turn in enumerate(context.turns) if turn.role == "seeker")
