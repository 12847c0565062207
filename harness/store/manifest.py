"""Manifest of a run: the plan, the seeds, the versions, the machine, and the pacing.

It contains everything that another person needs to produce the numbers again, or to see why they cannot be trusted. No key
or secret has a field here; profiles are stored as `harness.agents.profile_plain` shows them.
"""

import hashlib
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, Literal

import psutil
from pydantic import BaseModel, ConfigDict, Field, field_validator

from harness.errors import UserError
from harness.experiment import BUDGET_MS, Experiment, Mode, of_an_older_harness
from harness.foreign_files import read_json
from harness.local_programs import versions_of_models
from harness.store.events import EventSettings
from harness.store.fleet import FleetEntry
from harness.store.load_part import LoadPart
from harness.store.machine_facts import GpuUse, Pacing

SCHEMA_VERSION = 1
OTHERS_OF_AN_OLDER_RUN: Final = tuple(f"others {verb} the processor that an agent needed" for verb in ("used", "held"))
PEOPLE: Final = "people"
REHEARSAL: Final = "rehearsal"
SEAT_KINDS: Final[Mapping[str, str]] = {"person": PEOPLE, "automatic": REHEARSAL}
"""Kind → agent, of the replies that were given in the supporter's seat after the run was played. What a program said there is
never under people's name."""
HARNESS: Final = "heart-voice-harness"
_REPORTED_PACKAGES = (HARNESS, "numpy", "scipy", "soxr", "websockets", "altair")
_OF_MODELS = (
    "pipecat-ai", "faster-whisper", "ctranslate2", "xllamacpp", "piper-tts", "hibari-tts", "onnxruntime", "onnxruntime-gpu",
)  # fmt: skip
"""Packages of the extra `local`: their versions are those of the Python that runs the models."""
_INSTRUCTION_SETS: Final[Mapping[str, frozenset[str]]] = {
    "AVX": frozenset({"avx"}),
    "AVX2": frozenset({"avx2"}),
    "AVX-512": frozenset({"avx512f"}),
    "VNNI": frozenset({"avx512_vnni", "avx_vnni"}),
    "AMX": frozenset({"amx_tile"}),
    "NEON": frozenset({"asimd"}),
    "dot product": frozenset({"asimddp"}),
    "i8mm": frozenset({"i8mm"}),
    "SVE": frozenset({"sve"}),
}
"""Instruction sets for which llama.cpp, CTranslate2 and onnxruntime have kernels, with Linux's names
(arch/x86/include/asm/cpufeatures.h, Documentation/arch/arm64/elf_hwcaps.rst)."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AgentEntry(_Model):
    """An agent of the run: its profile as it was, so that a later reader need not trust a name."""

    name: str
    source: str = ""
    """The agent as the user named it: a profile that ships, or a path."""
    kind: str
    profile_hash: str
    profile_text: str
    family: str | None = None
    runs_here: bool | None = None
    """True if it ran on the machine that the manifest describes; None where an older run does not state it."""
    threads: dict[str, int] = Field(default_factory=dict)
    """Threads of each part that computes on the processor, where known."""

    @property
    def seated(self) -> bool:
        """True for people, or programs in their place: no plan names them, and they ran on no machine of the run."""
        return self.kind in SEAT_KINDS


class MeasuredCalls(_Model):
    """The source of a run that was not played: recordings of calls that already happened."""

    source: str
    """The file or folder as the user named it."""
    callers: dict[str, Literal["left", "right"]] = Field(default_factory=dict)
    """Call → the caller's channel, where the user named it."""
    look_swapped: list[str] = Field(default_factory=list)
    """Calls in which the side that is named as the caller's sounds like a program, and the other does not."""
    other_language: dict[str, str] = Field(default_factory=dict)
    """Call → the language of its agent, where words were asked for and it is none that the transcriber writes."""


class ImportedReplies(_Model):
    """The source of a run that was not played: replies in a file."""

    source: str
    """The file as the user named it."""
    left_out: int = 0
    """Rows of it that are no reply of the run."""
    unanswered: dict[str, int] = Field(default_factory=dict)
    """Agent → the run's conversations to which the file has no reply of it; agents that have all are not in it."""
    timed: list[str] = Field(default_factory=list)
    """Agents whose latencies the file states; none of them was measured."""


