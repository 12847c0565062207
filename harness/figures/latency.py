"""The latency table of a cell: percentiles, shares and counts of one agent's turns, between their two ends.

No reply, and a reply that began before the caller had finished, rank slowest: leaving them out would reward silence and
interruption. So does the answer of a reply that is a filler alone. Discarded turns are unknown and take no part.

Others on the agent's machine can only delay it, so no turn is left out for them: each figure is the measured one beside the
range in which the same turns would be on a machine of their own, and an interval covers both ends. Counts are as measured. The
figures of lines (RTP) are the median of the calls and the worst; loss is of all packets together.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from harness.ranking.joint import MOST_ALIKE
from harness.statistics.interval import TURNS_FOR_P95, Interval
from harness.store.selection import Turns
from harness.timing.contention import MOST_NAMED
from harness.timing.figures import NO_REPLY_TEXT, OF_A_FILE, OVER_LIMIT_TEXT, LineQuality, TurnTiming
from harness.timing.quantiles import Quantiles, quantiles_of
from harness.turns.catalogue import LATENCIES, Latencies
from harness.turns.estimate import by_cluster, estimate
from harness.turns.table import Cluster, TurnTable
from harness.wording import LEAST_RANGE_MS, counted, milliseconds, share

MUCH_LOST: Final = 0.01
"""From this loss on a run carries a caution about its line. A choice: about one packet of a hundred is where listeners begin to
hear loss that is not concealed (ITU-T G.113, appendix I, puts the impairment of G.711 at 1 % loss without concealment at 25 of
100)."""


class LineSummary(BaseModel):
    """Times in ms; None is not known."""

    model_config = ConfigDict(extra="forbid")

    calls: int
    packets: int
    lost_share: float
    jitter_ms: float | None
    """Median over calls; RFC 3550."""
    worst_jitter_ms: float | None
    round_trip_ms: float | None
    skew_ppm: float | None
    sent_lost: int | None
    """Packets of the caller that the agents' side missed."""


SHORT_PAUSE_MS: Final = 800.0
"""Longer pauses are the turn's end in many people's speech; they are counted separately."""

FIGURES: Final = tuple(figure.key for figure in LATENCIES)
_REPORTED: Final = ("tokens_per_s", "inter_token_gap_p95_ms", "tts_real_time_factor")


class WithinBudget(BaseModel):
    """Share of turns within budget; a turn without reply, or one that began early, is not."""

    model_config = ConfigDict(extra="forbid")

    ttft: float | None = None
    ttfa: float | None = None
    answer: float | None = None
    """Share of turns whose answer is within the budget of TTFA."""
    ttft_interval: Interval | None = None
    ttfa_interval: Interval | None = None
    answer_interval: Interval | None = None
    ttft_range: Interval | None = None
    """From the share as measured to the share without all that others could have caused; None where that was not measured."""
    ttfa_range: Interval | None = None
    answer_range: Interval | None = None


class TurnFigures(Latencies):
    """Figures of one agent's turns. Shares are 0–1, times in ms; None is not known."""

    turns: int
    no_reply: int
    discarded: dict[str, int] = Field(default_factory=dict)
    contended: int = 0
    """Turns of which others on the agent's machine could have caused 1 ms and more. None is left out for it."""
    undecided: int = 0
    """Turns for which this machine cannot tell whether they are within the budget."""
    others: list[tuple[str, float]] = Field(default_factory=list)
    """The programs that ran beside the agent, with their cores on average over the turns; at most three."""
    within_budget: WithinBudget = Field(default_factory=WithinBudget)
    from_a_file: bool = False
    """True if its replies were in a file: its latencies are what the file states, and nobody measured them."""
    filler_first: tuple[int, int] = (0, 0)
    """Replies whose first sound is not their answer, and replies of which this is known."""
    backchannels: int = 0
    """The agent's backchannels, which are neither replies nor cut-ins."""
    cut_in_rate: float | None = None
    cut_in_interval: Interval | None = None
    false_start_rate: float | None = None
    """False starts per marked pause."""
    pauses_cut: tuple[int, int] = (0, 0)
    short_pauses_cut: tuple[int, int] = (0, 0)
    """Cut and all marked pauses under 800 ms."""
    underruns: int = 0
    line: LineSummary | None = None
    """Line of wires that carry a media clock (WebRTC, SIP)."""
    unexplained_p95_ms: float | None = None
    yield_ms: Quantiles | None = None
    tokens_per_s: float | None = None
    inter_token_gap_p95_ms: float | None = None
    """Median over turns of each turn's own p95."""
    tts_real_time_factor: float | None = None

    @property
    def answer_differs(self) -> bool:
        """True if over 5 % of the replies do not begin with their answer: then the answer is beside TTFA wherever it is shown,
        and decides *fast* with it."""
        return differs(self.filler_first)


