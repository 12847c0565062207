"""The quality of a listening test's raters, by the rule for all raters.

The time for sound excludes hearing it once, so only reading takes additional time here.
"""

from collections.abc import Iterable, Mapping

from harness.judging.rater_exclusion import Given, RaterQuality, least_reading_s, rater_quality
from harness.reports.listening.answers import Answer

Words = Mapping[tuple[str, str], int]
"""(conversation, system) → number of words of its reply, for replies that are read."""


def raters_of(answers: Iterable[Answer], words: Words | None = None) -> tuple[RaterQuality, ...]:
    """All raters with at least one answer, with the reasons to exclude them."""
    return rater_quality(_given(answer, words or {}) for answer in answers)


def _given(answer: Answer, words: Words) -> Given:
    item, choice = answer.item, answer.answer.get("choice")
    preferred = None
    if isinstance(choice, int) and choice != 0 and len(item.slots) == 2:
        preferred = item.slots[0 if choice < 0 else 1].system
    return Given(
        rater=answer.rater,
        passed=answer.passed,
        counts=item.role == "main",
        seconds=answer.took_s,
        least_s=least_reading_s(sum(words.get((slot.context, slot.system), 0) for slot in item.slots)),
        chosen=tuple(value for name, value in sorted(answer.answer.items()) if name != "reason"),
        preferred=preferred,
    )
