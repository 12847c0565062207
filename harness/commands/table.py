"""The table a run ends on: one line an agent, the same figures as the report's, and what weakens them in words below."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.steps.summary import AgentSummary, Quantiles, RunSummary

_DASH = "–"
_COLUMNS = (
    "TTFA\np50",
    "\np95",
    "in\nbudget",
    "TTFT\np50",
    "cut-\nins",
    "pauses\ncut",
    "no\nreply",
    "\nElo",
    "95 %\ninterval",
)


def print_summary(summary: RunSummary, console: Console) -> None:
    """Print the table, the warnings, and where the report is."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("times in ms\nagent", no_wrap=True)
    for name in _COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    ranked = sorted(summary.agents.items(), key=lambda item: (item[1].elo is None, -(item[1].elo or 0), item[0]))
    for name, agent in ranked:
        table.add_row(name, *_cells(agent))
    for name, reference in sorted(summary.references.items(), key=lambda item: -(item[1].elo or 0)):
        cells = [""] * 7 + [_elo(reference.elo), _interval(reference.elo_interval)]
        table.add_row(Text(name, style="dim"), *cells)
    console.print(table)
    for name, agent in ranked:
        if line := _substance(name, agent):
            console.print(Text(line), soft_wrap=True)
    for text in _sentences(summary):
        console.print(Text(text, style="yellow"), soft_wrap=True)
    for failure in summary.failures:
        first, *rest = failure.detail.splitlines() or [""]
        console.print(
            Text(f"failed: {failure.context} · {failure.agent}: {failure.kind}: {first}", style="red"), soft_wrap=True
        )
        for line in rest:
            console.print(Text(f"    {line}", style="dim"), soft_wrap=True)
    console.print(Text(f"run     {summary.run}"), soft_wrap=True)
    if summary.report:
        console.print(Text(f"report  {summary.report}"), soft_wrap=True)


def _cells(agent: AgentSummary) -> list[str]:
    share = agent.within_budget.ttfa
    return [
        milliseconds(agent.ttfa_ms, "p50"),
        milliseconds(agent.ttfa_ms, "p95"),
        f"{share:.0%}" if share is not None else _DASH,
        milliseconds(agent.ttft_ms, "p50"),
        f"{agent.cut_in_rate:.0%}" if agent.cut_in_rate is not None else _DASH,
        f"{agent.pauses_cut[0]}/{agent.pauses_cut[1]}",
        f"{agent.no_reply}/{agent.turns}",
        _elo(agent.elo),
        _interval(agent.elo_interval),
    ]


def _substance(name: str, agent: AgentSummary) -> str | None:
    """What a good TTFA may be bought with: stock words first. None where nothing was heard."""
    if agent.common_opening is None:
        return None
    alike, replies = agent.common_opening
    return (
        f"{name}: first word of substance {milliseconds(agent.first_substance_ms, 'p50')} ms (p50); "
        f"the commonest three-word opening begins {alike} of {replies} replies."
    )


def milliseconds(figures: Quantiles, which: str) -> str:
    """A percentile for people: "512", "> 15 s" where it falls on a turn without reply, a dash where it is not known."""
    if getattr(figures, f"{which}_over_limit"):
        return "> 15 s"
    value = getattr(figures, which)
    return f"{value:,.0f}" if value is not None else _DASH


def _elo(elo: float | None) -> str:
    return f"{elo:.0f}" if elo is not None else _DASH


def _interval(interval: tuple[float | None, float | None] | None) -> str:
    """`1480–1530`, or the bound of an agent that won or lost every comparison."""
    low, high = interval or (None, None)
    if low is not None and high is not None:
        return f"{low:.0f}–{high:.0f}"
    return f"≥ {low:.0f}" if low is not None else f"≤ {high:.0f}" if high is not None else _DASH


def _sentences(summary: RunSummary) -> list[str]:
    invalid = [f"INVALID RUN: {reason}" for reason in summary.invalid]
    return [*invalid, *summary.warnings]
