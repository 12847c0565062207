"""Figures of a run: its cells, its boards, and the other parts of the summary, without cautions.

A figure belongs to one *cell*: agent × condition × mode × presentation, on all contexts or on one subset. Key names are stable,
because programs read them; unknown values are null. More keys may be added.
"""

from typing import Final, Literal

from pydantic import ConfigDict, Field

from harness.experiment import BUDGET_MS
from harness.figures.duplex import DuplexFigures
from harness.figures.endpointing import EndpointingSummary, Model
from harness.figures.events import EventRow
from harness.figures.head_to_head import Preferred
from harness.figures.latency import TurnFigures, WithinBudget
from harness.figures.machine import MachineSummary
from harness.figures.seat import BesideSeat, SeatSummary
from harness.figures.server_waits import ServerWaits
from harness.judging.validation.trust import Trust
from harness.ranking.board import QualityState
from harness.store.judgment import DeliveriesCheck, Presentation, RedLinesCheck
from harness.store.selection import BY_EAR, quoted_presentation
from harness.store.unspoken import Reason
from harness.timing.quantiles import Quantiles

UNSPOKEN: Final = "unspoken"
"""`Failure.kind` of a session that did not fail, but ended before the caller had spoken all of its turns."""


class PeopleVotes(Model):
    """People's axis of a board: their votes, and the part that judges had."""

    votes: int
    skipped: int = 0
    """Pairs that raters saw and skipped, as far as their files say so."""
    raters: int
    contexts: int
    pairs: int
    """Pairs of replies from which people's were drawn."""
    presentation: Presentation
    judges: list[str] = Field(default_factory=list)
    judge_weight: float
    """Weight λ of the judges' verdicts, 0 to 1."""
    judge_agrees: float | None
    worth: float
    """Votes without a judge that would give as narrow intervals."""
    saved: int


class EloOver(Model):
    """Elo difference to another system, from the joint covariance of the board; null where neither bound is known."""

    value: float | None
    interval: tuple[float | None, float | None] | None = None


class SessionFigures(Model):
    """Figures of whole sessions: of calls, of the agent's model servers, and of the words that were said and understood."""

    failed: int = 0
    spoken: tuple[int, int] | None = None
    """Turns that were spoken, or lost with their session, and turns that the callers planned; null where nobody planned."""
    unspoken: dict[Reason, int] = Field(default_factory=dict)
    """Reason → planned turns that were never spoken; empty where all were."""
    unspoken_share: float | None = None
    """Share of the planned turns that the agent left unspoken; those that are not its fault are in neither number."""
    events: list[EventRow] = Field(default_factory=list)
    """One row for each sound and instant, in a run with events."""
    servers: list[ServerWaits] = Field(default_factory=list)
    """One row for each stage with a model server that says what it does."""
    common_opening: tuple[int, int] | None = None
    """Replies that begin with the commonest three words, and the number of replies."""
    flags: dict[str, int] = Field(default_factory=dict)
    """Flag of `harness.figures.reply_flags` → replies heard that show it; empty where no reply was heard."""
    commonest_reply: tuple[int, int] | None = None
    """Conversations with nearly the same reply, the commonest, and conversations with a reply."""
    understood_wer: float | None = None
    """Word error rate of the words that the agent understood, against the caller's text."""
    heard_wer: float | None = None
    """Word error rate of the reply as heard against the reply as written."""


class QualityFigures(Model):
    """Figures from the board of a cell; null where the agent is not on one."""

    elo: float | None = None
    elo_with_length: float | None = None
    """The Elo if all replies were equally long, shown beside the quoted one."""
    elo_method: str | None = None
    elo_interval: tuple[float | None, float | None] | None = None
    """With one end null it is a bound, for an agent that won, or lost, every comparison."""
    separated: bool = False
    """It won, or lost, every comparison: its Elo has no bound on one side, and the mean of 1500 is that of the others."""
    win_rate: float | None = None
    axes: dict[str, float | None] = Field(default_factory=dict)
    p_frontier: float | None = None
    p_best_within_budget: float | None = None
    p_frontier_range: tuple[float, float] | None = None
    """The least and the greatest share, whatever part others on the machines had; `p_frontier` is the least."""
    p_best_within_budget_range: tuple[float, float] | None = None
    quality_state: QualityState = "none"
    """State of the board that the Elo is on. An opinion has no `p_frontier` and no `p_best_within_budget`."""
    quality_valid: bool = True
    """True if the rating may be quoted: in an invalid run one of replies that were read may; by a judge none of an agent that
    gives the same reply to every caller."""
    elo_over: dict[str, EloOver] = Field(default_factory=dict)
    """Reference → difference on this board."""


