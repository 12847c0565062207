"""How many of the mutants drawn, and of those named, the tests find. Exit 1 below 85 in 100 or with a named one alive."""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MUTATED = (
    "harness/timing/*.py",
    "audio/onset.py",
    "harness/store/selection.py",
    "harness/gate/decide.py",
    *(f"harness/ranking/{name}.py" for name in ("bounds", "joint")),
)
TESTS = (
    *(f"tests/harness/{room}" for room in ("timing", "ranking", "store", "recording", "figures", "gate", "measuring")),
    "tests/audio",
    "tests/agents/test_secrets.py",
    "tests/harness/test_check_files.py",
)
AT_LEAST = 0.85


def main() -> int:
    asked = _asked()
    sys.path.append(str(asked.tools))
    from . import lanes, mutants, reaching, trial

    patterns, tests = ((f"harness/{asked.room}/*.py",), (f"tests/harness/{asked.room}",)) if asked.room else (MUTATED, TESTS)
    globbed = (path for pattern in patterns for path in ROOT.glob(pattern))
    paths = sorted(str(path.relative_to(ROOT)) for path in globbed if path.name != "__init__.py")
    faults = [] if asked.room else mutants.named(ROOT, HERE / "named.toml")
    drawn = [] if asked.named else mutants.drawn(ROOT, paths, asked.count, asked.seed)
    reached_paths = sorted({*paths, *(fault.path for fault in faults)})
    # The tests leave threads behind, and trials are forks of this process: a lock that such a thread holds would never open.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        reached = apart.submit(reaching.observed, ROOT, reached_paths, tests, asked.reached).result()
    trial.import_libraries()
    argued = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8")).get("mutant", [])
    harmless = {(each["path"], each["fault"]) for each in argued}
    wanted = [*faults, *(mutant for mutant in drawn if (mutant.path, mutant.name) not in harmless)]

    alive: list[mutants.Mutant] = []
    for done, (mutant, found) in enumerate(zip(wanted, lanes.outcomes(ROOT, wanted, reached, asked.lanes), strict=True), 1):
        if found is None:
            alive.append(mutant)
            print(f"survives: {mutant.path}:{mutant.lines[0]}: {mutant.name}", flush=True)
        if sys.stderr.isatty():
            print(f"\r{done} of {len(wanted)}", end="", file=sys.stderr, flush=True)

    named_alive = len([mutant for mutant in alive if mutant in faults])
    tried = len(wanted) - len(faults)
    dead = tried - (len(alive) - named_alive)
    print(f"named: {len(faults) - named_alive} of {len(faults)} found")
    print(f"drawn with seed {asked.seed}: {dead} of {tried} found ({100 * dead / max(tried, 1):.1f} %)")
    print(f"argued to change nothing: {len(drawn) - tried} of {len(drawn)} drawn")
    return 1 if named_alive or dead < AT_LEAST * tried else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/mutate.sh", description=__doc__)
    parser.add_argument("--tools", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, default=300, help="mutants to draw (default: 300)")
    parser.add_argument("--seed", type=int, default=32, help="seed of the draw (default: 32)")
    parser.add_argument("--lanes", type=int, default=os.cpu_count() or 1, help="trials at a time (default: one per core)")
    parser.add_argument("--room", help="a room of harness, tried on its own tests alone (default: code that makes figures)")
    parser.add_argument("--named", action="store_true", help="only the named faults")
    parser.add_argument("--reached", type=Path, help="file that remembers which tests reach which lines (default: none)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
