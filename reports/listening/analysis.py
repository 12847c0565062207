"""Figures from answers: the judging rows, mean opinion scores, and the effect of delay on perceived empathy.

Rows of different presentations are never mixed: votes on sound with its delay have their own board and never
enter the joint figure. The effect of delay is measured within raters, from the same pair judged with and without: how much less
the later reply is preferred once its delay is heard.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.reports.listening.answers import Answer
from harness.reports.listening.design import ListeningDesign
from harness.reports.view import Estimate
from harness.statistics.clustered_means import clustered_mean
from harness.store.judgment import Judgment
from harness.votes.vote import last_counts, verdict_in_steps


@dataclass(frozen=True, slots=True)
class Opinion:
    """Mean opinion score of one system on one scale, 1–5."""

    system: str
    scale: str
    with_delay: bool
    mean: Estimate
    votes: int
    raters: int


@dataclass(frozen=True, slots=True)
class DelayEffect:
    """`shift`: in `ab`, steps of the five-point scale towards the sooner reply; in `acr`, points lost once the delay is heard.

    A positive value means that delay is a loss. `pairs` counts the same item judged both ways by one rater.
    """

    scale: str
    shift: Estimate
    pairs: int
    raters: int


def judgments(answers: Iterable[Answer], design: ListeningDesign, subset_of: Mapping[str, str]) -> tuple[Judgment, ...]:
    """The votes of an `ab` test as judging rows, without practice and checks."""
    rows = []
    for answer in answers:
        item, choice = answer.item, answer.answer.get("choice")
        if design.kind != "ab" or item.role != "main" or item.context is None or not isinstance(choice, int):
            continue
        shown = [slot.system for slot in item.slots]
        # Identities in a fixed order, so that a row does not depend on which side was left.
        first, second = sorted(shown)
        winner, strength = verdict_in_steps(choice if shown[0] == first else -choice)
        rows.append(
            Judgment(
                context=item.context,
                subset=subset_of.get(item.context, "regular"),
                system_a=first,
                system_b=second,
                source="human",
                judge=answer.rater,
                winner=winner,
                strength=strength,
                shown_first="a" if shown[0] == first else "b",
                presentation=design.presentation(item.with_delay),
                condition=design.condition,
                rationale=str(answer.answer.get("reason", "")),
                draw_rate=item.draw_rate,
            )
        )
    return last_counts(rows)


def opinions(answers: Iterable[Answer]) -> tuple[Opinion, ...]:
    """Mean opinion scores of an `acr` test, with intervals that resample raters."""
    found: dict[tuple[str, str, bool], list[tuple[str, float]]] = defaultdict(list)
    for answer in answers:
        if answer.item.role == "main" and len(answer.item.slots) == 1:
            for scale in ("empathy", "naturalness"):
                value = answer.answer.get(scale)
                if isinstance(value, int):
                    key = (answer.item.slots[0].system, scale, answer.item.with_delay)
                    found[key].append((answer.rater, float(value)))
    return tuple(
        Opinion(system, scale, delayed, Estimate.of(*clustered_mean(values)), len(values), len({rater for rater, _ in values}))
        for (system, scale, delayed), values in sorted(found.items())
    )


def delay_effects(answers: Sequence[Answer]) -> tuple[DelayEffect, ...]:
    """The effects of an audible delay on items judged with and without it; empty if there are none."""
    pairs: dict[tuple[str, tuple[str, ...]], dict[bool, Answer]] = defaultdict(dict)
    for answer in answers:
        if answer.item.role == "main" and answer.item.context is not None:
            systems = tuple(sorted(slot.system for slot in answer.item.slots))
            pairs[answer.rater, (answer.item.context, *systems)][answer.item.with_delay] = answer
    both = [versions for versions in pairs.values() if set(versions) == {False, True}]
    scales: dict[str, Callable[[dict[bool, Answer]], float | None]] = {
        "preference": _towards_sooner,
        "empathy": lambda versions: _lost(versions, "empathy"),
        "naturalness": lambda versions: _lost(versions, "naturalness"),
    }
    effects = []
    for scale, of in scales.items():
        values = [(versions[True].rater, value) for versions in both if (value := of(versions)) is not None]
        if values:
            effects.append(
                DelayEffect(scale, Estimate.of(*clustered_mean(values)), len(values), len({rater for rater, _ in values}))
            )
    return tuple(effects)


def _towards_sooner(versions: dict[bool, Answer]) -> float | None:
    delayed = versions[True]
    choices = {which: answer.answer.get("choice") for which, answer in versions.items()}
    if len(delayed.item.slots) != 2 or not all(isinstance(choice, int) for choice in choices.values()):
        return None
    gaps = {slot.system: slot.gap_ms for slot in delayed.item.slots}
    if len(set(gaps.values())) == 1:
        return None
    sooner = min(gaps, key=lambda system: gaps[system])

    def towards(answer: Answer) -> float:
        choice = answer.answer["choice"]
        assert isinstance(choice, int)
        return float(-choice if answer.item.slots[0].system == sooner else choice)

    return towards(delayed) - towards(versions[False])


def _lost(versions: dict[bool, Answer], scale: str) -> float | None:
    without, with_delay = versions[False].answer.get(scale), versions[True].answer.get(scale)
    if not isinstance(without, int) or not isinstance(with_delay, int):
        return None
    return float(without - with_delay)
