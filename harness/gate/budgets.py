"""The budgets file: the limits of a gate, checked completely before anything is played.

A wrong file must not cost a minute of playing, and a limit that can never be decided must not appear in CI as a green line.
So an unknown key, a figure that no run has, two limits that contradict each other and a share of exactly 0 or 1 are
refused here, each with one line.
"""

from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.errors import UserError
from harness.figures.cells import Subset
from harness.foreign_files import FileFault, read_text
from harness.foreign_problems import in_sentences, problems
from harness.foreign_yaml import parse_yaml
from harness.gate.decide import Rule
from harness.gate.evidence import PREFERRED, PREFIXES, has_no_need_of_sound, is_peoples, is_preference, is_rating, unit_of
from harness.nearest import did_you_mean, nearest, or_one_of
from harness.scenarios.context import Context
from harness.store.judgment import reference_name
from harness.store.manifest import RunManifest
from harness.turns.catalogue import BY_PATH, Unit

SCHEMA: Final = 1
Missing = Literal["fail", "ignore", "cannot tell"]
Comparison = Literal["at_most", "at_least", "worse_than_baseline_by"]
InDoubt = Literal["figure", "cannot tell"]
COMPARISONS: Final[tuple[Comparison, ...]] = ("at_most", "at_least", "worse_than_baseline_by")


class Limit(BaseModel):
    """One limit of a budgets file. A key that is left out means all: without `agent`, the limit applies to every agent."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    figure: str
    agent: str | None = None
    condition: str | None = None
    mode: Literal["seeded", "replay", "recorded"] | None = None
    subset: Subset = "all"
    pack: str | None = None
    rate: float | None = Field(default=None, gt=0)
    """The step of an open loop, in calls a second. A limit with a rate or callers is for load tests, any other for runs."""
    callers: int | None = Field(default=None, ge=1)
    """The step of a closed loop."""
    at_most: float | None = Field(default=None, strict=True)
    at_least: float | None = Field(default=None, strict=True)
    worse_than_baseline_by: float | None = Field(default=None, strict=True)
    missing: Missing = "cannot tell"
    """The verdict on a run without this figure."""
    in_doubt: InDoubt = "cannot tell"
    """The verdict where the interval contains the limit; `figure`: pass if the figure itself is within it."""

    @model_validator(mode="before")
    @classmethod
    def _preferred(cls, given: Any) -> Any:
        """`preferred_over: {agent: NAME, at_least: X}` beside an agent, as the figure `preferred_over.NAME`."""
        to = given.get("preferred_over") if isinstance(given, dict) else None
        if not isinstance(to, dict) or {"figure", *to} & given.keys() - {"agent"}:
            return given
        rest = {key: value for key, value in given.items() if key != "preferred_over"}
        return {**to, **rest, "figure": f"{PREFERRED}{to.get('agent', '')}", "agent": rest.get("agent")}

    @property
    def comparison(self) -> Comparison:
        """The comparison that the limit uses, one of three."""
        return next(name for name in COMPARISONS if getattr(self, name) is not None)

    @property
    def bound(self) -> float:
        """The limit's number, in the figure's unit."""
        return float(getattr(self, self.comparison))

    @property
    def rule(self) -> Rule:
        """The side of `bound` that passes. A loss against the baseline may be at most the bound."""
        return "at_least" if self.comparison == "at_least" else "at_most"

    @property
    def is_for_loads(self) -> bool:
        """True if it names a step of a load test."""
        return self.rate is not None or self.callers is not None

    @property
    def words(self) -> str:
        """The limit in words: `ttfa_ms.p95 at most 500`."""
        return f"{self.figure} {self.comparison.replace('_', ' ')} {self.bound:g}"


class Budgets(BaseModel):
    """The contents of a budgets file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = Field(alias="schema")
    budgets_ms: dict[Literal["ttfa", "ttft"], Annotated[float, Field(ge=1)]] = Field(default_factory=dict)
    """Budgets of a turn, for `within_budget`; a budget that is left out is the run's own."""
    limits: tuple[Limit, ...] = Field(min_length=1)

    def needs_baseline(self, *, of_load: bool) -> bool:
        """True if a limit for runs, or with `of_load` one for load tests, compares with an earlier one."""
        return any(limit.comparison == "worse_than_baseline_by" and limit.is_for_loads == of_load for limit in self.limits)

    @property
    def needs_words(self) -> bool:
        """True if a limit is on a figure that needs the words of the replies."""
        return any("words" in BY_PATH[name].needs for limit in self.limits if (name := limit.figure) in BY_PATH)


