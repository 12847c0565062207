"""The fleet part of a manifest: the settings that all shards of a run share, and the entries of each machine.

Shards are played on different machines and merged later, so everything that could change a figure is fixed before any of them
starts; the first difference of two plans is named. Machines are of one *kind* when nothing differs that latencies are known to
depend on. Latencies of one kind are pooled; those of different kinds only where the user asked for it.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from pydantic import ConfigDict, Field, model_validator

from harness.experiment import Experiment, of_an_older_harness, shown
from harness.store.events import CallerEvent, Settled
from harness.store.machine_facts import Pacing, worst

LONG_AS_A_HASH: Final = 64
"""SHA-256 in hexadecimal, which no message shows side by side."""
Facts = Mapping[str, str | int | float]


class PlannedAgent(Settled):
    """An agent of the plan. An older harness stored its source here too, which is now in the experiment."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str
    profile_hash: str


class FixedPlan(Settled):
    """The plan that all shards of a run share; `harness run --write-plan` writes it."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    harness_version: str
    timing_method: str
    versions: dict[str, str]
    """Packages whose behaviour affects the figures."""
    experiment: Experiment
    agents: tuple[PlannedAgent, ...]
    pack: str
    pack_hash: str
    events: tuple[CallerEvent, ...] = ()
    voices: dict[str, str]
    """Context → its caller's voice."""
    weights: dict[str, str]
    """Weights of the agents and of the transcriber, each with its pin."""
    contexts: dict[str, str]
    """Context → its hash, in the order of the run."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _of_an_older_harness(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "experiment" in given:
            return given
        try:
            experiment = {**of_an_older_harness(given), "limit": len(given["contexts"])}
        except (KeyError, TypeError, AttributeError):
            return given
        known = {field.alias or name for name, field in cls.model_fields.items()}
        return {**{name: value for name, value in given.items() if name in known}, "experiment": experiment}

    @property
    def id(self) -> str:
        """The plan's name: the same for the same experiment, wherever its files are."""
        return hashlib.sha256(json.dumps(self._counts(), ensure_ascii=False).encode()).hexdigest()[:12]

    def difference(self, other: "FixedPlan", here: str = "here", there: str = "there") -> str | None:
        """The differences of two plans, in words (`seed is 1 here and 2 there`): every setting, or else the first of the other
        fixed parts (versions, contexts, …). None where nothing differs.

        Args:
            here: name of this plan's side in the words; `there`: of the other's.
        """
        asked = self.experiment.differences(other.experiment)
        if asked:
            return "; ".join(f"{name} {_values(*both, here, there)}" for name, both in asked.items())
        theirs = other._counts()
        for field, mine in self._counts().items():
            its = theirs[field]
            if mine == its and not (isinstance(mine, dict) and isinstance(its, dict) and list(mine) != list(its)):
                continue
            if isinstance(mine, dict) and isinstance(its, dict):
                only = sorted(mine.keys() ^ its.keys())
                if only:
                    return f"{field}: {_listed(only)} only {here if only[0] in mine else there}"
                names = [name for name in mine if mine[name] != its[name]]
                if not names:
                    return f"{field} are in another order"
                return f"{field}: {names[0]} {_values(mine[names[0]], its[names[0]], here, there)}"
            return f"{field} {_values(mine, its, here, there)}"
        return None

    def _counts(self) -> dict[str, object]:
        facts = self.model_dump(mode="json", exclude={"schema_version", "experiment", "agents", "pack"})
        agents = {agent.name: agent.profile_hash for agent in self.agents}
        counts = {name.removesuffix("_hash"): value for name, value in {**facts, "agents": agents}.items()}
        counts = {**self.experiment.settings(), **counts}
        # Only the order of contexts matters: they are played in it.
        return {n: dict(sorted(v.items())) if isinstance(v, dict) and n != "contexts" else v for n, v in counts.items()}


class PartEntry(Settled):
    """One shard as one machine played it, with the machine's pacing. `contexts` are those of the shard."""

    shard: int
    contexts: tuple[str, ...]
    calibration: dict[str, float | str | None] | None = None
    not_calibrated: str = ""
    pacing: Pacing | None = None
    idle_cpu_percent: dict[str, float] = Field(default_factory=dict)
    caller_priority: str | None = None


class MachineEntry(Settled):
    """One machine of a merged run: its facts, and the shards that it played, by number and the instant they began."""

    facts: dict[str, str | int | float]
    parts: dict[str, PartEntry]

    @property
    def shards(self) -> tuple[int, ...]:
        """The numbers of the shards that it played."""
        return tuple(sorted({part.shard for part in self.parts.values()}))

    @property
    def pacing(self) -> Pacing | None:
        """The worst of its shards."""
        return worst([part.pacing for part in self.parts.values() if part.pacing is not None])


class FleetEntry(Settled):
    """The number of a shard, or for a merged run (`shard` is None) the machines that played it."""

    plan: FixedPlan
    of: int
    shard: int | None = None
    plan_file: str = ""
    """The file that the plan was read from; empty where its options were given."""
    machines: dict[str, MachineEntry] = Field(default_factory=dict)
    """The machines by `machine_key`, as sessions name them."""
    pool_machines: bool = False
    """True if latencies of different machines are pooled, because the user asked for it."""

    @property
    def dealt(self) -> dict[int, tuple[str, ...]]:
        """The contexts of every shard that was merged."""
        return {part.shard: part.contexts for machine in self.machines.values() for part in machine.parts.values()}

    @property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """Kind of machine → the ids of the machines of that kind, both in order."""
        found: dict[str, tuple[str, ...]] = {}
        for name, entry in sorted(self.machines.items(), key=lambda item: (kind_of(item[1].facts), item[0])):
            kind = kind_of(entry.facts)
            found[kind] = (*found.get(kind, ()), name)
        return found

    @property
    def apart(self) -> bool:
        """True if latencies of this run must not be pooled."""
        return len(self.kinds) > 1 and not self.pool_machines


def kind_of(facts: Facts) -> str:
    """The kind of a machine, in words: `Xeon, 8 cores, AVX2`."""
    cores = facts.get("cores")
    words = [str(facts.get("processor") or "processor not known"), f"{cores} cores" if cores is not None else "cores not known"]
    held = facts.get("recogniser_held_to")
    words += [str(facts.get("instruction_sets") or "instruction sets not known"), *([f"limited to {held}"] if held else [])]
    words += [str(gpus)] if (gpus := facts.get("gpus")) else []
    return ", ".join(words)


def machine_key(machine_id: str, facts: Facts) -> str:
    """The name of a machine in a merged run. One whose shards had different numbers of cores counts as several."""
    return hashlib.sha256(f"{machine_id}|{kind_of(facts)}".encode()).hexdigest()[:16]


def in_common(each: Iterable[Facts]) -> dict[str, str | int | float]:
    """The facts that all machines share."""
    first, *rest = each
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in rest)}


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")


def _values(mine: object, its: object, here: str, there: str) -> str:
    if any(isinstance(value, str) and len(value) >= LONG_AS_A_HASH for value in (mine, its)):
        return f"is not the same {here} and {there}"
    return f"is {shown(mine)} {here} and {shown(its)} {there}"