class AgentSummary(EndpointingSummary, TurnFigures, SessionFigures, QualityFigures):
    """One agent in one condition and mode."""

    valid: bool = True
    """True if its run is valid; otherwise none of these figures may be quoted, but a rating where `quality_valid` says so."""
    family: str | None = None
    kind: str = "cascade"
    duplex: DuplexFigures | None = None
    """How it talks while its caller does; null of an agent that is not full duplex."""

    @property
    def pauses(self) -> tuple[int, int]:
        """Pauses that were cut, and all in which the agent could choose: those of `pauses_cut_share`, which decides. In a run
        timed before these were known, those that the text marks."""
        return self.inner_pauses_cut if self.inner_pauses_cut[1] else self.pauses_cut


class ReferenceSummary(Model):
    """A reference reply set on the same board; it has no latency."""

    elo: float | None
    elo_interval: tuple[float | None, float | None] | None = None
    separated: bool = False
    """Same meaning as for an agent."""
    win_rate: float | None = None
    axes: dict[str, float | None] = Field(default_factory=dict)


class JudgeSummary(Model):
    """A judge with its measured accuracy, which is shown beside every Elo that it produced."""

    id: str
    accuracy: float | None
    accuracy_interval: tuple[float, float] | None = None
    flip_rate: float | None
    trusted: bool
    """Ratings of people, collected elsewhere, agree with it, and no verdict of it here is on its own family."""
    validated_on_people: float | None = None
    """Its accuracy on people's clear pairs; None: not validated against people, or on too few for an interval."""
    trust: Trust = "unchecked"
    """Trust that its check supports."""
    standing: str = ""
    """The state of its ratings in words: borne out, or an opinion, with the figures behind it."""
    red_lines: RedLinesCheck | None = None
    """Its accuracy on the red lines, by family; None: not asked."""
    pairs: int | None = None
    """Pairs with known answers that it answered; None for a judge that hears, which is asked none."""
    deliveries: DeliveriesCheck | None = None
    """Accuracy of a judge that hears on one text in two deliveries; None: not asked."""
    missing: int = 0
    """Pairs with known answers that it did not answer."""
    missing_by_kind: dict[str, int] = Field(default_factory=dict)
    why_missing: str = ""
    """Why, and what mends it."""
    judgments: int = 0
    own_family_judgments: int = 0
    note: str = ""


class PacingSummary(Model):
    p99_error_ms: float | None = None
    realtime_ratio: float | None = None


class Failure(Model):
    """A session that ended in a named failure; its recording so far is saved. Kind `unspoken`: one that did not fail, but ended
    before the caller had spoken all of its turns."""

    context: str
    agent: str
    condition: str = ""
    kind: str
    detail: str


Subset = Literal["all", "regular", "adversarial"]


class Cell(AgentSummary):
    """Figures of one agent in one condition, mode and presentation, on all contexts or one subset of them."""

    agent: str
    condition: str
    step: str = ""
    """The step of a load test; empty in every other run."""
    mode: str
    presentation: Presentation
    subset: Subset
    beside_seat: BesideSeat | None = None
    """The agent beside the people of the run, on all contexts of the quoted board."""


class MachineCell(Model):
    """Figures of one agent in one condition, measured on one kind of machine of a merged run."""

    agent: str
    condition: str
    machine: str
    """The kind, in words."""
    machines: int
    """Number of machines of that kind."""
    turns: int
    no_reply: int
    contended: int
    ttft_ms: Quantiles
    ttfa_ms: Quantiles
    within_budget: WithinBudget
    cut_in_rate: float | None = None
    pauses_cut: tuple[int, int] = (0, 0)
    measurement_error_ms: float | None = None
    """Error of TTFA, the largest in the calibrations of these machines; None where one was not calibrated."""
    pacing_p99_error_ms: float | None = None
    """The largest of these machines."""


