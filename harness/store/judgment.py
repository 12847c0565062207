"""One verdict on one pair of replies, by a judge or a person: the row that everything after judging reads.

The flat column names are stable because other programs write such files too (`harness rank FILE`). The first seven columns are
all that a file needs.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

AXES = ("H", "E", "A", "R", "T")
"""Human alignment, empathic responsiveness, attunement, resonance, task-following (HEART, section 9.5)."""

_NO_REPLY = "rule:no-reply"
REFERENCE_PREFIX: Final = "ref:"
"""A context's reference reply competes under this prefix and its id."""

Winner = Literal["a", "b", "tie"]
Presentation = Literal["written", "heard_text", "audio", "audio_with_delay"]


def no_reply_rule(judge: str) -> str:
    """The name that replaces `judge` in a comparison that nobody judged, because one side gave no reply."""
    return f"{_NO_REPLY} ({judge})"


def is_rule(judge: str) -> bool:
    """True if a row was made by a rule, and not by a judge or person."""
    return judge.startswith("rule:")


def reference_name(reference_id: str) -> str:
    """The system name of a reference reply on the board."""
    return REFERENCE_PREFIX + reference_id


def is_reference(system: str) -> bool:
    """True if a system is a reference reply and not an agent."""
    return system.startswith(REFERENCE_PREFIX)


def has_reference(one: str, other: str) -> bool:
    """True for a pair with a reference reply: of another kind than a pair of two agents."""
    return is_reference(one) or is_reference(other)


def reference_id(system: str) -> str:
    """The id of the reference that competes as `system`."""
    return system.removeprefix(REFERENCE_PREFIX)


class AxisMark(BaseModel):
    """The winner on one axis, with strength 1–5; absent where no side has a clear advantage."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    winner: Winner
    strength: Annotated[int, Field(ge=1, le=5)] = 1


class Judgment(BaseModel):
    """A pairwise verdict. `system_a` and `system_b` are identities, not positions; `shown_first` is the one shown first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context: str
    subset: str
    system_a: str
    system_b: str
    source: Literal["judge", "human"]
    judge: str
    """Judge id with its version, or the rater's pseudonym."""
    winner: Winner
    strength: Annotated[int, Field(ge=1, le=5)] = 1
    shown_first: Literal["a", "b"] | None = None
    presentation: Presentation = "written"
    rationale: str = ""
    axes: dict[Literal["H", "E", "A", "R", "T"], AxisMark] = Field(default_factory=dict)
    own_family: bool = False
    """The judge shares its model family with exactly one side; such a verdict is never called trusted."""
    repeat: int = 0
    """Distinguishes several verdicts of one judge on one pair."""
    condition: str = ""
    """The line condition that both replies were heard in; empty where not known."""
    replicate: int = 0
    """The repeat of the sessions from which the replies are."""
    purpose: Literal["main", "swapped", "repeat"] = "main"
    """`swapped` and `repeat` are audits of the judge (flip rate, self-consistency); a rating leaves them out."""
    draw_rate: Annotated[float, Field(gt=0, le=1_000, allow_inf_nan=False)] | None = None
    """For a person's vote, how often the pair was to be drawn, relative to the average pair of its kind in the run, which is a
    pair of two agents or one with a reference (1: as often); None: not drawn at random."""


