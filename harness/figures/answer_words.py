"""Sentences on the answer beside TTFA, and on backchannels: the terminal and the page say them alike."""

from harness.figures.latency import TurnFigures
from harness.timing.figures import NO_REPLY_TEXT, OVER_LIMIT_TEXT
from harness.timing.quantiles import Quantiles
from harness.wording import counted, milliseconds, share


def filler_words(cell: TurnFigures, budget_ms: float) -> str:
    """`with a filler: 412 ms; the answer begins at 1.90 s, within 500 ms on 3 % of 40 turns`, without full stop."""
    often = f"within {milliseconds(budget_ms)} on {share(cell.within_budget.answer)} of {counted(cell.turns, 'turn')}"
    begins = f"the answer begins at {_median(cell.answer_ms)}, {often}"
    if cell.answer_ms.p50_over_limit:
        begins = f"on at least half of the turns no answer follows within {NO_REPLY_TEXT}"
    known = cell.ttfa_ms.p50_over_limit or cell.ttfa_ms.p50 is not None
    return f"with a filler{f': {_median(cell.ttfa_ms)}' if known else ''}; {begins}"


def backchannel_words(cell: TurnFigures) -> str:
    """`12 backchannels: no reply, and no cut-in`; empty where there is none."""
    return f"{counted(cell.backchannels, 'backchannel')}: no reply, and no cut-in" if cell.backchannels else ""


def _median(latency: Quantiles) -> str:
    return OVER_LIMIT_TEXT if latency.p50_over_limit else milliseconds(latency.p50)
