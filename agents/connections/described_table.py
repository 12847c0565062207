"""The table `[wire]` of a profile: a socket's messages in data, closed and small, so that a new vendor needs no code.

What is not here (functions that are answered, playout reports, sessions that are resumed) needs a wire of its own.
"""

from collections.abc import Iterator
from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from harness.agents.connections.described_messages import Match, Matches, Path, Template, has_place, unknown_places
from harness.agents.profile_base import ProfileSettings

Encoding = Literal["pcm16", "mulaw", "alaw"]
Words = Annotated[str, Field(min_length=2, max_length=200)]
Texts = Annotated[tuple[Template, ...], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)]
Paths = Annotated[tuple[Path, ...], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)]

OPENING: Final = ("history", "has_history", "instructions", "rate", "reply_rate", "id")
TURN: Final = ("text", "number")
SOUND: Final = ("audio", "rate", "number", "at_ms", "id")
ANSWER: Final = ("message", "id")


class History(ProfileSettings):
    """The conversation so far: a template for a turn of each side. Where no message has a place for `{history}`, each turn is a
    message of its own, after the session is ready."""

    user: Template
    assistant: Template
    taken: Matches = ()
    """What the server answers to each turn that is a message of its own."""


class Places(ProfileSettings):
    """The request to `url` that places a call, whose answer has the address to dial."""

    request: Template
    address_at: Path


class Hears(ProfileSettings):
    """How the caller's sound goes to the agent: `message` has `{audio}` in base64; without it the sound is binary."""

    encoding: Encoding = "pcm16"
    message: Template | None = None


class Speaks(ProfileSettings):
    """How the agent's sound comes: base64 `at` a path of a message, or binary."""

    encoding: Encoding = "pcm16"
    at: Path | None = None
    match: Matches = ()
    rate_at: Path | None = None
    """Where a message states the rate, as a number or at the end of a text (`pcm_24000`, `audio/pcm;rate=24000`)."""
    rate_match: Matches = ()

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.match and self.at is None:
            raise ValueError("at is missing: the path of the sound in the messages that match")
        if self.rate_match and self.rate_at is None:
            raise ValueError("rate_at is missing: the path of the rate in the messages that match")
        return self


class Signs(ProfileSettings):
    """The messages that say how far a reply is. Each becomes a mark, `wire.NAME`; sound itself is `wire.voice`."""

    speech_started: Matches = ()
    decided: Matches = ()
    """The caller's turn is over."""
    requested: Matches = ()
    """A reply is begun."""
    asked: Matches = ()
    """Both in one."""
    words: Matches = ()
    """Words of the reply; the first of a reply counts."""
    tool_called: Matches = ()
    tool_done: Matches = ()
    done: Matches = ()
    """All sound of the reply has been sent."""


class Transcribed(ProfileSettings):
    """Messages with words: whose they are, and where. `pieces`: they are joined until the turn is over."""

    match: Matches
    role: Literal["user", "assistant"]
    text: Path
    final: bool = True
    pieces: bool = False


class Failing(ProfileSettings):
    """Messages that say what failed: where its words are, a code behind them."""

    match: Matches
    words: Paths


class Answered(ProfileSettings):
    """Messages that want an answer, as a ping does."""

    match: Matches
    message: Template


class WireTable(ProfileSettings):
    """The messages of a socket."""

    places: Places | None = None
    opens_after: Matches = ()
    """The server's message that is waited for before ours."""
    opens: Texts = ()
    ready: Matches = ()
    """The session has begun; without it, it has when our messages are sent."""
    then: Texts = ()
    """Messages after `ready`; one with a place for `{history}` is left out where there is none."""
    history: History | None = None
    hears: Hears = Hears()
    speaks: Speaks = Speaks()
    clears: Matches = ()
    """The caller is to drop what it has not played."""
    signs: Signs = Signs()
    transcripts: tuple[Transcribed, ...] = ()
    errors: tuple[Failing, ...] = ()
    answers: tuple[Answered, ...] = ()
    refusals: dict[Words, Literal["unauthorised", "not_found", "busy", "refused"]] = Field(default_factory=dict)
    """Words in an error or a goodbye → whose fault it is."""

    @model_validator(mode="after")
    def _has_known_places(self) -> Self:
        for where, template, known in self._templates():
            if unknown := unknown_places(template, known):
                allowed = ", ".join(f"{{{name}.PATH}}" if name == "message" else f"{{{name}}}" for name in known)
                raise ValueError(f"{where}: {{{unknown[0]}}} stands for nothing here; there are {allowed}")
        if self.hears.message is not None and not has_place(self.hears.message, "audio"):
            raise ValueError('hears.message: write "{audio}" where the sound goes')
        if self.history is None and self.places_history:
            raise ValueError("{history} needs a table [wire.history] with the templates user and assistant")
        if self.opens_after and not (self.opens or self.then):
            raise ValueError("opens_after is there, and opens is missing: the messages that are sent then")
        return self

    @property
    def places_history(self) -> bool:
        """True if a message has a place for the conversation so far."""
        asked = () if self.places is None else (self.places.request,)
        return any(has_place(text, "history") for text in (*asked, *self.opens, *self.then))

    def _templates(self) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        yield from ((name, text, OPENING) for name in ("opens", "then") for text in getattr(self, name))
        if self.places is not None:
            yield "places.request", self.places.request, OPENING
        if self.history is not None:
            yield "history.user", self.history.user, TURN
            yield "history.assistant", self.history.assistant, TURN
        if self.hears.message is not None:
            yield "hears.message", self.hears.message, SOUND
        yield from (("answers.message", row.message, ANSWER) for row in self.answers)


__all__ = ["Failing", "History", "Match", "Signs", "Transcribed", "WireTable"]