class CellLimit(BaseModel):
    """One limit for one cell."""

    model_config = ConfigDict(frozen=True)

    limit: Limit
    agent: str
    condition: str


def read_budgets(path: Path) -> Budgets:
    """The limits of a file.

    Raises UserError: no such file, not YAML, another schema, an unknown key or figure, or an impossible limit; one line.
    """
    try:
        marked = parse_yaml(read_text(path))
    except FileFault as fault:
        raise UserError(f"--budgets {fault.at(path, ', line ')}; docs/gate.md has an example") from None
    given = marked.data
    if not isinstance(given, dict):
        raise UserError(f"--budgets {path}: must begin with `schema: {SCHEMA}` and hold `limits:`; see docs/gate.md")
    if "schema" not in given and (near := nearest("schema", given.keys() - {"limits", "budgets_ms"})):
        raise UserError(f"--budgets {path}, line {marked.line((near,))}: {near} is no setting; did you mean schema?")
    if given.get("schema") != SCHEMA or isinstance(given.get("schema"), bool):
        raise UserError(f"--budgets {path}: schema {given.get('schema', 'missing')}; this harness reads `schema: {SCHEMA}`")
    try:
        budgets = Budgets.model_validate(given)
    except ValidationError as error:
        found = problems(error, Budgets, given, "a budgets file")
        raise UserError(f"--budgets {in_sentences(path, found, marked.line)}") from error
    for k, limit in enumerate(budgets.limits, start=1):
        problem = _problem(limit)
        if problem:
            raise UserError(f"--budgets {path}, limit {k}: {problem}")
    return budgets


def _problem(limit: Limit) -> str:
    """Why no run could ever meet a limit; empty if one could."""
    given = [name for name in COMPARISONS if getattr(limit, name) is not None]
    if len(given) != 1:
        named = " and ".join(given) if given else "none"
        return f"names {named}; name exactly one of {', '.join(COMPARISONS)}"
    if limit.rate is not None and limit.callers is not None:
        return "names a rate and callers; a step of a load test has one of them"
    unit = unit_of(limit.figure)
    if unit is None and limit.figure == "elo":
        return "elo depends on the other rated agents; limit elo_over.REFERENCE instead"
    if unit is None and limit.figure == "no_reply":
        return "no_reply is a count, which grows with the run; limit no_reply_rate instead"
    if unit is None and limit.figure.endswith("mean"):
        return f"{limit.figure}: a mean has no reliable interval; limit a p50, a p95 or no_reply_rate instead"
    if unit is None:
        known = ", ".join((*BY_PATH, *(f"{prefix}REFERENCE" for prefix in PREFIXES), f"{PREFERRED}AGENT"))
        near = did_you_mean(limit.figure, (*BY_PATH, *PREFIXES, PREFERRED))
        return f"figure {limit.figure!r}: there is none of this name{near or f'; a limit can have one of {known}'}"
    if limit.in_doubt == "figure" and is_rating(limit.figure):
        return f"{limit.figure}: in_doubt: figure is for figures of turns; a rating decides only by its whole interval"
    if is_preference(limit.figure) and limit.comparison == "worse_than_baseline_by":
        return f"{limit.figure}: compares two agents of one run, and no baseline; name at_least"
    return _out_of_range(limit, unit)


def _out_of_range(limit: Limit, unit: Unit) -> str:
    name, bound = limit.comparison, limit.bound
    if name == "worse_than_baseline_by":
        return f"{name} {bound:g}: must be more than 0" if bound <= 0 else ""
    if unit == "ms" and bound < 0 and limit.figure.split(".")[0] != "decision_delay_ms":
        return f"{name} {bound:g}: is a time in ms and cannot be under 0"
    if unit == "share" and not 0 < bound < 1:
        hint = "no number of turns can show a share of exactly 0 or 1; " if bound in (0, 1) else ""
        return f"{name} {bound:g}: is a share: {hint}give a number between 0 and 1, such as 0.02"
    return ""


