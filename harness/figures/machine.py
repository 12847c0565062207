"""The machine that a run's agents computed on, and its GPUs, shown beside every latency that was measured there.

The same agent on the same weights answers sooner where the processor has an instruction for its arithmetic, or more threads
share the work. An agent that runs elsewhere is not described by this machine.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from harness.store.fleet import Facts
from harness.store.machine_facts import OFTEN, GpuUse
from harness.store.manifest import AgentEntry, RunManifest
from harness.wording import counted

_NOT_KNOWN = "not known"


class MachineSummary(BaseModel):
    """The machine of a run, and the agents that ran on it; None where an older run does not state it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    processor: str | None = None
    cores: int | None = None
    instruction_sets: str | None = None
    recogniser_held_to: str | None = None
    """`CT2_FORCE_CPU_ISA`, where it was set."""
    gpus: str | None = None
    """The names of its NVIDIA GPUs; None where there were none, or none was seen."""
    machines: int = 1
    """Machines of this kind; more than one only in a merged run."""
    threads: dict[str, dict[str, int]] = Field(default_factory=dict)
    """Agent that ran here → part → threads; empty for a user's own agent, whose threads are not known."""

    def renamed(self, name_of: Callable[[str], str]) -> "MachineSummary":
        """The same summary with the agents under other names."""
        return self.model_copy(update={"threads": {name_of(name): parts for name, parts in self.threads.items()}})

    @property
    def words(self) -> str:
        """The machine and the threads on one line."""
        facts = [self.processor or "a processor that is not known"]
        if self.cores is not None:
            facts.append(counted(self.cores, "core"))
        facts.append(self.instruction_sets or "instruction sets not known")
        if self.gpus:
            facts.append(self.gpus)
        if self.machines > 1:
            facts.append(f"{self.machines} machines alike")
        if self.recogniser_held_to:
            facts.append(f"recogniser limited to {self.recogniser_held_to}")
        alike: dict[str, list[str]] = defaultdict(list)
        for name, parts in self.threads.items():
            alike[thread_words(parts)].append(name)
        return "; ".join([", ".join(facts), *(f"threads of {', '.join(names)}: {words}" for words, names in alike.items())])


def thread_words(parts: dict[str, int]) -> str:
    """`recogniser 2, model 2`."""
    return ", ".join(f"{part} {count}" for part, count in parts.items()) or _NOT_KNOWN


def machine_of(manifest: RunManifest) -> MachineSummary | None:
    """The machine of a run's local agents; None where all ran elsewhere. For several machines, the facts that they share."""
    return _summary(manifest, manifest.machine, len(manifest.fleet.machines) if manifest.fleet is not None else 1)


def machines_of(manifest: RunManifest) -> list[MachineSummary]:
    """The machines of a run's local agents, one for each kind of machine; empty where all ran elsewhere."""
    fleet = manifest.fleet
    if fleet is None or not fleet.machines:
        found = [machine_of(manifest)]
    else:
        found = [_summary(manifest, fleet.machines[names[0]].facts, len(names)) for names in fleet.kinds.values()]
    return [machine for machine in found if machine is not None]


def _summary(manifest: RunManifest, facts: Facts, machines: int) -> MachineSummary | None:
    local = {agent.name: agent.threads for agent in manifest.agents if ran_here(agent)}
    if not local:
        return None
    cores = facts.get("cores")
    return MachineSummary(
        processor=_text(facts.get("processor")),
        cores=cores if isinstance(cores, int) else None,
        instruction_sets=_text(facts.get("instruction_sets")),
        recogniser_held_to=_text(facts.get("recogniser_held_to")),
        gpus=_text(facts.get("gpus")),
        machines=max(1, machines),
        threads=local,
    )


def ran_here(agent: AgentEntry) -> bool:
    """True if its latency is this machine's; in a run that does not state it, True for the cascades that ship."""
    return agent.kind == "cascade" if agent.runs_here is None else agent.runs_here


def _text(fact: str | float | None) -> str | None:
    return None if fact is None or fact == "" else str(fact)


_CAUSES: Final[Mapping[str, str]] = {
    "heat": "for heat",
    "power": "by its power cap or supply",
    "hardware": "by its hardware, for heat or power",
}


def clock_sentences(cards: Mapping[str, GpuUse]) -> tuple[str, ...]:
    """One sentence for each GPU whose clock was not one clock under load; empty if all were."""
    return tuple(f"{name}: {'; '.join(parts)}." for name, use in cards.items() if (parts := list(_clock_parts(use))))


def sharing_sentences(cards: Mapping[str, GpuUse]) -> tuple[str, ...]:
    """One sentence for each GPU that programs of no agent used too."""
    return tuple(
        f"{name}: programs of no agent used it in {use.others_share * 100:.0f} % of the samples."
        for name, use in cards.items()
        if use.others_share is not None and use.others_share > OFTEN
    )


def _clock_parts(use: GpuUse) -> Iterator[str]:
    if use.clock_range_mhz is not None:
        high, low = use.clock_range_mhz
        way = "fell" if use.sm_clock_mhz.index(high) < use.sm_clock_mhz.index(low) else "rose"
        first, second = (high, low) if way == "fell" else (low, high)
        yield f"under load its SM clock {way} from {first:,.0f} to {second:,.0f} MHz (medians of tenths of the load)"
    slowed = [f"{_CAUSES[cause]} in {share * 100:.0f} %" for cause, share in use.slowed.items() if share > OFTEN]
    if slowed:
        to = ""
        if use.slowed_sm_clock_mhz is not None:
            low, high = use.slowed_sm_clock_mhz
            to = f", to {low:,.0f} MHz of {high:,.0f} in the median"
        yield f"the driver lowered its clock {', '.join(slowed)} of {use.loaded:,} samples under load{to}"
