"""The limits of a first budgets file: those that a run of its pack can pass, and the others as comments with their reason.

A limit that even a flawless agent cannot pass on so few conversations makes a gate that is never green, and nobody sees why.
So each limit is tried on the very conversations (`harness.gate.attainable`) before it is written. For silence, which is rare, a
flawless agent is no measure: a limit on it is written only if an agent that misses one turn in a hundred passes, too.
"""

from collections.abc import Sequence
from typing import Final

from harness.errors import UserError
from harness.gate.attainable import conversations_for, fewest, unattainable
from harness.gate.budgets import Limit
from harness.gate.decide import tail_of
from harness.run.plan import lasting_s
from harness.scenarios.context import Context
from harness.scenarios.pack import Pack
from harness.turn_taking.detectors import PAUSES_CUT_LIMIT
from harness.wording import counted

MOST_SILENT: Final = 0.1
RATES: Final = (0.0, 0.01, 0.02)
"""True rates of silence for which a file states the conversations that a pass takes."""
_HEAD: Final = """\
# Limits for the agent, checked with: harness check --agent {agent} --budgets {file}
# Every figure that a limit can name, and how a verdict is made: docs/gate.md of the harness.
# A check plays {pack}: {conversations}{lasting}, {at_once} (--concurrency).
schema: 1
budgets_ms: {{{budget}: {budget_ms:g}}}   # the budget of a turn, on the page of the run too
limits:
"""
_KINDNESS: Final = """\
  # Kindness, against the plain reference replies, by people's votes (harness listen), or by a judge that people bear out:
  # - {figure: "elo_over.ref:plain", at_least: -50}
"""


def limits_text(agent: str, file: str, pack: Pack, mode: str, budget_ms: float, *, spoken: bool, at_once: int = 1) -> str:
    """The text of a budgets file. `spoken`: False of a model that is asked in writing; `at_once`: calls at once.

    Raises:
        UserError: the pack has too few conversations for any limit.
    """
    contexts = pack.contexts
    median = Limit(figure="ttfa_ms.p50" if spoken else "ttft_ms.p50", at_most=budget_ms)
    if too_few := unattainable([median] * (2 if spoken else 1), contexts, mode):
        raise UserError(f"--pack {pack.name}: no run of it can pass {too_few[0].words}; name a larger pack")
    minutes = max(round(sum(lasting_s(context, pack, mode) for context in contexts) / 60 / at_once), 1)
    head = _HEAD.format(
        agent=agent, file=file, pack=pack.name, conversations=counted(len(contexts), "conversation"),
        budget="ttfa" if spoken else "ttft", budget_ms=budget_ms,
        lasting=f", about {minutes} min of calls" if spoken else "",
        at_once="one after another" if at_once == 1 else f"{at_once} at a time",
    )  # fmt: skip
    return head + (_spoken if spoken else _written)(median, contexts, mode) + _KINDNESS


def _spoken(median: Limit, contexts: Sequence[Context], mode: str) -> str:
    pauses = Limit(figure="pauses_cut_share", at_most=PAUSES_CUT_LIMIT, in_doubt="figure")
    silence, with_silence = _silence([median, pauses], contexts, mode)
    return (
        "  # From the caller's last word to the agent's voice, half of the turns within:\n"
        f"  - {{figure: ttfa_ms.p50, at_most: {median.bound:g}}}\n"
        "  # It must not gain time by talking into its caller's pauses. Waiting for one second of silence cuts 10 % of them.\n"
        "  # Few conversations can show that surely, so a share within the limit passes (in_doubt: figure):\n"
        f"  - {{figure: pauses_cut_share, at_most: {pauses.bound:g}, in_doubt: figure}}\n"
        + silence
        + _slow("ttfa_ms.p95", with_silence, contexts, mode)
    )


def _written(median: Limit, contexts: Sequence[Context], mode: str) -> str:
    return (
        "  # From the request to the first token of the answer, half of the turns within:\n"
        f"  - {{figure: ttft_ms.p50, at_most: {median.bound:g}}}\n" + _slow("ttft_ms.p95", [median], contexts, mode)
    )


def _silence(sure: Sequence[Limit], contexts: Sequence[Context], mode: str) -> tuple[str, Sequence[Limit]]:
    """Its lines, and the limits that are written so far."""
    limit = Limit(figure="no_reply_rate", at_most=MOST_SILENT)
    tail = tail_of(len(sure) + 1, None)
    needs = [conversations_for(MOST_SILENT, tail, rate) for rate in RATES]
    at_one_percent = needs[RATES.index(0.01)]
    possible = not unattainable([*sure, limit], contexts, mode) and (at_one_percent or 0) <= len(contexts)
    counts = ", ".join("more than can be played" if n is None else str(n) for n in needs)
    rates = ", ".join(f"{100 * rate:g}" for rate in RATES)
    lines = (
        f"  # It must answer. Of agents that are silent in {rates} % of their turns, four in five pass with {counts} "
        "conversations:\n"
        f"  {'' if possible else '# '}- {{figure: no_reply_rate, at_most: {MOST_SILENT:g}}}\n"
    )
    return lines, [*sure, limit] if possible else sure


def _slow(figure: str, sure: Sequence[Limit], contexts: Sequence[Context], mode: str) -> str:
    """A limit on the p95 of `figure`, at twice that on its median, which is the first of the `sure` ones."""
    limit = Limit(figure=figure, at_most=2 * sure[0].bound)
    possible = not unattainable([*sure, limit], contexts, mode)
    needs = fewest(limit, tail_of(len(sure) + 1, None))
    return (
        f"  # Slow turns too (a p95 needs {needs} conversations):\n"
        f"  {'' if possible else '# '}- {{figure: {figure}, at_most: {limit.bound:g}}}\n"
    )
