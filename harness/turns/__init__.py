"""Turns as rows: one table of all timed turns of a run, one estimate of a figure, one change since an earlier run.

Cells, subsets, speakers, machines, load steps and baselines are groups of rows. Each reader takes its figures from `estimate`
and `change`, so that two readers never give two answers.
"""

from harness.turns.change import Change, change
from harness.turns.estimate import Estimate, estimate
from harness.turns.table import Cluster, TurnTable

__all__ = ["Change", "Cluster", "Estimate", "TurnTable", "change", "estimate"]
