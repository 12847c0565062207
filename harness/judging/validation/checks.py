"""Pairs with known answers, asked of a judge before its verdicts count and, as canaries, in the midst of every batch.

Each pair is asked in both orders: accuracy is the share of right verdicts, the flip rate that of pairs whose verdict changes
with the order; position and length bias are how far the first place and longer replies are favoured. Intervals resample
conversations. Canaries are easy and medium pairs spread through a batch, whose answers are stored for that batch only;
`drifted` compares the share of wrong ones with what the check makes likely, because one wrong canary of ten proves nothing.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final, TypeVar

from scipy.stats import binom

from harness.judging.cache import VerdictCache, ask, ask_all, ask_both, blocking, both_orders, cache_key
from harness.judging.embedded import EmbeddedJudge, held_out_record
from harness.judging.endpoint import EndpointJudge
from harness.judging.judge import Judge, JudgeFailure, Question, Verdict
from harness.judging.mend import by_kind, why_missing
from harness.judging.validation.labelled import LabelledPair, gold_pairs
from harness.judging.validation.red_lines import RedLine
from harness.judging.validation.sentences import IN_WORDS
from harness.judging.validation.trust import trust, trust_in, worst
from harness.statistics.clustered_means import clustered_mean, clustered_share
from harness.store.judgment import JudgeCheck, PeopleCheck, RedLinesCheck

_Key = TypeVar("_Key", bound=str)
_T = TypeVar("_T")
DRIFT_TAIL: Final = 0.01
"""Chance of a false alarm per batch and judge."""


@dataclass(frozen=True, slots=True)
class CheckedPair:
    """A judge's answers on one labelled pair. Scores are 1 right, 0 wrong, ½ where the two orders disagree."""

    pair: LabelledPair
    score: float | None
    flipped: bool
    first_chosen: tuple[bool, ...]
    failure: JudgeFailure | None = None
    """Why there is no score."""
    verdicts: tuple[Verdict, ...] = ()
    """The answers in both orders, if there are two."""


async def check_judge_async(
    judge: Judge,
    seed: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
    *,
    pairs: Sequence[LabelledPair] | None = None,
    cache: VerdictCache | None = None,
) -> JudgeCheck:
    """Check a judge on the gold pairs (or `pairs`), in both orders; `seed` is that of the intervals.

    `cache`: answers of an earlier check that count for this one; None asks everything.
    """
    chosen = gold_pairs() if pairs is None else pairs
    check = summarise(judge, await ask_pairs(judge, chosen, progress, cache), seed)
    if check.pairs and isinstance(judge, EndpointJudge):
        judge.known_to_answer()
    return check


check_judge = blocking(check_judge_async)
"""The same, but blocks until done."""


async def ask_pairs(
    judge: Judge,
    pairs: Sequence[LabelledPair],
    progress: Callable[[int, int, str], None] | None = None,
    cache: VerdictCache | None = None,
) -> list[CheckedPair]:
    """The judge's answers on each pair, in the pairs' order."""
    if cache is None:
        with VerdictCache() as own:
            return await ask_pairs(judge, pairs, progress, own)
    return await ask_all(judge, pairs, lambda pair: ask_pair(judge, pair, cache), lambda pair: pair.id, progress)


async def ask_pair(judge: Judge, pair: LabelledPair, cache: VerdictCache) -> CheckedPair:
    """The judge's answers on one labelled pair, asked in both orders."""
    try:
        (forward, _), (backward, _) = await ask_both(judge, Question(pair.turns, pair.better, pair.worse), cache)
    except JudgeFailure as failure:
        return CheckedPair(pair, None, False, (), failure)
    right = (forward.winner == "first", backward.winner == "second")
    return CheckedPair(
        pair,
        score=sum(right) / len(right),
        flipped=forward.winner == backward.winner,
        first_chosen=(forward.winner == "first", backward.winner == "first"),
        verdicts=(forward, backward),
    )


def not_answered(fingerprint: str, pairs: Iterable[LabelledPair | RedLine], known: Container[str]) -> list[Question]:
    """The questions of a check that are still to be asked. `known`: keys of stored answers."""
    asked = [Question(pair.turns, pair.better, pair.worse) for pair in pairs]
    return [shown for question in asked for shown, key in both_orders(fingerprint, question) if key not in known]


def summarise(judge: Judge, checked: Sequence[CheckedPair], seed: int) -> JudgeCheck:
    """The check in the form that is shown beside every figure of the judge."""
    answered = [(c, c.score) for c in checked if c.score is not None]
    failures = [c.failure for c in checked if c.failure is not None]
    missing, kinds, why = len(checked) - len(answered), by_kind(failures), why_missing(failures, len(answered))
    if not answered:
        return JudgeCheck(
            judge=judge.id, family=judge.family, pairs=0, accuracy=None, accuracy_interval=None, flip_rate=None,
            trusted=False, excluded=True, missing=missing, missing_by_kind=kinds, why_missing=why, note=IN_WORDS["silent"],
        )  # fmt: skip
    accuracy, interval = clustered_share([(c.pair.conversation_id, score) for c, score in answered])
    flip_rate, flip_interval = clustered_share([(c.pair.conversation_id, float(c.flipped)) for c, _ in answered])
    position, position_interval = clustered_mean(
        [(c.pair.conversation_id, sum(c.first_chosen) / 2 - 0.5) for c, _ in answered], seed=seed
    )
    pulls = [(c.pair.conversation_id, _length_pull(c.pair, score)) for c, score in answered if _longer(c.pair) is not None]
    length, length_interval = clustered_mean(pulls, seed=seed) if pulls else (None, None)
    record = held_out_record() if isinstance(judge, EmbeddedJudge) else {}
    found = trust(accuracy, interval, flip_rate, answered=len(answered), missing=missing)
    check = JudgeCheck(
        judge=judge.id,
        family=judge.family,
        pairs=len(answered),
        accuracy=accuracy,
        accuracy_interval=interval,
        flip_rate=flip_rate,
        flip_interval=flip_interval,
        trusted=found == "trusted",
        excluded=found == "excluded",
        position_bias=position,
        position_interval=position_interval,
        length_bias=length,
        length_interval=length_interval,
        missing=missing,
        missing_by_kind=kinds,
        why_missing=why,
        by_axis=_share_by([(c.pair.axis, score) for c, score in answered]),
        by_difficulty=_share_by([(c.pair.difficulty, score) for c, score in answered]),
        held_out_accuracy=record.get("accuracy"),
        held_out_interval=record.get("interval"),
        note=IN_WORDS[found],
    )
    return check.model_copy(update=_spent([c.verdicts for c, _ in answered]))


