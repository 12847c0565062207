"""The run in one object: what `--json` prints, the terminal's table shows, and the report's verdicts are written from.

Key names are stable, because programs read them; what is not known is null. More keys may join.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, computed_field

from harness.judging.trust import Trust
from harness.steps.cautions import Caution, Circumstances, cautions
from harness.timing.figures import BUDGET_MS


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Quantiles(_Model):
    """Milliseconds. A p95 stands only where there are turns enough for one; no reply ranks last (`over_limit`)."""

    p50: float | None = None
    p95: float | None = None
    p50_interval: tuple[float, float] | None = None
    p95_interval: tuple[float, float] | None = None
    p50_over_limit: bool = False
    """The percentile falls on a turn without reply: print "> 15 s"."""
    p95_over_limit: bool = False
    restricted_mean: float | None = None
    restricted_mean_interval: tuple[float, float] | None = None
    n: int = 0


class WithinBudget(_Model):
    """Share of turns within budget; a turn without reply, or one that began early, is not."""

    ttft: float | None = None
    ttfa: float | None = None
    ttft_interval: tuple[float, float] | None = None
    ttfa_interval: tuple[float, float] | None = None


class AgentSummary(_Model):
    """One agent in one condition and mode."""

    turns: int
    no_reply: int
    failed: int = 0
    discarded: dict[str, int] = Field(default_factory=dict)
    ttft_ms: Quantiles = Field(default_factory=Quantiles)
    ttft_from_spoken_end_ms: Quantiles = Field(default_factory=Quantiles)
    ttfa_ms: Quantiles = Field(default_factory=Quantiles)
    first_byte_ms: Quantiles = Field(default_factory=Quantiles)
    first_sound_ms: Quantiles = Field(default_factory=Quantiles)
    first_speech_ms: Quantiles = Field(default_factory=Quantiles)
    first_word_ms: Quantiles = Field(default_factory=Quantiles)
    first_substance_ms: Quantiles = Field(default_factory=Quantiles)
    within_budget: WithinBudget = Field(default_factory=WithinBudget)
    cut_in_rate: float | None = None
    false_start_rate: float | None = None
    """False starts per marked pause."""
    pauses_cut: tuple[int, int] = (0, 0)
    short_pauses_cut: tuple[int, int] = (0, 0)
    """Of the marked pauses under 800 ms."""
    underruns: int = 0
    unexplained_p95_ms: float | None = None
    yield_ms: Quantiles | None = None
    tokens_per_s: float | None = None
    inter_token_gap_p95_ms: float | None = None
    tts_real_time_factor: float | None = None
    common_opening: tuple[int, int] | None = None
    """Replies that begin with the commonest three words, and how many there were."""
    understood_wer: float | None = None
    """Word error rate of what the agent understood, against what the caller was given to say."""
    heard_wer: float | None = None
    """Word error rate of the reply as heard against the reply as written."""
    elo: float | None = None
    elo_method: str | None = None
    elo_interval: tuple[float, float] | None = None
    win_rate: float | None = None
    axes: dict[str, float | None] = Field(default_factory=dict)
    p_frontier: float | None = None
    p_best_within_budget: float | None = None
    family: str | None = None
    kind: str = "cascade"


class ReferenceSummary(_Model):
    """A reference reply set on the same board; it has no latency."""

    elo: float | None
    elo_interval: tuple[float, float] | None = None
    win_rate: float | None = None
    axes: dict[str, float | None] = Field(default_factory=dict)


class JudgeSummary(_Model):
    """A judge with its measured accuracy, which stands beside every Elo it produced."""

    id: str
    accuracy: float | None
    accuracy_interval: tuple[float, float] | None = None
    flip_rate: float | None
    trusted: bool
    """It passed its check, and no verdict of it here is on its own family."""
    trust: Trust = "unchecked"
    """How far its check carries."""
    pairs: int | None = None
    """Pairs with known answers that it answered."""
    judgments: int = 0
    own_family_judgments: int = 0
    note: str = ""


class PacingSummary(_Model):
    p99_error_ms: float | None = None
    realtime_ratio: float | None = None


class Failure(_Model):
    """A session that ended in a named failure. What was recorded of it is kept."""

    context: str
    agent: str
    kind: str
    detail: str


class Cell(AgentSummary):
    """An agent by condition and mode, where a run has several."""

    agent: str
    condition: str
    mode: str


def onset_error_ms(calibration: Mapping[str, float | str | None] | None) -> float | None:
    """95th percentile of the onset error in calibration; None where there was none."""
    found = (calibration or {}).get("ttfa_p95_error_ms")
    return float(found) if isinstance(found, int | float) else None


class RunSummary(_Model):
    """See the module's head. What weakens the figures is derived from them, so that it can never lag behind."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    run: str
    report: str | None = None
    valid: bool = True
    invalid: list[str] = Field(default_factory=list)
    circumstances: Circumstances = Field(default_factory=Circumstances, exclude=True)
    budgets_ms: dict[str, float] = Field(default_factory=lambda: {"ttft": BUDGET_MS, "ttfa": BUDGET_MS})
    pacing: PacingSummary = Field(default_factory=PacingSummary)
    calibration: dict[str, float | str | None] | None = None
    judges: list[JudgeSummary] = Field(default_factory=list)
    agents: dict[str, AgentSummary] = Field(default_factory=dict)
    references: dict[str, ReferenceSummary] = Field(default_factory=dict)
    cells: list[Cell] | None = None
    failures: list[Failure] = Field(default_factory=list)

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What stands with the figures wherever they are shown, gravest first."""
        return cautions(self, self.circumstances)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def warnings(self) -> list[str]:
        """The cautions' texts alone."""
        return [caution.text for caution in self.cautions]

    def to_json(self) -> str:
        """The object that `--json` prints."""
        return self.model_dump_json(by_alias=True, indent=2)