def limits_for(budgets: Budgets, manifest: RunManifest, contexts: tuple[Context, ...], judged: bool) -> tuple[CellLimit, ...]:
    """Every limit for every cell of a run that it applies to, before the run has a figure.

    A limit for another pack or mode does not apply. `judged`: the run has a judge or raters.

    Raises:
        UserError: a limit on a figure that the run cannot have, two limits that contradict each other, or none that applies.
    """
    for name, asked_ms in budgets.budgets_ms.items():
        if asked_ms != manifest.budgets_ms[name]:
            raise UserError(
                f"--budgets: asks for {name} within {asked_ms:g} ms, and the run counts {manifest.budgets_ms[name]:g} ms; "
                f"play it with --budget-{name} {asked_ms:g}, or ask for what the run counts"
            )
    found: list[CellLimit] = []
    for k, limit in enumerate(budgets.limits, start=1):
        elsewhere = limit.pack not in (None, manifest.pack) or limit.mode not in (None, manifest.mode)
        if elsewhere or limit.is_for_loads:
            continue
        problem = _cannot_have(limit, manifest, contexts, judged)
        if problem:
            raise UserError(f"--budgets, limit {k} ({limit.words}): {problem}")
        agents = [a.name for a in manifest.played if limit.agent in (None, a.name) and limit.figure != f"{PREFERRED}{a.name}"]
        conditions = [c for c in manifest.conditions if limit.condition in (None, c)]
        found += [CellLimit(limit=limit, agent=a, condition=c) for a in agents for c in conditions]
    if not found:
        raise UserError(f"--budgets: no limit applies to pack {manifest.pack} in mode {manifest.mode}; name others, or none")
    for one, two in combinations(found, 2):
        _refuse_contradiction(one, two)
    return tuple(found)


def _cannot_have(limit: Limit, manifest: RunManifest, contexts: tuple[Context, ...], judged: bool) -> str:
    names = [a.name for a in manifest.played]
    if limit.agent is not None and limit.agent not in names:
        return f"the run has no agent {limit.agent!r}{or_one_of(limit.agent, names)}"
    if limit.condition is not None and limit.condition not in manifest.conditions:
        return f"the run has no condition {limit.condition!r}{or_one_of(limit.condition, manifest.conditions)}"
    if limit.subset != "all" and not any(c.subset == limit.subset for c in contexts):
        return f"the run has no {limit.subset} conversation"
    texts = [a.name for a in manifest.agents if a.kind == "text" and limit.agent in (None, a.name)]
    if texts and not has_no_need_of_sound(limit.figure):
        return f"{texts[0]} is a text model without sound, so it has no such figure; name another agent"
    if is_preference(limit.figure):
        other = limit.figure.removeprefix(PREFERRED)
        others = [name for name in names if name != limit.agent]
        return "" if other in others else f"the run has no other agent {other!r}; it has {', '.join(others) or 'none'}"
    if is_rating(limit.figure) and not is_peoples(limit.figure) and not judged:
        return "the run has no judge; name one, or leave the limit out"
    if "elo_over." in limit.figure:
        return _no_such_opponent(limit, names, contexts)
    return ""


def _no_such_opponent(limit: Limit, names: list[str], contexts: tuple[Context, ...]) -> str:
    opponent = limit.figure.split("elo_over.", 1)[1]
    references = sorted({reference_name(r.id) for c in contexts for r in c.references})
    others = [name for name in names if limit.agent is not None and name != limit.agent]
    if opponent in (*references, *others):
        return ""
    return f"the run has no {opponent!r} to compare with; it has {', '.join([*references, *others]) or 'nobody'}"


def _refuse_contradiction(one: CellLimit, two: CellLimit) -> None:
    a, b = one.limit, two.limit
    if (one.agent, one.condition, a.subset) != (two.agent, two.condition, b.subset):
        return
    if a.figure == b.figure and a.comparison == b.comparison:
        told = f"{a.comparison}: {a.bound:g} and {b.bound:g}"
        raise UserError(f"--budgets: {a.figure} of {one.agent} has two limits {told}; keep one")
    floors = [x for x in (a, b) if x.comparison == "at_least"]
    tops = [x for x in (a, b) if x.comparison == "at_most"]
    if not floors or not tops:
        return
    floor, top = floors[0], tops[0]
    # A percentile is never below a lower percentile, so a lower limit of the median applies to the p95 too.
    same = floor.figure == top.figure or (
        floor.figure.endswith(".p50") and top.figure == floor.figure.removesuffix(".p50") + ".p95"
    )
    if same and floor.bound > top.bound:
        raise UserError(f"--budgets: {one.agent} cannot meet both {floor.words} and {top.words}; change one")
