"""People in a run, as the summary shows them: how many, how exactly they were measured, and each agent beside them."""

from pydantic import Field

from harness.figures.endpointing import Model


class Bounded(Model):
    """A figure with its 95 % interval; either may be unknown."""

    value: float | None = None
    interval: tuple[float | None, float | None] | None = None


class BesideSeat(Model):
    """An agent beside the people who answered the same callers in the same run, or beside a rehearsal."""

    seat: str
    """`people`, or `rehearsal`, whose replies are a program's."""
    persons: int
    conversations: int
    """Conversations that both answered."""
    later_ms: Bounded
    """Median TTFA minus theirs, on the conversations that both answered."""
    preferred: Bounded
    """Share of comparisons with a random person's reply that the agent won, a tie counting half."""
    comparisons: int
    by_people: bool
    """True if people voted on these comparisons; otherwise judges gave the verdicts."""


class SeatSummary(Model):
    """The replies that were given in the supporter's seat of a run. Their latency and rating are those of the cell `agent`."""

    agent: str
    condition: str
    persons: int
    conversations: int
    replies: int
    sittings: int
    not_calibrated: int
    """Sittings with a reply whose latency no loop-back trial measured: its wait is not known."""
    over_limit: int
    """Sittings with a reply whose error of TTFA is over 20 ms (p95)."""
    largest_error_ms: float | None
    """The largest error of TTFA of the replies whose latency was measured, p95."""
    unrated: int
    """Replies without a verdict, where judges rate the board. Of votes, which are a sample, a reply needs none."""
    with_losses: int
    """Replies in which the microphone lost sound."""
    mean: Bounded = Field(default_factory=Bounded)
    """Elo of the mean person."""
    best: Bounded = Field(default_factory=Bounded)
    """Elo of the best reply of each conversation, without the winner's curse; not known with a single judge or voter."""

    @property
    def is_people(self) -> bool:
        """False for a rehearsal."""
        return self.agent == "people" or self.agent.startswith("people ")
