"""One wait for a model server, split into queue, computing, idle time and what nobody explains.

The wait is the agent's: from the request to the first token (or result). Of it,

* *queue* and *computing* (prefill and the first decode) are the server's own words about this very request, where it gives
  them; else growth of its counters, if exactly one request was in the server, because a sum over several requests is nobody's;
* *idle* is measured: time in which the agent had stopped the server, and time between two samples in which nothing ran, nothing
  waited and no work was counted. It is never the rest;
* the rest is *unexplained*: the way there and back, the server's own front end, the agent's event loop.

Where the server does not state its queue but says when it begins, the queue lasts until those words arrive, and no longer than
computing leaves room for: both are upper bounds. A server's words that are longer than the wait itself are of another request
or another clock, and are refused. Pure, and knows nothing of runs: a wait, a request's timings, and samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from harness.servers.adapter import Column
from harness.servers.samples import ServedStage
from harness.servers.windows import Trust, Window, idle_ns, window
from harness.timeline import NS_PER_MS

MOST_LONGER: Final = 0.05
MOST_LONGER_MS: Final = 20.0
"""A server's words may be longer than the wait by the larger of these: both ends of the wait are stamped by a busy process."""
MOST_UNSURE_MS: Final = 100.0
"""A wait on a clock that is known less well than this, the interval of samples, cannot be placed between them, nor be the one
in which a trace began."""
SETTLED_MS: Final = 150.0
"""Time after a request's end in which its server has counted it."""
Source = Literal["request", "counters", "none"]
"""The server's words on this request; growth of its counters while it was alone there; neither."""


@dataclass(frozen=True, slots=True)
class Wait:
    """One wait of one turn, on the harness's clock."""

    stage: ServedStage
    begin_ns: int
    end_ns: int
    """The first token, or the result."""
    over_ns: int | None = None
    """The end of the request; None where it is not known."""
    unsure_ms: float = 0.0
    """Uncertainty of the clock that stamped it."""


@dataclass(frozen=True, slots=True)
class RequestTimings:
    """A server's words on one request, in ms."""

    server: str
    prefill_ms: float
    decode_ms: float | None = None
    """From the first token to the words that end the wait; None where prefill ends with them."""
    queue_ms: float | None = None
    begun_ns: int | None = None
    """When the agent read that the server begins, for one that does not state its queue."""
    stopped_ns: tuple[tuple[int, int], ...] | None = None
    """Intervals in which the agent had stopped the server; None where that is not known."""


@dataclass(frozen=True, slots=True)
class ServerSplit:
    """The parts of one wait. They sum to `whole_ms`, with the unexplained, which is negative where parts overlap a little."""

    stage: ServedStage
    server: str
    whole_ms: float
    unexplained_ms: float
    source: Source = "none"
    queue_ms: float | None = None
    compute_ms: float | None = None
    prefill_ms: float | None = None
    first_decode_ms: float | None = None
    """None where the server's prefill ends with the first token."""
    idle_ms: float | None = None
    late_ms: float = 0.0
    """How much of the queue may be none: the agent read that the server begins this much later than there is room for."""
    note: str = ""
    """Why a part is missing, for people."""
    running: float | None = None
    """The most requests that ran at any sample of the wait, this one included; None without samples."""
    waiting: float | None = None
    cache_use: float | None = None
    """The largest used share of the server's cache."""
    prefix_share: float | None = None
    """Share of the tokens that the prefix cache had, of all prompts between the samples around the whole request."""

    @property
    def explained_share(self) -> float:
        """Share of the wait that queue, computing and measured idle time explain, 0 to 1; doubtful queue explains nothing."""
        return max(0.0, 1.0 - (abs(self.unexplained_ms) + self.late_ms) / self.whole_ms) if self.whole_ms > 0 else 0.0


def split(wait: Wait, request: RequestTimings | None, trust: Trust | None, note: str = "") -> ServerSplit | None:
    """The parts of a wait; None where its server says nothing at all. `note`: why the request has no timings of its own."""
    if request is None and not note and (trust is None or not (trust.samples or trust.unreadable)):
        return None
    server = request.server if request is not None else trust.samples[-1].server if trust and trust.samples else ""
    whole_ms = (wait.end_ns - wait.begin_ns) / NS_PER_MS
    bare = ServerSplit(wait.stage, server, whole_ms, whole_ms, note=note)
    if wait.end_ns <= wait.begin_ns:
        return None
    if trust is not None and wait.unsure_ms <= MOST_UNSURE_MS:
        bare = _with_state(bare, wait, trust)
    if request is not None:
        return _by_request(bare, wait, request, trust)
    return bare if trust is None else _by_counters(bare, wait, trust)


def _with_state(bare: ServerSplit, wait: Wait, trust: Trust) -> ServerSplit:
    around, whole = window(trust, wait.begin_ns, wait.end_ns), _whole_request(wait, trust)
    if around is not None:
        bare = replace(
            bare,
            running=around.largest("running"),
            waiting=around.largest("waiting"),
            cache_use=around.largest("cache_use"),
        )
    asked, found = (whole.grown("prefix_asked"), whole.grown("prefix_found")) if whole is not None else (None, None)
    return replace(bare, prefix_share=found / asked) if asked and found is not None and 0 <= found <= asked else bare


def _whole_request(wait: Wait, trust: Trust) -> Window | None:
    """The window around a request until its server has counted it; None where its end is not known, or samples are missing."""
    if wait.over_ns is None:
        return None
    return window(trust, wait.begin_ns, wait.over_ns + round(SETTLED_MS * NS_PER_MS))


