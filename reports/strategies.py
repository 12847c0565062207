"""Strategy labels of a run, if there are any: `strategies.jsonl` in its folder, one label per line.

The labels come from another program or a person; a label that claims a strategy without a quote from the
reply counts as uncertain (see `harness.ranking.strategies`).
"""

from pathlib import Path

from harness.labelling.label_replies import REPORTED, every_label
from harness.ranking.strategies import STRATEGIES, StrategyLabel, backed, usage
from harness.reports.shown_runs import Part, ShownRuns, reply_texts
from harness.reports.view import StrategiesView
from harness.store.selection import HEARD


def used(page_runs: ShownRuns) -> StrategiesView | None:
    """The usage by system; None if nothing was labelled.

    Raises:
        UserError: a line is not a label.
    """
    labels = []
    for part in page_runs.parts:
        path = part.store.folder / REPORTED
        if path.is_file():
            labels += backed(_labels(path, part), _labelled_texts(page_runs))
    if not labels:
        return None
    found = usage(labels)
    labellers = sorted({label.labeller for label in labels if label.labeller})
    return StrategiesView(
        strategies=STRATEGIES,
        rates={u.name: {s: rate / 100 for s, rate in zip(STRATEGIES, u.rates, strict=True)} for u in found},
        per_reply={u.name: u.unique_per_reply.value for u in found},
        entropy_bits={u.name: u.entropy_bits.value for u in found},
        labeller=", ".join(labellers) or "an unnamed labeller",
        checked="never checked against people",
    )


def _labelled_texts(shown: ShownRuns) -> dict[tuple[str, str], str]:
    """The labelled texts; of several repeats the first."""
    return {(context, system): text for (context, system, repeat), text in reply_texts(shown, HEARD).items() if repeat == 0}


def _labels(path: Path, part: Part) -> list[StrategyLabel]:
    only = part.selection.conditions[0]
    return [
        label.model_copy(update={"system": part.names.of(label.system, label.condition or only)}) for label in every_label(path)
    ]
