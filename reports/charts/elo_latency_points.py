"""The data of the joint chart: quality against latency, one point per agent, with intervals on both axes.

Every combination of line condition, figure, percentile and subset has its own points, because quality and latency of a
point come from the very same replies. The frontier joins agents that no other agent beats on both axes. Points of other
boards, also the paper's, are not drawn: their Elo is from another pool, and not even on this scale (docs/report.md).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from harness.figures.quality_state import QUOTED
from harness.figures.seat import line_names
from harness.reports.gate_shown import limit_of
from harness.reports.view import METRICS, SUBSETS, UNKNOWN, AgentView, Estimate, PageView, Subset, both_ends, percentile
from harness.reports.wording import system_name
from harness.timing.figures import OVER_LIMIT_TEXT
from harness.wording import counted, listed, milliseconds, share

Percentile = Literal["p50", "p95"]
_NAMED = 3
"""More agents without a point are counted."""
PERCENTILES: dict[Percentile, str] = {"p50": "median", "p95": "95th percentile"}


@dataclass(frozen=True, slots=True)
class Choice:
    """A setting of the chart's switches. `key` is its name on the page."""

    condition: str
    metric: str
    percentile: Percentile
    subset: Subset

    @property
    def key(self) -> str:
        """The name of the setting, as the page's script builds it."""
        return "|".join((self.condition, self.metric, self.percentile, self.subset))


@dataclass(frozen=True, slots=True)
class Point:
    """The point of one agent. `number` is its index among the page's agents, which gives its colour and shape."""

    agent: str
    number: int
    latency: Estimate
    elo: Estimate
    p_frontier: str
    ends: tuple[float, float] | None = None
    """Its latency had the machine been its own, and as measured; None where nothing is owed to others."""
    opinion: bool = False
    """True if its Elo is a judge's opinion: drawn hollow, and on no frontier."""
    rated: bool = True
    """False where nobody rated any agent: the chart is of latency alone, and `elo` is only its place from top to bottom."""
    seat: str = ""
    """`people` or `rehearsal`: drawn apart from agents, and on no frontier."""


@dataclass(frozen=True, slots=True)
class Line:
    """The line of a reference reply, which has a rating but no latency."""

    label: str
    elo: float


def choices(view: PageView) -> tuple[Choice, ...]:
    """All combinations for which an agent has a point."""
    every = (Choice(*parts) for parts in product(view.conditions, METRICS, PERCENTILES, SUBSETS))
    return tuple(choice for choice in every if points(view, choice))


def default_choice(view: PageView) -> Choice:
    """The first setting of the page and the one of a picture: medians of the first condition on all conversations."""
    return Choice(view.conditions[0] if view.conditions else "", default_metric(view), "p50", "all")


def offered(view: PageView) -> dict[str, str]:
    """The figures of the latency axis: of text agents alone TTFT; the answer where any agent has it, which no run has that was
    timed before."""
    if view.waits_by[0] == "ttft":
        return {"ttft": METRICS["ttft"]}
    known = any(part.latency("answer").n for agent in view.agents for part in agent.slices.values())
    return {key: label for key, label in METRICS.items() if key != "answer" or known}


def default_metric(view: PageView) -> str:
    """The figure of the first setting: TTFA (TTFT if no agent speaks), or the answer where it decides for any agent. Where an
    agent's answer is not known, its point would be missing there, so that TTFA stays."""
    if view.agents and not any(agent.spoken for agent in view.agents):
        return "ttft"
    timed = [agent.whole for agent in view.agents if agent.whole.latency("ttfa").n]
    answers = [part.latency("answer") for part in timed]
    decides = any(part.cell.answer_differs for part in timed) and any(answer.p50 is not None for answer in answers)
    return "answer" if decides and all(answer.n for answer in answers) else "ttfa"


def points(view: PageView, choice: Choice) -> tuple[Point, ...]:
    """The agents that have both a rating and this latency; where no agent has a rating, those with this latency."""
    here = [(number, agent) for number, agent in enumerate(view.agents) if agent.condition == choice.condition]
    if not any(part.rating.elo.value is not None for _, agent in here for part in agent.slices.values()):
        return _by_latency_alone(here, choice)
    found = (_point(agent, number, choice) for number, agent in here)
    return tuple(point for point in found if point is not None)


