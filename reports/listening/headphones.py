"""The headphone check, made before the first conversation so that no rater works in vain.

Without headphones, delays and voices are heard with the acoustics of the room, and answers would have to be left out
afterwards. So the trials (Woods et al. 2017) come first: a rater who fails a round learns it and tries again, with other
tones, so that nothing can be learnt by trying; after the last failure the test ends.
"""

import hashlib
import hmac
import math
from collections.abc import Sequence

from harness.reports.listening.plan import Item
from harness.study.texts import Texts

ROUNDS = 3
NEEDED_SHARE = 5 / 6
"""Share of trials to pass: Woods et al. admit listeners with five of six right; with loudspeakers most get none."""


def trials(plan: Sequence[Item]) -> range:
    """The steps that are headphone trials, which come before all questions about conversations."""
    found = [number for number, item in enumerate(plan) if item.role == "headphones"]
    return range(found[0], found[-1] + 1) if found else range(0)


def heard(passed: Sequence[bool]) -> bool:
    """True if a round was passed."""
    return sum(passed) >= math.ceil(NEEDED_SHARE * len(passed))


def in_round(item: Item, failed_rounds: int, position: int, secret: bytes, rater: str) -> Item:
    """The trial in this round: as planned in the first, later with an unpredictable tone."""
    if item.role != "headphones" or not failed_rounds:
        return item
    drawn = hmac.new(secret, f"{rater}\0{position}\0round {failed_rounds}".encode(), hashlib.sha256).digest()
    return item.model_copy(update={"expected": 1 + int.from_bytes(drawn) % 3})


def words(failed_rounds: int, t: Texts) -> str:
    """The text above a trial after this many failed rounds."""
    said = [t("listen.try_again")] if failed_rounds else []
    return " ".join([*said, t("listen.last_try")] if failed_rounds == ROUNDS - 1 else said)
