"""The format of one person's votes from a vote file, and of the key that says what its pairs were.

The page that a rater opens has opaque pair ids and no more, so whatever becomes of it, it gives nothing away: which two systems
a pair compares is in the key alone, in the run's folder. The rater's file says what was chosen *as it was shown*, `a` for the
reply shown first, because that is all that the page knows; `in_terms_of_the_key` turns it over where the sides were swapped.
Every text in it was typed by a stranger, so every one is bounded.
"""

from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from harness.store.judgment import Presentation
from harness.study.study import Question
from harness.votes.vote import Option

SCHEMA: Final = 1
VOTES_KIND: Final = "heart-votes"
KEY_KIND: Final = "heart-vote-key"
MOST_VOTES: Final = 1_000
"""Votes in one person's file: many times what anybody gives, and little to read."""
MOST_QUESTIONS: Final = 30
_OPTIONS: Final = get_args(Option)

OpaqueId = Annotated[str, StringConstraints(pattern=r"^[0-9a-z]{4,40}$")]
"""An id that says nothing: drawn at random."""
_Moment = Annotated[str, StringConstraints(max_length=40)]


class OneVote(BaseModel):
    """One answer on one pair, in terms of what was shown: `a` is the reply shown first, whichever of the key's it was."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    pair: OpaqueId
    shown_first: Literal["a", "b"]
    """Which reply of the *key's* pair was shown first, as A: `a` its `system_a`, `b` its `system_b`."""
    vote: Option | Literal["skip"]
    """`a_much` to `b_much`, A being the reply shown first; `skip`: this person would rather not say."""
    seconds: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
    """From the first sight of the pair to the choice, without the time for hearing both replies once."""
    reason: Annotated[str, StringConstraints(max_length=5_000, strip_whitespace=True)] = ""
    check: Option | None = None
    """For an attention check, the option that it asked for, in the same terms as `vote`; such an answer is not a vote on the
    pair that it was shown with."""
    presentation: Presentation = "heard_text"

    def in_terms_of_the_key(self, option: Option) -> Option:
        """An option of this pair with `a` for the key's `system_a`.

        >>> OneVote(pair="x123", shown_first="b", vote="a_much", seconds=9).in_terms_of_the_key("a_much")
        'b_much'
        """
        return option if self.shown_first == "a" else _OPTIONS[-1 - _OPTIONS.index(option)]

    @property
    def passed(self) -> bool | None:
        """True if a check was answered as it asked; None for a vote."""
        return None if self.check is None else self.vote == self.check


class VotesOfOne(BaseModel):
    """Everything that one person sends: the file `votes-<participant>.json`, or what the page posts."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    schema_: Literal[1] = Field(default=SCHEMA, alias="schema")
    kind: Literal["heart-votes"] = VOTES_KIND
    file: OpaqueId
    """The id of the vote file: the name of its key in the run."""
    participant: Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._-]+$")]
    """From the page's address (`?PROLIFIC_PID=`, `?workerId=`), or drawn at random."""
    about: Annotated[dict[str, object], Field(max_length=MOST_QUESTIONS)] = {}
    """Question about the person → its answer; the key has the questions, and only answers to them are stored."""
    consent: Annotated[str, StringConstraints(max_length=64)] = ""
    """First digits of the SHA-256 of the text that this person agreed to; the key has the text."""
    started: _Moment = ""
    ended: _Moment = ""
    """UTC, ISO 8601."""
    completion_code: Annotated[str, StringConstraints(max_length=40)] = ""
    """Empty where a person stopped before the asked number of votes."""
    votes: Annotated[tuple[OneVote, ...], Field(max_length=MOST_VOTES)] = ()


class KeyPair(BaseModel):
    """What the replies of one opaque pair are; the columns of a vote that the rater's file leaves out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context: str
    subset: Literal["regular", "adversarial"]
    system_a: str
    system_b: str
    presentation: Presentation
    condition: str = ""
    draw_rate: float | None = None
    """As `Judgment.draw_rate`."""
    words: int | None = None
    """Words of both replies, if they were read."""


class VoteFileKey(BaseModel):
    """The key of a vote file, `RUN/vote-files/<file>.json`: only whoever has the run can read a vote."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal[1] = Field(default=SCHEMA, alias="schema")
    kind: Literal["heart-vote-key"] = KEY_KIND
    file: OpaqueId
    run: str
    """`RunManifest.id`."""
    made: str
    """UTC, ISO 8601."""
    consent: str
    """The text that raters were shown first."""
    consent_version: str
    """What `VotesOfOne.consent` repeats."""
    questions: tuple[Question, ...] = ()
    """What raters were asked about themselves."""
    completion_code: str
    pairs: dict[OpaqueId, KeyPair]
    withdrawn: tuple[OpaqueId, ...] = ()
    """Pairs that were in it and have a reply that its speaker withdrew: answers on them are left out."""
