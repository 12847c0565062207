"""The content of the page as plain values: the interface between a run on disk and all code that draws it.

Charts, sentences, tables and exports read only these types, so that each is a pure function that a test can
call with an invented run of any size, and so that one adapter (`harness.reports.assemble`) is the only place that knows how a
store or a summary is laid out. None means "not known" throughout, and is printed as such, never as zero.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from harness.experiment import BUDGET_MS
from harness.figures.cautions import Caution
from harness.figures.cells import AgentSummary, Failure, JudgeSummary
from harness.figures.circumstances import OnsetError
from harness.figures.head_to_head import Preferred, sentences
from harness.figures.quality_state import QUOTED
from harness.figures.seat import BesideSeat, SeatSummary
from harness.judging.speaks_to_judge import speaks_to_judge
from harness.reports.changes import BaselineView
from harness.reports.gate_shown import ShownGate
from harness.reports.session_view import SessionView
from harness.reports.vote_pairs import QuickVote
from harness.timing.quantiles import Quantiles
from harness.turns import TurnTable
from harness.turns.catalogue import LATENCIES
from harness.wording import LEAST_RANGE_MS

Subset = Literal["all", "regular", "adversarial"]
SUBSETS: tuple[Subset, ...] = ("all", "regular", "adversarial")

METRICS: dict[str, str] = {figure.key: figure.title for figure in LATENCIES if figure.drawn}
"""The latency figures between which the page can switch, with their axis titles."""

AXIS_NAMES: dict[str, str] = {
    "H": "Human alignment",
    "E": "Empathic responsiveness",
    "A": "Attunement",
    "R": "Resonance",
    "T": "Task-following",
}

NOT_JOINT = "No joint ranking"
"""Name of a difference between runs that prevents a common Elo."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval; either may be unknown."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, value: float | None, interval: tuple[float | None, float | None] | None) -> "Estimate":
        """An estimate from a value and a pair of bounds, or none, as other rooms return them."""
        return cls(value, *(interval or (None, None)))


UNKNOWN = Estimate()


def percentile(figure: Quantiles, which: str) -> Estimate:
    """A percentile (`p50` or `p95`) with its interval, for a chart: without a value if it falls on a turn without reply, but
    possibly with a lower bound."""
    if which == "p50":
        return Estimate.of(None if figure.p50_over_limit else figure.p50, figure.p50_interval or (figure.p50_at_least, None))
    return UNKNOWN if figure.p95_over_limit else Estimate.of(figure.p95, figure.p95_interval or (figure.p95_at_least, None))


def both_ends(figure: Quantiles, which: str) -> tuple[float, float] | None:
    """The two ends of a percentile; None if they are less than 1 ms apart, or not known."""
    found: tuple[float, float] | None = getattr(figure, f"{which}_range")
    return found if found is not None and found[1] - found[0] >= LEAST_RANGE_MS else None


@dataclass(frozen=True, slots=True)
class RatingView:
    """The rating of one system on one board."""

    elo: Estimate = UNKNOWN
    win_rate: float | None = None
    elo_with_length: float | None = None
    """The rating for replies of equal length."""
    axes: Mapping[str, float] = field(default_factory=dict)
    """The win rate on each axis, 0–1; without axes that were never marked."""
    judgments: int = 0
    over: Mapping[str, Estimate] = field(default_factory=dict)
    """Reference → Elo difference to it."""


@dataclass(frozen=True, slots=True)
class Preference:
    """The share of verdicts that preferred one agent to one reference, a tie counting half: of judges, and of people."""

    share: Estimate = UNKNOWN
    verdicts: int = 0
    of_people: Estimate = UNKNOWN
    votes: int = 0


@dataclass(frozen=True, slots=True)
class SliceView:
    """One agent on one subset of the contexts: its cell of the summary, and its figures with intervals."""

    cell: AgentSummary = field(default_factory=lambda: AgentSummary(turns=0, no_reply=0))
    rating: RatingView = RatingView()

    def latency(self, metric: str) -> Quantiles:
        """The percentiles of one of `METRICS`."""
        found: Quantiles = getattr(self.cell, f"{metric}_ms")
        return found


