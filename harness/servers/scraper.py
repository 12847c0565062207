"""The scraper: metrics pages of model servers, read during calls on the harness's clock.

Each server has a thread of its own, so that one that hangs delays no other, and none of them is the caller's process. A page is
asked for ten times a second; a server whose page is dear to read is asked less often, so that reading takes a fifth of a core
at most, and one that does not answer is asked once a second. No page can fill the memory: beyond 8 MiB it is left unread.
"""

import threading
import time
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TextIO

import httpx2

from harness.agents.secrets import beginning
from harness.agents.this_machine import is_loopback
from harness.clock import now_ns
from harness.servers.adapters import WANTED, adapter_for
from harness.servers.page import MOST_BYTES, NotMetrics, read_page
from harness.servers.samples import ServedStage, ServerSample, as_row
from harness.servers.windows import trusted
from harness.timeline import NS_PER_S

PERIOD_S: Final = 0.1
AROUND_NS: Final = round(5 * PERIOD_S * NS_PER_S)
"""A call's samples begin and end so much outside it, so that its first and its last wait are between two."""
ANSWER_S: Final = 1.0
"""Time for a whole page; also the interval of tries while a server does not answer."""
LARGEST_SHARE: Final = 0.2
"""The largest share of the time that may go into reading one server's pages."""
APART_S: Final = 2.0
"""A server's `Date` header has whole seconds, and its answer was on its way."""
_REMEMBERED: Final = 20_000
"""Samples of each server in memory: half an hour and more, and a call lasts minutes."""


@dataclass(frozen=True, slots=True)
class Target:
    """One server: whose it is, where its page is now (None while that is not known), and what to read."""

    agent: str
    stage: ServedStage
    url: Callable[[], str | None]
    server: str | None = None
    model: str | None = None


