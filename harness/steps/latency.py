"""Percentiles of a run's turns with honest n: intervals resample conversations, and absent figures stay absent.

Turns of one conversation share a caller, a text and a moment of the machine, so a bootstrap over turns would promise too
much; whole contexts are drawn instead (HEART, section 9.12). No reply, and a reply that began before the caller had
finished, rank slowest: leaving them out would reward silence and interruption. A mean over replies that may never come
does not exist, so it is restricted at 15 s. Under eight contexts there is no interval, and a p95 needs 60 turns: with
fewer it is the story of three turns. An agent of whose turns more than 5 % had to be discarded gets no heard figure: what
was left out is then no accident.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.ranking.bootstrap import draw_contexts, percentile_interval
from harness.ranking.exact import TURNS_FOR_P95, quantile_interval, share_interval
from harness.ranking.sandwich import FEWEST_CONTEXTS
from harness.steps.summary import Quantiles
from harness.timing.figures import NO_REPLY_MS, TurnTiming

Turns = Mapping[str, Sequence[TurnTiming]]
"""Context → its timed turns."""
Interval = tuple[float, float]
SHORT_PAUSE_MS: Final = 800.0
"""Longer pauses are the turn's end in many people's speech; they are counted apart."""
MOST_DISCARDED: Final = 0.05
DRAWS: Final = 2_000
"""The Monte-Carlo error of a 95 % bound is then about a tenth of the interval's own width in repeated runs."""

_FIGURES: Final[Mapping[str, Callable[[TurnTiming], float | None]]] = {
    "ttfa": lambda t: t.ttfa_ms,
    "first_sound": lambda t: t.first_sound_ms,
    "first_speech": lambda t: t.first_speech_ms,
    "first_word": lambda t: t.first_word_ms,
    "first_substance": lambda t: t.first_substance_ms,
}
_REPORTED: Final[Mapping[str, Callable[[TurnTiming], float | None]]] = {
    "ttft": lambda t: t.ttft_ms,
    "ttft_from_spoken_end": lambda t: t.ttft_from_spoken_end_ms,
    "first_byte": lambda t: t.first_byte_ms,
}


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """One agent's turns in figures. Shares are 0–1, times in ms; None is not known."""

    turns: int
    no_reply: int
    discarded: Mapping[str, int]
    quantiles: Mapping[str, Quantiles]
    """By figure: ttfa, ttft, ttft_from_spoken_end, first_byte, first_sound, first_speech, first_word, first_substance."""
    within_ttfa: float | None
    within_ttfa_interval: Interval | None
    within_ttft: float | None
    within_ttft_interval: Interval | None
    cut_in_rate: float | None
    false_start_rate: float | None
    pauses_cut: tuple[int, int]
    short_pauses_cut: tuple[int, int]
    underruns: int
    unexplained_p95_ms: float | None
    yield_ms: Quantiles | None
    tokens_per_s: float | None
    inter_token_gap_p95_ms: float | None
    """Median over turns of each turn's own p95."""
    tts_real_time_factor: float | None


def summarise_latency(turns: Turns, *, budgets_ms: Mapping[str, float], seed: int) -> LatencySummary:
    """The figures of one agent. Discarded turns are counted by reason and take part in nothing else."""
    every = [t for group in turns.values() for t in group]
    kept = {c: [t for t in group if t.discarded is None] for c, group in turns.items()}
    kept = {c: group for c, group in kept.items() if group}
    used = [t for group in kept.values() for t in group]
    heard = kept if len(every) - len(used) <= MOST_DISCARDED * len(every) else {}
    quantiles = {name: quantiles_of(_ranked(heard, read), seed) for name, read in _FIGURES.items()}
    quantiles |= {name: quantiles_of(_known(kept, read), seed) for name, read in _REPORTED.items()}
    within_ttfa = _share(heard, lambda t: _is_within(t, t.ttfa_ms, budgets_ms["ttfa"]), seed)
    within_ttft = _share(
        _having(kept, lambda t: t.ttft_ms), lambda t: t.ttft_ms is not None and t.ttft_ms <= budgets_ms["ttft"], seed
    )
    yields = _known(kept, lambda t: t.yield_ms)
    pauses = [(ms, cut) for t in used for ms, cut in zip(t.pause_durations_ms, t.pause_was_cut, strict=True)]
    short = [cut for ms, cut in pauses if ms < SHORT_PAUSE_MS]
    return LatencySummary(
        turns=len(every),
        no_reply=sum(t.no_reply for t in used),
        discarded=dict(Counter(t.discarded for t in every if t.discarded is not None)),
        quantiles=quantiles,
        within_ttfa=within_ttfa[0],
        within_ttfa_interval=within_ttfa[1],
        within_ttft=within_ttft[0],
        within_ttft_interval=within_ttft[1],
        cut_in_rate=_mean([t.cut_in for t in used]),
        false_start_rate=_mean([cut for _, cut in pauses]),
        pauses_cut=(sum(cut for _, cut in pauses), len(pauses)),
        short_pauses_cut=(sum(short), len(short)),
        underruns=sum(t.underruns for t in used),
        unexplained_p95_ms=_unexplained_p95(used),
        yield_ms=quantiles_of(yields, seed) if yields else None,
        tokens_per_s=_median([t.tokens_per_s for t in used]),
        inter_token_gap_p95_ms=_median([t.inter_token_gap_p95_ms for t in used]),
        tts_real_time_factor=_median([t.tts_real_time_factor for t in used]),
    )


