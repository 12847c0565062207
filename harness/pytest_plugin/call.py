"""One call as a test sees it: figures to assert on, and failure messages with all that is known of the turn.

A budget here applies to one turn and is met or not; it says nothing about other turns. Statements about an agent over
many conversations, with an interval, come from limits (`--agent-budgets`).

Others on the agent's machine can only delay it, so a wait has a low and a high end (`harness.turns.bounded`): it is over its
budget only if the low end is, and within only if the high end is. Between the two this machine cannot tell, and the test is
skipped.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from harness.store.session import Session
from harness.timing.figures import NO_REPLY_MS, NO_REPLY_TEXT, TurnTiming
from harness.turns.bounded import bounded
from harness.wording import cannot_tell, milliseconds

Figure = Callable[[TurnTiming], float | None]
WAITS: Final = MappingProxyType({f"{name}_ms": name for name in ("ttfa", "answer", "ttft", "dead_air")})
"""Latencies of the catalogue that a budget can limit."""
FIGURES: Final[Mapping[str, Figure]] = MappingProxyType(
    {
        "ttfa_ms": lambda turn: turn.ttfa_ms,
        "answer_ms": lambda turn: turn.answer_ms,
        "ttft_ms": lambda turn: turn.ttft_ms,
        "dead_air_ms": lambda turn: turn.endpointing.dead_air_ms if turn.endpointing is not None else None,
        "pauses_cut": lambda turn: float(turn.pauses_cut),
        "cut_ins": lambda turn: float(turn.cut_in),
    }
)
"""The figures of a turn that a budget can limit."""


@dataclass(frozen=True, slots=True, repr=False)
class Call:
    """The call of one agent in one context."""

    agent: str
    context: str
    session: Session
    sound: Path
    """Stereo FLAC file of both sides, the caller left."""
    page: Path
    """The report of its run."""

    def __repr__(self) -> str:
        """Its agent and context alone: pytest prints it beside every failed assertion, and the figures below."""
        return f"<call of {self.agent} in {self.context}>"

    @property
    def turns(self) -> tuple[TurnTiming, ...]:
        """All caller turns in order; one in seeded mode."""
        return self.session.turn_timings

    @property
    def turn(self) -> TurnTiming:
        """The last."""
        return self.session.turn_timings[-1]

    @property
    def reply(self) -> str:
        """The agent's last reply: as heard, otherwise as written; empty if neither is known."""
        return self.session.heard_text or self.session.written_text or ""

    def assert_within(self, **budgets: float) -> None:
        """Assert that each turn is within these budgets. A turn of which nobody can say that, through no fault of its agent,
        skips the test.

        Raises:
            AssertionError: a turn is over budget. pytest then shows the figures of every turn and the path of the sound too.
        """
        __tracebackhide__ = True
        over = self.over(**budgets)
        if over:
            raise AssertionError("\n".join(over))

    def over(self, **budgets: float) -> list[str]:
        """The turns over these budgets, a sentence each; empty if there is none.

        Skips the test instead if none is over, and of one it cannot be said: it was discarded, or others decide.
        """
        unknown = [name for name in budgets if name not in FIGURES]
        if unknown:
            raise pytest.UsageError(f"budget {unknown[0]}: unknown; choose one of {', '.join(FIGURES)}")
        over, open_ = [], []
        for number, turn in enumerate(self.turns, start=1):
            if turn.discarded is not None:
                open_.append(f"turn {number} gives no figure: {turn.discarded}")
                continue
            for name, budget in budgets.items():
                if problem := _over(turn, name, budget):
                    over.append(f"turn {number}: {problem}")
                elif others := _of_others(turn, name, budget):
                    open_.append(f"turn {number}: {name}: {others}; budget: {budget:g}")
        if open_ and not over:
            pytest.skip(open_[0])
        return over

    def figures(self) -> list[str]:
        """The figures of every turn, the stages that took the time, the reply, and the path of the sound, as lines."""
        lines = [f"{self.agent} in {self.context}"]
        for number, turn in enumerate(self.turns, start=1):
            figures = [f"{name} {_shown(figure(turn))}" for name, figure in FIGURES.items()]
            signed = [] if turn.signed_ms is None else [f"began {-turn.signed_ms:.0f} ms before the caller had ended"]
            why = f": {turn.why_silent}" if turn.why_silent else ""
            reply = [f"no reply within {NO_REPLY_TEXT}{why}"] if turn.no_reply else []
            lines.append(f"  turn {number}: {', '.join([*figures, *signed, *reply])}")
            lines += [f"    no figure: {turn.discarded}"] if turn.discarded else []
            if turn.waterfall is not None:
                stages = ", ".join(f"{stage.name} {stage.duration_ms:.0f}" for stage in turn.waterfall.stages)
                lines.append(f"    spent (ms): {stages}")
        # An agent's text is untrusted: shown as a literal, so that it cannot move the cursor.
        return [*lines, f"  reply: {self.reply!r}", f"  sound: {self.sound}", f"  page: {self.page}"]


def _over(turn: TurnTiming, name: str, budget: float) -> str:
    """Why a turn is over a budget, in words; empty if it is within, or if others decide."""
    value = FIGURES[name](turn)
    if name not in WAITS:
        return f"{name} {value:.0f} is over the budget of {budget:g}" if value is not None and value > budget else ""
    ends = bounded(turn, WAITS[name])
    if ends is not None and ends.within(budget) != "slow":
        return ""
    if turn.no_reply and name != "ttft_ms":
        return f"no reply within {NO_REPLY_TEXT} (budget: {name} {budget:g})"
    if turn.signed_ms is not None and name in ("ttfa_ms", "answer_ms"):
        return f"the agent began {-turn.signed_ms:.0f} ms before its caller had ended (budget: {name} {budget:g})"
    if value is None and name == "answer_ms" and turn.ttfa_ms is not None:
        return f"the reply is a filler without an answer (budget: {name} {budget:g})"
    if value is None:
        return f"{name} is unknown for this turn (budget: {budget:g}); docs/agents.md says what an agent must send"
    return f"{name} {value:.0f} is over the budget of {budget:g}"


def _of_others(turn: TurnTiming, name: str, budget: float) -> str:
    """Why it cannot be said whether a turn is within a budget, in words; empty if it can."""
    ends = bounded(turn, WAITS[name]) if name in WAITS else None
    if ends is None or ends.within(budget) != "cannot tell":
        return ""
    owed_ms = min(ends.high_ms, NO_REPLY_MS) - ends.low_ms
    return cannot_tell(milliseconds(owed_ms), turn.contention.others if turn.contention is not None else ())


def _shown(value: float | None) -> str:
    return "—" if value is None else f"{value:.0f}"
