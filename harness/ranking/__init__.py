"""Ranking: from judgment rows to ratings, agreement, and the joint figure of quality and latency.

Everything here is a pure function of rows, on numpy and scipy alone. A `RatingModel` defines how ratings are made, and every
entry point takes it: `leaderboard` rates systems, `joint_figure` puts them into one plane with their latencies, and
`ranking.rank` answers a `RatingQuestion` with the object that `harness rank --json` prints. `head_to_head` needs no model.
"""

from harness.ranking.board import Board, Difference, SystemRating
from harness.ranking.head_to_head import HeadToHead, head_to_head
from harness.ranking.joint import JointFigure, JointPoint, joint_figure
from harness.ranking.leaderboard import leaderboard
from harness.ranking.model import RatingModel

__all__ = [
    "Board",
    "Difference",
    "HeadToHead",
    "JointFigure",
    "JointPoint",
    "RatingModel",
    "SystemRating",
    "head_to_head",
    "joint_figure",
    "leaderboard",
]
