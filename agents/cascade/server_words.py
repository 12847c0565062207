"""What the model's server says of each request, passed on as marks: when it begins, and its own timings.

A server's counters are sums over requests, and a turn is one request. So numbers that come with the answer are passed on under
the server's own names, and the harness reads them (`harness.servers`). Only numbers are passed on: the rest of a chunk is the
reply. What belongs to the wait for the first token is what was said with it, or at the end by servers that speak only then.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from openai.types.chat import ChatCompletionChunk

from harness.agents import marks
from harness.agents.cascade.session_marks import SessionMarks
from harness.agents.secrets import beginning

PLACES: Final = ("timings", "metrics", "meta_info")
"""Fields of a chunk, or of its first choice, in which servers put a request's own times: llama.cpp, vLLM, SGLang."""
PROGRESS: Final = "prompt_progress"
ASKED_OF_LLAMA: Final = {"timings_per_token": True, "return_progress": True}
"""Fields of a request that make llama.cpp's server say both; it sends one chunk more, where the request leaves the queue."""
_MOST_FIELDS: Final = 40
Stops = Callable[[int, int], list[list[int]]]
"""The intervals of the monotonic clock, between two instants, in which the model was stopped."""


class ServerWords:
    """The words of the server on the requests of one session, one request after another."""

    def __init__(self, session: SessionMarks, stops: Stops | None = None) -> None:
        """`stops`: those of a model that the agent stops at times; None for any other."""
        self._session = session
        self._stops = stops
        self._said: dict[str, dict[str, float]] = {}
        self._begun = self._stamped = False

    def request(self) -> None:
        """Forget the request before."""
        self._said = {}
        self._begun = self._stamped = False

    def hear(self, chunk: ChatCompletionChunk, request: object) -> bool:
        """Note what a chunk says of its request; returns False for one that brings progress and no piece of the reply."""
        extras = [chunk.model_extra or {}, *((choice.model_extra or {}) for choice in chunk.choices[:1])]
        progress = next((extra[PROGRESS] for extra in extras if PROGRESS in extra), None)
        if progress is not None:
            if not self._begun:
                self._begun = True
                self._session.stamp(marks.LLM_BEGUN, request=request, progress=_numbers(progress))
            return any(choice.delta.content for choice in chunk.choices)
        for place in PLACES:
            for extra in extras:
                if numbers := _numbers(extra.get(place)):
                    self._said[place] = numbers
        return True

    def pass_on(self, request: object) -> None:
        """Pass on what came with the first answer token, or at the end by a server that said nothing before."""
        if self._stamped or not self._said:
            return
        self._stamped = True
        asked, first = (self._session.last(name) for name in (marks.LLM_REQUESTED, marks.LLM_FIRST_TOKEN))
        stopped = self._stops(asked["at_ns"], first["at_ns"]) if self._stops and asked and first else None
        places: dict[str, Any] = dict(self._said)
        self._session.stamp(marks.LLM_TIMINGS, request=request, stopped_ns=stopped, **places)


def _numbers(said: Any) -> dict[str, float]:
    """The finite numbers of a table; empty where it is none."""
    if not isinstance(said, Mapping):
        return {}
    known = {
        beginning(str(name), 60): value
        for name, value in said.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }
    return dict(list(known.items())[:_MOST_FIELDS])
