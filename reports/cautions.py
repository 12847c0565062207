"""What stands above the charts: the run's own cautions, and, on a page of several runs, what these differ in.

They stand there and not in a footnote, because a rating from a weak judge or from four conversations looks exactly like a good
one once it is a dot on a plot. The words are those of `harness.steps.cautions`, as the terminal and `--json` give them.
"""

from harness.steps.cautions import Caution, gravest_first
from reports.view import NOT_JOINT, PageView


def cautions(view: PageView) -> tuple[Caution, ...]:
    """Everything that limits what this page can say, gravest first."""
    return gravest_first([*(_difference(what, text) for what, text in view.differences), *view.cautions])


def _difference(what: str, text: str) -> Caution:
    if what == NOT_JOINT:
        return Caution(code="not_joint", level="warn", topic=what, text=text)
    return Caution(code="runs_differ", level="warn", topic=f"Runs differ: {what.lower()}", text=text)
