"""Settings of the sounds that a run plays beside the agent's speech, and of their calls; stored in the manifest.

A call has one event, because an agent's reaction to a second one depends on its reaction to the first. Events are dealt to
contexts from the run's seed in whole rounds, so that each sound is in as many contexts as any other, and every agent gets
the same sound in the same context. Repeats rotate them: with as many repeats as events, each context has each event once.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

EventName = Literal["mm-hm", "yeah", "cough", "door", "second-voice", "nothing", "interruption"]
Asks = Literal["stop", "nothing"]
ASKS: Final[Mapping[EventName, Asks]] = {
    "mm-hm": "nothing",
    "yeah": "nothing",
    "cough": "nothing",
    "door": "nothing",
    "second-voice": "nothing",
    "nothing": "nothing",
    "interruption": "stop",
}
"""The right reaction to each event of an agent that is speaking. `nothing` makes no sound: it is the control."""


class Settled(BaseModel):
    """A part of a manifest that nobody changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CallerEvent(Settled):
    """One sound, `at_ms` after the agent's reply is first heard."""

    sound: EventName
    at_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class EventSettings(Settled):
    """The events of a run. `source`: the file, or the name of the set that ships."""

    source: str
    events: Annotated[tuple[CallerEvent, ...], Field(min_length=1)]
    voices: dict[str, str] = Field(default_factory=dict)
    """Context → the second voice, where there is one."""

    def dealt(self, context_ids: Sequence[str], context_id: str, repeat: int, seed: int) -> CallerEvent:
        """The event of one call. Raises ValueError for a context that is not among `context_ids`."""
        round_, place = divmod(context_ids.index(context_id), len(self.events))
        order = list(range(len(self.events)))
        random.Random(f"{seed} events {round_}").shuffle(order)
        return self.events[order[(place + repeat) % len(order)]]


EVERYDAY: Final = "everyday"
EVERYDAY_AT_MS: Final = 1_500.0
"""Into the reply: past the first phrase, before the end of most replies. A choice, not a measurement."""


def everyday() -> EventSettings:
    """The set that ships: every sound once, `EVERYDAY_AT_MS` into the reply."""
    return EventSettings(source=EVERYDAY, events=tuple(CallerEvent(sound=name, at_ms=EVERYDAY_AT_MS) for name in ASKS))
