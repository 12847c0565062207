"""Questions that judges would be asked about a run that is only planned, with their tokens and price.

The questions are planned from the contexts and the agents' names as they will be for the finished run, so their number is exact
for a run in which every agent answers everywhere. Replies are not known yet: each counts as forty words, the length that agents
are asked for (HEART, section 9.4), so tokens and price are estimates.
"""

from collections.abc import Sequence
from typing import Final

from harness.judging import Completion, Design, load_judge_settings, reference_completions
from harness.judging.load_judge import fingerprint_of
from harness.judging.validation.checks import not_answered
from harness.judging.validation.labelled import gold_pairs
from harness.scenarios.context import Context
from harness.verdicts.estimate import Estimate, estimate, total, with_check
from harness.verdicts.judge import CANARIES
from harness.verdicts.red_lines import red_lines_of_run

REPLY_WORDS: Final = 40
_WORD: Final = "thing"
"""Five letters: with the space behind it an English word has about six characters."""


def estimate_planned(
    contexts: Sequence[Context], systems: Sequence[str], judges: Sequence[str], *, conditions: int, repeats: int, seed: int
) -> list[Estimate]:
    """The estimate for each judge: all pairs of these systems and the references, in each repeat of each line condition."""
    judged = [context for context in contexts if not context.timing_alone]
    if not judged:
        return []
    # Of the usual length, with the system's name: the same words twice would be a tie without a question.
    replies = [
        Completion(context.id, system, " ".join([system, *[_WORD] * (REPLY_WORDS - 1)]))
        for context in judged
        for system in systems
    ]
    competing = (*replies, *reference_completions(judged))

    def of(judge: str) -> Estimate:
        settings, fingerprint = load_judge_settings(judge), fingerprint_of(judge)
        first, later = (estimate(judged, competing, settings, Design(), seed, canaries=count) for count in (CANARIES, 0))
        check = not_answered(fingerprint, [*gold_pairs(), *red_lines_of_run(fingerprint, seed, ())], frozenset())
        batches = [*[first] * conditions, *[later] * (conditions * (repeats - 1))]
        return with_check(total(batches), settings, check)

    return [of(judge) for judge in judges]
