"""The agent's spans (OpenTelemetry) of one session, reduced to the stored parts: name, times, and a few numbers.

A span becomes a mark named `span.<name>`, stamped where the span begins, with its end and its numbers in the detail;
timing derives figures from it, so that `harness measure RUN` can do so again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import ConfigDict

from harness.agents.connection import Mark

PREFIX: Final = "span."
OPERATION: Final = "gen_ai.operation.name"
TTFT_ATTRIBUTES: Final = (
    "metrics.ttfb",  # pipecat
    "lk.response.ttft",  # LiveKit Agents
    "gen_ai.response.time_to_first_chunk",  # GenAI conventions, in development and being renamed
    "gen_ai.client.operation.time_to_first_chunk",
    "gen_ai.server.time_to_first_token",
    "gen_ai.response.time_to_first_token",
)
"""Seconds from the request to the first token, under every name that is in use; the first that is present counts."""
SERVER_ATTRIBUTES: Final = (
    "gen_ai.latency.time_in_queue",
    "gen_ai.latency.time_in_model_prefill",
    "gen_ai.latency.time_in_model_decode",
)
"""Seconds of one request in a model server (vLLM), which `harness.servers` reads."""
KEPT_ATTRIBUTES: Final = frozenset({*TTFT_ATTRIBUTES, *SERVER_ATTRIBUTES, OPERATION})


@dataclass(frozen=True, slots=True)
class Span:
    """One span on the machine's monotonic clock, with the stored attributes."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, str | float] = field(default_factory=dict)

    def as_mark(self) -> Mark:
        """The span as a mark; its arrival is its end, the earliest possible."""
        detail = {**self.attributes, "end_ns": self.end_ns, "stamped": "span"}
        return Mark(PREFIX + self.name, self.start_ns, self.end_ns, detail)
