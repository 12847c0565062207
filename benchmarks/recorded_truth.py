"""How right `harness measure` is on recordings whose truth is exact: rooms, crosstalk, echo, levels, noise, telephones.

    python -m benchmarks.recorded_truth choosing|reporting [--only WORD] [--calls N] [--cache DIR]

For each condition of a set of `benchmarks.made_calls`: turns found, the error of their ends, of their waits and of the agent's
yields, turns that are none, and calls that are refused by name. Constants were chosen on `choosing`;
docs/evidence/calls.md has the table of `reporting`.
"""

import argparse
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.made_calls import RATE_HZ, Change, MadeCall, conditions, made_calls, with_truth
from harness.audio.recorded_turns import Span
from harness.audio.vocal import VocalDetector, silero
from harness.calls.as_recording import TwoSides, as_recording
from harness.calls.caller_turns import caller_turns
from harness.errors import UserError
from harness.measuring.timings import timings_of
from harness.store.step_failure import StepFailure
from harness.timing.utterances import UTTERANCE_GAP_S

NEAR_MS: Final = 500.0
"""Turns whose ends are this near are the same turn."""
RIGHT_MS: Final = 100.0


@dataclass
class Tally:
    """The comparison of a condition's calls with their truth."""

    turns: int = 0
    found: int = 0
    extra: int = 0
    yields: int = 0
    ends_ms: list[float] = field(default_factory=list)
    waits_ms: list[float] = field(default_factory=list)
    yields_ms: list[float] = field(default_factory=list)
    false_yields: int = 0
    refused: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def row(self, name: str) -> str:
        """One line of the table."""
        ends, waits = np.abs(self.ends_ms or [np.nan]), np.abs(self.waits_ms or [np.nan])
        good = sum(abs(y) <= RIGHT_MS for y in self.yields_ms)
        parts = [
            f"{name:34} turns {self.found:3}/{self.turns:3} +{self.extra}",
            f"ends p50 {np.median(ends):5.0f} p95 {np.percentile(ends, 95):5.0f} ≤100: {100 * np.mean(ends <= RIGHT_MS):4.0f} %"
            f" bias {np.median(self.ends_ms or [np.nan]):+5.0f}",
            f"TTFA p50 {np.median(waits):5.0f} p95 {np.percentile(waits, 95):5.0f}",
            f"yields {good}/{len(self.yields_ms)}/{self.yields} +{self.false_yields}",
            f"refused {len(self.refused)}",
        ]
        return " | ".join(parts)


def compare(tally: Tally, call: MadeCall, made: TwoSides, vocal: VocalDetector) -> None:
    """Add one call to a tally."""
    true = true_turns(call)
    try:
        recording = as_recording(made, vocal)
    except UserError as fault:
        tally.refused.append(f"{call.name}: {fault}")
        return
    timed = timings_of("x", lambda: recording, lambda: None, vocal)
    assert not isinstance(timed, StepFailure), timed
    left = list(timed)
    for turn in true:
        tally.turns += 1
        near = [t for t in left if abs(t.spoken_end_ms - turn.end_ms) <= NEAR_MS]
        best = min(near, key=lambda t: abs(t.spoken_end_ms - turn.end_ms), default=None)
        if best is None:
            tally.wrong.append(f"{call.name}: no turn at {turn.end_ms:.0f} ms; found {[round(t.spoken_end_ms) for t in timed]}")
            tally.yields += turn.yield_ms is not None
            continue
        left.remove(best)
        tally.found += 1
        error = best.spoken_end_ms - turn.end_ms
        tally.ends_ms.append(error)
        if abs(error) > RIGHT_MS:
            tally.wrong.append(f"{call.name}: end at {turn.end_ms:.0f} found {error:+.0f} ms")
        if turn.wait_ms is not None:
            heard_ms = best.ttfa_ms if best.ttfa_ms is not None else best.signed_ms
            if heard_ms is None:
                tally.wrong.append(f"{call.name}: turn at {turn.end_ms:.0f} no wait ({best.discarded or best.no_reply})")
                tally.waits_ms.append(np.inf)
            else:
                tally.waits_ms.append(heard_ms - turn.wait_ms)
                if abs(heard_ms - turn.wait_ms) > RIGHT_MS:
                    tally.wrong.append(f"{call.name}: turn at {turn.end_ms:.0f} wait {heard_ms:.0f} true {turn.wait_ms:.0f}")
        if turn.yield_ms is not None:
            tally.yields += 1
            if best.yield_ms is not None:
                tally.yields_ms.append(best.yield_ms - turn.yield_ms)
            if best.yield_ms is None or abs(tally.yields_ms[-1]) > RIGHT_MS:
                tally.wrong.append(f"{call.name}: turn at {turn.end_ms:.0f} yield {best.yield_ms} true {turn.yield_ms:.0f}")
        elif best.yield_ms is not None:
            tally.false_yields += 1
            tally.wrong.append(f"{call.name}: turn at {turn.end_ms:.0f} yield {best.yield_ms} where none is")
    tally.extra += len(left)
    tally.wrong += [f"{call.name}: a turn at {t.spoken_end_ms:.0f} that is none" for t in left]


