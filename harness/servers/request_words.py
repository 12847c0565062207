"""A model server's words on one request, as an agent passed them on or as its spans carry them.

An agent that asks the server passes on the numbers under the server's own names, and this module reads them by the adapters'
tables, so that `harness measure RUN` can do so again. Spans are joined by time alone: the one span of a model server that began
while the agent waited. Two such spans are two requests that nobody can tell apart, and then none is used. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from harness.agents.connection import Mark
from harness.recording.spans import PREFIX
from harness.servers.adapter import RequestNames
from harness.servers.adapters import ADAPTERS
from harness.servers.split import MOST_UNSURE_MS, RequestTimings, Wait
from harness.timeline import NS_PER_MS, NS_PER_S

BEGAN_EARLY_MS: Final = 20.0
"""A server's span may begin this much before the request was stamped: two programs' clocks of one machine, converted."""


def of_answer(said: Mapping[str, object], begun_ns: int | None, stops: object) -> RequestTimings | None:
    """The timings in the numbers of a streamed answer (`place` → field → number); None where no server says such."""
    for adapter in ADAPTERS.values():
        names = adapter.request
        fields = said.get(names.place) if names is not None else None
        if names is not None and isinstance(fields, Mapping):
            found = _timings(names, fields)
            if found is not None:
                queue, prefill, decode = found
                return RequestTimings(adapter.server, prefill, decode, queue, begun_ns, _intervals(stops))
    return None


def of_spans(marks: Sequence[Mark], wait: Wait) -> tuple[RequestTimings | None, str]:
    """The timings in the span of the request that the language model's server made in a wait, or the reason why there are none;
    empty without such spans."""
    served = [(mark, found) for mark in marks if (found := _of_span(mark)) is not None]
    if not served:
        return None, ""
    if wait.unsure_ms > MOST_UNSURE_MS:
        unsure = f"the agent's clock is known to ±{wait.unsure_ms:,.0f} ms"
        return None, f"{unsure}, too little to know which of its server's traces is this request's"
    earliest_ns = wait.begin_ns - round(BEGAN_EARLY_MS * NS_PER_MS)
    mine = [found for mark, found in served if earliest_ns <= mark.at_ns <= wait.end_ns]
    if len(mine) == 1:
        return mine[0], ""
    if mine:
        return None, f"{len(mine)} requests of its server's traces began in this wait, and none is known to be this one"
    apart_s = min((mark.at_ns - wait.begin_ns for mark, _ in served), key=abs) / NS_PER_S
    when = "after" if apart_s > 0 else "before"
    return None, f"its server's nearest trace began {abs(apart_s):,.1f} s {when} it: another request, or clocks apart"


def _of_span(mark: Mark) -> RequestTimings | None:
    for adapter in ADAPTERS.values():
        if adapter.span is not None and mark.name == PREFIX + adapter.span.place:
            found = _timings(adapter.span, mark.detail)
            if found is not None:
                queue, prefill, decode = found
                return RequestTimings(adapter.server, prefill, decode, queue)
    return None


def _timings(names: RequestNames, fields: Mapping[str, object]) -> tuple[float | None, float, float | None] | None:
    """Queue, prefill and decode in ms; None without prefill."""
    prefill_ms = names.prefill.of(fields)
    if prefill_ms is None:
        return None
    return (
        names.queue.of(fields) if names.queue is not None else None,
        prefill_ms,
        names.decode.of(fields) if names.decode is not None else None,
    )


def _intervals(said: object) -> tuple[tuple[int, int], ...] | None:
    """Intervals of the agent's clock, as marks carry them; None where they are not intervals."""
    if not isinstance(said, Sequence) or isinstance(said, str):
        return None
    found = []
    for pair in said:
        if not isinstance(pair, Sequence) or len(pair) != 2 or not all(type(t) is int and t >= 0 for t in pair):
            return None
        begin, end = pair
        found.append((begin, end))
    return tuple(found)
