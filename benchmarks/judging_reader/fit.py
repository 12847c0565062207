"""Tune the reader with whole origins held out in turn, then on all, and write weights and record where they ship.

Run: `python -m benchmarks.judging_reader.fit IEVAL_FILE EXPERT_FOLDER WORK [FOLD …] [--write]`, in an environment with torch
and the project's packages. `IEVAL_FILE` is `ieval_data.json` (Svikhnushina et al. 2022), which is fitted on except in its own
fold; `EXPERT_FOLDER` is Kumar et al.'s as published, measured on in every fold and fitted on in none. `WORK` keeps each fold's
weights, so that a fit that was stopped goes on. `--write` also scores the fold `all` on the origins of `judging_unseen`, and
is for a reader on which no more is going to be changed.
"""

import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from benchmarks.judging_reader import faults, material, measure, pack
from benchmarks.judging_reader.made import with_faults
from benchmarks.judging_reader.material import Group
from benchmarks.judging_reader.net import FROZEN, RANK, Lower, Upper, load
from benchmarks.judging_reader.tuning import EPOCHS, Reading, tune
from harness import models

DATA = Path(__file__).parents[2] / "harness" / "judging" / "data"
FOLDS: Mapping[str, tuple[str, ...]] = {"ieval": ("ieval",), "machine": ("machine", "harm", "plain"), "all": ()}
"""What each fold leaves out. Each costs ten minutes and more of two busy cores, so the other origins were never held out."""
CLOSER = 1 / 6
"""Kumar et al.'s sets have few clear pairs; the same is recorded from half of their gap."""


def main() -> None:
    torch.set_num_threads(2)
    arguments = [word for word in sys.argv[1:] if not word.startswith("--")]
    people, experts, work = (Path(word) for word in arguments[:3])
    weights, text = load(models.resolve("minilm-l6"))
    reading = Reading(Lower(weights), text)
    own = {**material.authors(), **dict(zip(material.BY_HAND, material.by_hand(), strict=True))}
    made = {name: with_faults(own[name], seed=1) if name not in material.BY_HAND else own[name] for name in own}
    ieval, published = material.ieval(people), material.published(experts)
    found: dict[str, object] = {"frozen_layers": FROZEN, "rank": RANK, "epochs": EPOCHS}
    for fold in arguments[3:] or FOLDS:
        left_out = FOLDS[fold]
        used = [g for origin, groups in made.items() if origin not in left_out for g in groups]
        used += one_valence(ieval) if "ieval" not in left_out else []
        used = [g for n, g in enumerate(used) if g.origin != "first fit" or n % 2]
        upper = tuned(work / f"{fold}.pt", weights, reading, used)
        authors = [g for g in used if g.origin != "ieval"]
        reading.add(authors)
        ends = faults.fitted(authors, reading.vectors(upper, authors))
        tests: dict[str, Sequence[Group]] = {o: made[o] for o in left_out if o in made} | {"ieval": ieval} | published
        if fold == "all" and "--write" in sys.argv:
            tests |= {name: with_faults(groups, seed=2) for name, groups in material.unseen().items()}
        found[fold] = {name: measured(name, groups, upper, ends, reading, fold) for name, groups in tests.items()}
        (work / "record.json").write_text(json.dumps(found, indent=1) + "\n")
        if fold == "all" and "--write" in sys.argv:
            found["version"] = pack.save(upper, ends, DATA / "reader.npz")
            (DATA / "reader_record.json").write_text(json.dumps(found, indent=1) + "\n")


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


def measured(
    name: str, groups: Sequence[Group], upper: Upper, ends: faults.Ends, reading: Reading, fold: str
) -> Mapping[str, object]:
    """All figures of one origin, printed too."""
    reading.add(groups)
    vectors = reading.vectors(upper, groups)
    flags = ends.flags(vectors)
    with torch.no_grad():
        scores = [upper.scored(torch.tensor(rows)).tolist() for rows in vectors]
    found: dict[str, object] = {}
    if name != "ieval" or "ieval" in FOLDS[fold]:
        honest = [Group(g.origin, g.cluster, g.turns, real(g), g.emotion, g.own) for g in groups]
        found["clear"] = measure.figures(honest, scores)
        print(f"{fold:8} {name:28} {measure.short(measure.figures(honest, scores))}", flush=True)
    if "/" in name:
        found["closer"] = measure.figures(groups, scores, CLOSER)
    elif name == "ieval":
        found["flags_by_rank"] = faults.flagged_by_rank(groups, flags)
    else:
        found["families"] = faults.families(groups, scores)
        found["flags"] = faults.flagged(groups, flags)
    print(f"{'':8} { {k: v for k, v in found.items() if k not in ('clear', 'closer')} }", flush=True)
    return found


def real(group: Group) -> tuple[material.Reply, ...]:
    """The replies of a group that somebody wrote; those made by program come last in it."""
    return tuple(reply for reply in group.replies if reply.kind not in faults.MADE)


def one_valence(groups: Sequence[Group]) -> list[Group]:
    """One of each person's two troubles, for half of the cost; the other is left aside."""
    rng = random.Random("valence")
    return [rng.choice(both) for both in zip(groups[::2], groups[1::2], strict=True)]


if __name__ == "__main__":
    main()
