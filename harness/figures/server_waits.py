"""Waits of an agent for its model servers: the parts of TTFT (and of other stages with servers), over turns, and their table
of text.

Means are given, with intervals over conversations, because only means of parts sum to the mean of the whole; the explained
share is a median over turns. Only waits that were split enter a part, and the others are counted with their reasons.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from harness.servers.split import ServerSplit
from harness.store.selection import Turns
from harness.timing.quantiles import quantiles_of
from harness.wording import UNKNOWN_TEXT, counted, milliseconds, share, share_band, with_band

_PARTS: Final = ("queue_ms", "compute_ms", "prefill_ms", "first_decode_ms", "idle_ms")
"""Parts that nobody may have measured: then they are absent, and never zero."""


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
    return waits_of(
        {context: [(turn.discarded is None, turn.servers) for turn in group] for context, group in turns.items()}, seed
    )


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
    known = {name: [part for part in group if part.source != "none"] for name, group in used.items()}
    split = [part for group in known.values() for part in group]

    def mean(name: str) -> MeanMs:
        """The mean of a part; a turn that lacks it has none of it."""
        found = quantiles_of({one: [getattr(part, name) or 0.0 for part in group] for one, group in known.items()}, seed)
        return MeanMs(mean=found.restricted_mean, interval=found.restricted_mean_interval)

    shares = quantiles_of({name: [100 * part.explained_share for part in group] for name, group in known.items()}, seed)
    cached = [part.prefix_share for part in waits if part.prefix_share is not None]
    most: dict[str, Any] = {
        f"most_{name}": max((value for part in waits if (value := getattr(part, name)) is not None), default=None)
        for name in ("running", "waiting", "cache_use")
    }
    measured: dict[str, Any] = {name: mean(name) for name in _PARTS if any(getattr(part, name) is not None for part in split)}
    return ServerWaits(
        stage=stage,
        server=", ".join(dict.fromkeys(part.server for part in every if part.server)),
        turns=len(waits),
        split=len(split),
        left_out=len(every) - len(waits),
        sources=dict(Counter(part.source for part in split)),
        wait_ms=mean("whole_ms"),
        unexplained_ms=mean("unexplained_ms"),
        explained=None if shares.p50 is None else shares.p50 / 100,
        explained_interval=shares.p50_interval and (shares.p50_interval[0] / 100, shares.p50_interval[1] / 100),
        idle_measured=sum(part.idle_ms is not None for part in split),
        prefix_share=fmean(cached) if cached else None,
        notes=dict(Counter(part.note for part in waits if part.note)),
        **measured,
        **most,
    )


TITLE: Final = "Waits for model servers, with 95 % intervals"
HEAD: Final = ("Agent", "Wait", "Server", "Turns", "Whole", "Queue", "Computing", "Idle", "Unexplained", "Explained")
WAITS: Final = {"llm": "TTFT", "asr": "last transcription", "tts": "first sound of the voice"}
SOURCES: Final = {"request": "the server's own timings of each request", "counters": "its counters, while a request was alone"}
MEANING: Final = (
    "Means over turns, which sum to the whole; explained: median share of a turn. Queue: until the server computes (where it "
    "only says when it begins, until those words arrive, which is at most that). Computing: prefill and the first decode. "
    "Idle: measured, while the server did nothing. Unexplained: the rest, as the way there and back and the agent's own loop."
)
Named = tuple[str, Sequence[ServerWaits]]


def waits_rows(agents: Iterable[Named]) -> tuple[tuple[str, ...], ...]:
    """One row per agent and stage, under `HEAD`."""
    return tuple(
        (
            name,
            WAITS.get(row.stage, row.stage),
            row.server or UNKNOWN_TEXT,
            f"{row.split}/{row.turns}",
            *(mean_ms(part) for part in (row.wait_ms, row.queue_ms, row.compute_ms, row.idle_ms, row.unexplained_ms)),
            with_band(share(row.explained), share_band(row.explained_interval)),
        )
        for name, rows in agents
        for row in rows
    )


def waits_notes(agents: Iterable[Named], clusters: str = "conversations") -> tuple[str, ...]:
    """One sentence per agent and stage on sources, the server's state, turns without parts, and too few turns.

    `clusters`: what intervals are drawn from.
    """
    return tuple(_note(name, row, clusters) for name, rows in agents for row in rows)


def _note(name: str, row: ServerWaits, clusters: str) -> str:
    parts = [f"{counted(n, 'turn')} by {SOURCES.get(source, source)}" for source, n in row.sources.items()]
    if row.first_decode_ms.mean is not None and row.prefill_ms.mean is not None:
        parts.append(f"prefill {milliseconds(row.prefill_ms.mean)}, first decode {milliseconds(row.first_decode_ms.mean)}")
    if row.split and row.idle_measured < row.split:
        parts.append(f"idle time was measured in {row.idle_measured} of {row.split}")
    if row.most_running is not None or row.most_waiting is not None:
        parts.append(f"at most {row.most_running or 0:.0f} requests ran and {row.most_waiting or 0:.0f} waited at once")
    if row.prefix_share is not None:
        parts.append(f"{share(row.prefix_share)} of the prompts' tokens came from the prefix cache")
    if row.most_cache_use is not None:
        parts.append(f"cache used up to {share(row.most_cache_use)}")
    if row.left_out:
        parts.append(f"{counted(row.left_out, 'turn')} left out, as from TTFT")
    parts += [f"{counted(n, 'turn')}: {note}" for note, n in row.notes.items()]
    if row.split and row.wait_ms.interval is None:
        parts.append(f"too few {clusters} for intervals")
    return f"{name}, {WAITS.get(row.stage, row.stage)}: {'; '.join(parts) or 'no wait could be split'}."


def mean_ms(mean: MeanMs) -> str:
    """A mean, with its interval in a second line."""
    band = f"{mean.interval[0]:,.0f}–{mean.interval[1]:,.0f} ms".replace("-", "−") if mean.interval else ""
    return with_band(milliseconds(mean.mean), band)
