"""The hostility of a seeker turn towards the listener, 0 to 10: word lists on file, summed and saturated.

A measure is needed to check if a rewriting follows its profile; a model's own opinion of its rewriting is not a check.
Lists are crude (they miss irony and count "stupid me"), but reproducible. They were written with the shipped packs in
view, so their separation of those packs without overlap proves little; docs/contexts.md has results on other text.
"""

import math
import re
from functools import cache
from pathlib import Path

import yaml

from harness.scenarios.screens.spelling import one_spelling

SATURATION = 6.0
"""The sum at which hostility reaches 6.3 of 10: an insult, an order to shut up, and a raised voice."""
SHOUT_WEIGHT, MOST_SHOUTS = 0.4, 5


def hostility(text: str) -> float:
    """The hostility of one turn, 0 (friendly or merely sad) to 10. Pause marks do not count."""
    plain = one_spelling(re.sub(r"<pause \d+>", " ", text))
    total = sum(weight * len(pattern.findall(plain)) for weight, pattern in _signs())
    total += SHOUT_WEIGHT * min(MOST_SHOUTS, text.count("!") + len(re.findall(r"\b[A-Z]{3,}\b", text)))
    return round(10 * (1 - math.exp(-max(0.0, total) / SATURATION)), 2)


@cache
def _signs() -> tuple[tuple[float, re.Pattern[str]], ...]:
    raw = yaml.load((Path(__file__).parent / "hostility.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    return tuple((float(sign["weight"]), re.compile("|".join(sign["patterns"]))) for sign in raw.values())
