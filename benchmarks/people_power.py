"""How exact a pack of a few speakers is: half-widths and coverage of the harness's own intervals over turns and over speakers.

A speaker is not twelve independent turns: people differ in how they pause and how clearly they end. So the number of speakers
decides, and turns of one speaker soon add little. Packs are drawn from a world with this spread between speakers, and a run's
intervals are computed on them: over speakers, as where sources name them, and over turns, as where they do not and each turn
is a conversation of its own.

    python -m benchmarks.people_power [utterances.csv]

prints tables of docs/evidence/people.md; with PriMock57's utterances the spread between its 57 talks that the world has.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from harness.scenarios.pause_law import PER_TURN
from harness.statistics.clustered_means import clustered_share
from harness.statistics.interval import Interval
from harness.timing.quantiles import quantiles_of

PACKS: Final = 400
SEED: Final = 2026
DESIGNS: Final = ((10, 12), (10, 24), (10, 48), (20, 6), (20, 12), (40, 3), (40, 12))
"""Speakers, and turns of each."""
CUT: Final = 0.05
"""True share of pauses cut: the rate at which end-of-turn detectors are compared."""
CUT_ICC: Final = (0.07, 0.18, 0.31)
"""Share of the variance of "this pause is over the 95th percentile" that lies between talks, taken for that between speakers:
the lower 95 % limit, the estimate and the upper limit, from gaps of 200 ms to 5 s between utterances of one patient
(PriMock57, 415 gaps, 56 talks). An agent that waits a fixed time cuts by such a threshold."""
TTFA_MS: Final = 900.0
TTFA_LOG_SD: Final = 0.35
"""Standard deviation of log TTFA: an assumption, quartiles a quarter below and above the median."""
TTFA_ICC: Final = (0.03, 0.07, 0.12)
"""Share of the variance of a log wait that lies between talks: limit, estimate and limit, from the positive gaps from patient
to doctor (PriMock57, 1,122 gaps, 57 talks). These are waits of people; an agent's may depend on its speaker otherwise."""
LONGEST_S: Final = 5.0
SHORTEST_S: Final = 0.2
SHORTEST_GAP_S: Final = 0.05
"""Positive gaps only, above the tables' own rounding."""
By = Literal["turns", "speakers"]


@dataclass(frozen=True, slots=True)
class Power:
    """The half-width of a 95 % interval (median over packs) and its coverage of the truth, over turns and over speakers."""

    half_width: Mapping[By, float]
    coverage: Mapping[By, float]


def power_of_cuts(speakers: int, turns: int, icc: float, *, packs: int = PACKS, seed: int = SEED) -> Power:
    """Of the share of pauses cut: each speaker has a chance of their own, beta-distributed around `CUT`."""
    rng = np.random.default_rng(seed)
    strength = 1 / icc - 1
    found: dict[By, list[Interval]] = {"turns": [], "speakers": []}
    for _ in range(packs):
        chance = rng.beta(CUT * strength, (1 - CUT) * strength, speakers)
        pauses = rng.poisson(PER_TURN, (speakers, turns))
        rows = [
            (s, t, float(rng.random() < chance[s])) for s in range(speakers) for t in range(turns) for _ in range(pauses[s, t])
        ]
        for by in found:
            groups = [(f"{s}" if by == "speakers" else f"{s}/{t}", value) for s, t, value in rows]
            _, interval = clustered_share(groups)
            if interval is not None:
                found[by].append(interval)
    return _power(found, CUT)


def power_of_medians(speakers: int, turns: int, icc: float, *, packs: int = PACKS, seed: int = SEED) -> Power:
    """Of the median TTFA, in ms: log-normal, with the share `icc` of its variance between speakers."""
    rng = np.random.default_rng(seed)
    found: dict[By, list[Interval]] = {"turns": [], "speakers": []}
    for _ in range(packs):
        of_speaker = rng.normal(0, TTFA_LOG_SD * icc**0.5, (speakers, 1))
        waits = TTFA_MS * np.exp(of_speaker + rng.normal(0, TTFA_LOG_SD * (1 - icc) ** 0.5, (speakers, turns)))
        by_speaker = {f"{s}": waits[s].tolist() for s in range(speakers)}
        by_turn = {f"{s}/{t}": [waits[s, t]] for s in range(speakers) for t in range(turns)}
        for by, groups in (("speakers", by_speaker), ("turns", by_turn)):
            if (interval := quantiles_of(groups, seed).p50_interval) is not None:
                found["speakers" if by == "speakers" else "turns"].append(interval)
    return _power(found, TTFA_MS)