def _spent(pairs: Sequence[tuple[Verdict, ...]]) -> dict[str, float | None]:
    """What an answer costs: its seconds, and its tokens, which are paid for.

    Seconds are the mean of a pair's two answers, since some judges think once for both, and the median over pairs, since one
    retry lasts as long as many answers.
    """
    timed = [[verdict.seconds for verdict in pair if verdict.seconds is not None] for pair in pairs]
    seconds = [fmean(each) for each in timed if each]
    counted = [verdict for pair in pairs for verdict in pair if verdict.tokens_in or verdict.tokens_out]
    return {
        "seconds_per_answer": median(seconds) if seconds else None,
        "tokens_in_per_answer": fmean(verdict.tokens_in for verdict in counted) if counted else None,
        "tokens_out_per_answer": fmean(verdict.tokens_out for verdict in counted) if counted else None,
    }


def with_people(check: JudgeCheck, people: Sequence[PeopleCheck], red_lines: RedLinesCheck | None = None) -> JudgeCheck:
    """The check together with all checks of the judge against people, and the red lines: only those can make it trusted."""
    joined = check.model_copy(
        update={"people_checks": tuple(people), "validated_on_people": worst(people), "red_lines": red_lines}
    )
    found = trust_in(joined)
    return joined.model_copy(update={"trusted": found == "trusted", "note": IN_WORDS[found]})


@dataclass(frozen=True, slots=True)
class Canary:
    """A question whose answer is known."""

    question: Question
    better_first: bool


@dataclass(frozen=True, slots=True)
class CanaryWatch:
    """One judge's canaries in one batch."""

    judge: str
    asked: int
    wrong: int
    missing: int

    def drifted(self, expected_accuracy: float) -> bool:
        """True if so many wrong answers are improbable for a judge of this accuracy."""
        if not self.asked:
            return False
        return bool(binom.sf(self.wrong - 1, self.asked, 1 - min(expected_accuracy, 0.99)) < DRIFT_TAIL)


def draw_canaries(count: int, seed: int) -> list[Canary]:
    """`count` canaries (at most as many as gold has), each in a random order."""
    rng = random.Random(f"canaries {seed}")
    pool = [pair for pair in gold_pairs() if pair.difficulty != "hard"] if count else []
    drawn = []
    for pair in rng.sample(pool, min(count, len(pool))):
        better_first = rng.random() < 0.5
        first, second = (pair.better, pair.worse) if better_first else (pair.worse, pair.better)
        drawn.append(Canary(Question(pair.turns, first, second, whole_alone=True), better_first))
    return drawn


async def ask_canary(judge: Judge, canary: Canary, cache: VerdictCache, batch: str) -> bool | None:
    """True if the judge was right; None if it gave no answer. `batch` names the batch that the answer is stored for."""
    try:
        key = cache_key(judge.fingerprint, canary.question, purpose=f"canary of {batch}")
        verdict, _ = await ask(judge, canary.question, cache, key)
    except JudgeFailure:
        return None
    return (verdict.winner == "first") == canary.better_first


def watch(judge: Judge, results: Sequence[bool | None]) -> CanaryWatch:
    """The tally of one judge's canaries."""
    return CanaryWatch(
        judge.id,
        asked=sum(r is not None for r in results),
        wrong=sum(r is False for r in results),
        missing=sum(r is None for r in results),
    )


def spread(items: Sequence[_T], extra: Sequence[Canary]) -> list[_T | Canary]:
    """`items` with `extra` spread evenly among them."""
    mixed: list[_T | Canary] = list(items)
    for n, canary in enumerate(extra):
        mixed.insert(round((n + 0.5) * len(items) / len(extra)) + n, canary)
    return mixed


def _longer(pair: LabelledPair) -> bool | None:
    better, worse = len(pair.better.split()), len(pair.worse.split())
    return None if better == worse else better > worse


def _length_pull(pair: LabelledPair, score: float) -> float:
    """1 if the longer was chosen, minus 1 if the better one is the longer: 0 on average for a judge blind to length."""
    better_is_longer = bool(_longer(pair))
    chose_longer = score if better_is_longer else 1 - score
    return chose_longer - float(better_is_longer)


def _share_by(answered: Sequence[tuple[_Key, float]]) -> dict[_Key, float]:
    groups: dict[_Key, list[float]] = defaultdict(list)
    for key, score in answered:
        groups[key].append(score)
    return {key: sum(groups[key]) / len(groups[key]) for key in sorted(groups)}
