"""The long fuzz of each target, or of those named: `python -m tests.fuzz [TARGET …]`, for FUZZ_S seconds a target (600).

Each input may end in a value or in the target's stated refusal, and the time for the longest input of a kind must grow with its
length as a line does. What fails is written beside the words of the fault, so that it can be given to the target again.
"""

import os
import random
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from tests.fuzz.linear import MOST_RATIO, growth
from tests.fuzz.mutate import inputs
from tests.fuzz.targets import TARGETS, Target, of_size, refused


def main(names: list[str]) -> int:
    """The number of targets with a fault, at most 1."""
    seconds = float(os.environ.get("FUZZ_S", "600"))
    if unknown := [name for name in names if name not in TARGETS]:
        print(f"no such target: {', '.join(unknown)}; there are {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    faults = [fault for name in names or TARGETS for fault in fuzzed(name, TARGETS[name], seconds)]
    return 1 if faults else 0


def fuzzed(name: str, target: Target, seconds: float) -> list[str]:
    """The faults of one target."""
    faults, count, longest_s = [], 0, 0.0
    for word in target.words:
        try:
            ratio, at = growth(partial(of_size, target, word), partial(refused, target))
        except Exception as error:
            faults.append(f"{word[:20]!r}: {type(error).__name__}: {str(error)[:200]}")
            continue
        if ratio > MOST_RATIO:
            faults.append(f"{word[:20]!r}: twice the input takes {ratio:.1f} times as long, from {at:,} bytes")
    began_s = time.monotonic()
    for given in inputs(target, random.Random(time.time_ns()), target.most_bytes):
        if time.monotonic() - began_s > seconds or len(faults) > 5:
            break
        count += 1
        at_s = time.process_time()
        try:
            refused(target, given)
        except Exception as error:
            with tempfile.NamedTemporaryFile(prefix=f"fuzz-{name}-", delete=False) as kept:
                kept.write(given)
            faults.append(f"{type(error).__name__}: {str(error)[:200]} ({len(given):,} bytes in {Path(kept.name)})")
        longest_s = max(longest_s, time.process_time() - at_s)
    print(f"{name}: {count:,} inputs, the slowest {longest_s:.2f} s; {len(faults)} fault(s)", flush=True)
    for fault in faults:
        print(f"  {fault}", flush=True)
    return faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
