"""Whether somebody hears with headphones: found out before the first conversation, so that nobody works for nothing.

Without headphones, delays and voices are judged in another room than the test's, and answers would have to be left out
afterwards. So the trials (Woods et al. 2017) are a gate: who fails a round is told at once and tries again, with other
tones, so that nothing can be learnt by trying; who fails the last is told that, and hears no conversation.
"""

import hashlib
import hmac
import math
from collections.abc import Sequence

from harness.reports.listening.plan import Item

ROUNDS = 3
NEEDED_SHARE = 5 / 6
"""Woods et al. let in who gets five of six right; loudspeakers mostly get none."""
TRY_AGAIN = (
    "That did not sound like headphones: on them, the softest tone is easy to tell. Please put headphones on, both sides, "
    "and check that both can be heard. Then try once more."
)
LAST_TRY = f"{TRY_AGAIN} It is the last try: without headphones the test cannot go on."


def trials(plan: Sequence[Item]) -> range:
    """The steps that are headphone trials; they stand together, before everything that is asked about a conversation."""
    found = [number for number, item in enumerate(plan) if item.role == "headphones"]
    return range(found[0], found[-1] + 1) if found else range(0)


def heard(passed: Sequence[bool]) -> bool:
    """Whether a round was passed."""
    return sum(passed) >= math.ceil(NEEDED_SHARE * len(passed))


def in_round(item: Item, failed_rounds: int, position: int, secret: bytes, rater: str) -> Item:
    """The trial as it is in this round: as dealt in the first, then with a tone that nobody can work out."""
    if item.role != "headphones" or not failed_rounds:
        return item
    drawn = hmac.new(secret, f"{rater}\0{position}\0round {failed_rounds}".encode(), hashlib.sha256).digest()
    return item.model_copy(update={"expected": 1 + int.from_bytes(drawn) % 3})


def words(failed_rounds: int) -> str:
    """What to say above a trial after so many failed rounds."""
    return "" if not failed_rounds else LAST_TRY if failed_rounds == ROUNDS - 1 else TRY_AGAIN
