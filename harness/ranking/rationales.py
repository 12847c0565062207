"""Agreement of people's and judges' reasons where they name the same winner.

Reasons are mapped onto one codebook: micro-skills, each on one HEART axis, each with cues written for this project. Rules code
any reason; a judge may code it too, but each of its codes needs a snippet that occurs in the reason, and how well it agrees
with the rules is measured. The paper's figure is the share of (pair, skill) cells that both mention or both omit. Most skills
are omitted by both, which makes that share high by itself, so Cohen's κ is shown beside it.

Long reasons mention more, and a reason depends on what was shown: so each skill's association between people and judges is also
given with length of reasons, position and verbosity of the winner regressed out of both.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np
from scipy import stats

from harness.ranking.ballots import ballots, majority
from harness.ranking.strategies import occurs
from harness.ranking.verdicts import Lengths
from harness.statistics.arrays import Floats
from harness.statistics.clustered_means import clustered_mean
from harness.statistics.correlation import benjamini_hochberg
from harness.statistics.interval import Interval
from harness.statistics.reliability import cohen_kappa
from harness.store.judgment import Judgment

DRAWS = 2000
FEWEST_PAIRS = 10
"""For a correlation of residuals: three covariates and an intercept leave six degrees of freedom."""


@dataclass(frozen=True, slots=True)
class Skill:
    """One entry of the codebook."""

    name: str
    axis: str
    cues: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class SkillAssociation:
    """Association of people's and judges' mentions over agreed pairs. `residual_correlation`: with covariates regressed out."""

    skill: str
    axis: str
    people_rate: float
    judge_rate: float
    residual_correlation: float | None
    p_adjusted: float | None


@dataclass(frozen=True, slots=True)
class CoMention:
    """Co-mention over pairs with the same majority winner. `co_mention`: share of cells that both mention or both omit;
    `kappa`: beyond chance."""

    co_mention: float
    interval: Interval | None
    kappa: float | None
    pairs: int
    skills: tuple[SkillAssociation, ...]


@lru_cache(maxsize=1)
def codebook() -> tuple[Skill, ...]:
    """The skills that ship."""
    text = resources.files("harness.ranking").joinpath("codebook.json").read_text(encoding="utf-8")
    return tuple(
        Skill(entry["name"], entry["axis"], re.compile("|".join(rf"\b(?:{cue})" for cue in entry["cues"]), re.IGNORECASE))
        for entry in json.loads(text)["skills"]
    )


def code_by_rules(rationale: str) -> frozenset[str]:
    """Names of the skills whose cues occur in a reason.

    >>> sorted(code_by_rules("It names the feeling and asks one question."))
    ['asks a fitting question', 'names the feeling']
    """
    return frozenset(skill.name for skill in codebook() if skill.cues.search(rationale))


def accepted(codes: Mapping[str, str], rationale: str) -> frozenset[str]:
    """The codes of a judge (skill → snippet) that are in the codebook and whose snippet occurs in the reason."""
    known = {skill.name for skill in codebook()}
    return frozenset(name for name, snippet in codes.items() if name in known and occurs(snippet, rationale))


def agreement_with_rules(coded: Iterable[tuple[str, frozenset[str]]]) -> float | None:
    """Cohen's κ, over all (reason, skill) cells, of a judge's accepted codes with the rules. None without variation."""
    confusion = np.zeros((2, 2))
    for rationale, codes in coded:
        ruled = code_by_rules(rationale)
        for skill in codebook():
            confusion[int(skill.name in codes), int(skill.name in ruled)] += 1
    value = float(cohen_kappa(confusion)) if confusion.sum() else float("nan")
    return value if np.isfinite(value) else None


def co_mention(
    judgments: Iterable[Judgment],
    *,
    words: Lengths | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> CoMention | None:
    """Co-mention over pairs where people's and judges' majorities name the same winner and both gave reasons; None if there are
    none.

    `words`: lengths of replies, for verbosity of the winner.
    A side mentions a skill when at least half of its reasons for the winner do.
    """
    rows = list(judgments)
    by_pair: dict[tuple[str, str, str, str, int], list[Judgment]] = defaultdict(list)
    for row in rows:
        first, second = sorted((row.system_a, row.system_b))
        by_pair[row.context, first, second, row.condition, row.replicate].append(row)
    skills = codebook()
    cells, covariates, places = [], [], []
    for ballot in ballots(rows):
        people, judges = majority(ballot.humans, 1), majority(ballot.judges, 1)
        if people is None or people != judges or people == 1:
            continue
        winner, loser = (ballot.first, ballot.second) if people == 0 else (ballot.second, ballot.first)
        pair = (ballot.context, ballot.first, ballot.second, ballot.condition, ballot.replicate)
        here = [r for r in by_pair[pair] if r.rationale.strip() and {"a": r.system_a, "b": r.system_b}.get(r.winner) == winner]
        sides = [[r for r in here if r.source == source] for source in ("human", "judge")]
        if not all(sides):
            continue
        coded = [[code_by_rules(r.rationale) for r in side] for side in sides]
        cells.append([[np.mean([s.name in codes for codes in side]) >= 0.5 for s in skills] for side in coded])
        covariates.append(
            [
                *(np.log1p(np.mean([len(r.rationale.split()) for r in side])) for side in sides),
                np.mean([_shown_first(r, winner) for r in here]),
                np.log1p((words or {}).get((ballot.context, winner, ballot.replicate), 0))
                - np.log1p((words or {}).get((ballot.context, loser, ballot.replicate), 0)),
            ]
        )
        places.append(ballot.context)
    if not cells:
        return None
    table = np.array(cells, dtype=np.float64)
    same = table[:, 0] == table[:, 1]
    value, interval = clustered_mean(zip(places, same.mean(axis=1).tolist(), strict=True), draws=draws, seed=seed)
    confusion = np.array([[((table[:, 0] == a) & (table[:, 1] == b)).sum() for b in (0, 1)] for a in (0, 1)], dtype=float)
    kappa = float(cohen_kappa(confusion))
    return CoMention(
        value,
        interval,
        kappa if np.isfinite(kappa) else None,
        len(cells),
        _associations(table, np.array(covariates), skills),
    )


def _shown_first(row: Judgment, winner: str) -> float:
    if row.shown_first is None:
        return 0.0
    return 1.0 if (row.system_a if row.shown_first == "a" else row.system_b) == winner else -1.0


def residuals(outcome: Floats, covariates: Floats) -> Floats:
    """Residuals of `outcome` (n,) after least squares on `covariates` (n, k) and an intercept."""
    design = np.column_stack([np.ones(outcome.size), covariates])
    fitted, *_ = np.linalg.lstsq(design, outcome, rcond=None)
    return np.asarray(outcome - design @ fitted, dtype=np.float64)


def _associations(table: Floats, covariates: Floats, skills: Sequence[Skill]) -> tuple[SkillAssociation, ...]:
    found: dict[str, tuple[float, float]] = {}
    for k, skill in enumerate(skills):
        people, judges = (residuals(table[:, side, k], covariates) for side in (0, 1))
        if table.shape[0] >= FEWEST_PAIRS and people.std() > 1e-9 and judges.std() > 1e-9:
            r = float(np.corrcoef(people, judges)[0, 1])
            freedom = table.shape[0] - 2 - covariates.shape[1]
            t = r * np.sqrt(freedom / max(1 - r**2, 1e-12))
            found[skill.name] = r, float(2 * stats.t.sf(abs(t), freedom))
    adjusted = benjamini_hochberg({name: p for name, (_, p) in found.items()})
    return tuple(
        SkillAssociation(
            skill.name,
            skill.axis,
            float(table[:, 0, k].mean()),
            float(table[:, 1, k].mean()),
            found[skill.name][0] if skill.name in found else None,
            adjusted.get(skill.name),
        )
        for k, skill in enumerate(skills)
    )
