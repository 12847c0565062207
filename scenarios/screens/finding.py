"""Findings of screens: the reason and the matched words, so that a person can review every removal."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `screen` is safety, identity, clinical or frame; `reason` one of that screen's; `words` matched it."""

    screen: str
    reason: str
    words: str
