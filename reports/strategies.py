"""Strategy labels of a run, where somebody made them: `strategies.jsonl` in its folder, one label a line.

The labels are another program's or a person's work; a label that claims a strategy without a snippet that stands in the
reply counts as uncertain (see `harness.ranking.strategies`).
"""

from pathlib import Path

from pydantic import ValidationError

from harness.errors import UserError
from harness.ranking.strategies import STRATEGIES, StrategyLabel, backed, usage
from reports.audits import Texts
from reports.view import StrategiesView

LABELS_FILE = "strategies.jsonl"


def used(folder: Path, texts: Texts) -> StrategiesView | None:
    """Usage by system; None where the run was not labelled.

    Raises:
        UserError: a line is not a label.
    """
    path = folder / LABELS_FILE
    if not path.is_file():
        return None
    labels = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                labels.append(StrategyLabel.model_validate_json(line))
            except ValidationError as error:
                raise UserError(
                    f"{path}, line {number}: is not a strategy label ({error.errors()[0]['msg']})"
                ) from error
    found = usage(backed(labels, texts))
    labellers = sorted({label.labeller for label in labels if label.labeller})
    return StrategiesView(
        strategies=STRATEGIES,
        rates={u.name: {s: rate / 100 for s, rate in zip(STRATEGIES, u.rates, strict=True)} for u in found},
        per_reply={u.name: u.unique_per_reply.value for u in found},
        entropy_bits={u.name: u.entropy_bits.value for u in found},
        labeller=", ".join(labellers) or "an unnamed labeller",
    )
