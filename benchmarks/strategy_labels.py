"""Agreement of the two passes over the strategy set, and a labeller's F1 by strategy against the cells on which both agree.

Without options the agreement is printed. With `--judge` the labeller is asked about every reply (or `--limit` replies from
`--from` on; the set's order is random) and its F1 is printed beside that of marking every strategy on every reply: a labeller
that is not above that has learnt nothing. So the difference has an interval, over replies. Labels are saved as they arrive, so
that a stopped measurement can be continued. `--write` stores the figures in the record that terminal and page read.

    python -m benchmarks.strategy_labels [--judge NAME|FILE.toml|local:FILE.gguf --out FOLDER [--from N] [--limit N] [--write]]
"""

import argparse
import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.judging_sets.strategies import agreement, both, replies, settled
from harness.labelling.label_replies import Material, label_replies, labelling_judge
from harness.labelling.labeller_record import MeasuredLabeller, write_measured
from harness.progress import RunProgress
from harness.ranking.strategies import STRATEGIES, StrategyLabel, check_labeller
from harness.statistics.arrays import Floats
from harness.statistics.bootstrap import draw_contexts, percentile_interval
from harness.verdicts.judge import weights_for

DRAWS: Final = 2000
"""As for the figures of strategies (`harness.ranking.strategies`)."""
SEED: Final = 34
"""Any number would do, and it is not to be chosen by its result."""


def print_agreement() -> None:
    """Print kappa and positives by strategy."""
    two = both()
    cells = len(two.agreed) + len(two.disagreed)
    print(
        f"{two.items} replies, two passes of a program: {len(two.disagreed)} of {cells} cells open, kappa {_figure(two.kappa)}"
    )
    for row in agreement():
        print(f"{row.strategy:30} kappa {_figure(row.kappa)}  marked {row.first:3} and {row.second:3}, by both {row.both:3}")


def everything(labels: Sequence[StrategyLabel]) -> list[StrategyLabel]:
    """The same cells, each marked as present."""
    return [label.model_copy(update={"state": "present"}) for label in labels]


def measured(labels: Sequence[StrategyLabel], truth: Sequence[StrategyLabel]) -> MeasuredLabeller:
    """A labeller's figures, with intervals by bootstrap over replies.

    In a draw the mean is over the strategies that the truth has there: without one, F1 would be 0 for any mark, of anybody.
    """
    check, naive = check_labeller(labels, truth), check_labeller(everything(labels), truth)
    theirs = {(x.context, x.strategy): x.state == "present" for x in truth}
    ours = {(x.context, x.strategy): x.state == "present" for x in labels}
    replies_asked = sorted({context for context, _ in ours})
    known, true, said = (_table(replies_asked, cells) for cells in (dict.fromkeys(theirs, True), theirs, ours))
    said *= known
    often = draw_contexts(len(replies_asked), DRAWS, np.random.default_rng(SEED))
    positives = often @ true
    labeller, rule = (
        np.divide(
            2 * (often @ (true * mark)), positives + often @ mark, out=np.full(positives.shape, np.nan), where=positives > 0
        )
        for mark in (said, known)
    )
    macro, gain = np.nanmean(labeller, axis=1), np.nanmean(labeller - rule, axis=1)
    return MeasuredLabeller(
        check.macro_f1,
        check.replies,
        dict(check.by_strategy),
        interval=_interval(macro, len(replies_asked)),
        everything=naive.macro_f1,
        gain=_interval(gain, len(replies_asked)),
    )


def print_check(name: str, found: MeasuredLabeller, labels: Sequence[StrategyLabel], truth: Sequence[StrategyLabel]) -> None:
    """Print F1 by strategy, beside that of marking everything and the share of replies that the program marks."""
    naive = check_labeller(everything(labels), truth).by_strategy
    asked = {label.context for label in labels}
    print(f"{name}: macro-F1 {_figure(found.macro_f1)} {_range(found.interval)}, {found.replies} replies; ", end="")
    print(f"marking everything: {_figure(found.everything)}, difference {_range(found.gain)}")
    for strategy, f1 in found.by_strategy.items():
        here = [x.state == "present" for x in truth if x.strategy == strategy and x.context in asked]
        marked = sum(x.state == "present" for x in labels if x.strategy == strategy)
        print(
            f"{strategy:30} {_figure(f1)}  everything {_figure(naive[strategy])}  of {len(here)}: {sum(here)}, marked {marked}"
        )


def main() -> None:
    """Print agreement, or ask and print a labeller's figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judge", help="judge behind an endpoint: a shipped name or a .toml file")
    folder = Path(tempfile.gettempdir()) / "strategy-labels"
    parser.add_argument("--out", type=Path, default=folder, help="folder for its labels")
    parser.add_argument("--from", dest="first", type=int, default=1, help="number of the first reply that is asked about")
    parser.add_argument("--limit", type=int, help="only so many replies")
    parser.add_argument("--write", action="store_true", help="store the figures in the package's record")
    given = parser.parse_args()
    if given.judge is None:
        print_agreement()
        return
    settings = labelling_judge(given.judge)
    asked = replies()[given.first - 1 :][: given.limit]
    material = Material(tuple(r.context for r in asked), tuple(r.completion for r in asked), given.out, None)
    with RunProgress() as progress:
        weights = weights_for(given.judge, progress)
        labels, missing = asyncio.run(label_replies(material, settings, weights, progress))
    found, states = measured(labels, settled()), [label.state for label in labels]
    print(f"{missing} replies without a usable answer; {states.count('uncertain')} of {len(states)} cells uncertain")
    print_check(settings.judge_id, found, labels, settled())
    if given.write:
        write_measured(settings.judge_id, found)


def _table(contexts: Sequence[str], cells: Mapping[tuple[str, str], bool]) -> Floats:
    """Contexts by strategies: 1 where the cell is there and true."""
    return np.array([[float(cells.get((context, s), False)) for s in STRATEGIES] for context in contexts])


def _interval(drawn: Floats, replies_asked: int) -> tuple[float, float]:
    low, high = percentile_interval(drawn, replies_asked)
    return round(float(low), 4), round(float(high), 4)


def _range(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"[{interval[0]:.2f}, {interval[1]:.2f}]"


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