def quantiles_of(values: Mapping[str, Sequence[float]], seed: int) -> Quantiles:
    """Percentiles and restricted mean over all values, with intervals over contexts; infinite values rank slowest."""
    pooled = np.array([v for group in values.values() for v in group], dtype=np.float64)
    if not pooled.size:
        return Quantiles()
    p50, p95 = (_quantile(pooled, share) for share in (0.50, 0.95))
    enough = pooled.size >= TURNS_FOR_P95
    drawn = _draws(values, seed) if len(values) >= FEWEST_CONTEXTS else None
    return Quantiles(
        p50=_finite(p50),
        p95=_finite(p95) if enough else None,
        p50_over_limit=bool(np.isinf(p50)),
        p95_over_limit=enough and bool(np.isinf(p95)),
        p50_interval=_interval(drawn, lambda v: _quantile(v, 0.50), len(values)),
        p95_interval=_p95_interval(values, pooled, drawn) if enough else None,
        restricted_mean=float(np.minimum(pooled, NO_REPLY_MS).mean()),
        restricted_mean_interval=_interval(drawn, lambda v: float(np.minimum(v, NO_REPLY_MS).mean()), len(values)),
        n=int(pooled.size),
    )


def _draws(values: Mapping[str, Sequence[float]], seed: int) -> list[NDArray[np.float64]]:
    groups = [np.asarray(group, dtype=np.float64) for group in values.values()]
    often = draw_contexts(len(groups), DRAWS, np.random.default_rng(seed)).astype(int)
    return [np.concatenate([groups[k] for k in np.repeat(np.arange(len(groups)), counts)]) for counts in often]


def _interval(
    drawn: list[NDArray[np.float64]] | None, statistic: Callable[[NDArray[np.float64]], float], contexts: int
) -> Interval | None:
    if drawn is None:
        return None
    # An interval that reaches into "no reply" has no finite bound, and half a bound is none.
    low, high = percentile_interval(np.array([statistic(v) for v in drawn]), contexts)
    return (float(low), float(high)) if np.isfinite([low, high]).all() else None


def _p95_interval(
    values: Mapping[str, Sequence[float]], pooled: NDArray[np.float64], drawn: list[NDArray[np.float64]] | None
) -> Interval | None:
    # A resample never goes beyond the slowest turn seen; with one turn a conversation order statistics need none.
    if drawn is None or len(pooled) != len(values):
        return _interval(drawn, lambda v: _quantile(v, 0.95), len(values))
    found = quantile_interval(pooled, 0.95)
    return found if found is not None and np.isfinite(found).all() else None


def _quantile(values: NDArray[np.float64], share: float) -> float:
    """Linear between order statistics (numpy's default), infinite as soon as one of the two is."""
    ordered = np.sort(values)
    place = share * (len(ordered) - 1)
    low = int(np.floor(place))
    high = min(low + 1, len(ordered) - 1)
    fraction = place - low
    if fraction == 0 or np.isinf(ordered[high]):
        return float(ordered[high] if fraction > 0 else ordered[low])
    return float(ordered[low] + fraction * (ordered[high] - ordered[low]))


def _ranked(turns: Turns, read: Callable[[TurnTiming], float | None]) -> dict[str, list[float]]:
    """Heard figures: no reply and an early one rank slowest. Empty where the figure was never measured (text, no words)."""
    every = [t for group in turns.values() for t in group]
    heard = [t for t in every if t.ttfa_ms is not None]
    slowest = [t for t in every if t.no_reply or t.signed_ms is not None]
    if all(read(t) is None for t in every) and (heard or not slowest):
        return {}
    return {c: [_or_slowest(read(t)) for t in group] for c, group in turns.items()}


def _or_slowest(value: float | None) -> float:
    return float("inf") if value is None else value


def _known(turns: Turns, read: Callable[[TurnTiming], float | None]) -> dict[str, list[float]]:
    found = {c: [v for t in group if (v := read(t)) is not None] for c, group in turns.items()}
    return {c: group for c, group in found.items() if group}


def _having(turns: Turns, read: Callable[[TurnTiming], float | None]) -> dict[str, list[TurnTiming]]:
    found = {c: [t for t in group if read(t) is not None] for c, group in turns.items()}
    return {c: group for c, group in found.items() if group}


def _is_within(turn: TurnTiming, value: float | None, budget_ms: float) -> bool:
    return value is not None and turn.signed_ms is None and value <= budget_ms


def _share(turns: Turns, holds: Callable[[TurnTiming], bool], seed: int) -> tuple[float | None, Interval | None]:
    values = {c: [float(holds(t)) for t in group] for c, group in turns.items()}
    pooled = [v for group in values.values() for v in group]
    if len(pooled) == len(values) >= FEWEST_CONTEXTS:
        # Where all turns agree, every resample says so "for certain"; Wilson's interval does not.
        return float(np.mean(pooled)), share_interval(round(sum(pooled)), len(pooled))
    figures = quantiles_of(values, seed)
    return figures.restricted_mean, figures.restricted_mean_interval


def _unexplained_p95(turns: Sequence[TurnTiming]) -> float | None:
    rest = [
        abs(stage.duration_ms)
        for turn in turns
        if turn.waterfall is not None
        for stage in turn.waterfall.stages
        if stage.name == "unexplained"
    ]
    return float(np.percentile(rest, 95)) if len(rest) >= TURNS_FOR_P95 else None


def _mean(values: Sequence[bool]) -> float | None:
    return float(np.mean(values)) if values else None


def _median(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return float(np.median(known)) if known else None


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
