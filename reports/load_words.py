"""A load test in words: its rows, what they say together, and why a row says nothing about the agent.

The terminal and the page use these, so that a figure reads the same in both.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.figures.cards import clock_sentences, sharing_sentences
from harness.figures.cautions import Caution, worded
from harness.figures.latency import differs
from harness.figures.load_knee import OnCurve, calls_a_second
from harness.figures.load_steps import STRETCH_S, LoadFigures, ShareOf
from harness.load.caller_error import CallerError
from harness.load.ceiling import LoadResult
from harness.load.limits import limit_of
from harness.load.result import LoadStep
from harness.statistics.interval import FEWEST_CLUSTERS, TURNS_FOR_P95
from harness.store.load_files import LoadMade
from harness.store.unspoken import reasons_words
from harness.timing.figures import OVER_LIMIT_TEXT
from harness.timing.quantiles import Quantiles
from harness.wording import UNKNOWN_TEXT, counted, milliseconds, share, share_band


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a row as text, with its interval (empty where there is none)."""

    text: str
    interval: str = ""


HEADS: Final = (
    "TTFA p50", "TTFA p95", "TTFT p50", "cut-ins", "continuity", "no reply", "failed", "callers late by, p99", "caller's error",
    "machine",
)  # fmt: skip


def offered_head(result: LoadResult) -> str:
    """The head of the first column."""
    return "calls a second" if result.arrivals is not None else "callers"


def offered(step: LoadStep) -> Figure:
    """The offered load, and for a rate how many calls were open."""
    if step.rate is None:
        return Figure(f"{step.callers}")
    at_once = f"{step.calls_at_once:.1f} at once" if step.calls_at_once is not None else ""
    return Figure(f"{step.rate:g}", at_once)


def figures(step: LoadStep) -> tuple[Figure, ...]:
    """The figures of one row, in the order of `HEADS`. Those of the agent are dashes where the step says nothing about it."""
    found = step.figures if step.says_of_agent else None
    unknown = Figure(UNKNOWN_TEXT)
    agents = (
        *(_beside_answer(found, _percentile(step.ttfa_ms, name), name) for name in ("p50", "p95")),
        _percentile(found.ttft_ms, "p50"),
        _share(found.cut_ins),
        _share(found.continuity),
        _counted(found.no_reply),
        _counted(found.failed),
    ) if found is not None else (unknown,) * 7  # fmt: skip
    late = step.arrivals
    return (
        *agents,
        Figure(f"{late.p99_error_ms:.1f} ms") if late is not None else unknown,
        _error(step.caller_error),
        Figure(share(step.used.machine)) if step.used is not None else unknown,
    )


def _beside_answer(found: LoadFigures, ttfa: Figure, name: str) -> Figure:
    """TTFA with the answer in the small text, where they differ on over 5 % of the replies."""
    if not differs(found.filler_first):
        return ttfa
    small = (ttfa.interval, f"answer {_percentile(found.answer_ms, name).text}")
    return Figure(ttfa.text, "; ".join(part for part in small if part))


def _percentile(found: Quantiles, name: str) -> Figure:
    value = getattr(found, name)
    if getattr(found, f"{name}_over_limit"):
        return Figure(OVER_LIMIT_TEXT)
    if value is None:
        few = f"{counted(found.n, 'turn')}, needs {TURNS_FOR_P95}" if name == "p95" and 0 < found.n < TURNS_FOR_P95 else ""
        return Figure(UNKNOWN_TEXT, few)
    ends = getattr(found, f"{name}_interval")
    return Figure(milliseconds(value), f"{milliseconds(ends[0])} to {milliseconds(ends[1])}" if ends else "")


def _share(found: ShareOf) -> Figure:
    return Figure(share(found.value), share_band(found.interval))


def _counted(found: ShareOf) -> Figure:
    return Figure(f"{found.hits} of {found.of}", share_band(found.interval))


def _error(found: CallerError | None) -> Figure:
    if found is None:
        return Figure(UNKNOWN_TEXT)
    name, value = ("p95", found.p95_ms) if found.p95_ms is not None else ("p50", found.p50_ms)
    return Figure(f"{value:.1f} ms", f"{name} of {counted(found.calls, 'call')}")


def sentences(result: LoadResult) -> Iterator[str]:
    """What the steps say together, one sentence each."""
    within, bend = result.within_budget, result.knee
    if within is not None and result.budget_ms is not None:
        yield f"p95 of TTFA within {result.budget_ms:,.0f} ms: {within.words}."
    if result.arrivals is None:
        ceiling = "none of these" if result.ceiling is None else counted(round(result.ceiling), "caller")
        yield f"Within every bound up to: {ceiling}."
    if result.limit is not None:
        above, limit = result.limit
        at = calls_a_second(above) if result.arrivals is not None else f"{above:g} at once"
        yield f"The first to give way, at {at}, is {limit.in_words()}."
    if bend is not None:
        yield f"The knee, beyond which waits grow faster than served calls, is {_knee_at(bend)}."
    yield from (nothing_of_agent(step) for step in result.steps if not step.says_of_agent)
    yield from (_cut_short(step) for step in result.steps if step.unspoken)
    stretches = [step.figures.stretches for step in result.steps if step.figures is not None and step.says_of_agent]
    least = min(stretches, default=FEWEST_CLUSTERS)
    if least < FEWEST_CLUSTERS:
        longer = "a longer --for" if result.arrivals is not None else "more --rounds"
        yield (
            f"{counted(least, 'stretch', 'stretches')} of {STRETCH_S:.0f} s: an interval needs {FEWEST_CLUSTERS}, because "
            f"calls that overlap share a queue; {longer} gives it."
        )


def cautions(made: LoadMade) -> tuple[Caution, ...]:
    """What a reader must know of the test's GPUs, in the words of a run; empty where nothing is."""
    clocks = (worded("gpu_clocks", text) for text in clock_sentences(made.cards))
    return (*clocks, *(worded("gpu_shared", text) for text in sharing_sentences(made.cards)))


def _knee_at(found: OnCurve) -> str:
    if found.at_once is not None:
        return f"at {found.words}"
    if found.rate <= 0:
        return f"at {calls_a_second(found.lowest)} or below{found.band}"
    return f"nowhere up to {calls_a_second(found.highest)}{found.band}"


def nothing_of_agent(step: LoadStep) -> str:
    """Why a step says nothing about the agent, in one sentence."""
    limit = limit_of(step)
    why = limit.in_words() if limit is not None else "; ".join(step.out_of_bounds)
    return f"At {_load_of(step)} nothing is said of the agent's waits: {why}."


def _cut_short(step: LoadStep) -> str:
    """The turns of a step that were planned and never spoken, in one sentence."""
    spoken, of = step.spoken or (0, 0)
    return (
        f"At {_load_of(step)} {spoken} of {counted(of, 'planned turn')} were spoken; unspoken: {reasons_words(step.unspoken)}."
    )


def _load_of(step: LoadStep) -> str:
    return calls_a_second(step.rate) if step.rate is not None else f"{step.callers} at once"