def turn_figures(turns: Turns, *, budgets_ms: Mapping[str, float], seed: int, spoken: bool = True) -> TurnFigures:
    """The figures of one agent. Discarded turns are counted and take part in nothing else.

    `turns`: by cluster, which is what intervals are over. `spoken`: False of an agent that is asked in writing, which has no
    sound to wait for and nobody to interrupt.
    """
    table = TurnTable.of_groups(turns, budgets_ms)
    every = [t for group in turns.values() for t in group]
    used = [t for t in every if t.discarded is None]
    of_a_file = bool(every) and all(t.method == OF_A_FILE for t in every)
    heard = spoken and not of_a_file  # A file of replies does not say who spoke when.
    cut_ins, false_starts = (estimate(table, name) if heard else None for name in ("cut_in_rate", "false_start_rate"))
    yields = {c: [t.yield_ms for t in group if t.discarded is None and t.yield_ms is not None] for c, group in turns.items()}
    pauses = [(ms, cut) for t in used for ms, cut in zip(t.pause_durations_ms, t.pause_was_cut, strict=True)]
    short = [cut for ms, cut in pauses if ms < SHORT_PAUSE_MS]
    latencies: dict[str, Any] = {f"{name}_ms": quantiles(table, name, seed) for name in FIGURES}
    reported: dict[str, Any] = {name: _median([getattr(t, name) for t in used]) for name in _REPORTED}
    return TurnFigures(
        turns=len(every),
        no_reply=sum(t.no_reply for t in used),
        contended=sum((t.owed_ms(t.first_figure[0]) or 0.0) >= LEAST_RANGE_MS for t in used),
        undecided=undecided(table, "ttfa" if spoken else "ttft"),
        others=mean_others(used),
        discarded=dict(Counter(t.discarded for t in every if t.discarded is not None)),
        **latencies,
        within_budget=_within_budget(table, ("ttft", "ttfa", "answer") if spoken else ("ttft",)),
        from_a_file=of_a_file,
        filler_first=filler_first(table),
        backchannels=sum(t.backchannels for t in used),
        cut_in_rate=cut_ins.value if cut_ins is not None else None,
        cut_in_interval=cut_ins.interval if cut_ins is not None else None,
        false_start_rate=false_starts.value if false_starts is not None else None,
        pauses_cut=(sum(cut for _, cut in pauses), len(pauses)),
        short_pauses_cut=(sum(short), len(short)),
        underruns=sum(t.underruns for t in used),
        line=line_of(turns),
        unexplained_p95_ms=_unexplained_p95(used),
        yield_ms=quantiles_of(yields, seed) if any(yields.values()) else None,
        **reported,
    )


def quantiles(table: TurnTable, latency: str, seed: int, cluster: Cluster = "conversation") -> Quantiles:
    """The percentiles of a latency of one group of turns: measured, their range, and intervals that cover both ends."""
    given = table.given(latency)
    high = quantiles_of(by_cluster(table, given, given.high, cluster), seed)
    if not given.row.size or not table.flags["watched"][given.row].all():
        return high
    if np.array_equal(given.low, given.high):
        return high.down_to(high)
    return high.down_to(quantiles_of(by_cluster(table, given, given.low, cluster), seed))


def undecided(table: TurnTable, latency: str) -> int:
    """The number of turns whose budget lies between the two ends of their latency."""
    given = table.given(f"within_budget.{latency}")
    return int((given.low < given.high).sum())


