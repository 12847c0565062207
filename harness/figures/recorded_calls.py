"""What a reader must know of calls that already happened: how they were measured, what they leave open, and what looks wrong.

Nobody played them, so there is no caller whose turns are known and no calibration that covers them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.figures.cells import Cell
from harness.store.manifest import RunManifest
from harness.store.session import Session
from harness.timing.recorded_call import CALL_ENDED, ON_HOLD
from harness.wording import counted

OPEN: Final = (CALL_ENDED, ON_HOLD)
"""Reasons of turns of which nobody knows how they would have been answered."""


def swapped_words(manifest: RunManifest, sessions: Sequence[Session]) -> Iterator[str]:
    """Reasons to suspect that the two sides of the calls are swapped, one sentence each; none in a run that was played."""
    calls, measured = manifest.calls, [s for s in sessions if s.status == "finished" and s.turn_timings]
    if calls is None or not measured:
        return
    of_all = f"of {counted(len(measured), 'call')}"
    if calls.look_swapped:
        yield (
            f"In {len(calls.look_swapped)} {of_all} the side that is named as the caller's sends silence to the last bit "
            "whenever it does not speak, as a program does, and the other side never does."
        )
    unanswered = sum(_nobody_answers(session) for session in measured)
    if unanswered > len(measured) / 2:
        yield f"In {unanswered} {of_all} nobody answers the side that is named as the caller's, although the other side speaks."


def _nobody_answers(session: Session) -> bool:
    turns = session.turn_timings
    spoke_before = turns[0].greeting is not None
    return spoke_before and all(turn.ttfa_ms is None and turn.signed_ms is None for turn in turns)


def open_words(cell: Cell) -> str:
    """`3 of 20 turns (the call ended before an answer 2, … 1)`; empty where every turn's answer is known."""
    found = {why: cell.discarded[why] for why in OPEN if cell.discarded.get(why)}
    each = ", ".join(f"{why} {count}" for why, count in found.items())
    return f"{sum(found.values())} of {counted(cell.turns, 'turn')} ({each})" if found else ""


def languages_words(languages: Mapping[str, str]) -> str:
    """`3 calls (de 2, fr 1)`."""
    each = {code: sum(one == code for one in languages.values()) for code in sorted(set(languages.values()))}
    return f"{counted(len(languages), 'call')} ({', '.join(f'{code} {count}' for code, count in each.items())})"
