"""Findings on agreement between judges and people, and on biases of verdicts, in words.

Position and length are measured in the run's own verdicts, not only on gold pairs, because a judge without bias on easy
pairs may still have one when two replies are close.
"""

from collections.abc import Sequence

from harness.ranking import bias
from harness.ranking.agreement import agreement
from harness.ranking.ballot_figures import Figure
from harness.ranking.judge_vs_person import BesidePeople, beside_people
from harness.ranking.ranking import MANY
from harness.ranking.verdicts import Texts
from harness.reports.view import Estimate, Finding
from harness.statistics.clustered_means import clustered_share
from harness.store.judgment import AXES, Judgment


def compared_in_pairs_words(rows: int) -> str:
    """The reason why a page with so many verdicts has no agreement and no audits; empty if it has them."""
    return f"Left out with over {MANY:,} verdicts, like all that compares them in pairs." if rows > MANY else ""


def agreements(rows: Sequence[Judgment]) -> tuple[Finding, ...]:
    """All agreement figures that these verdicts allow."""
    if not rows:
        return ()
    found = agreement(rows)
    named: list[tuple[str, Figure | None, str, str]] = [
        ("Judges with people", found.judge_human, "share", "majority with majority; the paper prints 78.7 %"),
        (
            "Judges with people, ambiguous pairs",
            found.judge_human_ambiguous,
            "share",
            "where people disagree; the paper prints 61.3 %",
        ),
        ("Judges with one person", found.judges_with_one_human, "share", "comparable with the next line"),
        ("Person with person", found.inter_human, "share", "the ceiling of any judge; the paper prints 79.5 %"),
        ("Fleiss κ, people", found.fleiss_kappa_humans, "coefficient", "agreement beyond chance"),
        ("Fleiss κ, judges", found.fleiss_kappa_judges, "coefficient", "agreement beyond chance"),
        ("Krippendorff α, people", found.krippendorff_alpha_humans, "coefficient", "ordinal, on signed strengths"),
        ("Krippendorff α, judges", found.krippendorff_alpha_judges, "coefficient", "ordinal, on signed strengths"),
        ("Cohen κ, judges and people", found.cohen_kappa, "coefficient", "majority against majority, beyond chance"),
    ]
    named += [(f"{a} with {b}", figure, "share", "two judges, same pair") for (a, b), figure in found.cross_judge.items()]
    named += _each_judge(beside_people(rows))
    return tuple(
        Finding(
            name,
            Estimate.of(f.value, f.interval),
            f.pairs,
            "share" if unit == "share" else "coefficient",
            why,
        )
        for name, f, unit, why in named
        if f is not None
    )


def _each_judge(found: BesidePeople) -> list[tuple[str, Figure | None, str, str]]:
    """Agreement of each judge with one person, which needs only a few raters; its κ says if it differs from chance."""
    named: list[tuple[str, Figure | None, str, str]] = []
    for each in found.judges:
        chance = "; not distinguished from chance" if each.at_chance else ""
        named += [
            (f"{each.judge} with one person", each.with_ties, "share", "a tie is a label of its own"),
            (f"{each.judge} with one person, both decided", each.without_ties, "share", "pairs on which neither said tie"),
            (f"Cohen κ, {each.judge} and one person", each.kappa, "coefficient", f"agreement beyond chance{chance}"),
        ]
    return named


def audits(rows: Sequence[Judgment], texts: Texts) -> tuple[Finding, ...]:
    """Effects of position and length between replies of equal rating, then plain shares over the relevant verdicts."""
    if not rows:
        return ()
    found = [
        Finding(
            audit.name[:1].upper() + audit.name[1:],
            Estimate.of(audit.effect, audit.interval),
            audit.rows,
            "coefficient",
            _effect_words(audit),
        )
        for audit in bias.audits(list(rows), texts=texts)
        if audit.rows
    ]
    of_judges = [r for r in rows if r.source == "judge"]
    shares: list[tuple[str, list[tuple[str, float]], str]] = [
        (
            "First reply shown wins",
            [(r.context, float(r.winner == r.shown_first)) for r in rows if r.shown_first and r.winner != "tie"],
            "50 % when order does not matter; order is drawn at random",
        ),
        (
            "Own-family verdicts",
            [(r.context, float(r.own_family)) for r in of_judges],
            "the judge shares a model family with exactly one side",
        ),
        ("Ties", [(r.context, float(r.winner == "tie")) for r in rows], "identical replies are ties without a call"),
        (
            "Axes marked",
            [(r.context, len(r.axes) / len(AXES)) for r in of_judges] if any(r.axes for r in of_judges) else [],
            "an axis is marked only where the advantage is clear",
        ),
    ]
    found += [Finding(name, Estimate.of(*clustered_share(seen)), len(seen), "share", why) for name, seen, why in shares if seen]
    return tuple(found)


def _effect_words(audit: bias.Audit) -> str:
    words = "change in log-odds of winning between replies of equal rating; 0 is no bias"
    if audit.share is not None:
        words += f"; that side won {100 * audit.share:.0f} %, uncorrected"
    return words if audit.p_adjusted is None else f"{words}; adjusted p = {audit.p_adjusted:.2g}"