class BoardSummary(Model):
    """One board: the verdicts of one condition and presentation, on all contexts or one subset."""

    condition: str
    mode: str
    presentation: Presentation
    subset: Subset
    pack: str = ""
    transcriber: str | None = None
    """Transcriber of the replies; None if nothing was transcribed, or in an older summary."""
    reads: str = ""
    """How a rater met the replies: read or heard, in words."""
    rated_on: str = ""
    """These circumstances in one sentence."""
    method: str
    terms: dict[str, float] = Field(default_factory=dict)
    """Every further term of the rating model, by name (position, …), in log-odds."""
    judgments: int
    contexts: int
    references: dict[str, ReferenceSummary] = Field(default_factory=dict)
    quality_state: QualityState = "none"
    quality_words: str = ""
    """The state in one sentence without its full stop."""
    people_votes: PeopleVotes | None = None
    people_refused: str = ""
    """Reason why there is no people's axis, in one sentence without its full stop."""
    way_to_people: str = ""
    """The way from this run to people's answer, in one sentence; empty where nothing is left to ask."""

    @property
    def quotable(self) -> bool:
        """False for a board of judges that heard the replies: it is an opinion of its own, and never the quoted one."""
        return self.presentation != BY_EAR or self.quality_state == "people"


class RunFigures(Model):
    """All figures of a run. Its conditions, the boards that it is quoted on, and the names of its cells follow from them."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    run: str
    report: str | None = None
    valid: bool = True
    invalid: list[str] = Field(default_factory=list)
    budgets_ms: dict[str, float] = Field(default_factory=lambda: {"ttft": BUDGET_MS, "ttfa": BUDGET_MS})
    pacing: PacingSummary = Field(default_factory=PacingSummary)
    calibration: dict[str, float | str | None] | None = None
    machines: list[MachineSummary] = Field(default_factory=list)
    """Machines of the agents that ran beside the harness: one per run, none where all ran elsewhere."""
    judges: list[JudgeSummary] = Field(default_factory=list)
    cells: list[Cell] = Field(default_factory=list)
    boards: list[BoardSummary] = Field(default_factory=list)
    head_to_head: list[Preferred] = Field(default_factory=list)
    """Each two agents that people voted on, in each condition: the one that they prefer, and how surely."""
    seats: list[SeatSummary] = Field(default_factory=list)
    """People who answered the run's callers; a rehearsal of programs is one of its own."""
    way_to_people: str = ""
    """The way from a run without any board to people's answer, in one sentence; a board has its own."""
    people_refused: dict[str, str] = Field(default_factory=dict)
    """Condition without a board → reason why the votes in it give none, in one sentence without its full stop."""
    by_machine: list[MachineCell] = Field(default_factory=list)
    """Latencies of each kind of machine in a merged run whose machines differ; empty elsewhere."""
    failures: list[Failure] = Field(default_factory=list)

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    @property
    def failed_sessions(self) -> list[Failure]:
        """The failures without the sessions that only ended early (kind `unspoken`)."""
        return [failure for failure in self.failures if failure.kind != UNSPOKEN]

    @property
    def whole(self) -> tuple[Cell, ...]:
        """The cells on all contexts, on the board that is quoted: one an agent and condition."""
        return tuple(c for c in self.cells if c.subset == "all" and c.presentation == self.quoted(c.condition))

    def quoted(self, condition: str) -> Presentation:
        """The presentation whose board is quoted for this condition (`selection.quoted_presentation`)."""
        mine = (b for b in self.boards if (b.condition, b.subset) == (condition, "all"))
        return quoted_presentation(b.presentation for b in mine if b.quotable)

    def name(self, cell: Cell) -> str:
        """Name of a cell among others."""
        apart = (cell.condition if len(self.conditions) > 1 else "", cell.step)
        named = ", ".join(filter(None, apart))
        return f"{cell.agent} ({named})" if named else cell.agent

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of the cells, in the order of the run."""
        return tuple(dict.fromkeys(cell.condition for cell in self.whole))

    def board(self, condition: str, subset: Subset = "all") -> BoardSummary | None:
        """The board that this condition's cells are rated on; None where nothing was judged."""
        wanted = condition, subset, self.quoted(condition)
        mine = (b for b in self.boards if (b.condition, b.subset, b.presentation) == wanted)
        return next(mine, None)
