"""Waits of an agent for its model servers: the parts of TTFT (and of other stages with servers), over turns.

Means are given, with intervals over conversations, because only means of parts sum to the mean of the whole; the explained
share is a median over turns. Only waits that were split enter a part, and the others are counted with their reasons.
Discarded turns take no part.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from pydantic import BaseModel, ConfigDict, Field

from harness.servers.split import ServerSplit
from harness.store.selection import Turns
from harness.timing.figures import TurnTiming
from harness.timing.quantiles import Quantiles, quantiles_of

_PER_CENT = 100.0


class MeanMs(BaseModel):
    """A mean over turns in ms, with its 95 % interval; null where nothing was measured."""

    model_config = ConfigDict(extra="forbid")

    mean: float | None = None
    interval: tuple[float, float] | None = None


class ServerWaits(BaseModel):
    """One stage of one agent. The means are over the split waits, and sum to the mean wait."""

    model_config = ConfigDict(extra="forbid")

    stage: str
    server: str
    turns: int
    """Turns that waited for it and take part."""
    split: int
    """Of these, those whose queue or computing is known for the turn itself."""
    left_out: int = 0
    """Turns that were discarded."""
    sources: dict[str, int] = Field(default_factory=dict)
    """Where the parts come from (`request`, `counters`) → turns."""
    wait_ms: MeanMs = MeanMs()
    queue_ms: MeanMs = MeanMs()
    compute_ms: MeanMs = MeanMs()
    prefill_ms: MeanMs = MeanMs()
    first_decode_ms: MeanMs = MeanMs()
    idle_ms: MeanMs = MeanMs()
    """Measured; a turn in which nobody measured it counts as none."""
    unexplained_ms: MeanMs = MeanMs()
    explained: float | None = None
    """Median over turns of the share that queue, computing and idle explain."""
    explained_interval: tuple[float, float] | None = None
    idle_measured: int = 0
    """Split turns in which idle time was measured."""
    most_running: float | None = None
    most_waiting: float | None = None
    most_cache_use: float | None = None
    prefix_share: float | None = None
    """Mean over turns of the share of tokens that the prefix cache had, of all prompts from a turn's request to its end."""
    notes: dict[str, int] = Field(default_factory=dict)
    """Reason for a missing part → turns."""


Waits = Mapping[str, Sequence[tuple[bool, Sequence[ServerSplit]]]]
"""What is drawn together (a conversation, a stretch of time) → of each turn whether it takes part, and its waits."""


def server_waits(turns: Turns, seed: int) -> list[ServerWaits]:
    """One row for each stage with a server; none where no server says anything."""
    return waits_of({context: [(_counts(turn), turn.servers) for turn in group] for context, group in turns.items()}, seed)


def waits_of(turns: Waits, seed: int) -> list[ServerWaits]:
    """As `server_waits`, of the waits alone."""
    stages = dict.fromkeys(part.stage for group in turns.values() for _, parts in group for part in parts)
    return [_row(stage, turns, seed) for stage in stages]


def _row(stage: str, turns: Waits, seed: int) -> ServerWaits:
    every = [part for group in turns.values() for _, parts in group for part in parts if part.stage == stage]
    used = {
        name: [part for counts, parts in group if counts for part in parts if part.stage == stage]
        for name, group in turns.items()
    }
    waits = [part for group in used.values() for part in group]
    known = {context: [part for part in group if part.source != "none"] for context, group in used.items()}
    known = {context: group for context, group in known.items() if group}
    split = [part for group in known.values() for part in group]
    explained = _quantiles(known, lambda part: _PER_CENT * part.explained_share, seed)
    return ServerWaits(
        stage=stage,
        server=", ".join(dict.fromkeys(part.server for part in every if part.server)),
        turns=len(waits),
        split=len(split),
        left_out=len(every) - len(waits),
        sources=dict(Counter(part.source for part in split)),
        wait_ms=_mean(known, lambda part: part.whole_ms, seed),
        queue_ms=_mean(known, lambda part: part.queue_ms or 0.0, seed) if _any(split, "queue_ms") else MeanMs(),
        compute_ms=_mean(known, lambda part: part.compute_ms or 0.0, seed) if _any(split, "compute_ms") else MeanMs(),
        prefill_ms=_mean(known, lambda part: part.prefill_ms or 0.0, seed) if _any(split, "prefill_ms") else MeanMs(),
        first_decode_ms=_mean(known, lambda part: part.first_decode_ms or 0.0, seed)
        if _any(split, "first_decode_ms")
        else MeanMs(),
        idle_ms=_mean(known, lambda part: part.idle_ms or 0.0, seed) if _any(split, "idle_ms") else MeanMs(),
        unexplained_ms=_mean(known, lambda part: part.unexplained_ms, seed),
        explained=_share(explained.p50),
        explained_interval=tuple(v / _PER_CENT for v in explained.p50_interval) if explained.p50_interval else None,  # type: ignore[arg-type]
        idle_measured=sum(part.idle_ms is not None for part in split),
        most_running=_most(waits, "running"),
        most_waiting=_most(waits, "waiting"),
        most_cache_use=_most(waits, "cache_use"),
        prefix_share=_average([part.prefix_share for part in waits]),
        notes=dict(Counter(part.note for part in waits if part.note)),
    )


def _counts(turn: TurnTiming) -> bool:
    return turn.discarded is None


def _quantiles(parts: Mapping[str, Sequence[ServerSplit]], read: Callable[[ServerSplit], float], seed: int) -> Quantiles:
    return quantiles_of({context: [read(part) for part in group] for context, group in parts.items()}, seed)


def _mean(parts: Mapping[str, Sequence[ServerSplit]], read: Callable[[ServerSplit], float], seed: int) -> MeanMs:
    found = _quantiles(parts, read, seed)
    return MeanMs(mean=found.restricted_mean, interval=found.restricted_mean_interval)


def _any(parts: Sequence[ServerSplit], name: str) -> bool:
    return any(getattr(part, name) is not None for part in parts)


def _most(parts: Sequence[ServerSplit], name: str) -> float | None:
    return max((value for part in parts if (value := getattr(part, name)) is not None), default=None)


def _average(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _share(per_cent: float | None) -> float | None:
    return None if per_cent is None else per_cent / _PER_CENT
