"""What a look at the machine comes to."""

from dataclasses import dataclass
from typing import Literal

State = Literal["fine", "without", "disturbs", "broken"]
"""`without`: something that only some uses need is not there. `disturbs`: figures measured here would be worse for it.
`broken`: a run with the agents that ship could not be played."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of the machine: its state, what was seen, and how to mend it (empty where it is fine)."""

    part: str
    state: State
    seen: str
    mend: str = ""

    @property
    def is_trouble(self) -> bool:
        """Whether the doctor ends with 1 for it."""
        return self.state in ("disturbs", "broken")
