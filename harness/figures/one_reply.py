"""Whether an agent gives the same reply to every caller.

Such a reply can be warm and polished, and a judge meets one conversation at a time, so nothing shows it that nobody was
answered: a constant sentence was rated at 2,130 Elo. So an agent's replies are compared with each other, and where half of them
are nearly one, no judge's rating of it is quoted. People's votes count: who votes on twenty pairs meets the sentence again.

Two replies are nearly the same if they share `ALIKE` of their words (Dice's coefficient, order aside), so that a name, or a
transcriber's other word, makes no other reply of it. The limits were chosen on iEval's four chatbots, whose commonest reply has
at most 13 %; how they hold elsewhere is in docs/evidence/judges.md.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from harness.judging.completion import normalised

ALIKE: Final = 0.7
"""Of the words of two replies that are nearly the same. At 0.5 short honest replies of one form ("I'm sorry, what happened?")
are alike: 34 % of one chatbot's."""
OF_ALL: Final = 0.5
"""Of an agent's conversations, the share with nearly the same reply."""
LEAST: Final = 6
"""Replies that must be nearly the same: of fewer, honest greetings can be."""
LOOKED_AT: Final = 20
"""Replies with which all others are compared, spread evenly. If half of all are one, none of twenty is it once in a million."""


def commonest_reply(replies: Sequence[str]) -> tuple[int, int] | None:
    """Number of replies that are nearly the commonest one, and of all; None of no reply. `replies`: one a conversation.

    >>> commonest_reply(["That sounds hard. I am here."] * 5 + ["What did she say to you, then?"])
    (5, 6)
    """
    texts = Counter(" ".join(sorted(normalised(text).split())) for text in replies)
    if not texts:
        return None
    words = {text: Counter(text.split()) for text in texts}
    every = sorted(texts, key=lambda text: (-texts[text], text))
    step = max(1, len(every) // LOOKED_AT)
    looked_at = dict.fromkeys([*every[: LOOKED_AT // 2], *every[::step]])
    return max(sum(n for text, n in texts.items() if _alike(words[one], words[text])) for one in looked_at), texts.total()


def is_one_for_all(commonest: tuple[int, int] | None) -> bool:
    """True if so many replies are nearly the same that nobody was answered."""
    return commonest is not None and commonest[0] >= max(LEAST, OF_ALL * commonest[1])


def _alike(one: Counter[str], other: Counter[str]) -> bool:
    both = one.total() + other.total()
    return not both or 2 * (one & other).total() >= ALIKE * both
