"""The part of one turn that others on the agent's machine could have caused.

Other programs, the host and a quota only delay a reply. So each latency has a high end, which was measured, and a low end:
less the most that others could have caused, which `harness.timing.contention` derives from the kernel's counters.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

ROUND_A_TURN_MS: Final = 1_200.0
"""An older run counted from 1 s before the spoken end, between two samples a tenth of a second apart at either side."""


@dataclass(frozen=True, slots=True)
class Contention:
    """The part of one turn that others on the agent's machine could have caused. Derivation: `harness.timing.contention`."""

    others_cores: float
    """Number of the processors that the agent may use which others used, on average."""
    waited_cores: float | None
    """Number of the agent's threads that were ready without a processor, on average, for any reason; None: not counted."""
    stolen_cores: float
    """Number of these processors that a hypervisor had taken, on average."""
    throttled: int | None = None
    """Number of times that cores were slowed down for heat; None where the machine does not state it."""
    slowest_mhz: float | None = None
    at_most_ms: Mapping[str, float] = field(default_factory=dict)
    """Figure → the most of it that others could have caused. Empty in an older run, for which `owed_ms` derives a bound."""
    others_ms: float = 0.0
    """The three parts of what others could have caused of the first sound (or the silence): other programs, …"""
    stolen_ms: float = 0.0
    quota_ms: float | None = None
    """… the host, and the quota of the agent's control group; None where no quota was read."""
    cpus: int | None = None
    """Number of processors that the agent may use, over which this is counted; None: the whole machine (an older run)."""
    stalled_share: float | None = None
    """Share of the time in which some process of the agent's control group, or of the machine, waited; None where not known."""
    others: tuple[tuple[str, float], ...] = ()
    """The programs that ran most beside the agent, and how many cores each had on average; the busiest first."""

    def owed_ms(self, figure: str, waited_ms: float) -> float | None:
        """The most of one figure that others could have caused; None where it was not measured. `waited_ms`: the first figure.

        An older run stored only averages over the turn, which bound all its figures alike.
        """
        if self.at_most_ms:
            return self.at_most_ms.get(figure)
        by_others = min(self.others_cores, self.waited_cores if self.waited_cores is not None else self.others_cores)
        return (by_others + self.stolen_cores) * (ROUND_A_TURN_MS + max(0.0, waited_ms))
