"""Several judges asked the same: pairs with known answers, all red lines, and people's pairs, where there are any."""

from collections.abc import Sequence

from harness.errors import UserError
from harness.judging.prices import price_of
from harness.judging.settings import load_judge_settings
from harness.judging.validation.judge_table import TableRow
from harness.judging.validation.peoples_labels import PeoplesLabels
from harness.judging.validation.sentences import standing
from harness.progress import RunProgress
from harness.verdicts.judge import check_against_people, check_judges


async def compare_judges(
    names: Sequence[str], labels: PeoplesLabels | None, seed: int, progress: RunProgress
) -> list[TableRow]:
    """A row for each judge. One that cannot be asked, for want of a key or a server, has the reason in its row, and the others
    are asked all the same."""
    return [await _row(name, labels, seed, progress) for name in names]


async def _row(name: str, labels: PeoplesLabels | None, seed: int, progress: RunProgress) -> TableRow:
    settings = load_judge_settings(name)
    try:
        people = await check_against_people([name], labels, seed, progress) if labels is not None else []
        if people and people[0].missing and not people[0].pairs:
            return TableRow(settings.judge_id, why_not=people[0].why_missing)  # it would not answer others either
        (check,) = await check_judges(None, [name], seed, progress)
    except UserError as fault:
        return TableRow(settings.judge_id, why_not=str(fault))
    if not check.pairs:
        return TableRow(settings.judge_id, why_not=check.why_missing or (standing(check) if check.hears else check.note))
    price, tokens = price_of(settings), (check.tokens_in_per_answer, check.tokens_out_per_answer)
    if settings.runs_here:
        tokens = (0.0, 0.0)
    known = None not in tokens and price is not None
    return TableRow(
        settings.judge_id,
        check,
        people[0] if people else check.validated_on_people,
        1000 * price.of(tokens[0] or 0.0, tokens[1] or 0.0) if known and price is not None else None,
        price.as_of if known and price is not None else "",
    )
