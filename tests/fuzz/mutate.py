"""Inputs made of a target's seed: damaged, cut off, repeated, and with its format's words put in, up to a length."""

import random
from collections.abc import Iterator

from tests.fuzz.targets import Target


def inputs(target: Target, chance: random.Random, most_bytes: int) -> Iterator[bytes]:
    """Inputs without end, of 1 kB to `most_bytes` where long."""
    words = (*target.words, target.seed[:7], target.seed[-5:], b"\x00", b"\xff")
    while True:
        size = int(1_000 * (most_bytes / 1_000) ** chance.random())
        made = bytearray(target.seed)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(made) + 1)
            word = chance.choice(words)
            match chance.randrange(6):
                case 0:
                    made[at:at] = word
                case 1:
                    del made[at : at + chance.randint(1, 40)]
                case 2:
                    made[at : at + 1] = chance.randbytes(1)
                case 3:
                    made[at:at] = word * (size // len(word))
                case 4:
                    made *= max(1, min(size // max(1, len(made)), 50_000))
                case _:
                    del made[at:]
            del made[most_bytes:]
        yield bytes(made)
