"""A short caller turn, and agents made of scripts."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.agents.connections import ConnectionSpec

RATE_HZ = 16_000


@pytest.fixture
def tone() -> NDArray[np.int16]:
    """Half a second that an agent can hear end."""
    return (8_000 * np.sin(2 * np.pi * 200 * np.arange(RATE_HZ // 2) / RATE_HZ)).astype(np.int16)


@pytest.fixture
def scripted() -> Any:
    """Builds the spec of a scripted agent that answers after `delay_ms` with a voice of `sound_ms`."""

    def build(delay_ms: float | None = 100.0, sound_ms: float = 700.0, **options: Any) -> ConnectionSpec:
        replies = options.pop("replies", None)
        if replies is None:
            sound = [{"kind": "voice", "ms": sound_ms}]
            replies = [] if delay_ms is None else [{"delay_ms": delay_ms, "sound": sound, "text": "I hear you."}]
        return ConnectionSpec("scripted", options={"replies": replies, **options})

    return build
