"""The question of a ranking: all that its figures depend on beside the rows, in one value.

A board, its joint figure, the axis of people and the audits must all be about the same replies, by the same model and the same
drawn conversations. So none of these settings is an argument of its own, which one reader could be given and another not:
every step gets the whole question and reads the fields that it needs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness.experiment import BUDGET_MS
from harness.ranking.joint import Events, Latencies
from harness.ranking.model import RatingModel
from harness.ranking.peoples_axis import Pairs
from harness.ranking.scores import Scores
from harness.ranking.verdicts import Texts
from harness.statistics.bootstrap import DRAWS
from harness.store.judgment import JudgeCheck, Judgment, Presentation
from harness.store.judgment_table import JudgmentTable

PLACING = "ttfa"
"""The latency that places a system in the joint figure."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Latencies of the rated replies, and the replies themselves.

    `latencies`: figure → system → context → ms of each turn, infinite where it ranks slowest. `cut_ins`: system → context →
    whether each turn was cut into. `texts`: the replies as judged, for the audits and the board with a length term.
    """

    latencies: Mapping[str, Latencies] = field(default_factory=dict)
    cut_ins: Events = field(default_factory=dict)
    texts: Texts = field(default_factory=dict)

    @property
    def placing(self) -> Latencies:
        """The latency that places a system; empty where nobody has it."""
        return self.latencies.get(PLACING, {})

    @property
    def others(self) -> dict[str, Latencies]:
        """All other latencies by name."""
        return {name: given for name, given in self.latencies.items() if name != PLACING}


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingQuestion:
    """Settings of a ranking, and what is known of its replies, systems and judges."""

    measured: Measured = field(default_factory=Measured)
    model: RatingModel | None = None
    """Model of every rating; None: people's axis where votes give one, else the primary model."""
    presentation: Presentation | None = None
    """Presentation of the verdicts; None: the only one that the rows have."""
    condition: str | None = None
    """Line condition of the rows; None: the only one that they have."""
    by_people: bool | None = None
    """True: people's axis rates; False: judges' verdicts do; None: people's axis where votes give one and no model is named."""
    votes_on: Presentation | None = None
    """Presentation of the votes that people's axis reads; None: as heard, or else as read."""
    people_from: JudgmentTable | None = None
    """Rows with the votes of people's axis; None: the rated rows."""
    pairs: Pairs | None = None
    """Number of pairs of replies that could be drawn for people; None: those with a row."""
    scores: Scores = field(default_factory=Scores)
    """Scores to correlate with Elo, and the model family of systems and judges, for the audit of self-preference."""
    checks: Mapping[str, JudgeCheck] = field(default_factory=dict)
    """Judge → its check on pairs with known answers."""
    is_human: Callable[[str], bool] = field(default=lambda system: system.startswith("human:"))
    """True for systems that are people's replies."""
    by_person: Callable[[Judgment], Judgment] | None = None
    """A verdict with each person as a system of their own; None: no system is several persons."""
    budget_ms: float | None = None
    """Budget of the latency that places a system; None: the run's, or `BUDGET_MS` for rows."""
    draws: int = DRAWS
    seed: int | None = None
    """Seed of every draw; None: the run's, or 0 for rows."""

    @property
    def drawn_by(self) -> int:
        """The seed of every draw."""
        return self.seed or 0

    @property
    def within_ms(self) -> float:
        """The budget of the latency that places a system."""
        return self.budget_ms or BUDGET_MS