class RunManifest(_Model):
    """The manifest of a run (see the module's docstring)."""

    schema_version: Literal[1] = 1
    created: str
    """ISO 8601, UTC."""
    harness_version: str
    pack: str
    pack_source: str
    """The pack as the user named it: a name that ships, or a path."""
    pack_hash: str
    context_ids: list[str]
    agents: list[AgentEntry]
    experiment: Experiment | None = None
    """None in a manifest of an older harness; `asked` gives it for both."""
    mode: Mode | Literal["recorded"]
    """`recorded`: nothing was played, see `calls`."""
    conditions: list[str]
    repeats: int
    seed: int
    concurrency: int = 1
    barge_in_ms: float | None = None
    calls: MeasuredCalls | None = None
    """Set for recordings of calls that already happened."""
    replies: ImportedReplies | None = None
    """Set for replies that were in a file; nothing was played."""
    load: LoadPart | None = None
    """Set for a load test, whose sessions have a step and no sound."""
    events: EventSettings | None = None
    """The sounds beside replies; dealt to calls from `seed`."""
    budgets_ms: dict[str, float] = Field(default_factory=lambda: {"ttft": BUDGET_MS, "ttfa": BUDGET_MS})
    machine: dict[str, str | int | float] = Field(default_factory=dict)
    """For a merged run the facts that all its machines share; each machine is in `fleet`."""
    machine_id: str = ""
    """Reveals nothing about the machine; it is equal for two runs on the same one."""
    fleet: FleetEntry | None = None
    """Set for a shard of a run, or a run merged from shards."""
    versions: dict[str, str] = Field(default_factory=dict)
    models: dict[str, str] = Field(default_factory=dict)
    """Weights used by the harness itself and by shipped agents: name → SHA-256 or path."""
    transcriber: str | None = None
    """The transcriber of the words that judges read as heard; None where nothing was transcribed or it was not stored."""
    voices: dict[str, str] = Field(default_factory=dict)
    caller_priority: str | None = None
    """The priority that the system granted the process that paces frames."""
    pacing: Pacing | None = None
    idle_cpu_percent: dict[str, float] = Field(default_factory=dict)
    """CPU of each agent's process group while it waited, in percent of one core; over 1 the run says so."""
    cards: dict[str, GpuUse] = Field(default_factory=dict)
    """The GPUs of the machine while agents were timed; in a merged run those of each shard."""
    invalid: list[str] = Field(default_factory=list)
    """Reasons why the run's figures must not be quoted; empty for a valid run. All are faults of the harness: others on the
    machine, whom an older run may name, widen the range of its figures and take none away."""
    calibration: dict[str, float | str | None] | None = None
    """The calibrated error of TTFA on this machine; `harness.calibrate` writes it."""
    not_calibrated: str = ""
    """Reason why a calibration failed; empty where there is one, or none was tried."""

    @field_validator("invalid")
    @classmethod
    def _without_others(cls, found: list[str]) -> list[str]:
        return [why for why in found if not why.startswith(OTHERS_OF_AN_OLDER_RUN)]

    @property
    def asked(self) -> Experiment:
        """The run's settings, with the number of contexts that it has now."""
        experiment = self.experiment or Experiment.model_validate(of_an_older_harness(self.model_dump()))
        return experiment.model_copy(update={"limit": len(self.planned_contexts)})

    @property
    def has_people(self) -> bool:
        """True if its sound is of people: calls that happened, or replies from the supporter's seat."""
        return self.calls is not None or any(agent.seated for agent in self.agents)

    @property
    def played(self) -> list[AgentEntry]:
        """The agents that the run was asked to play, without people in the supporter's seat."""
        return [agent for agent in self.agents if not agent.seated]

    @property
    def seated(self) -> frozenset[str]:
        """The names under which the supporter's seat has replies in this run."""
        return frozenset(agent.name for agent in self.agents if agent.seated)

    @property
    def id(self) -> str:
        """A name of the run that files about it can state: the same after `--resume` and with people's replies, another for
        every other run."""
        parts = (self.created, self.machine_id, str(self.seed), *(f"{a.name} {a.profile_hash}" for a in self.played))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    @property
    def planned_contexts(self) -> list[str]:
        """The contexts of the whole run that this is, or is a shard of, in its order: events are dealt among these."""
        return self.context_ids if self.fleet is None else list(self.fleet.plan.contexts)


def read_manifest(text: str, run: Path) -> RunManifest:
    """A manifest from the text in a store.

    Raises UserError: the text has a version that this harness does not read; ValueError: the text is no manifest.
    """
    given = read_json(text)
    stated = given.get("schema_version") if isinstance(given, dict) else None
    if isinstance(stated, int) and stated != SCHEMA_VERSION:
        raise UserError(
            f"{run}: its manifest has version {stated}, and this harness reads version {SCHEMA_VERSION}; "
            "read it with the harness that made it"
        )
    return RunManifest.model_validate(given)


def with_budgets(manifest: RunManifest, ttfa_ms: float | None, ttft_ms: float | None) -> RunManifest:
    """The same run with other budgets; None leaves one as it is. Measurements do not depend on them.

    Raises UserError: a budget under 1 ms.
    """
    given = {"budget_ttfa_ms": ttfa_ms, "budget_ttft_ms": ttft_ms}
    asked = manifest.asked.with_named({name: value for name, value in given.items() if value is not None})
    return manifest.model_copy(update={"experiment": asked, "budgets_ms": asked.budgets_ms})


def package_versions() -> dict[str, str]:
    """Versions of the packages whose behaviour affects the figures."""
    found: dict[str, str] = {}
    for name in _REPORTED_PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | versions_of_models(_OF_MODELS)


def machine_facts() -> dict[str, str | int | float]:
    """The machine, as far as its timing depends on it. No host or user name."""
    facts: dict[str, str | int | float] = {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0,
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
    }
    known = {"instruction_sets": instruction_sets(), "recogniser_held_to": os.environ.get("CT2_FORCE_CPU_ISA", "")}
    return facts | {name: value for name, value in known.items() if value}


def instruction_sets(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's instruction sets that models use, `AVX2, AVX-512, VNNI`; empty where the system does not state them
    (only Linux does, under its own names)."""
    flags = set(_cpuinfo("flags", cpuinfo).split()) or set(_cpuinfo("Features", cpuinfo).split())
    found = [name for name, of in _INSTRUCTION_SETS.items() if flags & of]
    return ", ".join(found) or ("none that models use" if flags else "")


def _processor_name() -> str:
    return _cpuinfo("model name", Path("/proc/cpuinfo")) or platform.processor() or platform.machine()


def _cpuinfo(field: str, path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as lines:
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(field)), "")
    except OSError:
        return ""
