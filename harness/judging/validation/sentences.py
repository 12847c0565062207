"""What is known of a judge, in sentences: the same words in the terminal, on the page and beside every Elo.

A figure of a judge is never shown alone: beside it is the rule that any judge should beat, and where the judge only has an
opinion, the sentence says so before the figure. Sentences have no full stop, so that they can be joined.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from harness.judging.validation.red_lines import GRAVEST
from harness.judging.validation.trust import (
    CHANCE,
    RED_LINES_AT_LEAST,
    TRUSTED_LOWER_BOUND,
    Trust,
    beats_rules,
    decisive,
    trust_in,
    worst,
)
from harness.judging.validation.yardsticks import LONGER
from harness.store.judgment import DeliveriesCheck, JudgeCheck, PeopleCheck, RedLinesCheck, ShareOfPairs
from harness.wording import counted, share, share_band

IN_WORDS: Final[Mapping[Trust, str]] = {
    "trusted": "",
    "red_lines": (
        f"People's judgements bear it out, but not the red lines: asked all of them, it must be right on "
        f"{share(RED_LINES_AT_LEAST)} and more. Read its ratings as a hint (harness judge check asks those still open)."
    ),
    "one_origin": (
        "People's judgements bear it out on one set only, and two of different origin are needed: read its ratings as a hint."
    ),
    "unlike_people": (
        "On replies that people rated it is not shown to be right more often than a rule without understanding, and on "
        f"{share(TRUSTED_LOWER_BOUND)} and more where both replies are equally long: read its ratings as a hint."
    ),
    "unvalidated": (
        "Those pairs are the project's own, by one author. It is not validated against people: read its ratings as a hint "
        "(harness judge check --against FILE compares it with people's ratings)."
    ),
    "weak": "That is better than guessing, and not good enough to be trusted alone: read its ratings as a hint.",
    "flips": "Its verdict changes with the order shown too often for trust: read its ratings as a hint.",
    "near_chance": (
        "That may be no better than chance (guessing gives 50 %): the ratings it made say little or nothing about which reply "
        "is better."
    ),
    "unchecked": "It left too many of the pairs with known answers unanswered, so it has not been checked.",
    "silent": "So nothing is known of it, and none of its verdicts is in a rating.",
    "hears": (
        "A program spoke those pairs. Pairs with known answers, red lines and people's ratings are read, so it was not asked "
        "them: read its ratings as an opinion."
    ),
    "excluded": "That is no better than chance (guessing gives 50 %), so none of its verdicts is in a rating.",
}
GRAVE_IN_WORDS: Final[Mapping[str, str]] = {"harm": "encourages harm", "abuse": "abuses the caller"}


def standing(check: JudgeCheck) -> str:
    """The state of a judge's ratings and the figures behind it: borne out, or an opinion."""
    if check.hears:
        return f"a judge's opinion: {_of_deliveries(check.deliveries)}"
    found, counting = trust_in(check), decisive(check.people_checks)
    if not counting:
        few = (
            f"compared with people on only {counted(check.people_checks[-1].pairs, 'clear pair')}"
            if check.people_checks
            else ""
        )
        return f"a judge's opinion: {few or 'not compared with judgements of people'}"
    right = f"right on {_range([c.accuracy for c in counting])} of strangers' clear pairs"
    if found == "trusted":
        equal = _range([c.equal_length_accuracy for c in counting])
        return f"a judge's, borne out: {right} ({counted(len(counting), 'check')}), and on {equal} of those of equal length"
    return f"a judge's opinion: {right}, {_shortfall(found, counting, check.red_lines)}"


def hearing_sentence(judge: str, check: DeliveriesCheck | None) -> str:
    """The results of a judge that hears, in one sentence without its full stop."""
    return f"{judge} {_of_deliveries(check)}"


def _of_deliveries(check: DeliveriesCheck | None) -> str:
    if check is None:
        return "hears, and was not asked about deliveries, since no voice is installed here"
    if check.accuracy is None:
        return "never answered a pair of one text in two deliveries"
    of = f"of {counted(check.n, 'pair')} of one text in two deliveries"
    if check.interval is not None and check.interval[1] < CHANCE:
        return f"hears deliveries and prefers the spoilt one: right on {_measured(check.accuracy, check.interval)} {of}"
    if check.interval is None or check.interval[0] <= CHANCE:
        return f"hears no difference between deliveries ({_measured(check.accuracy, check.interval)} {of}; guessing gives 50 %)"
    return f"hears deliveries: right on {_measured(check.accuracy, check.interval)} {of}"


def why_unrated(judge: str, checks: Sequence[PeopleCheck]) -> str:
    """Reason why the judge that runs here rates nobody unless it is named, in one sentence with the figures of its checks.

    `judge`: its id with its version, because figures of another version say nothing of it.
    """
    mine = decisive([check for check in checks if check.judge == judge])
    where = f"The judge that runs here rates only where it is named (--judge {judge.partition('@')[0]})"
    if not mine:
        return f"{where}."
    right = _range([check.accuracy for check in mine])
    return f"{where}: right on {right} of strangers' clear pairs, {_shortfall('unlike_people', mine, None)}."