def _by_request(bare: ServerSplit, wait: Wait, request: RequestTimings, trust: Trust | None) -> ServerSplit:
    decode_ms = request.decode_ms or 0.0
    computed_ms = request.prefill_ms + decode_ms
    if (refused := _refused(bare, computed_ms + (request.queue_ms or 0.0))) is not None:
        return refused
    queue_ms, late_ms = request.queue_ms, 0.0
    if queue_ms is None and request.begun_ns is not None:
        read_ms = max(0.0, (request.begun_ns - wait.begin_ns) / NS_PER_MS)
        queue_ms = min(read_ms, max(0.0, bare.whole_ms - computed_ms))
        late_ms = read_ms - queue_ms
    begun_ns = wait.begin_ns + round((queue_ms or 0.0) * NS_PER_MS)
    first_ns = begun_ns + round(request.prefill_ms * NS_PER_MS)
    stops = request.stopped_ns or ()
    prefill_ms = request.prefill_ms - _overlap_ms(stops, begun_ns, first_ns)
    decode_ms -= _overlap_ms(stops, first_ns, first_ns + round(decode_ms * NS_PER_MS))
    return _summed(
        replace(
            bare,
            source="request",
            queue_ms=None if queue_ms is None else queue_ms - _overlap_ms(stops, wait.begin_ns, begun_ns),
            compute_ms=prefill_ms + decode_ms,
            prefill_ms=prefill_ms,
            first_decode_ms=None if request.decode_ms is None else decode_ms,
            idle_ms=None if request.stopped_ns is None else _overlap_ms(stops, wait.begin_ns, wait.end_ns),
            late_ms=late_ms,
            note="" if queue_ms is not None else "its server does not say how long this request waited",
        ),
        _idle_ms(wait, trust),
    )


def _by_counters(bare: ServerSplit, wait: Wait, trust: Trust) -> ServerSplit:
    if wait.unsure_ms > MOST_UNSURE_MS:
        unsure = f"the agent's clock is known to ±{wait.unsure_ms:,.0f} ms, too little to place this wait between samples"
        return replace(bare, note=unsure)
    if wait.over_ns is None:
        # Most servers count a request when it is over: what a shorter window counts may be another one.
        return replace(bare, note=bare.note or "the end of its request is not known, and counters may be another's")
    around = _whole_request(wait, trust)
    if around is None:
        return replace(bare, note=bare.note or trust.words or "no samples on both sides of this wait")
    grown: tuple[Column, ...] = ("finished", "queue_n", "ttft_n", "compute_n")
    counted = [n for n in map(around.grown, grown) if n is not None]
    together = around.most_at_once
    if not counted:
        return replace(bare, note=bare.note or "its page does not count requests, so that its counters split no single one")
    if max(counted) != 1 or (together is not None and together > 1):
        others = max(max(counted), together or 0.0)
        many = f"{others:.0f} requests were in this window, and counters cannot tell them apart"
        return replace(bare, note=bare.note or (many if others > 1 else "its server counted no request in this window"))
    queue_ms, prefill_ms, compute_ms = (_of_one(around, part) for part in ("queue", "prefill", "compute"))
    compute_ms = prefill_ms if prefill_ms is not None else compute_ms
    if (refused := _refused(bare, (queue_ms or 0.0) + (compute_ms or 0.0))) is not None:
        return refused
    missing = [name for name, value in (("queue", queue_ms), ("computing", compute_ms)) if value is None]
    return _summed(
        replace(
            bare,
            source="counters" if compute_ms is not None or queue_ms is not None else "none",
            queue_ms=queue_ms,
            compute_ms=compute_ms,
            prefill_ms=prefill_ms,
            note=f"its page has no {' and no '.join(missing)}" if missing else "",
        ),
        _idle_ms(wait, trust),
    )


def _of_one(around: Window, part: Literal["queue", "prefill", "compute"]) -> float | None:
    """A part's time, if it was counted for exactly one request."""
    columns: dict[str, tuple[Column, Column]] = {
        "queue": ("queue_ms", "queue_n"), "prefill": ("prefill_ms", "prefill_n"), "compute": ("compute_ms", "compute_n"),
    }  # fmt: skip
    total, number = columns[part]
    return around.grown(total) if around.grown(number) == 1 else None


def _refused(bare: ServerSplit, said_ms: float) -> ServerSplit | None:
    """The wait without parts, if its server's words are longer than it; else None."""
    if said_ms <= bare.whole_ms + max(MOST_LONGER * bare.whole_ms, MOST_LONGER_MS):
        return None
    why = (
        f"its server says {said_ms:,.0f} ms, more than the {bare.whole_ms:,.0f} ms of the wait: "
        "words on another request, or of another clock"
    )
    return replace(bare, note=why)


def _idle_ms(wait: Wait, trust: Trust | None) -> float | None:
    if trust is None or wait.unsure_ms > MOST_UNSURE_MS:
        return None
    found = idle_ns(trust, wait.begin_ns, wait.end_ns)
    return None if found is None else found / NS_PER_MS


def _summed(parts: ServerSplit, sampled_idle_ms: float | None) -> ServerSplit:
    """The parts with their rest. Idle time that samples show can be no more than what the other parts leave."""
    known_ms = (parts.queue_ms or 0.0) + (parts.compute_ms or 0.0) + (parts.idle_ms or 0.0)
    idle_ms = parts.idle_ms
    if sampled_idle_ms is not None:
        more_ms = min(sampled_idle_ms, max(0.0, parts.whole_ms - known_ms))
        idle_ms = (idle_ms or 0.0) + more_ms
        known_ms += more_ms
    return replace(parts, idle_ms=idle_ms, unexplained_ms=parts.whole_ms - known_ms)


def _overlap_ms(intervals: Sequence[tuple[int, int]], begin_ns: int, end_ns: int) -> float:
    return sum(max(0, min(end, end_ns) - max(begin, begin_ns)) for begin, end in intervals) / NS_PER_MS