def shared_variance(groups: Sequence[NDArray[np.float64]]) -> float:
    """The intraclass correlation of unequal groups, by analysis of variance."""
    sizes = np.array([group.size for group in groups])
    mean = np.concatenate(groups).mean()
    between = sum(group.size * (group.mean() - mean) ** 2 for group in groups) / (len(groups) - 1)
    within = sum(((group - group.mean()) ** 2).sum() for group in groups) / (sizes.sum() - len(groups))
    size = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(groups) - 1)
    return float((between - within) / (between + (size - 1) * within))


def spread_between_talks(table: Path) -> dict[str, tuple[float, float, float]]:
    """Intraclass correlations in PriMock57 with 95 % limits over talks: long pauses of patients, and doctors' waits."""
    talks: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    with table.open(encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            talks[row["consultation"]].append((float(row["start_s"]), float(row["end_s"]), row["speaker"]))
    pauses, waits = [], []
    for said in talks.values():
        gaps = [(b[0] - a[1], a[2], b[2]) for a, b in pairwise(sorted(said))]
        pauses.append(np.array([g for g, a, b in gaps if a == b == "patient" and SHORTEST_S <= g <= LONGEST_S]))
        waits.append(np.array([g for g, a, b in gaps if (a, b) == ("patient", "doctor") and g > SHORTEST_GAP_S]))
    pauses, waits = ([group for group in groups if group.size] for groups in (pauses, waits))
    limit = np.quantile(np.concatenate(pauses), 1 - CUT)
    return {
        "pauses over their 95th percentile": _with_limits([(group > limit).astype(float) for group in pauses]),
        "log waits from patient to doctor": _with_limits([np.log(group) for group in waits]),
    }


def _with_limits(groups: Sequence[NDArray[np.float64]]) -> tuple[float, float, float]:
    rng = np.random.default_rng(SEED)
    drawn = [shared_variance([groups[i] for i in rng.integers(0, len(groups), len(groups))]) for _ in range(1_000)]
    low, high = np.percentile(drawn, (2.5, 97.5))
    return shared_variance(groups), float(low), float(high)


def _power(found: Mapping[By, Sequence[Interval]], truth: float) -> Power:
    half: dict[By, float] = {by: float(np.median([(high - low) / 2 for low, high in ends])) for by, ends in found.items()}
    covers: dict[By, float] = {by: float(np.mean([low <= truth <= high for low, high in ends])) for by, ends in found.items()}
    return Power(half, covers)


def main() -> None:
    """Print both tables, and the spread that they rest on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("utterances", type=Path, nargs="?")
    table = parser.parse_args().utterances
    if table is not None:
        for name, (icc, low, high) in spread_between_talks(table).items():
            print(f"between talks, {name}: {icc:.2f} ({low:.2f} to {high:.2f})")
    for name, draw, iccs, unit in (
        (f"pauses cut, {CUT:.0%} true", power_of_cuts, CUT_ICC, 100.0),
        (f"TTFA p50, {TTFA_MS:.0f} ms true", power_of_medians, TTFA_ICC, 1.0),
    ):
        print(f"\n{name}: half-width over speakers (over turns), and how often they cover the truth")
        for speakers, turns in DESIGNS:
            cells = []
            for icc in iccs:
                p = draw(speakers, turns, icc)
                half, covers = ({by: value[by] for by in ("speakers", "turns")} for value in (p.half_width, p.coverage))
                cells.append(
                    f"{icc:.2f}: ±{unit * half['speakers']:.1f} (±{unit * half['turns']:.1f}) "
                    f"{covers['speakers']:.0%} ({covers['turns']:.0%})"
                )
            print(f"  {speakers:>3} × {turns:<3} {' | '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