def _shortfall(found: Trust, counting: Sequence[PeopleCheck], red_lines: RedLinesCheck | None) -> str:
    ruled = next((check for check in counting if beats_rules(check) is not True), None)
    least = worst(counting)
    if ruled is not None:
        return "no better than counting " + ("words" if ruled.best_baseline == LONGER else "question marks")
    if found == "unlike_people" and least is not None:
        return f"and on {_measured(least.equal_length_accuracy, least.equal_length_interval)} of those of equal length"
    if found == "one_origin":
        return "of one origin only"
    if found == "red_lines":
        whole = red_lines.whole if red_lines is not None else None
        left = f" ({red_lines.to_ask} more are to be asked)" if red_lines is not None and red_lines.to_ask else ""
        return "and the red lines were not asked" if whole is None else f"and on {_of(whole)} red lines{left}"
    return "and too often wrong on pairs with known answers"


def red_lines_sentence(judge: str, check: RedLinesCheck | None) -> str:
    """The sentence that a board of this judge must carry first; empty where the judge is right often enough on the gravest
    families."""
    shares = {family: check.by_family.get(family) for family in GRAVEST} if check is not None else {}
    failed = [f"{_of(found)} pairs in which one reply {GRAVE_IN_WORDS[family]}" for family, found in shares.items()
              if found is not None and found.right < RED_LINES_AT_LEAST]  # fmt: skip
    if not failed:
        return ""
    return f"{judge} is right on only {' and on '.join(failed)}: its ratings do not say that an agent is safe to talk to"


def red_lines_details(check: RedLinesCheck) -> list[str]:
    """The results of the red lines, one line each."""
    if check.whole is None:
        return ["red lines: no pair was answered"]
    left = f"; {check.to_ask} of {check.of} are still to be asked (each run asks a third)" if check.to_ask else ""
    lines = [f"red lines: right on {_of(check.whole)} pairs{left}"]
    if len(check.by_set) > 1:
        lines += [f"the {name} set: right on {_of(found)}" for name, found in check.by_set.items()]
    lines += [f"{name.replace('_', ' ')}: right on {_of(found)}" for name, found in check.by_family.items()]
    names = {"short_right": "right reply at most half as long", "long_right": "right reply twice as long or more",
             "equal": "both about equally long"}  # fmt: skip
    lines += [f"{names.get(name, name)}: right on {_of(found)}" for name, found in check.by_length.items()]
    if check.missing:
        lines.append(f"{counted(check.missing, 'pair')} not answered")
    return lines


def _of(found: ShareOfPairs) -> str:
    return f"{_measured(found.right, found.interval)} of {found.pairs}"


def _measured(value: float | None, interval: tuple[float, float] | None) -> str:
    return f"{share(value)} (95 % interval {share_band(interval)})" if interval else share(value)


def _range(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    low, high = (f"{100 * edge:.0f}" for edge in (min(known), max(known))) if known else ("", "")
    return share(None) if not known else f"{low} %" if low == high else f"{low}–{high} %"


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
    band = (
        f" (95 % interval {share_band(check.accuracy_interval)})"
        if check.accuracy_interval
        else ", too few conversations for an interval"
    )
    best = check.baselines[check.best_baseline]
    ceiling = "" if check.raters_agree is None else f"; one rater against the others: {share(check.raters_agree)}"
    of = f"{counted(check.pairs, 'clear pair')} of {counted(check.conversations, check.bunches)}"
    equal = (
        ""
        if check.equal_length_accuracy is None
        else f"; of the {check.equal_length_pairs} of equal length on "
        f"{_measured(check.equal_length_accuracy, check.equal_length_interval)}"
    )
    development = "; development data" if check.development else ""
    return (
        f"{check.judge} against people ({check.source}{development}): right on {share(check.accuracy)} of {of}{band}; "
        f"\u201c{check.best_baseline}\u201d reaches {share(best)}{_beside_rules(check)}{equal}{ceiling}"
    )


def _beside_rules(check: PeopleCheck) -> str:
    beats = beats_rules(check)
    if beats is None:
        return ", and these pairs do not show whether the judge beats such rules"
    band = check.over_rules.get(check.best_baseline)
    return (
        ", no less"
        if not beats or band is None
        else f", less by {band[0] * 100:.0f} to {band[1] * 100:.0f} points (95 % interval)"
    )


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
    if check.kappa is not None and check.raters_kappa is not None:
        lines.append(f"κ of the judge with one rater {check.kappa:.2f}, of one rater with another {check.raters_kappa:.2f}")
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


def judge_sentence(
    judge: str,
    accuracy: float | None,
    interval: tuple[float, float] | None,
    flip_rate: float | None,
    pairs: int | None,
    why_missing: str = "",
) -> str:
    """A judge's results, in one sentence without its full stop, to be shown beside every Elo that it produced."""
    if pairs == 0:
        return f"{judge}: {why_missing or 'it never answered a pair with known answers'}"
    if accuracy is None:
        return f"{judge}: accuracy on pairs with known answers was not measured"
    of = f" of {counted(pairs, 'pair')}" if pairs else ""
    band = f" (95 % interval {share_band(interval)})" if interval else ""
    flips = f"; changes its verdict with the order shown on {share(flip_rate)}" if flip_rate is not None else ""
    return f"{judge}: right on {share(accuracy)}{of} with known answers{band}{flips}"
