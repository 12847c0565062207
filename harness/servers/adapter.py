"""An adapter: the table of names under which one kind of server says what this package asks for.

Servers count the same things under different names and units, and rename them between versions. So an adapter is data: for each
column the names that any version uses, of which the first that the page has counts. All values of a column are in ms, counts,
or shares of 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final, Literal

from harness.servers.page import Page

if TYPE_CHECKING:
    from prometheus_client.samples import Sample

Column = Literal[
    "queue_ms", "queue_n", "prefill_ms", "prefill_n", "decode_ms", "decode_n", "compute_ms", "compute_n", "ttft_ms", "ttft_n",
    "finished", "work", "prefix_asked", "prefix_found", "running", "waiting", "cache_use", "started",
]  # fmt: skip
"""Sums over requests with their numbers (`_ms`, `_n`): time in the queue, in prefill, in decode, in any computing, and to the
first token; requests that are over; `work`, which grows whenever the server computes, only of a server whose `running` is that
of the instant of the question; tokens that were looked for and found in the prefix cache; requests that run and that wait now;
the used share of the cache; and a number that every start of the process gives another value.

Most servers set their gauges after a step of computing, or less often. While such a server computes the prefill of its only
request, its page says that nothing runs, so it cannot show when the server was idle, and has no `work`."""
COUNTERS: Final[tuple[Column, ...]] = (
    "queue_ms", "queue_n", "prefill_ms", "prefill_n", "decode_ms", "decode_n", "compute_ms", "compute_n", "ttft_ms", "ttft_n",
    "finished", "work", "prefix_asked", "prefix_found",
)  # fmt: skip
"""Columns that only grow while one process of the server runs."""


@dataclass(frozen=True, slots=True)
class Names:
    """The series of one column.

    `names`: alternatives, or with `together` parts of one sum. `where`: labels that a series must have, with their values.
    `scale`: factor to the column's unit. Values under several sets of labels (models, engines) are added, or the largest is
    taken.
    """

    names: tuple[str, ...]
    scale: float = 1.0
    where: tuple[tuple[str, str], ...] = ()
    together: bool = False
    join: Literal["sum", "largest"] = "sum"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a request's time in the server's own words: a field, or the difference of two, and its unit in ms."""

    field: str
    minus: str | None = None
    unit_ms: float = 1.0

    def of(self, said: Mapping[str, object]) -> float | None:
        """The time in ms; None where a field is missing, or is no time."""
        end, begin = _time(said.get(self.field)), _time(said.get(self.minus)) if self.minus is not None else 0.0
        if end is None or begin is None or end < begin:
            return None
        return (end - begin) * self.unit_ms


@dataclass(frozen=True, slots=True)
class RequestNames:
    """A server's timings of one request: in a field of its streamed answer (`place`), or in the attributes of a span.

    `decode`: from the first token to the chunk that carries the timings, where the server gives them with each chunk.
    """

    place: str
    prefill: Part
    queue: Part | None = None
    decode: Part | None = None


@dataclass(frozen=True, slots=True)
class Adapter:
    """One kind of server. `recognised_by`: beginnings of names that only its pages have."""

    server: str
    recognised_by: tuple[str, ...]
    columns: Mapping[Column, Names]
    model_labels: tuple[str, ...] = ("model_name", "model")
    ranks: tuple[str, ...] = ()
    """Labels that number the workers that all count the same requests: of these series only the first worker's is read."""
    exact_below: float = inf
    """From here on the page's numbers are rounded: a column with such a number is left out."""
    request: RequestNames | None = None
    span: RequestNames | None = None
    started_header: str = ""
    """The header of a page that carries `started`, where its series do not."""
    _wanted: frozenset[str] = field(init=False, repr=False, compare=False, default=frozenset())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_wanted", frozenset(n for names in self.columns.values() for n in names.names))

    @property
    def wanted(self) -> frozenset[str]:
        """The names of all series that it reads."""
        return self._wanted

    def recognises(self, page: Page) -> bool:
        """True if the page is of this kind of server."""
        return any(name.startswith(self.recognised_by) for name in page.names)

    def read(self, page: Page, model: str | None = None) -> dict[str, float]:
        """The columns that the page has; of one model alone, if named."""
        mine = self._first_workers([series for series in page.series if self._counts(series, model)])
        found: dict[str, float] = {}
        for column, names in self.columns.items():
            values = _values(names, mine)
            if values and max(values) < self.exact_below:
                found[column] = (max(values) if names.join == "largest" else sum(values)) * names.scale
        return found

    def _first_workers(self, series: Sequence["Sample"]) -> Sequence["Sample"]:
        """Of series that differ in `ranks` alone, that of the lowest: which one this is differs between replicas of a model."""
        if not self.ranks:
            return series
        first: dict[object, tuple[list[tuple[int, str]], Sample]] = {}
        for one in series:
            rank = [(len(said), said) for said in (one.labels.get(label, "") for label in self.ranks)]
            key = one.name, frozenset((label, said) for label, said in one.labels.items() if label not in self.ranks)
            if key not in first or rank < first[key][0]:
                first[key] = rank, one
        return [one for _, one in first.values()]

    def _counts(self, series: "Sample", model: str | None) -> bool:
        said = [series.labels[label] for label in self.model_labels if label in series.labels]
        return model is None or not said or model in said


def timed(column: str, *names: str, ms: float = 1_000.0, where: tuple[tuple[str, str], ...] = ()) -> dict[Column, Names]:
    """The two columns of a histogram: the sum in ms, and the number of requests."""
    return {
        f"{column}_ms": Names(tuple(f"{name}_sum" for name in names), ms, where),  # type: ignore[dict-item]
        f"{column}_n": Names(tuple(f"{name}_count" for name in names), where=where),  # type: ignore[dict-item]
    }


def _values(names: Names, series: Sequence["Sample"]) -> list[float]:
    """The values that a column joins; empty where the page has none of its names."""
    by_name: dict[str, list[float]] = {}
    for one in series:
        if one.name in names.names and all(one.labels.get(label) == value for label, value in names.where):
            by_name.setdefault(one.name, []).append(one.value)
    present = [name for name in names.names if name in by_name]
    return [v for name in (present if names.together else present[:1]) for v in by_name[name]]


def _time(said: object) -> float | None:
    if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said < 1e15:
        return None
    return float(said)
