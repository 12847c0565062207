"""Trust in a judge, from its answers on pairs with known answers: every limit is set once, with its words.

A judge is near chance where its accuracy cannot be distinguished from guessing: the lower end of the interval reaches 50 %, or
there are too few conversations for an interval at all. Trust asks for more, because a judge a little better than a coin still
gets many pairs wrong. People who fail half of the checks are left out of analysis (HEART, section 9.6); so is a judge.

The pairs with known answers that ship have one author, and a judge may have learnt that author's taste and nothing else. So
they can only take trust away. Only people's ratings, collected by others, give it
(`against_people`): a lower bound over 60 % there, and more than a rule without understanding reaches on the same pairs, with
an interval of the difference above 0. Every stored check must show this.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from harness.store.judgment import JudgeCheck, PeopleCheck
from harness.wording import counted, share, share_band

CHANCE: Final = 0.50
TRUSTED_LOWER_BOUND: Final = 0.60
TRUSTED_FLIPS_BELOW: Final = 0.20
MISSING_TOLERATED: Final = 0.20
"""A judge that leaves more of the gold unanswered has not been checked, whatever it answered."""

Trust = Literal["trusted", "unlike_people", "unvalidated", "weak", "flips", "near_chance", "unchecked", "silent", "excluded"]
IN_WORDS: Final[Mapping[Trust, str]] = {
    "trusted": "",
    "unlike_people": (
        "On replies that people rated it is not shown to be right often enough, or no more often than a rule without "
        "understanding: read its ratings as a hint."
    ),
    "unvalidated": (
        "Those pairs are the project's own, by one author. It is not validated against people: read its ratings as a hint "
        "(harness judge --check --against FILE compares it with people's ratings)."
    ),
    "weak": "That is better than guessing, and not good enough to be trusted alone: read its ratings as a hint.",
    "flips": "Its verdict changes with the order shown too often for trust: read its ratings as a hint.",
    "near_chance": (
        "That may be no better than chance (guessing gives 50 %): the ratings it made say little or nothing about which reply "
        "is better."
    ),
    "unchecked": "It left too many of the pairs with known answers unanswered, so it has not been checked.",
    "silent": "So nothing is known of it, and none of its verdicts is in a rating.",
    "excluded": "That is no better than chance (guessing gives 50 %), so none of its verdicts is in a rating.",
}
BLIND: Final[frozenset[Trust]] = frozenset({"near_chance", "unchecked", "silent", "excluded"})
"""Nothing shows that such a judge can separate a better reply from a worse one."""


def trust(
    accuracy: float | None,
    interval: tuple[float, float] | None,
    flip_rate: float | None,
    *,
    answered: int,
    missing: int = 0,
    people: PeopleCheck | None = None,
) -> Trust:
    """The trust that figures of a check support; `answered` and `missing` count its pairs, `people` is the check against people
    that decides (`deciding`). A judge that answered nothing has no accuracy and no flip rate: None."""
    if not answered or accuracy is None or flip_rate is None:
        return "silent"
    if accuracy <= CHANCE:
        return "excluded"
    if missing > MISSING_TOLERATED * (answered + missing):
        return "unchecked"
    if interval is None or interval[0] <= CHANCE:
        return "near_chance"
    if flip_rate >= TRUSTED_FLIPS_BELOW:
        return "flips"
    if interval[0] <= TRUSTED_LOWER_BOUND:
        return "weak"
    if people is None or people.accuracy_interval is None:
        return "unvalidated"
    return "trusted" if agrees_with_people(people) else "unlike_people"


def agrees_with_people(check: PeopleCheck) -> bool:
    """True if a check against people's ratings earns trust."""
    if check.accuracy is None or check.accuracy_interval is None:
        return False
    return check.accuracy_interval[0] > TRUSTED_LOWER_BOUND and beats_rules(check) is True


def beats_rules(check: PeopleCheck) -> bool | None:
    """True if a judge is right more often than every rule without understanding, on the same pairs; None where the pairs are
    too few to decide. Judge and rule are compared pair by pair, because both are right on the easy ones."""
    bands = check.over_rules.values()
    if not check.over_rules or any(band is None for band in bands):
        return None
    known = [band for band in bands if band is not None]
    if all(low > 0 for low, _ in known):
        return True
    return False if any(high <= 0 for _, high in known) else None


