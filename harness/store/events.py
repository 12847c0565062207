"""Which sounds a run plays beside the agent's speech, when, and in which call: settings of the run, kept in its manifest.

A call has one event, because what an agent does at a second one depends on what it did at the first. Events are dealt to
contexts from the run's seed in whole rounds, so that each sound meets as many contexts as any other, and every agent meets
the same sound in the same context. Repeats pass them on: with as many repeats as events, each context meets each event once.
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
"""What each event asks of an agent that is speaking. `nothing` makes no sound: it shows what happens without any."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CallerEvent(_Model):
    """One sound, `at_ms` after the agent's reply is first heard."""

    sound: EventName
    at_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class EventSettings(_Model):
    """The events of a run. `source`: the file, or the name of the set that ships."""

    source: str
    events: Annotated[tuple[CallerEvent, ...], Field(min_length=1)]
    voices: dict[str, str] = Field(default_factory=dict)
    """Context → who speaks as the second voice, where one does."""

    def dealt(self, context_ids: Sequence[str], context_id: str, repeat: int, seed: int) -> CallerEvent:
        """The event of one call.

        Raises ValueError for a context that is not among `context_ids`.
        """
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
