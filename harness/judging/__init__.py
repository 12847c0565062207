"""The core of judging: pairs → judges → `Judgment` rows.

Judges are blind; the order shown is random, answers are strict, retries are bounded, and failures are recorded as missing.
Every judge is first tested on pairs with known answers. See docs/judging.md.
"""

from harness.judging.batch import JudgingOutcome, Missing, judge_pairs, judge_pairs_async, reference_completions
from harness.judging.cache import VerdictCache
from harness.judging.completion import Completion
from harness.judging.design import Design
from harness.judging.judge import Judge, JudgeFailure, Question, Verdict
from harness.judging.load_judge import EMBEDDED_WEIGHTS, open_judge, weights_of
from harness.judging.settings import JudgeSettings, load_judge_settings, shipped_judges
from harness.judging.validation.checks import check_judge, check_judge_async

__all__ = [
    "EMBEDDED_WEIGHTS",
    "Completion",
    "Design",
    "Judge",
    "JudgeFailure",
    "JudgeSettings",
    "JudgingOutcome",
    "Missing",
    "Question",
    "Verdict",
    "VerdictCache",
    "check_judge",
    "check_judge_async",
    "judge_pairs",
    "judge_pairs_async",
    "load_judge_settings",
    "open_judge",
    "reference_completions",
    "shipped_judges",
    "weights_of",
]
