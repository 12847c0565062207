"""What each folded section of the page has found, in one sentence.

A page with everything open is read by nobody: twenty agents need thirteen charts and twelve tables. So a section is its heading
and one sentence, which names the best and the worst, and the charts and rows behind it open from there.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from harness.figures.endpointing import EndpointingSummary
from harness.figures.server_waits import WAITS
from harness.reports.charts.theme import STAGE_LABELS
from harness.reports.failures import losses
from harness.reports.verdict import INVALID, deciding
from harness.reports.view import PageView, percentile
from harness.reports.wording import elo, elo_interval, system_name
from harness.wording import counted, milliseconds, share, share_band

NAMED: Final = 2
"""Most agents whose figures are all in a sentence; of more, the lowest and the highest are."""
Named = Sequence[tuple[str, float]]
_TIMED: Final = ("systems", "latency", "servers", "endpointing", "events", "interaction")
"""Sections with figures of time, which an invalid run does not have to quote."""
_LOSSES: Final = {
    "invalid run": ("reason why the run is invalid", "reasons why the run is invalid"),
    "failed session": ("failed session", "failed sessions"),
    "no reply": ("turn without reply", "turns without reply"),
    "unspoken turns": ("call with unspoken turns", "calls with unspoken turns"),
    "discarded turn": ("discarded turn", "discarded turns"),
    "missing session": ("missing session", "missing sessions"),
    "refused value": ("turn with a refused value", "turns with a refused value"),
}
_CHANGES: Final = {
    "worse": ("regression", "regressions"),
    "better": ("improvement", "improvements"),
    "unclear": ("figure without a clear change", "figures without a clear change"),
}


def findings(view: PageView) -> dict[str, str]:
    """Anchor of a section → its sentence; empty where there is nothing to say beside the headings of its charts.

    A sentence with times of an invalid run says so, because it may be copied alone.
    """
    found = _sentences(view)
    timed = _TIMED if any(not agent.valid for agent in view.agents) else ()
    return {anchor: f"{INVALID}: {text}" if anchor in timed and text else text for anchor, text in found.items()}


def _sentences(view: PageView) -> dict[str, str]:
    return {
        "systems": _systems(view),
        "baseline": _counts(Counter(row.verdict for row in view.baseline.changes), _CHANGES) if view.baseline else "",
        "quality": _quality(view),
        "latency": _latency(view),
        "servers": _servers(view),
        "endpointing": _endpointing(view),
        "events": _events(view),
        "interaction": _interaction(view),
        "strategies": _strategies(view),
        "trust": _trust(view),
        "listening": " ".join(dict.fromkeys(test.summary for test in view.listening)),
        "missing": _counts(Counter(what for what, *_ in losses(view)), _LOSSES),
    }


def between(found: Named, words: Callable[[float], str]) -> str:
    """`a 12 %, b 40 %`; of more than two, `2 % (a) to 40 % (b)`, or `0 % of each`; empty without figures."""
    if len(found) <= NAMED:
        return ", ".join(f"{name} {words(value)}" for name, value in found)
    low, high = min(found, key=lambda one: one[1]), max(found, key=lambda one: one[1])
    if words(low[1]) == words(high[1]):
        return f"{words(low[1])} of each"
    return f"{words(low[1])} ({low[0]}) to {words(high[1])} ({high[0]})"


def _counts(found: Mapping[str, int], words: Mapping[str, tuple[str, str]]) -> str:
    counts = [counted(found[what], one, many) for what, (one, many) in words.items() if found.get(what)]
    return f"{', '.join(counts)}." if counts else ""


def _sentence(*parts: tuple[str, str]) -> str:
    """The parts that are known, each after its name: `Elo: …. Won: ….`"""
    return " ".join(f"{name}: {found}." for name, found in parts if found)


def _systems(view: PageView) -> str:
    medians = ((agent.name, percentile(agent.whole.latency(deciding(agent)), "p50").value) for agent in view.agents)
    waits = [(name, p50_ms) for name, p50_ms in medians if p50_ms is not None]
    return _sentence(("Median wait", between(waits, milliseconds)), ("Elo", _elos(view)))


def _elos(view: PageView) -> str:
    agents = [agent for agent in view.agents if agent.whole.rating.elo.value is not None]
    if len(agents) > NAMED:
        return between([(agent.name, agent.whole.rating.elo.value or 0.0) for agent in agents], elo)
    return ", ".join(f"{a.name} {elo(a.whole.rating.elo.value)}{_of_95(elo_interval(a.whole.rating.elo))}" for a in agents)


def _of_95(interval: str) -> str:
    return f" (95 % interval {interval})" if interval else ""


def _quality(view: PageView) -> str:
    won = [(agent.name, rate) for agent in view.agents if (rate := agent.whole.rating.win_rate) is not None]
    return _sentence(("Elo", _elos(view)), ("Comparisons won", between(won, share)))


def _latency(view: PageView) -> str:
    """The longest part of the wait, by the means of all turns with a waterfall."""
    sums: dict[str, Counter[str]] = {}
    for session in (session for context in view.contexts for session in context.sessions):
        for stage in (stage for turn in session.turns for stage in turn.stages):
            sums.setdefault(session.agent, Counter())[stage.name] += round(stage.end_ms - stage.start_ms)
    # Of an agent without marks all is unexplained, which says nothing.
    longest = {
        agent: max(parts, key=lambda name: parts[name]) for agent, parts in sums.items() if set(parts) != {"unexplained"}
    }
    if len(longest) <= NAMED:
        parts = [
            f"{a} {STAGE_LABELS.get(name, name)}, {share(sums[a][name] / (sums[a].total() or 1))}"
            for a, name in longest.items()
        ]
        return _sentence(("Longest part of the wait", "; ".join(parts)))
    (most, agents), *_ = Counter(longest.values()).most_common()
    return f"Longest part of the wait: {STAGE_LABELS.get(most, most)}, with {agents} of {counted(len(longest), 'agent')}."


def _servers(view: PageView) -> str:
    waits = [
        (f"{agent.name}, {WAITS.get(row.stage, row.stage)}", row.wait_ms.mean)
        for agent in view.agents
        for row in agent.whole.cell.servers
        if row.wait_ms.mean is not None
    ]
    return _sentence(("Mean wait", between(waits, milliseconds)))


def _endpointing(view: PageView) -> str:
    cells = [(agent.name, agent.whole.cell) for agent in view.agents if agent.spoken]
    cut = [(name, cell.pauses_cut_share) for name, cell in cells if cell.pauses_cut_share is not None]
    few = (_pauses(name, cell) for name, cell in cells if cell.pauses_cut_share is not None)
    pauses = between(cut, share) if len(cut) > NAMED else ", ".join(few)
    dead_air = [(name, cell.dead_air_ms.mean) for name, cell in cells if cell.dead_air_ms.mean is not None]
    return _sentence(("Pauses cut", pauses), ("Mean silence after a true end", between(dead_air, milliseconds)))


def _pauses(name: str, found: EndpointingSummary) -> str:
    cut, of = found.inner_pauses_cut
    return f"{name} {cut} of {of}{_of_95(share_band(found.pauses_cut_interval))}"


def _events(view: PageView) -> str:
    return _sentence(
        ("Stopped at what asks for a stop", between(_stopped(view, "stop"), share)),
        ("At everything else", between(_stopped(view, "nothing"), share)),
    )


def _stopped(view: PageView, asks: str) -> Named:
    """Agent → the share of these sounds at which it stopped."""
    rows = {agent.name: [row for row in agent.whole.cell.events if row.of and row.asks == asks] for agent in view.agents}
    return [(name, sum(row.stopped for row in mine) / sum(row.of for row in mine)) for name, mine in rows.items() if mine]


def _interaction(view: PageView) -> str:
    agents = [agent for agent in view.agents if agent.spoken and agent.whole.cell.turns]
    cut_in = [(agent.name, rate) for agent in agents if (rate := agent.whole.cell.cut_in_rate) is not None]
    silent, turns = (sum(getattr(agent.whole.cell, key) for agent in agents) for key in ("no_reply", "turns"))
    return _sentence(("Turns cut in on", between(cut_in, share)), ("No reply", f"{silent:,} of {counted(turns, 'turn')}"))


def _strategies(view: PageView) -> str:
    if view.strategies is None:
        return ""
    most = [
        f"{system_name(system)} {max(rates, key=lambda name: rates[name])} ({share(max(rates.values()))} of replies)"
        for system, rates in view.strategies.rates.items()
        if rates
    ]
    more = f", and of {counted(len(most) - NAMED, 'other')} below" if len(most) > NAMED else ""
    return _sentence(("Most used", ", ".join(most[:NAMED]) + more)) if most else ""


def _trust(view: PageView) -> str:
    """The state of each judge; its accuracy is beside every Elo, and behind the fold."""
    states = [f"{judge.id}, {'borne out by people elsewhere' if judge.trusted else 'an opinion'}" for judge in view.judges]
    more = [counted(len(states) - NAMED, "other judge")] if len(states) > NAMED else []
    return _sentence(("Judged by", "; ".join([*states[:NAMED], *more])))
