"""The results of checks of the machine."""

from dataclasses import dataclass
from typing import Literal

State = Literal["fine", "without", "disturbs", "broken"]
"""`without`: a part is missing that only some uses need. `disturbs`: it would falsify figures measured here.
`broken`: a run with the shipped agents could not be played."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of the machine: its state, the observation, and the remedy (empty if it is fine)."""

    part: str
    state: State
    seen: str
    mend: str = ""

    @property
    def is_trouble(self) -> bool:
        """True if the doctor exits with 1 because of it."""
        return self.state in ("disturbs", "broken")
