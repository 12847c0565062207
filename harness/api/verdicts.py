"""Judging and rating from a program: verdicts on replies of any origin, and ratings from verdicts."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.api.loops import outside_any_loop
from harness.figures.rank import rank_rows, rank_target
from harness.judging import batch
from harness.judging.batch import JudgingOutcome
from harness.judging.cache import VerdictCache
from harness.judging.completion import Completion
from harness.judging.design import Design
from harness.judging.judge import Judge
from harness.judging.load_judge import open_judge
from harness.progress import RunProgress
from harness.ranking.model import Method, RatingModel
from harness.ranking.question import RatingQuestion
from harness.ranking.ranking import Ranking
from harness.reports.listening.results import human_rows_of
from harness.scenarios.context import Context
from harness.statistics.bootstrap import DRAWS
from harness.store.judgment import Judgment, Presentation
from harness.verdicts.judge import weights_for


def judge_pairs(
    contexts: Sequence[Context],
    completions: Sequence[Completion],
    judges: str | Judge | Sequence[str | Judge],
    *,
    design: Design | None = None,
    seed: int = 1,
    presentation: Presentation = "written",
    cache: str | Path | None = None,
    progress: bool = False,
) -> JudgingOutcome:
    """Judge each pair of replies to the same context, blind, in random order.

    Args:
        contexts: the conversations, such as `harness.scenarios.pack.load_pack("heart-mini").contexts`.
        completions: one reply of each system to each context; `harness.judging.reference_completions(contexts)` adds the
            contexts' own references.
        judges: names as for `harness judge run --judge`, or your own judges, not yet entered.
        design: the pairs to ask and how often; None: every pair once, with the audits.
        cache: a file that stores every answer, so that no question is asked twice.

    Questions without an answer are listed in `missing`; nothing is guessed. Judges are not checked on pairs with known
    answers here: `harness.judging.check_judge` does that, and a rating is worth what its judge is.

    Raises:
        UserError: the judge does not exist, or its weights cannot be downloaded.

    >>> import harness
    >>> from harness.judging import reference_completions
    >>> from harness.scenarios.pack import load_pack
    >>> contexts = load_pack("heart-mini").contexts[:1]
    >>> outcome = harness.judge_pairs(contexts, reference_completions(contexts), "embedded")
    >>> [(verdict.system_a, verdict.system_b, verdict.winner) for verdict in outcome.judgments]
    [('ref:good', 'ref:plain', 'a')]
    """
    asked = (judges,) if isinstance(judges, str) or not isinstance(judges, Sequence) else tuple(judges)

    def work() -> JudgingOutcome:
        with RunProgress(quiet=not progress) as shown:
            opened = [open_judge(j, weights_for(j, shown)) if isinstance(j, str) else j for j in asked]
            shown.phase(f"Judging ({', '.join(judge.id for judge in opened)})")
            with VerdictCache(None if cache is None else Path(cache)) as kept:
                return batch.judge_pairs(
                    contexts, completions, opened, design, seed, shown.count,
                    cache=kept, presentation=presentation,
                )  # fmt: skip

    return outside_any_loop(work)


def rank_judgments(
    judgments: Iterable[Judgment] | str | Path,
    *,
    presentation: Presentation | None = None,
    condition: str | None = None,
    method: Method | None = None,
    by_people: bool | None = None,
    draws: int = DRAWS,
    seed: int | None = None,
) -> Ranking:
    """Rate systems from verdicts: Elo with 95 % intervals by a bootstrap over conversations (docs/statistics.md).

    Args:
        judgments: rows, a `.jsonl` or `.csv` file of them, or the folder of a run (then with its latencies).
        presentation: which one to rate, if the rows have several; they never share a rating.
        condition: which line condition to rate, if there are several.
        method: the model; None: people's axis where people voted, else ordinal.
        by_people: rate by people's axis (True), by judges' verdicts (False), or by people's axis where votes give one (None).
        seed: seed of the bootstrap; None: the run's own, 0 for rows and files.

    Raises:
        UserError: no rows, an unreadable file, or several presentations or conditions with none chosen.

    >>> import harness
    >>> for rating in harness.rank_judgments("verdicts.jsonl", draws=50).board.systems:
    ...     print(f"{rating.system} Elo {rating.elo:.0f}")
    mine Elo 1560
    theirs Elo 1440
    """
    asked = RatingQuestion(
        model=None if method is None else RatingModel(method),
        presentation=presentation,
        condition=condition,
        by_people=by_people,
        draws=draws,
        seed=seed,
    )
    if isinstance(judgments, str | Path):
        votes, left_out = human_rows_of(Path(judgments))
        return rank_target(Path(judgments), asked, votes=votes, left_out=left_out)
    return rank_rows(judgments, asked)
