"""When the agent's audio would be played out, for wire formats whose bots ask: the client models the playout buffer.

The same model as the harness hears by: each piece plays on arrival, or when the one before has ended. It knows only
durations, because a wire needs instants (answer a mark, truncate a reply), not sound.
"""


class PlayoutClock:
    """The far end of what has arrived, in ns of the monotonic clock."""

    def __init__(self) -> None:
        self._until_ns = 0

    @property
    def until_ns(self) -> int:
        """When everything that has arrived will have been played."""
        return self._until_ns

    def add(self, arrival_ns: int, samples: int, rate_hz: int) -> None:
        """A piece of audio came."""
        self._until_ns = max(self._until_ns, arrival_ns) + round(samples * 1e9 / rate_hz)

    def clear(self, now_ns: int) -> None:
        """What has not been played is dropped."""
        self._until_ns = min(self._until_ns, now_ns)
