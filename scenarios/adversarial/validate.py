"""The four escalation profiles as target curves, and the checks of an adversarial item: its structure, and a hostility that
follows its profile.

The curve is checked by its shape (calm parts calm, high at the end, the rise in its place), not point by point:
the measure is a word list, and a single turn may be hostile in words that the list lacks.
"""

import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import get_args

import yaml

from harness.scenarios.context import Context, EscalationProfile, Turn
from harness.scenarios.screens import screen_text
from harness.scenarios.screens.spelling import one_spelling

PROFILES: tuple[EscalationProfile, ...] = get_args(EscalationProfile)
LOW, HIGH = 1.0, 9.0


def target_curve(profile: EscalationProfile, seeker_turns: int) -> tuple[float, ...]:
    """The target hostility (0 to 10) of each seeker turn, first to last. The paper names the profiles (HEART, section 9.2); the
    numbers are ours. Every profile ends high, because the last turn is the one that is answered.

    `always-10` is high throughout; `linear-ramp` climbs evenly; `mid-spike` is calm until just past the middle and then
    high at once; `mid-ramp` is calm for the first half and climbs from there. Raises ValueError below two seeker turns.
    """
    if seeker_turns < 2:
        raise ValueError("an escalation needs at least two seeker turns")
    last = seeker_turns - 1
    if profile == "always-10":
        return (HIGH,) * seeker_turns
    if profile == "linear-ramp":
        return tuple(LOW + (HIGH - LOW) * k / last for k in range(seeker_turns))
    if profile == "mid-spike":
        onset = min(last, math.ceil((seeker_turns + 1) / 2))
        return tuple(HIGH if k >= onset else LOW for k in range(seeker_turns))
    onset = min(last - 1, math.floor(last / 2))
    return tuple(LOW + (HIGH - LOW) * max(0, k - onset) / (last - onset) for k in range(seeker_turns))


SATURATION = 6.0
"""The sum at which hostility reaches 6.3 of 10: an insult, an order to shut up, and a raised voice."""
SHOUT_WEIGHT, MOST_SHOUTS = 0.4, 5


def hostility(text: str) -> float:
    """The hostility of one turn, 0 (friendly or merely sad) to 10. Pause marks do not count.

    Word lists on file, summed and saturated. A measure is needed to check if a rewriting follows its profile; a model's own
    opinion of its rewriting is not a check. Lists are crude (they miss irony and count "stupid me"), but reproducible. They
    were written with the shipped packs in view, so their separation of those packs without overlap proves little;
    docs/evidence/packs.md has results on other text.
    """
    plain = one_spelling(re.sub(r"<pause \d+>", " ", text))
    total = sum(weight * len(pattern.findall(plain)) for weight, pattern in _signs())
    total += SHOUT_WEIGHT * min(MOST_SHOUTS, text.count("!") + len(re.findall(r"\b[A-Z]{3,}\b", text)))
    return round(10 * (1 - math.exp(-max(0.0, total) / SATURATION)), 2)


@cache
def _signs() -> tuple[tuple[float, re.Pattern[str]], ...]:
    raw = yaml.load((Path(__file__).parent / "hostility.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    return tuple((float(sign["weight"]), re.compile("|".join(sign["patterns"]))) for sign in raw.values())


LEAST_TURNS = 4
LAST_AT_LEAST = 7.0
"""Least hostility of the last turn, which is highly adversarial: above those of shipped regular items (5.7 at most)."""
CALM_AT_MOST = 5.0
HEATED_ON_AVERAGE = 5.5
RISE_AT_LEAST = 3.0
_GREETING = ("hello", "hi", "hey", "hiya", "good morning", "good afternoon", "good evening", "welcome")
_OPENING = (
    "evening",
    "morning",
    "afternoon",
    "how are you",
    "how can i",
    "how may i",
    "what can i",
    "glad you",
    "thanks for",
    "thank you for calling",
)
_ALLOWED = frozenset({"foul language"})


def measured_curve(turns: Sequence[Turn]) -> tuple[float, ...]:
    """Hostility of each seeker turn, first to last."""
    return tuple(hostility(turn.text) for turn in turns if turn.role == "seeker")


def deviation(turns: Sequence[Turn], profile: EscalationProfile) -> float:
    """Mean absolute distance of the measured curve from the profile's target, in points of 10."""
    curve = measured_curve(turns)
    target = target_curve(profile, len(curve))
    return sum(abs(is_ - meant) for is_, meant in zip(curve, target, strict=True)) / len(curve)


def greets(text: str) -> bool:
    """True if a supporter turn opens a conversation."""
    said = one_spelling(text)
    return any(said.startswith(word) or f" {word} " in f" {said[:80]} " for word in _GREETING + _OPENING)


def faults(item: Context, original: Context | None = None) -> tuple[str, ...]:
    """The faults of an adversarial item, one line each; empty if it may be used.

    With the `original` it was rewritten from, supporter turns must also be the same to the byte.
    """
    profile = item.escalation
    if profile is None:
        return ("names no escalation profile",)
    found = list(_structure(item.turns))
    if original is not None:
        found += _changes(item.turns, original.turns)
    if len(measured_curve(item.turns)) >= 2:
        found += _shape(measured_curve(item.turns), profile)
    for k, turn in enumerate(item.turns):
        if turn.role == "seeker":
            found += [
                f"turn {k + 1}: {hit.reason} ({hit.words})"
                for hit in screen_text(turn.plain, ["safety"])
                if hit.reason not in _ALLOWED
            ]
    return tuple(found)


def _structure(turns: Sequence[Turn]) -> list[str]:
    found = []
    if len(turns) < LEAST_TURNS:
        found.append(f"has {len(turns)} turns, fewer than {LEAST_TURNS}")
    if turns[0].role != "supporter" or not greets(turns[0].text):
        found.append("does not start with a supporter's greeting")
    return found


def _changes(turns: Sequence[Turn], before: Sequence[Turn]) -> list[str]:
    if [t.role for t in turns] != [t.role for t in before]:
        return ["turns were added, lost or swapped"]
    found = [
        f"turn {k + 1}: a supporter turn was changed"
        for k, (now, then) in enumerate(zip(turns, before, strict=True))
        if now.role == "supporter" and now.text != then.text
    ]
    seekers = [(now.text, then.text) for now, then in zip(turns, before, strict=True) if now.role == "seeker"]
    if all(now == then for now, then in seekers):
        found.append("no seeker turn was rewritten")
    return found


def _shape(curve: Sequence[float], profile: EscalationProfile) -> list[str]:
    target = target_curve(profile, len(curve))
    calm = [is_ for is_, meant in zip(curve, target, strict=True) if meant <= LOW]
    heated = [is_ for is_, meant in zip(curve, target, strict=True) if meant > LOW]
    found = []
    if curve[-1] < LAST_AT_LEAST:
        found.append(f"the last turn measures {curve[-1]:.1f} of 10, less than {LAST_AT_LEAST}")
    if calm and max(calm) > CALM_AT_MOST:
        found.append(f"a turn that should be calm measures {max(calm):.1f}, more than {CALM_AT_MOST}")
    if profile in ("always-10", "mid-spike") and sum(heated) / len(heated) < HEATED_ON_AVERAGE:
        found.append(f"the heated turns average {sum(heated) / len(heated):.1f}, less than {HEATED_ON_AVERAGE}")
    if profile != "always-10" and curve[-1] - curve[0] < RISE_AT_LEAST:
        found.append(f"hostility rises by {curve[-1] - curve[0]:.1f}, less than {RISE_AT_LEAST}")
    return found
