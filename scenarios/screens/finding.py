"""What a screen found: the reason, and the words it fired on, so that a person can review every removal."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """`screen` is safety, identity, clinical or frame; `reason` one of that screen's; `words` what was matched."""

    screen: str
    reason: str
    words: str
