"""Which raters of a listening test count: their answers as the one rule for all raters looks at them.

Sound is timed beyond hearing it once, so only what is read takes time of its own here.
"""

from collections.abc import Iterable, Mapping

from harness.judging.rater_exclusion import Given, RaterQuality, least_reading_s, rater_quality
from harness.reports.listening.answers import Answer

Words = Mapping[tuple[str, str], int]
"""(conversation, system) → words of its reply, where replies are read."""


def raters_of(answers: Iterable[Answer], words: Words | None = None) -> tuple[RaterQuality, ...]:
    """Every rater who answered anything, with the reasons that leave them out."""
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