def mean_others(turns: Sequence[TurnTiming]) -> list[tuple[str, float]]:
    """The programs that ran beside the agent and their cores, on average over the turns that were watched; at most three."""
    watched = [t.contention.others for t in turns if t.contention is not None]
    cores: Counter[str] = Counter()
    for others in watched:
        cores.update(dict(others))
    return [(name, round(total / len(watched), 2)) for name, total in cores.most_common(MOST_NAMED)]


def _within_budget(table: TurnTable, latencies: Sequence[str]) -> WithinBudget:
    shares = {name: found for name in latencies if (found := estimate(table, f"within_budget.{name}")) is not None}
    watched = [name for name in shares if table.flags["watched"][table.given(name).row].all()]
    return WithinBudget.model_validate(
        {name: found.value for name, found in shares.items()}
        | {f"{name}_interval": found.interval for name, found in shares.items()}
        | {f"{name}_range": shares[name].ends for name in watched}
    )


def filler_first(table: TurnTable) -> tuple[int, int]:
    """Replies whose first sound is not their answer, and replies of which this is known."""
    rows = table.given("answer").row
    replies = rows[table.flags["answered"][rows]]
    return int(table.flags["filler"][replies].sum()), len(replies)


def differs(of: tuple[int, int]) -> bool:
    """True if a share of replies is so large that their answers must be shown beside TTFA. `of`: from `filler_first`."""
    return of[0] > MOST_ALIKE * of[1]


def _unexplained_p95(turns: Sequence[TurnTiming]) -> float | None:
    rest = [
        abs(stage.duration_ms)
        for turn in turns
        if turn.waterfall is not None
        for stage in turn.waterfall.stages
        if stage.name == "unexplained"
    ]
    return float(np.percentile(rest, 95)) if len(rest) >= TURNS_FOR_P95 else None


def _median(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return float(np.median(known)) if known else None


def line_of(turns: Turns) -> LineSummary | None:
    """The lines of all turns of a cell; None where none carries a media clock."""
    found = [turn.line for group in turns.values() for turn in group if turn.line is not None]
    if not found:
        return None
    packets, lost = sum(line.packets for line in found), sum(line.lost for line in found)
    jitter = [line.jitter_ms for line in found if line.jitter_ms is not None]
    missed = [line.sent_lost for line in found if line.sent_lost is not None]
    return LineSummary(
        calls=len(found),
        packets=packets,
        lost_share=lost / (packets + lost) if packets + lost else 0.0,
        jitter_ms=_median(jitter),
        worst_jitter_ms=max(jitter, default=None),
        round_trip_ms=_median([line.round_trip_ms for line in found]),
        skew_ppm=_median([line.skew_ppm for line in found]),
        sent_lost=sum(missed) if missed else None,
    )


def line_words(line: LineSummary | LineQuality) -> str:
    """One line's figures for people."""
    parts = [f"{100 * line.lost_share:.1f} % of packets lost"]
    if line.jitter_ms is not None:
        parts.append(f"jitter {line.jitter_ms:.1f} ms")
    if line.round_trip_ms is not None:
        parts.append(f"{line.round_trip_ms:.1f} ms there and back")
    return ", ".join(parts)


def filler_words(cell: TurnFigures, budget_ms: float) -> str:
    """`with a filler: 412 ms; the answer begins at 1.90 s, within 500 ms on 3 % of 40 turns`, without full stop."""
    often = f"within {milliseconds(budget_ms)} on {share(cell.within_budget.answer)} of {counted(cell.turns, 'turn')}"
    begins = f"the answer begins at {milliseconds(cell.answer_ms.p50)}, {often}"
    if cell.answer_ms.p50_over_limit:
        begins = f"on at least half of the turns no answer follows within {NO_REPLY_TEXT}"
    first = OVER_LIMIT_TEXT if cell.ttfa_ms.p50_over_limit else cell.ttfa_ms.p50 is not None and milliseconds(cell.ttfa_ms.p50)
    return f"with a filler{f': {first}' if first else ''}; {begins}"


def backchannel_words(cell: TurnFigures) -> str:
    """`12 backchannels: no reply, and no cut-in`; empty where there is none."""
    return f"{counted(cell.backchannels, 'backchannel')}: no reply, and no cut-in" if cell.backchannels else ""