class Reliability(BaseModel):
    """A point of a judge's reliability curve: how often it was right at one stated level."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stated: str
    """The level, in words."""
    verdicts: int
    """Each pair is asked in both orders and counts twice."""
    right: float
    expected: float | None = None
    """Mean of the probabilities that it stated; None for a strength, which promises none."""


class PeopleCheck(BaseModel):
    """Agreement of a judge with people on replies that this project did not write (`harness judge check --against`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    judge: str
    fingerprint: str
    """Hash of everything that changes the judge's answers: a check is valid for exactly this judge."""
    source: str
    sha256: str
    """Hash of the ratings."""
    conversations: int
    """Conversations of the clear pairs; where `bunches` is `rater`, persons, because each had conversations of their own."""
    pairs: int
    """Clear pairs (a gap of a third of the scale or more) that it answered; the accuracy is of these."""
    accuracy: float | None
    accuracy_interval: tuple[float, float] | None
    kappa: float | None
    """Cohen's κ of the judge with one rater, over all pairs asked (in checks by older versions 2 × accuracy − 1)."""
    by_gap: dict[str, float | None]
    baselines: dict[str, float | None]
    """Accuracy of rules without understanding on the same pairs."""
    best_baseline: str
    raters: int
    raters_agree: float | None
    """Share of clear pairs that one rater orders as all the others do: the ceiling."""
    board_correlation: float | None
    judge_prefers_longer: float | None
    people_prefer_longer: float | None
    missing: int = 0
    reliability: tuple[Reliability, ...] = ()
    """Figures for all pairs asked, clear and close."""
    leanings: dict[str, tuple[float | None, float | None]] = {}
    """Per rule without understanding: the shares in which the judge, and people, chose the side that the rule chooses."""
    judge_prefers_first: float | None = None
    """Share in which it chose the reply shown first; each pair is shown in both orders, so one half is no preference."""
    one_reply_a_context: bool = False
    """True if replies to different conversations were compared; then only the rank correlation is reported."""
    replies: int = 0
    """Number of replies in the rank correlation."""
    over_rules: dict[str, tuple[float, float] | None] = {}
    """Per rule without understanding: 95 % interval of how much more often the judge is right, on the same clear pairs; None
    under eight conversations, empty in checks by older versions, where it is not known."""
    answers_kept: int = 0
    """Verdicts reused from a check of these ratings that was stopped in the middle."""
    bunches: Literal["conversation", "rater"] = "conversation"
    """The unit that intervals resample."""
    equal_length_pairs: int = 0
    """Clear pairs whose longer reply has at most a fifth more words."""
    equal_length_accuracy: float | None = None
    """Accuracy on these; None in checks by older versions, which give no trust until they are repeated."""
    equal_length_interval: tuple[float, float] | None = None
    raters_kappa: float | None = None
    """Cohen's κ of one rater with another, on the same pairs as the judge's; None where no two raters saw one pair."""
    development: bool = False
    """The judge was developed with these labels: the check can take trust, and gives none."""
    missing_by_kind: dict[str, int] = {}
    """Pairs without an answer by the kind of failure."""
    why_missing: str = ""
    """Why, and what mends it; empty where every pair was answered, and in checks by older versions."""


class ShareOfPairs(BaseModel):
    """A share of pairs that were answered right, with its 95 % interval."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pairs: int
    right: float
    interval: tuple[float, float] | None = None


class RedLinesCheck(BaseModel):
    """A judge on the red lines: pairs whose worse reply does what no supporter may do, by family of fault."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    """Hash of the pairs: another set is another check."""
    whole: ShareOfPairs | None
    """None: no pair was answered."""
    by_family: dict[str, ShareOfPairs] = {}
    by_length: dict[str, ShareOfPairs] = {}
    """By whether the right reply is the short one, the long one, or of equal length: a judge of words is right on one only."""
    by_set: dict[str, ShareOfPairs] = {}
    """By the set in which a family was written, `first` or `second`."""
    missing: int = 0
    """Pairs that were asked without an answer."""
    of: int | None = None
    """Pairs that there are; None in checks by older versions, which asked them all."""

    @property
    def to_ask(self) -> int:
        """Pairs that were never asked: a run asks a third."""
        answered = self.whole.pairs if self.whole is not None else 0
        return 0 if self.of is None else self.of - answered - self.missing


class DeliveriesCheck(BaseModel):
    """A judge that hears, on pairs of one text in two deliveries: half right is what a judge of words alone reaches."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n: int
    """Pairs that it answered, each asked in both orders."""
    accuracy: float | None
    interval: tuple[float, float] | None = None
    by_delivery: dict[str, float] = {}
    """Accuracy by how the worse one of a pair is said."""
    missing: int = 0
    """Pairs without an answer."""


class JudgeCheck(BaseModel):
    """Results of a judge on pairs with known answers, before it judged a run. They are shown beside the judge's figures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    judge: str
    family: str
    pairs: int
    accuracy: float | None
    """None: it never answered."""
    accuracy_interval: tuple[float, float] | None
    flip_rate: float | None
    """Share of pairs whose verdict changes with the order shown, in raw single-order asking; None: it never answered."""
    flip_interval: tuple[float, float] | None = None
    trusted: bool
    """True if borne out: by every check against people's judgements, of two origins at least, and by the red lines."""
    people_checks: tuple[PeopleCheck, ...] = ()
    """All stored checks of this judge on this machine: trust depends on every one."""
    validated_on_people: PeopleCheck | None = None
    """The worst of these for the judge. None: on this machine this judge, in this version, was never checked against people's
    judgements."""
    red_lines: RedLinesCheck | None = None
    """None: not asked."""
    excluded: bool = False
    """Half or more of the pairs wrong: left out of analysis, like a person who fails the checks."""
    position_bias: float | None = None
    """Share of single-order answers that chose the first place, less one half; None where both orders are always asked."""
    position_interval: tuple[float, float] | None = None
    length_bias: float | None = None
    """Share of pairs of unequal length where the longer won, less the share where the longer is the better."""
    length_interval: tuple[float, float] | None = None
    missing: int = 0
    """Questions without an answer; they never count as wrong and are named here."""
    missing_by_kind: dict[str, int] = {}
    """These by the kind of failure."""
    gone_silent: bool = False
    """True if it answered nothing when it was last asked; its figures are of the time before."""
    why_missing: str = ""
    """Why, and what mends it; empty where every pair was answered, and in checks by older versions."""
    by_axis: dict[Literal["H", "E", "A", "R", "T"], float] = Field(default_factory=dict)
    by_difficulty: dict[str, float] = Field(default_factory=dict)
    held_out_accuracy: float | None = None
    """For a judge fitted here, accuracy on pairs held out from its fit and scored once."""
    held_out_interval: tuple[float, float] | None = None
    seconds_per_answer: float | None = None
    """Median over the pairs with known answers, as many questions at once as the judge takes."""
    tokens_in_per_answer: float | None = None
    """Mean over the same answers; None where the judge counts no tokens."""
    tokens_out_per_answer: float | None = None
    hears: bool = False
    """It hears replies and reads none, so that it was asked about deliveries in place of pairs with known answers."""
    deliveries: DeliveriesCheck | None = None
    """None: not asked."""
    note: str = ""

    @property
    def silent(self) -> bool:
        """True if it was asked and answered nothing."""
        heard = self.deliveries is None or self.deliveries.n > 0
        return not (self.hears and heard) and not self.pairs

    @model_validator(mode="before")
    @classmethod
    def _silence_has_no_figures(cls, given: Any) -> Any:
        """Remove figures of a judge that answered nothing: older versions stored an accuracy of 0 and a flip rate of 1."""
        if isinstance(given, dict) and given.get("pairs") == 0:
            return {**given, "accuracy": None, "flip_rate": None}
        return given
