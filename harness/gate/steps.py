"""The steps of a load test as cells of the gate, each with its turns, over stretches of time.

A step that says nothing about its agent (callers, frames or answers were late) decides nothing. Against a baseline, two load
tests are compared step by step, and not paired: the same seed gives the same schedule, but what a queue does with it is another
draw each time.
"""

from typing import Final

from harness.errors import UserError
from harness.figures.rank import Place
from harness.gate.budgets import Budgets, CellLimit
from harness.gate.evidence import Cells
from harness.statistics.bounds import Evidence
from harness.statistics.interval import TURNS_FOR_P95
from harness.store.load_part import LoadPart, step_name
from harness.store.manifest import RunManifest
from harness.store.run_store import RunStore
from harness.store.unspoken import Reason
from harness.turns.catalogue import BY_PATH
from harness.turns.change import change
from harness.turns.estimate import estimate, named
from harness.turns.table import TurnTable
from harness.wording import counted

STRETCHES: Final = ("stretch of 15 s", "stretches of 15 s")
FIGURES: Final = tuple(
    path for path, one in BY_PATH.items() if (one.read or one.chances) and "words" not in one.needs and one.key != "greeting"
)
"""Figures of timed turns; nothing of a load test is transcribed or judged."""


class Steps(Cells):
    """The evidence for each figure in the steps of one load test. The `condition` of a place is the name of a step."""

    def turns(self, agent: str, place: Place) -> TurnTable:
        """The turns of one step."""
        return self._table.where({"agent": agent, "step": place.condition})

    def evidence(self, figure: str, agent: str, place: Place) -> Evidence | None:
        """The evidence of a step for one figure; None if it has none."""
        return estimate(self.turns(agent, place), figure, cluster="stretch")

    def change_from(self, before: Cells, figure: str, agent: str, place: Place, was: str | None = None) -> Evidence | None:
        """The change of a figure since another load test: positive is worse. None if one of them has no such step or figure."""
        return change(self.turns(agent, place), before.turns(was or agent, place), figure, cluster="stretch")

    def undecided_quality(self, figure: str, agent: str, place: Place) -> str:
        """Nothing: no figure of a step is of quality."""
        del figure, agent, place
        return ""

    def over_speakers(self, figure: str) -> bool:
        """False: intervals are over stretches of time."""
        del figure
        return False

    def unspoken(self, agent: str, place: Place) -> dict[Reason, int]:
        """None: turns that were never spoken are said beside the step, and stop no limit on those that were."""
        del agent, place
        return {}

    def stretches(self, steps: frozenset[str]) -> int:
        """Number of stretches of time in these steps."""
        table = self._table.where({"step": steps})
        return len(set(table.keys["stretch"].codes[table.flags["full"]].tolist()))

    def silent(self, place: Place) -> str:
        """Why a step says nothing about the agent; empty if it does, or there is none."""
        part = self._selection.manifest.load or LoadPart()
        return next((one.why_nothing for one in part.steps if one.name == place.condition), "")

    def why_missing(self, figure: str, agent: str, place: Place, name: str) -> str:
        """Why a step does not have a figure, where more can be said than that it does not. `name`: that of the step."""
        part = self._selection.manifest.load or LoadPart()
        if place.condition not in [one.name for one in part.steps]:
            return f"The baseline has no step {place.condition}"
        turns = len(set(self.turns(agent, place).given(named(figure)[0]).row.tolist()))
        if figure.endswith(".p95") and turns < TURNS_FOR_P95:
            return f"{name} has {counted(turns, 'turn')} with this figure, and a p95 needs {TURNS_FOR_P95}"
        return ""


def limits_of_steps(budgets: Budgets, manifest: RunManifest, part: LoadPart) -> tuple[CellLimit, ...]:
    """The limits of a load test, each with the step that it is for; those for another kind of load, pack or mode do not apply.

    Raises UserError: a limit names a step, an agent or a figure that the test does not have, or none applies.
    """
    found: list[CellLimit] = []
    agent = manifest.played[0].name
    steps = {one.offered: one.name for one in part.steps}
    for number, limit in enumerate(budgets.limits, start=1):
        offered = limit.callers if part.law is None else limit.rate
        if offered is None or limit.pack not in (None, manifest.pack) or limit.mode not in (None, manifest.mode):
            continue
        where = f"--budgets, limit {number} ({limit.words})"
        if limit.agent not in (None, agent):
            raise UserError(f"{where}: the load test has no agent {limit.agent}; it has {agent}")
        if limit.figure not in FIGURES:
            raise UserError(f"{where}: a step of a load test has no such figure; it has {', '.join(FIGURES)}")
        if limit.subset != "all" or limit.condition not in (None, "clean"):
            raise UserError(f"{where}: a step of a load test has no subset and no line condition; leave them out")
        if offered not in steps:
            have = ", ".join(f"{one:g}" for one in steps)
            raise UserError(f"{where}: the load test has no step {step_name(offered, part.law)}; it has {have}")
        found.append(CellLimit(limit=limit, agent=agent, condition=steps[offered]))
    if not found:
        of = "callers" if part.law is None else "rate"
        raise UserError(f"--budgets: no limit is for this load test; give limits a `{of}:`, as in docs/gate.md, On load tests")
    return tuple(found)


def refuse_other_load(now: RunManifest, baseline: RunStore) -> None:
    """Check that two load tests have the same callers; otherwise these could cause a difference.

    Raises UserError: another pack, mode, number of contexts or law of arrivals, or no step in common.
    """
    where, before = f"--baseline {baseline.folder}", baseline.manifest
    ours, theirs = now.load, before.load
    if ours is None or theirs is None:
        raise UserError(f"{where}: is {'a run' if theirs is None else 'a load test'}; name one of the same kind")
    for what, mine, other in (
        ("pack", now.pack, before.pack),
        ("contents of the pack", now.pack_hash, before.pack_hash),
        ("mode", now.mode, before.mode),
        ("number of contexts", ours.contexts, theirs.contexts),
        ("arrivals", ours.law or "callers at once", theirs.law or "callers at once"),
    ):
        if mine != other:
            raise UserError(f"{where}: has another {what} ({other}, and this one {mine}); play it again as this one was")
    if not {one.offered for one in ours.steps} & {one.offered for one in theirs.steps}:
        have = ", ".join(f"{one.offered:g}" for one in theirs.steps)
        raise UserError(f"{where}: has no step in common with this load test; it has {have}")