@dataclass(frozen=True)
class TrueTurn:
    """A turn by the dry sound, in ms."""

    end_ms: float
    wait_ms: float | None
    yield_ms: float | None


def true_turns(call: MadeCall) -> list[TrueTurn]:
    """The turns of a call by the definitions of docs/calls.md, from its dry sound."""
    agent = joined(call.agent_speech, UTTERANCE_GAP_S)
    every = caller_turns(call.caller_speech, agent)
    found: list[TrueTurn] = []
    for k, turn in enumerate(every):
        if turn.kind != "turn":
            continue
        end_s = turn.spans[-1][1]
        until = next((t.spans[0][0] for t in every[k + 1 :] if t.kind == "turn"), np.inf)
        began_s = turn.spans[0][0]
        replies = [s for s in agent if s[1] > end_s and s[1] > began_s and s[0] < until and s[0] >= began_s]
        wait_ms = 1_000 * (replies[0][0] - end_s) if replies else None
        yield_ms = None
        if k + 1 < len(every) and every[k + 1].kind == "barge_in":
            at = every[k + 1].spans[0][0]
            over = next((s for s in agent if s[0] <= at < s[1]), None)
            yield_ms = 1_000 * (over[1] - at) if over else None
        found.append(TrueTurn(1_000 * end_s, wait_ms, yield_ms))
    return found


def joined(spans: Sequence[Span], gap_s: float) -> list[Span]:
    """Stretches with shorter gaps closed."""
    found: list[Span] = []
    for start, end in spans:
        if found and start - found[-1][1] < gap_s:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def main() -> None:
    """Print the table of a set."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("set", choices=("choosing", "reporting"))
    asked.add_argument("--only", default="")
    asked.add_argument("--calls", type=int, default=4)
    asked.add_argument("--wrong", action="store_true")
    asked.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "made-calls")
    args = asked.parse_args()
    args.cache.mkdir(parents=True, exist_ok=True)
    calls = [call for call, _ in zip(made_calls(args.set, args.cache), range(args.calls), strict=False)]
    vocal = silero()
    for name, change in conditions(args.set).items():
        if args.only in name:
            print(_tallied(name, change, calls, vocal, show=args.wrong), flush=True)


def _tallied(name: str, change: Change, calls: Sequence[MadeCall], vocal: VocalDetector, *, show: bool) -> str:
    tally = Tally()
    for k, call in enumerate(calls):
        rate_hz = 8_000 if "law" in name or "telephone" in name else RATE_HZ
        compare(tally, call, with_truth(call, change, zlib.crc32(f"{name} {k}".encode()), rate_hz), vocal)
    return "\n    ".join([tally.row(name), *tally.refused, *(tally.wrong if show else ())])


if __name__ == "__main__":
    main()
