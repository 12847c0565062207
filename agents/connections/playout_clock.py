"""The playout times of the agent's audio, for wire formats whose bots ask for them: a model of the playout buffer.

It is the model of the harness's measurements: each piece plays on arrival, or when the one before has ended. It uses only
durations, because a wire needs instants (answer a mark, truncate a reply), not sound.
"""


class PlayoutClock:
    """The playout end of the received audio, in ns of the monotonic clock."""

    def __init__(self) -> None:
        self._until_ns = 0

    @property
    def until_ns(self) -> int:
        """The time at which all received audio will have been played."""
        return self._until_ns

    def add(self, arrival_ns: int, samples: int, rate_hz: int) -> None:
        """Add a received piece of audio."""
        self._until_ns = max(self._until_ns, arrival_ns) + round(samples * 1e9 / rate_hz)

    def clear(self, now_ns: int) -> None:
        """Drop the audio that has not been played."""
        self._until_ns = min(self._until_ns, now_ns)