class MetricsScraper:
    """A reader of metrics pages while it is open; each sample is one JSON row of the file, and remains in memory."""

    def __init__(self, path: Path, targets: Iterable[Target]) -> None:
        self._path = path
        self._readings = [_Reading(target) for target in targets]
        self._stop = threading.Event()
        self._writing = threading.Lock()
        self._file: TextIO | None = None
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def open(self) -> None:
        """Begin to read; without a server nothing begins, and there is no file."""
        if self._readings:
            # A disk too full for samples is too full for sessions too, and the next session reports it.
            with suppress(OSError):
                self._file = self._path.open("a", encoding="utf-8")
        for reading in self._readings:
            name = f"metrics of {reading.target.agent}"
            thread = threading.Thread(target=reading.run, args=(self._stop, self._write), name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        """Read no more. Safe to call twice."""
        self._stop.set()
        for thread in self._threads:
            thread.join(2 * ANSWER_S)
        with self._writing:
            if self._file is not None:
                with suppress(OSError):
                    self._file.close()
                self._file = None

    def between(self, agent: str, from_ns: int, until_ns: int) -> tuple[ServerSample, ...]:
        """The samples of an agent's servers that were asked for in this interval of the monotonic clock, in order."""
        found: list[ServerSample] = []
        for reading in self._readings:
            if reading.target.agent == agent:
                samples = list(reading.samples)
                begin, end = bisect_left(samples, from_ns, key=_asked), bisect_right(samples, until_ns, key=_asked)
                found += samples[begin:end]
        return tuple(sorted(found, key=_asked))

    def complaints(self) -> list[str]:
        """One sentence for each server that was never read, began again, is two, or has not this machine's clock."""
        return [words for reading in self._readings if (words := reading.complaint) is not None]

    def _write(self, sample: ServerSample) -> None:
        with self._writing, suppress(OSError):
            if self._file is not None:
                self._file.write(as_row(sample) + "\n")
                self._file.flush()


class _Reading:
    """The samples of one server."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.samples: deque[ServerSample] = deque(maxlen=_REMEMBERED)

    @property
    def complaint(self) -> str | None:
        samples = list(self.samples)
        mine = f'metrics of "{self.target.agent}" ({self.target.stage})'
        if not samples:
            return f"{mine}: the agent printed no address of them; give `url` in [metrics]"
        if all(sample.error for sample in samples):
            return f"{mine}: the page {samples[-1].error}; waits are not split by them"
        wrong = "; ".join(filter(None, (trusted(samples).processes, _apart_words(samples))))
        return f"{mine}: {wrong}" if wrong else None

    def run(self, stop: threading.Event, write: Callable[[ServerSample], None]) -> None:
        """Read until stopped."""
        wait_s = 0.0
        with _client(trust_env=False) as direct, _client(trust_env=True) as by_proxy:
            while not stop.wait(wait_s):
                url = self.target.url()
                if url is None:
                    wait_s = ANSWER_S
                    continue
                sample = self._sample(direct if is_loopback(url) else by_proxy, url)
                self.samples.append(sample)
                write(sample)
                wait_s = next_in_s(sample, now_ns())

    def _sample(self, client: httpx2.Client, url: str) -> ServerSample:
        at_ns, wall_ns = now_ns(), time.time_ns()
        try:
            text, headers = _fetched(client, url)
            answered_ns = now_ns()
            page = read_page(text, WANTED)
            adapter = adapter_for(page, self.target.server)
            columns = adapter.read(page, self.target.model)
            started = _number(headers.get(adapter.started_header)) if adapter.started_header else None
            return ServerSample(
                at_ns, answered_ns, wall_ns, self.target.agent, self.target.stage, adapter.server,
                {**columns, **({"started": started} if started is not None else {})}, apart_s=_apart_s(headers, wall_ns),
            )  # fmt: skip
        except (NotMetrics, httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            why = beginning(_in_words(error), 400)
            return ServerSample(at_ns, now_ns(), wall_ns, self.target.agent, self.target.stage, error=why)


def _asked(sample: ServerSample) -> int:
    return sample.at_ns


def _client(*, trust_env: bool) -> httpx2.Client:
    # What is packed could unpack to any size.
    return httpx2.Client(timeout=ANSWER_S, trust_env=trust_env, headers={"Accept": "text/plain", "Accept-Encoding": "identity"})


def _fetched(client: httpx2.Client, url: str) -> tuple[str, httpx2.Headers]:
    """A page and its headers.

    Raises:
        NotMetrics: there is none, it is too large, or it did not end in time.
    """
    deadline_s = time.monotonic() + ANSWER_S
    parts: list[bytes] = []
    size = 0
    with client.stream("GET", url) as response:
        if response.status_code != 200:
            raise NotMetrics(f"is not there: HTTP status {response.status_code}")
        if response.headers.get("content-encoding", "identity") != "identity":
            raise NotMetrics("comes packed, which was not asked for, and was not read")
        for part in response.iter_raw():
            size += len(part)
            if size > MOST_BYTES:
                raise NotMetrics(f"is larger than {MOST_BYTES // 2**20} MiB, and was not read")
            if time.monotonic() > deadline_s:
                raise NotMetrics(f"did not end within {ANSWER_S:g} s")
            parts.append(part)
        return b"".join(parts).decode("utf-8", "replace"), response.headers


def next_in_s(sample: ServerSample, at_ns: int) -> float:
    """The time from an instant, when a page has been read, to the next question."""
    if sample.error:
        return ANSWER_S
    spent_s = (at_ns - sample.at_ns) / NS_PER_S
    read_s = (at_ns - sample.answered_ns) / NS_PER_S
    return max(PERIOD_S - spent_s, read_s * (1 / LARGEST_SHARE - 1), 0.0)


def _apart_s(headers: httpx2.Headers, wall_ns: int) -> float | None:
    try:
        return round(parsedate_to_datetime(headers.get("date", "")).timestamp() - wall_ns / NS_PER_S, 1)
    except (TypeError, ValueError):
        return None


def _apart_words(samples: Sequence[ServerSample]) -> str | None:
    """The end of a sentence on a server whose clock is not this machine's; None where it is, or is not known."""
    apart_s = next((s.apart_s for s in reversed(samples) if s.apart_s is not None), None)
    if apart_s is None or abs(apart_s) <= APART_S:
        return None
    way = "ahead of" if apart_s > 0 else "behind"
    return (
        f"its server's clock is {abs(apart_s):,.0f} s {way} this machine's; samples have this machine's time, "
        "and its traces are not joined"
    )


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _in_words(error: Exception) -> str:
    if isinstance(error, NotMetrics):
        return str(error)
    if isinstance(error, httpx2.TimeoutException):
        return f"did not answer within {ANSWER_S:g} s"
    if isinstance(error, httpx2.ConnectError):
        return "is not there: nothing listens at its address"
    return f"cannot be read: {' '.join(str(error).split()) or type(error).__name__}"
