"""Dialogues with the same story: a worker pasted one opening into many chats, and the copies are not new items.

Two dialogues are the same story when their seekers share a run of nine words, or three runs of six: people who meet
by chance share "I don't know what to do", not a dozen words of one story. The first of them stays.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from harness.scenarios.esconv.couplets import Couplet

LONG_RUN, SHORT_RUN, SHORT_RUNS = 9, 6, 3


def copies(couplets: Iterable[Couplet]) -> dict[str, str]:
    """The key of each dialogue that repeats an earlier one, with the key of the earlier one."""
    first_with: dict[tuple[str, ...], str] = {}
    found: dict[str, str] = {}
    for key, said in _said_by_dialogue(couplets).items():
        words = re.findall(r"[a-z0-9']+", said.lower())
        shared: Counter[str] = Counter()
        for length, weight in ((LONG_RUN, SHORT_RUNS), (SHORT_RUN, 1)):
            for run in {tuple(words[k : k + length]) for k in range(len(words) - length + 1)}:
                if run in first_with:
                    shared[first_with[run]] += weight
        near = sorted((key_before for key_before, n in shared.items() if n >= SHORT_RUNS), key=lambda k: (-shared[k], k))
        if near:
            found[key] = near[0]
            continue
        for length in (LONG_RUN, SHORT_RUN):
            for k in range(len(words) - length + 1):
                first_with.setdefault(tuple(words[k : k + length]), key)
    return found


def _said_by_dialogue(couplets: Iterable[Couplet]) -> dict[str, str]:
    said: dict[str, list[str]] = defaultdict(list)
    for couplet in couplets:
        if couplet.dialogue.key not in said:
            talk = couplet.dialogue
            said[talk.key] = [talk.situation, *(u.text for u in talk.utterances if u.role == "seeker")]
    return {key: " . ".join(texts) for key, texts in said.items()}
