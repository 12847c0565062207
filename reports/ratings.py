"""Boards of a run's verdicts, apart for regular and adversarial conversations, on the one presentation that counts.

A board never mixes presentations, and the joint figure never uses sound with its delay, because latency would then stand
on both axes. Ratings on all conversations come from the run's own summary, so that the page and `--json` say the same; only the
subsets are rated here, by the same model.
"""

from collections.abc import Iterable, Mapping, Sequence

from harness.errors import UserError
from harness.ranking import JointPoint, RatingModel, joint_figure, leaderboard
from harness.ranking.joint import Latencies
from harness.ranking.model import PRIMARY
from harness.steps.judge import HEARD
from harness.steps.summarise import ranked_rows
from harness.store.judgment import Judgment
from reports.view import Estimate, RatingView, Subset


def joint_rows(judgments: Iterable[Judgment]) -> list[Judgment]:
    """The verdicts that the run's own ratings are made of."""
    return ranked_rows(judgments, HEARD)


def of_subset(rows: Sequence[Judgment], subset: Subset) -> list[Judgment]:
    """The rows of one subset; all of them for `all`."""
    return [row for row in rows if subset == "all" or row.subset == subset]


def ratings(rows: Sequence[Judgment], model: RatingModel = PRIMARY) -> dict[str, RatingView]:
    """System → rating. Empty where nothing was judged."""
    if not rows:
        return {}
    return {
        row.system: RatingView(
            elo=Estimate(row.elo, *(row.interval or (None, None))),
            win_rate=row.win_rate,
            axes=dict(row.axes),
            judgments=row.judgments,
            contexts=row.contexts,
        )
        for row in leaderboard(rows, model).systems
    }


def points(
    rows: Sequence[Judgment], latencies: Latencies, budget_ms: float, model: RatingModel = PRIMARY, *, seed: int = 0
) -> Mapping[str, JointPoint]:
    """Agent → its point in the plane of quality and latency. Empty where no agent has both."""
    known = {agent: values for agent, values in latencies.items() if values}
    if not rows or not known:
        return {}
    try:
        figure = joint_figure(rows, known, model, budget_ms=budget_ms, seed=seed)
    except UserError:
        return {}
    return {point.system: point for point in figure.points}
