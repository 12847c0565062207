"""Agreement of the two passes over the strategy set, and a labeller's F1 by strategy against the cells on which both agree.

Without options the agreement is printed. With `--judge` the labeller is asked about every reply (or the first `--limit`; the
set's order is random) and its F1 is printed beside that of marking every strategy on every reply: a labeller below that has
learnt nothing. Labels are saved as they arrive, so that a stopped measurement can be continued. `--write` stores the figures
in the record that terminal and page read.

    python -m benchmarks.strategy_labels [--judge NAME|FILE.toml --out FOLDER [--limit N] [--write]]
"""

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.judging_sets.strategies import agreement, both, replies, settled
from harness.labelling.label_replies import Material, label_replies, labelling_judge
from harness.labelling.labeller_record import MeasuredLabeller, write_measured
from harness.progress import RunProgress
from harness.ranking.strategies import LabellerCheck, StrategyLabel, check_labeller


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


def print_check(name: str, check: LabellerCheck, naive: LabellerCheck) -> None:
    """Print F1 by strategy, beside that of marking everything."""
    print(f"{name}: macro-F1 {_figure(check.macro_f1)} against a program's labels, {check.replies} replies", end="")
    print(f"; marking everything: {_figure(naive.macro_f1)}")
    for strategy, f1 in check.by_strategy.items():
        print(f"{strategy:30} {_figure(f1)}  ({_figure(naive.by_strategy[strategy])})")


def main() -> None:
    """Print agreement, or ask and print a labeller's figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judge", help="judge behind an endpoint: a shipped name or a .toml file")
    folder = Path(tempfile.gettempdir()) / "strategy-labels"
    parser.add_argument("--out", type=Path, default=folder, help="folder for its labels")
    parser.add_argument("--limit", type=int, help="only the first replies")
    parser.add_argument("--write", action="store_true", help="store the figures in the package's record")
    given = parser.parse_args()
    if given.judge is None:
        print_agreement()
        return
    settings = labelling_judge(given.judge)
    asked = replies()[: given.limit]
    material = Material(tuple(r.context for r in asked), tuple(r.completion for r in asked), given.out, None)
    with RunProgress() as progress:
        labels, missing = asyncio.run(label_replies(material, settings, progress))
    check = check_labeller(labels, settled())
    states = [label.state for label in labels]
    print(f"{missing} replies without a usable answer; {states.count('uncertain')} of {len(states)} cells uncertain")
    print_check(settings.judge_id, check, check_labeller(everything(labels), settled()))
    if given.write:
        write_measured(settings.judge_id, MeasuredLabeller(check.macro_f1, check.replies, dict(check.by_strategy)))


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
