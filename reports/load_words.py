"""A load test in words: its rows, what they say together, and why a row says nothing about the agent.

The terminal and the page use these, so that a figure reads the same in both.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.figures.cautions import Caution, worded
from harness.figures.latency import differs
from harness.figures.load_knee import OnCurve, calls_a_second
from harness.figures.machine import clock_sentences, sharing_sentences
from harness.figures.server_waits import ServerWaits
from harness.figures.steps import StepFigures
from harness.load.result import LoadResult, Step
from harness.statistics.interval import FEWEST_CLUSTERS, TURNS_FOR_P95
from harness.store.manifest import RunManifest
from harness.store.unspoken import BECAUSE
from harness.timing.figures import OVER_LIMIT_TEXT
from harness.timing.quantiles import Quantiles
from harness.turns.table import STRETCH_S
from harness.wording import UNKNOWN_TEXT, counted, milliseconds, share, share_band

STRETCHES: Final = "stretches of time"


class Figure(NamedTuple):
    """A figure of a row as text, with its interval (empty where there is none)."""

    text: str
    interval: str = ""


_UNKNOWN: Final = Figure(UNKNOWN_TEXT)
HEADS: Final = (
    "TTFA p50", "TTFA p95", "TTFT p50", "cut-ins", "continuity", "no reply", "failed", "callers late by, p99", "caller's error",
    "machine",
)  # fmt: skip


def offered_head(result: LoadResult) -> str:
    """The head of the first column."""
    return "calls a second" if result.is_open else "callers"


def offered(step: Step) -> Figure:
    """The offered load, and for a rate how many calls were open."""
    mean = step.record.calls_at_once
    return Figure(f"{step.record.offered:g}", f"{mean:.1f} at once" if mean is not None else "")


def figures(step: Step) -> tuple[Figure, ...]:
    """The figures of one row, in the order of `HEADS`. Those of the agent are dashes where the step says nothing about it."""
    found, record = step.said, step.record
    agents: tuple[Figure, ...] = (_UNKNOWN,) * 7
    if found is not None:
        agents = (
            *(_beside_answer(found, name) for name in ("p50", "p95")), _percentile(found.ttft_ms, "p50"),
            *(Figure(share(one.value), share_band(one.interval)) for one in (found.cut_ins, found.continuity)),
            *(Figure(f"{one.hits} of {one.of}", share_band(one.interval)) for one in (found.no_reply, found.failed)),
        )  # fmt: skip
    late, error, caller = record.arrivals, record.caller_error, _UNKNOWN
    if error is not None:
        name, value = ("p95", error.p95_ms) if error.p95_ms is not None else ("p50", error.p50_ms)
        caller = Figure(f"{value:.1f} ms", f"{name} of {counted(error.calls, 'call')}")
    return (
        *agents,
        Figure(f"{late.p99_error_ms:.1f} ms") if late is not None else _UNKNOWN,
        caller,
        Figure(share(record.used.machine)) if record.used is not None else _UNKNOWN,
    )


def served(result: LoadResult) -> list[tuple[str, list[ServerWaits]]]:
    """The waits for model servers of each step that has some, under its name."""
    return [(step.record.name, list(step.said.servers)) for step in result.steps if step.said is not None]


def _beside_answer(found: StepFigures, name: str) -> Figure:
    """TTFA with the answer in the small text, where they differ on over 5 % of the replies."""
    ttfa = _percentile(found.ttfa_ms, name)
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
    ends, least = getattr(found, f"{name}_interval"), getattr(found, f"{name}_at_least")
    if ends is None:
        return Figure(milliseconds(value), "" if least is None else f"≥ {milliseconds(least)}")
    return Figure(milliseconds(value), f"{milliseconds(ends[0])} to {milliseconds(ends[1])}")


def sentences(result: LoadResult) -> Iterator[str]:
    """What the steps say together, one sentence each."""
    within, bend = result.within_budget, result.knee
    if within is not None:
        yield f"p95 of TTFA within {result.part.budget_ms:,.0f} ms: {within.words}."
    if not result.is_open:
        ceiling = "none of these" if result.ceiling is None else counted(round(result.ceiling), "caller")
        yield f"Within every bound up to: {ceiling}."
    if result.limit is not None:
        above, limit = result.limit
        at = calls_a_second(above) if result.is_open else f"{above:g} at once"
        yield f"The first to give way, at {at}, is {limit.in_words()}."
    if bend is not None:
        yield f"The knee, beyond which waits grow faster than served calls, is {_knee_at(bend)}."
    yield from (_nothing_of_agent(step) for step in result.steps if not step.record.says_of_agent)
    yield from (_cut_short(step) for step in result.steps if step.record.unspoken)
    least = min((step.said.stretches for step in result.steps if step.said is not None), default=FEWEST_CLUSTERS)
    if least < FEWEST_CLUSTERS:
        yield (
            f"{counted(least, 'stretch', 'stretches')} of {STRETCH_S:.0f} s: an interval needs {FEWEST_CLUSTERS}, because "
            f"calls that overlap share a queue; {'a longer --for' if result.is_open else 'more --rounds'} gives it."
        )


def cautions(manifest: RunManifest) -> tuple[Caution, ...]:
    """What a reader must know of the test's GPUs, in the words of a run; empty where nothing is."""
    clocks = (worded("gpu_clocks", text) for text in clock_sentences(manifest.cards))
    return (*clocks, *(worded("gpu_shared", text) for text in sharing_sentences(manifest.cards)))


def _knee_at(found: OnCurve) -> str:
    if found.at_once is not None:
        return f"at {found.words}"
    if found.rate <= 0:
        return f"at {calls_a_second(found.lowest)} or below{found.band}"
    return f"nowhere up to {calls_a_second(found.highest)}{found.band}"


def _nothing_of_agent(step: Step) -> str:
    limit = step.over()
    why = limit.in_words() if limit is not None else step.record.why_nothing
    return f"At {_load_of(step)} nothing is said of the agent's waits: {why}."


def _cut_short(step: Step) -> str:
    """The turns of a step that were planned and never spoken, in one sentence."""
    spoken, of = step.record.spoken or (0, 0)
    reasons = ", ".join(f"{count} {BECAUSE.get(why, why)}" for why, count in step.record.unspoken.items())  # type: ignore[call-overload]
    return f"At {_load_of(step)} {spoken} of {counted(of, 'planned turn')} were spoken; unspoken: {reasons}."


def _load_of(step: Step) -> str:
    rate = step.record.rate
    return calls_a_second(rate) if rate is not None else f"{step.record.callers} at once"