@dataclass(frozen=True, slots=True)
class AgentView:
    """One system under test. `spoken` is False for a text endpoint, which has TTFT and no TTFA."""

    name: str
    family: str
    spoken: bool
    slices: Mapping[Subset, SliceView]
    condition: str = ""
    """The line condition of this cell; each has a board of its own."""
    profile_hash: str = ""
    own_family_judgments: int = 0
    total_judgments: int = 0
    common_opening: tuple[int, int] | None = None
    """(replies with this agent's commonest three-word opening, replies heard), because stock openings improve a TTFA."""
    flags: Mapping[str, int] = field(default_factory=dict)
    """Flag → replies heard that show it."""
    valid: bool = True
    """True if its run is valid; otherwise no figure of it may be quoted but a rating of replies that were read."""
    against: Mapping[str, Preference] = field(default_factory=dict)
    """Reference → share of verdicts that preferred this agent to it."""
    seat: str = ""
    """`people` or `rehearsal` for the replies of the supporter's seat, which are no agent's."""
    beside: BesideSeat | None = None
    """The agent beside the people of its run."""

    @property
    def quoted(self) -> bool:
        """True if its Elo is by people, or by a judge that they bear out, so that it may decide anything."""
        return self.whole.cell.quality_state in QUOTED

    @property
    def whole(self) -> SliceView:
        """The agent on all contexts."""
        return self.slices["all"]


@dataclass(frozen=True, slots=True)
class ReferenceView:
    """A reference reply on the board. `author`: original, human or authored."""

    system: str
    author: str
    ratings: Mapping[Subset, RatingView]
    condition: str = ""
    """The condition of its board; each condition has its own."""
    name: str = ""
    """The system's name in verdicts, if `system` includes the condition."""
    quality: float | None = None
    """The average quality that its author intended, 1–5; None if not stated."""


@dataclass(frozen=True, slots=True)
class JudgmentView:
    """One verdict on one pair, as the page lists it."""

    system_a: str
    system_b: str
    judge: str
    human: bool
    winner: str
    strength: int
    shown_first: str
    presentation: str
    rationale: str
    axes: Mapping[str, tuple[str, int]]
    own_family: bool
    condition: str = ""
    replicate: int = 0
    """The repeat of the sessions with these replies."""
    repeat: int = 0
    """The index among several verdicts of this judge on this pair."""
    counts: bool = True
    """False for a judge that failed its check: the verdict is listed, but no figure uses it."""
    draw_rate: float | None = None
    """For a person's vote on a pair that was drawn at random, `Judgment.draw_rate`."""


@dataclass(frozen=True, slots=True)
class ContextView:
    """One conversation with all its sessions, verdicts and failures."""

    id: str
    subset: str
    escalation: str
    emotion: str
    problem: str
    situation: str
    history: tuple[tuple[str, str], ...]
    """(role, text) of every turn, the spoken one last."""
    references: tuple[tuple[str, str, str], ...]
    """(system, author, text)."""
    sessions: tuple[SessionView, ...]
    planned: tuple[str, ...] = ()
    """The agents that were planned to play it."""
    judgments: tuple[JudgmentView, ...] = ()
    source: str = ""
    licence: str = ""

    def to_judge(self) -> Callable[[JudgmentView], tuple[str, ...]]:
        """For each verdict, those of its two systems whose reply speaks to the judge."""
        replies = {(one.agent, one.condition, one.repeat) for one in self.sessions if one.speaks_to_judge}
        references = {name for name, _, text in self.references if speaks_to_judge(text)}

        def of(row: JudgmentView) -> tuple[str, ...]:
            sides = (row.system_a, row.system_b)
            return tuple(s for s in sides if s in references or (s, row.condition, row.replicate) in replies)

        return of


@dataclass(frozen=True, slots=True)
class Finding:
    """One figure of an audit. `unit` is `share` (0–1), `coefficient` or `count`."""

    name: str
    figure: Estimate
    pairs: int | None
    unit: Literal["share", "coefficient", "count"]
    meaning: str


