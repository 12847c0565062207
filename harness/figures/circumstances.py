"""Circumstances that a run's figures do not show and a reader must know: how it was played, judged and measured."""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, Field

from harness.figures.onset_error import OnsetError, largest
from harness.figures.watched import Unwatched
from harness.timing.figures import StagesFrom


class Circumstances(BaseModel):
    """Circumstances that a run's figures do not show, and a reader must know."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contexts: frozenset[str] = frozenset()
    played: frozenset[str] = frozenset()
    judged: frozenset[str] = frozenset()
    verdicts: int = 0
    ranking: tuple[str, ...] = ()
    """The board's own notes."""
    silent: int = 0
    """Comparisons decided by silence."""
    idle_percent: dict[str, float] = Field(default_factory=dict)
    """CPU of each agent while it waited, in percent of one core."""
    unfinished: dict[str, int] = Field(default_factory=dict)
    """Planned sessions that are not finished, by the run's folder."""
    merged: frozenset[str] = frozenset()
    """Folders of runs that were merged from shards."""
    machines_differ: int = 0
    """Kinds of machine of a merged run, where there are several."""
    machines_pooled: bool = False
    """Their latencies are pooled, because the user asked for it."""
    unsure_clocks: dict[str, tuple[int, float]] = Field(default_factory=dict)
    """Agent → turns with a figure smaller than the uncertainty of its clock, and the worst bound in ms."""
    reported_stages: dict[str, tuple[StagesFrom, float]] = Field(default_factory=dict)
    """Agent that stamps no marks → the source of its TTFT and stages, and the worst resolution of a turn in ms."""
    throttled: dict[str, int] = Field(default_factory=dict)
    """Agent → turns during which a core of its machine was slowed down for heat."""
    unwatched: dict[str, Unwatched] = Field(default_factory=dict)
    """Agent that ran here → its turns for which the share of other programs is not fully known."""
    length_tells: tuple[str, ...] = ()
    """Reasons why the endpointing of these callers must not be compared."""
    timing_alone: frozenset[str] = frozenset()
    """Conversations whose caller is a recording without a text."""
    to_judge_again: dict[str, str] = Field(default_factory=dict)
    """Reasons why the run has to be judged again, by the run's folder."""
    not_analysed: dict[str, int] = Field(default_factory=dict)
    """Sessions that a step after the call could not process, by the run's folder."""
    spoken: bool = True
    """True if any agent was spoken to; otherwise there is no TTFA that could be wrong."""
    onset_error: OnsetError | None = None
    """Error of the TTFA measurement; None where any run was not calibrated."""
    not_calibrated: str = ""
    """Reason why it was not calibrated, where that is known."""
    human_baseline: bool = False
    """True if a person's reply competes on the board."""

    @property
    def unjudged(self) -> frozenset[str]:
        """Conversations that an agent played and nobody judged."""
        return self.played - self.judged


def together(each: Sequence[Circumstances], ranking: Iterable[str], human_baseline: bool) -> Circumstances:
    """The circumstances of several runs on one page, whose board is `ranking`'s."""
    spoken = [one for one in each if one.spoken]
    return Circumstances(
        contexts=frozenset[str]().union(*(one.contexts for one in each)),
        played=frozenset[str]().union(*(one.played for one in each)),
        judged=frozenset[str]().union(*(one.judged for one in each)),
        verdicts=sum(one.verdicts for one in each),
        ranking=tuple(ranking),
        silent=sum(one.silent for one in each),
        idle_percent={name: percent for one in each for name, percent in one.idle_percent.items()},
        unfinished={folder: count for one in each for folder, count in one.unfinished.items()},
        merged=frozenset[str]().union(*(one.merged for one in each)),
        machines_differ=max((one.machines_differ for one in each), default=0),
        machines_pooled=any(one.machines_pooled for one in each),
        unsure_clocks={name: found for one in each for name, found in one.unsure_clocks.items()},
        reported_stages={name: found for one in each for name, found in one.reported_stages.items()},
        throttled={name: turns for one in each for name, turns in one.throttled.items()},
        unwatched={name: turns for one in each for name, turns in one.unwatched.items()},
        length_tells=tuple(dict.fromkeys(text for one in each for text in one.length_tells)),
        timing_alone=frozenset[str]().union(*(one.timing_alone for one in each)),
        to_judge_again={folder: why for one in each for folder, why in one.to_judge_again.items()},
        not_analysed={folder: count for one in each for folder, count in one.not_analysed.items()},
        spoken=bool(spoken),
        onset_error=largest([one.onset_error for one in spoken]),
        not_calibrated="; ".join(dict.fromkeys(one.not_calibrated for one in spoken if one.not_calibrated)),
        human_baseline=human_baseline,
    )
