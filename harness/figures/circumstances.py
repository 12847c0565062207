"""Circumstances that a run's figures do not show and a reader must know: how it was played, judged and measured."""

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from harness.figures.onset_error import OnsetError, largest
from harness.figures.watched import Unwatched
from harness.scenarios.speakers import Speaker
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
    other_wires: dict[str, str] = Field(default_factory=dict)
    """Agent that was called over another wire than its profile says → why."""
    odd_sound: dict[str, str] = Field(default_factory=dict)
    """Agent → why its sound cannot be meant as it was sent."""
    why_silent: dict[str, str] = Field(default_factory=dict)
    """Agent → the most frequent reason of its turns without a reply that its wire named."""
    stalled: dict[str, tuple[int, float]] = Field(default_factory=dict)
    """Agent → turns in which its stream of sound stalled, and the longest stall in ms."""
    throttled: dict[str, int] = Field(default_factory=dict)
    """Agent → turns during which a core of its machine was slowed down for heat."""
    gpu_clocks: tuple[str, ...] = ()
    """Sentences on GPUs whose clock changed under load."""
    gpu_shared: tuple[str, ...] = ()
    """Sentences on GPUs that programs of no agent used."""
    unwatched: dict[str, Unwatched] = Field(default_factory=dict)
    """Agent that ran here → its turns for which the share of other programs is not fully known."""
    length_tells: tuple[str, ...] = ()
    """Reasons why the endpointing of these callers must not be compared."""
    speakers: dict[str, Speaker] = Field(default_factory=dict)
    """Context → its speaker, where that is known."""
    timing_alone: frozenset[str] = frozenset()
    """Conversations whose caller is a recording without a text."""
    calls: dict[str, str] = Field(default_factory=dict)
    """Source of the recordings of a run of calls that already happened, by its folder."""
    sides_swapped: tuple[str, ...] = ()
    """Reasons to suspect that the sides of recorded calls are swapped."""
    other_language: dict[str, str] = Field(default_factory=dict)
    """Recorded call → the language of its agent, where that is none that the transcriber writes."""
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
    """The circumstances of several runs on one page, whose board is `ranking`'s: sets united, maps merged, counts added."""
    spoken = [one for one in each if one.spoken]
    found: dict[str, Any] = {}
    for name in Circumstances.model_fields:
        values = [getattr(one, name) for one in each]
        match values[0] if values else None:
            case bool():
                found[name] = any(values)
            case int():
                found[name] = sum(values)
            case dict():
                found[name] = {key: value for one in values for key, value in one.items()}
            case frozenset():
                found[name] = frozenset[str]().union(*values)
            case tuple():
                found[name] = tuple(dict.fromkeys(text for one in values for text in one))
    return Circumstances(
        **found
        | {
            "ranking": tuple(ranking),
            "machines_differ": max((one.machines_differ for one in each), default=0),
            "onset_error": largest([one.onset_error for one in spoken]),
            "not_calibrated": "; ".join(dict.fromkeys(one.not_calibrated for one in spoken if one.not_calibrated)),
            "human_baseline": human_baseline,
        }
    )
