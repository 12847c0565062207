"""One call as a test sees it: figures to assert on, and a failure that says all that is known of the turn.

A budget here is of one turn and is kept or not: nothing is said of the agent's other turns. What may be said of an agent over
many conversations, with an interval, is said by limits (`--agent-budgets`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from harness.store.session import Session
from harness.timing.figures import NO_REPLY_TEXT, TurnTiming

Figure = Callable[[TurnTiming], float | None]
FIGURES: Final[Mapping[str, Figure]] = MappingProxyType(
    {
        "ttfa_ms": lambda turn: turn.ttfa_ms,
        "ttft_ms": lambda turn: turn.ttft_ms,
        "dead_air_ms": lambda turn: turn.endpointing.dead_air_ms if turn.endpointing is not None else None,
        "pauses_cut": lambda turn: float(turn.pauses_cut),
        "cut_ins": lambda turn: float(turn.cut_in),
    }
)
"""What a turn can be held to: the most that it may come to."""


@dataclass(frozen=True, slots=True)
class Call:
    """One agent, one context."""

    agent: str
    context: str
    session: Session
    sound: Path
    """Both sides in stereo, the caller left: FLAC."""
    page: Path
    """The report of the run that it is from."""

    @property
    def turns(self) -> tuple[TurnTiming, ...]:
        """Every caller turn, in order; one in seeded mode."""
        return self.session.turn_timings

    @property
    def turn(self) -> TurnTiming:
        """The last."""
        return self.session.turn_timings[-1]

    @property
    def reply(self) -> str:
        """What the agent said last: as heard, else as it wrote it; empty where neither is known."""
        return self.session.heard_text or self.session.written_text or ""

    def assert_within(self, **budgets: float) -> None:
        """Each turn comes to at most this. A turn that gives no figure through no fault of its agent skips the test.

        Raises:
            AssertionError: a turn is over; it prints the figures of every turn and where the sound is.
        """
        unknown = [name for name in budgets if name not in FIGURES]
        if unknown:
            raise pytest.UsageError(f"budget {unknown[0]}: unknown; a turn can be held to {', '.join(FIGURES)}")
        over = [
            f"turn {number}: {problem}"
            for number, turn in enumerate(self.turns, start=1)
            if turn.left_out is None
            for name, budget in budgets.items()
            if (problem := _over(turn, name, budget))
        ]
        if over:
            raise AssertionError("\n".join([*over, "", *self.told()]))
        left_out = [turn.left_out for turn in self.turns if turn.left_out is not None]
        if left_out:
            pytest.skip(f"a turn gives no figure: {left_out[0]}")

    def told(self) -> list[str]:
        """The figures of every turn, the words, and where to hear them."""
        lines = [f"{self.agent} in {self.context}"]
        for number, turn in enumerate(self.turns, start=1):
            figures = [f"{name} {_shown(figure(turn))}" for name, figure in FIGURES.items()]
            signed = [] if turn.signed_ms is None else [f"began {-turn.signed_ms:.0f} ms before the caller had ended"]
            reply = [f"no reply within {NO_REPLY_TEXT}"] if turn.no_reply else []
            lines.append(f"  turn {number}: {', '.join([*figures, *signed, *reply])}")
            lines += [f"    no figure: {turn.left_out}"] if turn.left_out else []
            if turn.waterfall is not None:
                stages = ", ".join(f"{stage.name} {stage.duration_ms:.0f}" for stage in turn.waterfall.stages)
                lines.append(f"    spent (ms): {stages}")
        # What an agent says is a stranger's text: shown as a literal, so that it cannot move the cursor.
        return [*lines, f"  reply: {self.reply!r}", f"  sound: {self.sound}", f"  page: {self.page}"]


def _over(turn: TurnTiming, name: str, budget: float) -> str:
    """In words, why a turn is not within; empty where it is."""
    if name in ("ttfa_ms", "dead_air_ms") and turn.no_reply:
        return f"no reply within {NO_REPLY_TEXT} (budget: {name} {budget:g})"
    if name == "ttfa_ms" and turn.signed_ms is not None:
        return f"the agent began {-turn.signed_ms:.0f} ms before its caller had ended (budget: {name} {budget:g})"
    value = FIGURES[name](turn)
    if value is None:
        return f"{name} is not known of this turn (budget: {budget:g}); docs/agents.md says what an agent must tell"
    return f"{name} {value:.0f} is over the budget of {budget:g}" if value > budget else ""


def _shown(value: float | None) -> str:
    return "—" if value is None else f"{value:.0f}"
