"""The results of a run's listening tests for the report: with all raters, and with those who count."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from harness.figures.rank import chosen_condition
from harness.ranking import leaderboard
from harness.ranking.agreement import agreement
from harness.reports.listening import analysis
from harness.reports.listening.analysis import DelayEffect, Opinion
from harness.reports.listening.answers import Answer, VoteStore, tests_of
from harness.reports.listening.design import ListeningDesign
from harness.reports.view import Estimate
from harness.store.judgment import Judgment
from harness.store.run_store import RunStore
from harness.store.selection import HEARD, Selection
from harness.votes.rater_exclusion import Given, RaterQuality, all_left_out, least_reading_s, rater_quality
from harness.wording import command

Words = Mapping[tuple[str, str], int]
"""(conversation, system) → number of words of its reply, for replies that are read."""


@dataclass(frozen=True, slots=True)
class HumanElo:
    """A system's rating by people, on one presentation, with all raters and without the excluded."""

    system: str
    presentation: str
    counted: Estimate
    everybody: Estimate
    votes: int


@dataclass(frozen=True, slots=True)
class ListeningResults:
    """The results of one test of a run."""

    name: str
    design: ListeningDesign
    quality: tuple[RaterQuality, ...]
    elo: tuple[HumanElo, ...] = ()
    opinions: tuple[Opinion, ...] = ()
    opinions_everybody: tuple[Opinion, ...] = ()
    delay: tuple[DelayEffect, ...] = ()
    with_judges: Estimate | None = None
    """Agreement of the judges' majority with the people's, on the same text."""
    completions: int = 0


def listening_results(store: RunStore) -> tuple[ListeningResults, ...]:
    """Every listening test of the run that has at least one rater or one person's reply."""
    found = (_results(store, votes) for votes in tests_of(store.folder))
    return tuple(result for result in found if result is not None)


def human_rows(store: RunStore, *, keep_excluded: bool = False) -> list[Judgment]:
    """Votes of the raters who count, as judging rows: what the ranking core and exports read."""
    rows: list[Judgment] = []
    for votes in tests_of(store.folder):
        if (design := votes.design()) is not None:
            answers = votes.answers()
            counted = {q.rater for q in raters_of(answers, _words(store, design)) if keep_excluded or not q.excluded}
            found = analysis.judgments([a for a in answers if a.rater in counted], design, _subsets(store))
            # Two tests use the same numbers for different raters.
            rows += [row.model_copy(update={"judge": f"{votes.folder.name}/{row.judge}"}) for row in found]
    return rows


def human_rows_of(target: Path, *, keep_excluded: bool = False) -> tuple[list[Judgment], str]:
    """The same for what a rating is made of: the folder of a run, or a file of judgments, which has no listening tests; and why
    none counts if all raters are excluded, in one sentence without its full stop."""
    if not target.is_dir():
        return [], ""
    with closing(RunStore.open(target)) as store:
        rows = human_rows(store, keep_excluded=keep_excluded)
        return rows, "" if rows else _all_left_out(store)


def _all_left_out(store: RunStore) -> str:
    found = [(votes.folder.name, quality) for votes in tests_of(store.folder) for quality in quality_of(store, votes)]
    voted = [replace(quality, rater=f"{test}/{quality.rater}") for test, quality in found if quality.answers]
    if not voted or not all(quality.excluded for quality in voted):
        return ""
    way = command("rank", store.folder, "--people", "--keep-excluded")
    return all_left_out(sum(quality.answers for quality in voted), voted, way)


def quality_of(store: RunStore, votes: VoteStore) -> tuple[RaterQuality, ...]:
    """The raters of one test with at least one answer, and the reasons to leave them out."""
    design = votes.design()
    return () if design is None else raters_of(votes.answers(), _words(store, design))


def _results(store: RunStore, votes: VoteStore) -> ListeningResults | None:
    design, answers = votes.design(), votes.answers()
    if design is None:
        return None
    quality = raters_of(answers, _words(store, design))
    counted = {q.rater for q in quality if not q.excluded}
    kept = [a for a in answers if a.rater in counted]
    rows = analysis.judgments(kept, design, _subsets(store))
    every = analysis.judgments(answers, design, _subsets(store))
    return ListeningResults(
        name=votes.folder.name,
        design=design,
        quality=quality,
        elo=_elo(rows, every),
        opinions=analysis.opinions(kept),
        opinions_everybody=analysis.opinions(answers),
        delay=analysis.delay_effects(kept),
        with_judges=_with_judges(store, rows),
        completions=len(votes.completions()),
    )


def raters_of(answers: Iterable[Answer], words: Words | None = None) -> tuple[RaterQuality, ...]:
    """All raters with at least one answer, with the reasons to exclude them, by the rule for all raters.

    The time for sound excludes hearing it once, so only reading takes additional time here.
    """
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


def _words(store: RunStore, design: ListeningDesign) -> Words:
    """The words of replies that raters read; empty for sound."""
    if design.medium != "text":
        return {}
    selection = Selection(store)
    texts = selection.reply_texts(chosen_condition(selection, design.condition or None), HEARD)
    return {(context, system): len(text.split()) for (context, system, repeat), text in texts.items() if repeat == 0}


def _subsets(store: RunStore) -> dict[str, str]:
    return {context.id: context.subset for context in store.contexts()}


def _elo(counted: Sequence[Judgment], everybody: Sequence[Judgment]) -> tuple[HumanElo, ...]:
    presentations = sorted({row.presentation for row in everybody})
    found = []
    for presentation in presentations:
        here = _ratings([row for row in counted if row.presentation == presentation])
        there = _ratings([row for row in everybody if row.presentation == presentation])
        votes: dict[str, int] = defaultdict(int)
        for row in counted:
            if row.presentation == presentation:
                votes[row.system_a] += 1
                votes[row.system_b] += 1
        found += [
            HumanElo(system, presentation, here.get(system, Estimate()), rating, votes[system])
            for system, rating in sorted(there.items(), key=lambda pair: -(pair[1].value or 0.0))
        ]
    return tuple(found)


def _ratings(rows: Sequence[Judgment]) -> dict[str, Estimate]:
    if not rows:
        return {}
    return {row.system: Estimate.of(row.quoted, row.interval) for row in leaderboard(rows).systems}


def _with_judges(store: RunStore, people: Sequence[Judgment]) -> Estimate | None:
    """Agreement of people with judges, on the text that both have read; None without such a text."""
    read = [row for row in people if row.presentation == "heard_text"]
    selection = Selection(store)
    judged = [row for condition in selection.conditions for row in selection.rows(condition, "heard_text")]
    if not read or not judged:
        return None
    figure = agreement([*judged, *read]).judge_human
    return None if figure is None else Estimate.of(figure.value, figure.interval)
