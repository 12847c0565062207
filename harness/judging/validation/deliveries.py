"""One text in two deliveries, asked of a judge that hears: who only gets the words out of a sound is right on half.

The pairs are sounds that others make (`harness.verdicts.deliveries`): the same words said plainly, and spoilt in one known
way. Each is asked in both orders. That a plain voice is better than a spoilt one is as much as can be known without people, so
the check shows that a judge hears, and never that it judges as people do.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.judging.cache import VerdictCache, ask_all, ask_both
from harness.judging.judge import Judge, JudgeFailure, Question
from harness.judging.mend import by_kind, why_missing
from harness.judging.sound import Clip
from harness.judging.validation.sentences import IN_WORDS
from harness.scenarios.context import Turn
from harness.statistics.clustered_means import clustered_share
from harness.store.judgment import DeliveriesCheck, JudgeCheck


@dataclass(frozen=True, slots=True)
class DeliveryPair:
    """One text in two sounds, of which `plain` is the better one."""

    conversation: str
    turns: tuple[Turn, ...]
    spoilt: str
    """How the worse one is said."""
    plain: Clip
    worse: Clip

    @property
    def question(self) -> Question:
        """The question, the better one first."""
        return Question(self.turns, "", "", sounds=(self.plain, self.worse))


async def check_deliveries(
    judge: Judge,
    pairs: Sequence[DeliveryPair],
    cache: VerdictCache,
    progress: Callable[[int, int, str], None] | None = None,
) -> JudgeCheck:
    """The check of a judge that hears; answers in `cache` are not asked again."""

    async def score(pair: DeliveryPair) -> float | JudgeFailure:
        try:
            (forward, _), (backward, _) = await ask_both(judge, pair.question, cache)
        except JudgeFailure as failure:
            return failure
        return ((forward.winner == "first") + (backward.winner == "second")) / 2

    scores = await ask_all(judge, pairs, score, lambda pair: f"{pair.conversation}: {pair.spoilt}", progress)
    both = list(zip(pairs, scores, strict=True))
    failures = [given for given in scores if isinstance(given, JudgeFailure)]
    answered = [(pair, given) for pair, given in both if not isinstance(given, JudgeFailure)]
    accuracy, interval = clustered_share([(pair.conversation, given) for pair, given in answered]) if answered else (None, None)
    by_delivery = defaultdict(list)
    for pair, given in answered:
        by_delivery[pair.spoilt].append(given)
    return _checked(
        judge,
        DeliveriesCheck(
            n=len(answered),
            accuracy=accuracy,
            interval=interval,
            by_delivery={name: sum(given) / len(given) for name, given in sorted(by_delivery.items())},
            missing=len(failures),
        ),
        failures,
    )


def unspoken(judge: Judge) -> JudgeCheck:
    """The check of a judge that hears where nothing can be spoken, so that nothing is known of it."""
    return _checked(judge, None, ())


def _checked(judge: Judge, found: DeliveriesCheck | None, failures: Sequence[JudgeFailure]) -> JudgeCheck:
    silent = found is not None and not found.n
    return JudgeCheck(
        judge=judge.id, family=judge.family, pairs=0, accuracy=None, accuracy_interval=None, flip_rate=None, trusted=False,
        hears=True, deliveries=found, excluded=silent, missing=len(failures), missing_by_kind=by_kind(failures),
        why_missing=why_missing(failures, 0 if found is None else found.n), note=IN_WORDS["silent" if silent else "hears"],
    )  # fmt: skip
