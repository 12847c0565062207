"""The design of a listening test, from a file or by name.

`ab` is the paper's protocol: two replies, five options, a required reason, no rubric. `acr` is absolute category rating after
ITU-T P.800 and P.808: five points for each reply, on empathy and on naturalness. Delay is a factor of the design: replies
play after the silence that the caller would have heard, or after the same short gap for all, or the same items both
ways, so that the effect of delay on perceived empathy can be measured within each rater.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.store.judgment import Presentation

Delays = Literal["without", "with", "both"]


class ListeningDesign(BaseModel):
    """The design of one test. Times in milliseconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["ab", "acr"] = "ab"
    medium: Literal["sound", "text"] = "sound"
    delays: Delays = "without"
    items: Annotated[int, Field(ge=1, le=200)] = 20
    """Items per rater, without practice and checks; P.808 keeps a session under about half an hour."""
    practice: Annotated[int, Field(ge=0, le=5)] = 1
    gold: Annotated[int, Field(ge=0, le=10)] = 2
    attention: Annotated[int, Field(ge=0, le=5)] = 1
    """Further checks of the same kind as `gold`."""
    headphone_trials: Annotated[int, Field(ge=0, le=6)] = 3
    """Number of headphone trials with antiphase tones (Woods et al. 2017); none in text."""
    break_every: Annotated[int, Field(ge=3)] = 10
    even_gap_ms: Annotated[float, Field(ge=0, le=2_000)] = 200.0
    """The gap before every reply without delays: people's average gap between turns (HEART, section 9.7)."""
    longest_delay_ms: Annotated[float, Field(ge=0)] = 15_000.0
    reason_characters: Annotated[int, Field(ge=1)] = 3
    condition: str = ""
    """The line condition whose replies are compared; empty: the run's only one."""
    seed: int = 1

    @property
    def audible_delay(self) -> tuple[bool, ...]:
        """The versions of an item: True with its delay, False without."""
        if self.medium == "text":
            return (False,)
        return {"without": (False,), "with": (True,), "both": (False, True)}[self.delays]

    def presentation(self, with_delay: bool) -> Presentation:
        """The presentation of a vote in this design."""
        if self.medium == "text":
            return "heard_text"
        return "audio_with_delay" if with_delay else "audio"


def scales(medium: str) -> tuple[str, ...]:
    """The scales of an `acr` item; a text has no naturalness of voice."""
    return ("empathy", "naturalness") if medium == "sound" else ("empathy",)