def limit_shown(view: PageView, choice: Choice) -> tuple[float, str]:
    """The limit on the latency axis in ms, and its label: the gate's where it has one and the same for all agents here, as in
    the table, otherwise the run's budget."""
    figure = f"{choice.metric}_ms.{choice.percentile}"
    gates = [limit_of(view.gates, agent.name, figure) for agent in view.agents if agent.condition == choice.condition]
    bounds = {None if gate is None else gate.bound for gate in gates}
    if len(bounds) == 1 and (bound := bounds.pop()) is not None and choice.subset == "all":
        return bound, f"the gate's limit {milliseconds(bound)}"
    budget = view.budget_ttft_ms if choice.metric == "ttft" else view.budget_ttfa_ms
    return budget, f"budget {budget:.0f} ms"


def absent(view: PageView, choice: Choice, found: Sequence[Point]) -> str:
    """The agents of this condition that have no point, and why, as the table says it; empty if all have one."""
    drawn = {point.number for point in found}
    reasons: dict[str, list[str]] = {}
    for number, agent in enumerate(view.agents):
        part = agent.slices.get(choice.subset)
        if number in drawn or agent.condition != choice.condition or part is None or not part.cell.turns:
            continue
        if getattr(part.latency(choice.metric), f"{choice.percentile}_over_limit"):
            why = OVER_LIMIT_TEXT
        else:
            why = "latency not known" if _latency(agent, choice) is None else "not rated"
        reasons.setdefault(why, []).append(agent.name)
    words = [
        f"{listed(names) if len(names) <= _NAMED else counted(len(names), 'agent')} ({why})" for why, names in reasons.items()
    ]
    return f"Not drawn: {'; '.join(words)}" if words else ""


def _by_latency_alone(here: Sequence[tuple[int, AgentView]], choice: Choice) -> tuple[Point, ...]:
    """The agents from top to bottom, fastest first."""
    timed = [(number, agent, latency) for number, agent in here if (latency := _latency(agent, choice)) is not None]
    timed.sort(key=lambda each: (each[2].value or 0.0, each[1].name))
    return tuple(
        Point(agent.name, number, latency, Estimate(-float(k)), "not known", _ends(agent, choice), rated=False, seat=agent.seat)
        for k, (number, agent, latency) in enumerate(timed)
    )


def _latency(agent: AgentView, choice: Choice) -> Estimate | None:
    part = agent.slices.get(choice.subset)
    latency = UNKNOWN if part is None else percentile(part.latency(choice.metric), choice.percentile)
    if latency.value is None or latency.value <= 0:
        return None
    low = None if latency.low is None else max(latency.low, 1.0)
    return Estimate(latency.value, low, latency.high)


def _ends(agent: AgentView, choice: Choice) -> tuple[float, float] | None:
    found = both_ends(agent.slices[choice.subset].latency(choice.metric), choice.percentile)
    return (max(found[0], 1.0), found[1]) if found is not None else None


def _point(agent: AgentView, number: int, choice: Choice) -> Point | None:
    part, placed = agent.slices.get(choice.subset), _latency(agent, choice)
    if part is None or part.rating.elo.value is None or placed is None:
        return None
    words = "not known" if part.cell.p_frontier is None else share(part.cell.p_frontier)
    return Point(
        agent.name,
        number,
        placed,
        part.rating.elo,
        words,
        _ends(agent, choice),
        part.cell.quality_state not in QUOTED,
        seat=agent.seat,
    )


def references(view: PageView, choice: Choice) -> tuple[Line, ...]:
    """The references of this board and its mean and best person, best first."""
    return tuple(sorted([*_references(view, choice), *_people(view, choice)], key=lambda line: -line.elo))


def _people(view: PageView, choice: Choice) -> Iterator[Line]:
    for seat in view.seats:
        if (seat.condition, "all") == (choice.condition, choice.subset):
            yield from (Line(name, elo) for name, elo in line_names(seat))


def _references(view: PageView, choice: Choice) -> Iterator[Line]:
    for reference in view.references:
        rating = reference.ratings.get(choice.subset)
        if reference.condition == choice.condition and rating is not None and rating.elo.value is not None:
            yield Line(f"{system_name(reference.system)}, {reference.author}", rating.elo.value)


def frontier(found: tuple[Point, ...]) -> tuple[Point, ...]:
    """The corners of the agents' Pareto frontier: fastest first, each rated higher than all faster ones. Opinions have none."""
    found = tuple(point for point in found if point.rated and not point.opinion and not point.seat)
    corners: list[Point] = []
    best = float("-inf")
    for point in sorted(found, key=lambda p: (p.latency.value or 0.0, -(p.elo.value or 0.0))):
        if point.elo.value is not None and point.elo.value > best:
            best = point.elo.value
            corners.append(point)
    return tuple(corners)