def deciding(checks: Sequence[PeopleCheck]) -> PeopleCheck | None:
    """The check that decides trust, of all checks of a judge against people; None without any. If checks could be left out, one
    could try files until one fits, so every check must support the judge, and the first that does not decides."""
    telling = [check for check in checks if check.accuracy_interval is not None]
    last = (telling or list(checks))[-1] if checks else None
    return next((check for check in telling if not agrees_with_people(check)), last)


def people_sentence(check: PeopleCheck) -> str:
    """A judge's agreement with people, in one sentence without its full stop."""
    if check.one_reply_a_context:
        found = "not known" if check.board_correlation is None else f"{check.board_correlation:.2f}"
        return (
            f"{check.judge} against people ({check.source}): one reply a context, so no pairs, no accuracy, and it "
            f"cannot give trust; rank correlation with people's order of {counted(check.replies, 'reply', 'replies')}: {found}"
        )
    if check.accuracy is None:
        return f"{check.judge} against people ({check.source}): no clear pair was answered"
    band = f" ({share_band(check.accuracy_interval)})" if check.accuracy_interval else ", too few conversations for an interval"
    best = check.baselines[check.best_baseline]
    ceiling = "" if check.raters_agree is None else f"; one rater against the others: {share(check.raters_agree)}"
    of = f"{counted(check.pairs, 'clear pair')} of {counted(check.conversations, 'conversation')}"
    return (
        f"{check.judge} against people ({check.source}): right on {share(check.accuracy)} of {of}{band}; "
        f"\u201c{check.best_baseline}\u201d reaches {share(best)}{_beside_rules(check)}{ceiling}"
    )


def _beside_rules(check: PeopleCheck) -> str:
    beats = beats_rules(check)
    if beats is None:
        return ", and these pairs do not show whether the judge beats such rules"
    band = check.over_rules.get(check.best_baseline)
    return ", no less" if not beats or band is None else f", less by {band[0] * 100:.0f} to {band[1] * 100:.0f} points"


def people_details(check: PeopleCheck) -> list[str]:
    """Further results of a check against people, one line each."""
    if check.one_reply_a_context:
        return []
    lines = ["by the gap people saw (of the scale): " + ", ".join(f"{gap} {share(at)}" for gap, at in check.by_gap.items())]
    lines.append(
        "rules without understanding on the same clear pairs: "
        + ", ".join(f"\u201c{rule}\u201d {share(at)}" for rule, at in check.baselines.items())
    )
    lines += [
        f"chose the side of \u201c{rule}\u201d on {share(judge)} of pairs, people on {share(people)}"
        for rule, (judge, people) in check.leanings.items()
        if judge is not None
    ]
    if check.judge_prefers_first is not None:
        lines.append(f"chose the reply shown first on {share(check.judge_prefers_first)} (each pair was shown in both orders)")
    for point in check.reliability:
        stated = "" if point.expected is None else f" (it states {share(point.expected)})"
        lines.append(f"{point.stated}: right on {share(point.right)} of {counted(point.verdicts, 'verdict')}{stated}")
    if check.board_correlation is not None:
        lines.append(
            f"people's order of {counted(check.replies, 'reply', 'replies')}: rank correlation {check.board_correlation:.2f}"
        )
    return lines


def trust_in(check: JudgeCheck) -> Trust:
    """The trust that a stored check supports."""
    return trust(
        check.accuracy, check.accuracy_interval, check.flip_rate, answered=check.pairs, missing=check.missing,
        people=check.validated_on_people,
    )  # fmt: skip


def judge_sentence(
    judge: str,
    accuracy: float | None,
    interval: tuple[float, float] | None,
    flip_rate: float | None,
    pairs: int | None,
) -> str:
    """A judge's results, in one sentence without its full stop, to be shown beside every Elo that it produced."""
    if pairs == 0:
        return f"{judge}: it never answered a pair with known answers"
    if accuracy is None:
        return f"{judge}: accuracy on pairs with known answers was not measured"
    of = f" of {counted(pairs, 'pair')}" if pairs else ""
    band = f" ({share_band(interval)})" if interval else ""
    flips = f"; changes its verdict with the order shown on {share(flip_rate)}" if flip_rate is not None else ""
    return f"{judge}: right on {share(accuracy)}{of} with known answers{band}{flips}"