@dataclass(frozen=True, slots=True)
class StrategiesView:
    """The shares of each system's replies with each support strategy."""

    strategies: tuple[str, ...]
    rates: Mapping[str, Mapping[str, float]]
    """System → strategy → share of replies that show it."""
    per_reply: Mapping[str, float]
    entropy_bits: Mapping[str, float]
    labeller: str
    checked: str
    """The figures of these labellers, in words."""


@dataclass(frozen=True, slots=True)
class TableView:
    """A table of words and figures; the first column names each row."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class ListeningView:
    """One listening test, in words and tables."""

    title: str
    summary: str
    notes: tuple[str, ...]
    tables: tuple[TableView, ...]


@dataclass(frozen=True, slots=True)
class SeriesView:
    """A sampled figure of the machine over the run: (seconds since the first session, value)."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class PageView:
    """The whole content of one report."""

    run: str
    """The run's folder, which is its provenance; `title` is for people."""
    title: str
    finding: str
    """What was found, in one sentence."""
    sure: str
    """How sure that is, in another."""
    setting: str
    """How it was played, in one sentence without its full stop."""
    created: str
    """When it was played, as people write it."""
    valid: bool
    invalid_reasons: tuple[str, ...]
    pacing_p99_error_ms: float | None
    realtime_ratio: float | None
    elo_method: str
    agents: tuple[AgentView, ...]
    references: tuple[ReferenceView, ...]
    judges: tuple[JudgeSummary, ...]
    failures: tuple[Failure, ...]
    contexts: tuple[ContextView, ...]
    timed: Mapping[str, TurnTable] = field(default_factory=dict)
    """Agent → its rows of the table of turns."""
    head_to_head: tuple[Preferred, ...] = ()
    """People's preference between each two agents."""
    quality: tuple[str, ...] = ()
    """The state of the quality axis, one sentence for each condition, and the way to people's."""
    ways: tuple[str, ...] = ()
    """Those sentences of `quality` that say what to do for people's answer, and why no judge has answered."""
    cautions: tuple[Caution, ...] = ()
    folder: str = "RUN"
    """The run's folder in commands to copy."""
    provenance: tuple[tuple[str, str], ...] = ()
    onset_error: OnsetError | None = None
    """The measurement error of TTFA; None if the run was not calibrated."""
    machines: tuple[str, ...] = ()
    """The machines and thread counts of local agents, one line per run."""
    differences: tuple[tuple[str, str], ...] = ()
    """On a page of several runs: (difference, its meaning)."""
    agreement: tuple[Finding, ...] = ()
    audits: tuple[Finding, ...] = ()
    strategies: StrategiesView | None = None
    baseline: BaselineView | None = None
    listening: tuple[ListeningView, ...] = ()
    telemetry: tuple[SeriesView, ...] = ()
    vote: QuickVote = field(default_factory=QuickVote)
    seats: tuple[SeatSummary, ...] = ()
    """People who answered the callers, and rehearsals."""
    budget_ttft_ms: float = BUDGET_MS
    budget_ttfa_ms: float = BUDGET_MS
    comfort_ms: float = 1_000.0
    gates: tuple[ShownGate, ...] = ()
    """The last check of each run that has one."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """The line conditions of the page, in the order of the run."""
        return tuple(dict.fromkeys(agent.condition for agent in self.agents))

    @property
    def waits_by(self) -> tuple[str, str, float]:
        """The latency that charts of single turns show, its name, and its budget in ms: TTFA; of text agents alone TTFT."""
        text = self.agents and not any(agent.spoken for agent in self.agents)
        return ("ttft", "TTFT", self.budget_ttft_ms) if text else ("ttfa", "TTFA", self.budget_ttfa_ms)

    @property
    def preferred(self) -> tuple[str, ...]:
        """People's preference between each two agents, one sentence each."""
        return sentences(self.head_to_head, self.conditions)

    @property
    def rated(self) -> bool:
        """True if any agent has a rating."""
        return any(part.rating.elo.value is not None for agent in self.agents for part in agent.slices.values())

    @property
    def verdicts(self) -> int:
        """The number of judges' verdicts, on all pairs of all contexts."""
        return sum(not row.human for context in self.contexts for row in context.judgments)

    @property
    def votes(self) -> int:
        """The number of people's votes, on all pairs of all contexts."""
        return sum(row.human for context in self.contexts for row in context.judgments)
