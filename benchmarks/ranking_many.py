"""How long `harness rank` takes on a million judgments, and on a board of very unequal conversations; and how much memory.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/ranking_many.py [doors]

The million: 26 systems, 10,000 contexts, five judges, random pairs, strengths and orders. The skewed board: 26 systems over 89
contexts, whose sizes fall like 1 / k^1.5 and of which each sets four systems against each other (eight in the largest), about
35,000 rows. The thousand refits of the skewed board alone are timed here.

`doors`: 171,000 verdicts with axes and reasons (20 agents, 300 conversations, three judges, all pairs) as a file and as a run:
`rank FILE`, `rank RUN` and `report RUN` must cost about the same, because they rate the same columns.

Every command runs in a process of its own, which says itself how much memory it had at most (`VmHWM`): a parent would hand its
own largest size down to it.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.ranking import ordinal, ordinal_bootstrap, ordinal_design
from harness.ranking.verdicts import gather
from harness.statistics.bootstrap import draw_contexts
from harness.store import judgment_files
from tests import large_run

SYSTEMS, JUDGES = 26, 5
ROWS, CONTEXTS = 1_000_000, 10_000
SKEWED_ROWS, SKEWED_CONTEXTS = 44_103, 89
AGENTS_OF_RUN, CONTEXTS_OF_RUN = 20, 300
DRAWS = 1_000
Numbers = NDArray[np.int64]


def write(path: Path, first: Numbers, second: Numbers, context: Numbers, spread: float, seed: int) -> None:
    """Verdicts of judges with a position bias on pairs of systems whose replies differ from context to context."""
    rng = np.random.default_rng(seed)
    theta = rng.permutation(np.linspace(-spread, spread, SYSTEMS))
    reply = theta + rng.normal(0, 0.7, (int(context.max()) + 1, SYSTEMS))
    judge, shown = rng.integers(0, JUDGES, first.size), rng.choice([-1, 1], first.size)
    y = reply[context, first] - reply[context, second] + 0.3 * shown + rng.logistic(size=first.size)
    strength = 1 + np.searchsorted([0.5, 1.0, 1.8, 3.0], np.abs(y))
    with path.open("w", encoding="utf-8") as out:
        for k in range(first.size):
            row = {
                "context": f"c{context[k]:05}",
                "subset": "adversarial" if context[k] % 10 == 9 else "regular",
                "system_a": f"system-{first[k]:02}",
                "system_b": f"system-{second[k]:02}",
                "source": "judge",
                "judge": f"judge-{judge[k]}",
                "winner": "a" if y[k] > 0 else "b",
                "strength": int(strength[k]),
                "shown_first": "a" if shown[k] > 0 else "b",
                "repeat": k,
            }
            out.write(json.dumps(row) + "\n")


def million(path: Path) -> None:
    """Random pairs."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, SYSTEMS, ROWS)
    write(path, first, (first + rng.integers(1, SYSTEMS, ROWS)) % SYSTEMS, rng.integers(0, CONTEXTS, ROWS), 0.9, 1)


def skewed(path: Path) -> None:
    """Unequal conversations between few systems."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, SKEWED_CONTEXTS + 1) ** 1.5
    often = 1 / np.arange(1, SYSTEMS + 1) ** 1.2
    pairs, contexts = [], []
    for c, part in enumerate(share / share.sum()):
        here = rng.choice(SYSTEMS, 4 if c else 8, replace=False, p=often / often.sum())
        met = rng.choice(here, (max(3, int(SKEWED_ROWS * part)), 2))
        met = met[met[:, 0] != met[:, 1]]
        pairs.append(met)
        contexts.append(np.full(len(met), c))
    both = np.concatenate(pairs)
    write(path, both[:, 0], both[:, 1], np.concatenate(contexts), 3.0, 1)


def ran(*arguments: str) -> tuple[str, str]:
    """The command, as a user runs it: what it printed, and what it cost."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", large_run.SAYS_ITS_PEAK, *arguments], capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak_mib = int(done.stderr.rpartition("VmHWM:")[2].split()[0]) / 1024
    cost = f"{time.monotonic() - began:.1f} s, {processor:.1f} s of processor, at most {peak_mib:.0f} MiB"
    return done.stdout, cost


def ranked(path: Path) -> str:
    """What a board is of, and what it cost."""
    printed, cost = ran("rank", str(path), "--json")
    board = json.loads(printed)
    rows = f"{board['judgments']:,} rows, {board['contexts']:,} contexts, {len(board['systems'])} systems"
    return f"{rows}: {cost}"


def doors(folder: Path) -> None:
    """The same verdicts by every door."""
    run = large_run.make(folder, AGENTS_OF_RUN, CONTEXTS_OF_RUN)
    print(f"rank FILE, {ranked(folder / 'rows.jsonl')}", flush=True)
    print(f"rank RUN, {ranked(run)}", flush=True)
    print(f"report RUN: {ran('report', str(run))[1]}", flush=True)


def main() -> None:
    """See the module's head."""
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1:] == ["doors"]:
            doors(Path(folder))
            return
        path = Path(folder) / "skewed.jsonl"
        skewed(path)
        votes = gather(judgment_files.read(path))
        fitted = ordinal.fit(ordinal_design.design(votes))
        often = draw_contexts(len(votes.contexts), DRAWS, np.random.default_rng(1))
        began = time.process_time()
        ordinal_bootstrap.refit(fitted, votes, often)
        print(f"skewed board, {DRAWS:,} refits alone: {time.process_time() - began:.1f} s of processor", flush=True)
        print(f"harness rank, skewed board: {ranked(path)}", flush=True)
        path = Path(folder) / "million.jsonl"
        million(path)
        print(f"harness rank, a million: {ranked(path)}", flush=True)


if __name__ == "__main__":
    main()
