"""Tune the reader with a whole origin held out, and on all, and record what each is worth where it never read.

Run: `python -m benchmarks.judging_reader.fit IEVAL_FILE EXPERT_FOLDER WORK [FOLD …] [--last-look]`, in an environment with
torch and the project's packages. `IEVAL_FILE` is `ieval_data.json` (Svikhnushina et al. 2022), fitted on except in its own
fold; `EXPERT_FOLDER` is Kumar et al.'s as published, measured on in every fold and fitted on in none. `WORK` keeps each fold's
weights, so that a fit that was stopped goes on, and the record. `--last-look` also scores the origins of `judging_unseen`, for
a reader on which no more is going to be changed. docs/decisions/judging-reader.md has what came of it.
"""

import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from benchmarks.judging_reader import faults, material, measure
from benchmarks.judging_reader.made import with_faults
from benchmarks.judging_reader.material import Group
from benchmarks.judging_reader.net import FROZEN, RANK, Lower, Upper, load
from benchmarks.judging_reader.tuning import EPOCHS, Array, Reading, tune
from harness import models

FOLDS: Mapping[str, tuple[str, ...]] = {"ieval": ("ieval",), "all": ()}
"""What each fold leaves out. iEval is the only origin of people's that is fitted on; a fold takes most of an hour on two busy
cores, so the authors' own origins were not held out one by one."""
CLOSER = 1 / 6
"""Kumar et al.'s sets have few clear pairs; the same is recorded from half of their gap."""


def main() -> None:
    arguments = [word for word in sys.argv[1:] if not word.startswith("--")]
    people, experts, work = (Path(word) for word in arguments[:3])
    weights, text = load(models.resolve("minilm-l6"))
    reading = Reading(Lower(weights), text)
    own = {**material.authors(), **dict(zip(material.BY_HAND, material.by_hand(), strict=True))}
    made = {name: own[name] if name in material.BY_HAND else with_faults(own[name], seed=1) for name in own}
    ieval, published = material.ieval(people), material.published(experts)
    unseen = material.unseen() if "--last-look" in sys.argv else {}
    record: dict[str, object] = {"frozen_layers": FROZEN, "rank": RANK, "epochs": EPOCHS}
    for fold in arguments[3:] or FOLDS:
        authors = [g for groups in made.values() for g in groups]
        used = authors + (one_valence(ieval) if "ieval" not in FOLDS[fold] else [])
        used = [g for n, g in enumerate(used) if g.origin != "first fit" or n % 2]
        upper = tuned(work / f"{fold}.pt", weights, reading, used)
        tests = {"ieval": ieval} if "ieval" in FOLDS[fold] else {}
        found: dict[str, object] = {}
        for name, groups in (tests | published | unseen).items():
            reading.add(groups)
            scored = [scores(upper, rows) for rows in reading.vectors(upper, groups)]
            found[name] = clear = measure.figures(groups, scored)
            print(f"{fold:6} {name:28} {measure.short(clear)}", flush=True)
            if name in published:
                found[f"{name}, a sixth and more"] = measure.figures(groups, scored, CLOSER)
        if unseen:
            authors = [g for g in used if g.origin != "ieval"]
            reading.add(authors)
            ends = faults.fitted(authors, reading.vectors(upper, authors))
            for name, groups in unseen.items():
                faulty = with_faults(groups, seed=2)
                reading.add(faulty)
                found[f"{name}, flags"] = faults.flagged(faulty, ends.flags(reading.vectors(upper, faulty)))
                print(f"{fold:6} {name:28} {found[f'{name}, flags']}", flush=True)
        record[fold] = found
        (work / "record.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def tuned(path: Path, weights: dict[str, torch.Tensor], reading: Reading, groups: Sequence[Group]) -> Upper:
    """The layers of a fold, read if they were tuned before."""
    if path.exists():
        upper = Upper(weights)
        upper.load_state_dict(torch.load(path), strict=False)
        return upper
    reading.add(groups)
    upper = tune(weights, reading, groups)
    torch.save(upper.state_dict(), path)
    return upper


def scores(upper: Upper, rows: Array) -> list[float]:
    """The score of each vector."""
    found: list[float] = upper.scored(torch.from_numpy(rows)).detach().tolist()
    return found


def one_valence(groups: Sequence[Group]) -> list[Group]:
    """One of each person's two troubles, for half of the cost; the other is left aside."""
    rng = random.Random("valence")
    return [rng.choice(both) for both in zip(groups[::2], groups[1::2], strict=True)]


if __name__ == "__main__":
    main()
