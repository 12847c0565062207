"""A seat as its server sees it: the next thing for a person to do, and the worth of a recording."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from harness.people.loop_back import LoopBack
from harness.people.records import Person, SeatName, Take
from harness.people.track import Track
from harness.study.study import Study

Json = dict[str, Any]
CONSENT: Final = "consent-1"
"""Version of the words of consent on the page; stored with each person."""


class Seat(Protocol):
    """The caller's or the supporter's seat."""

    @property
    def name(self) -> SeatName: ...

    @property
    def study(self) -> Study:
        """What people read first, and the language of everything that they read."""
        ...

    @property
    def page(self) -> str:
        """The name of its page among `pages/`."""
        ...

    @property
    def loop_back_first(self) -> bool:
        """True if a wait is measured, so that the latency of the page's own sound must be known."""
        ...

    def next_for(self, person: Person) -> Json:
        """The next item with `kind` and `of`; kind `done` when there is none."""
        ...

    def sound(self, person: Person, what: str) -> bytes | None:
        """The sound of an item as a WAV file at 48 kHz; None if it has none, or the item is not this person's."""
        ...

    def examined(self, take: Take, track: Track, loop: LoopBack | None, /) -> Json:
        """The findings of a finished recording, for the page and the file."""
        ...

    def keep(self, take: Take, asked: Mapping[str, Any], /) -> Json:
        """Its speaker's decisions about a recording that is kept, checked.

        Raises:
            Refused: they are impossible; the message is for the speaker.
        """
        ...
