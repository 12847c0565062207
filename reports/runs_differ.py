"""The differences between the runs of one page, in plain words, with their effect on the figures.

None of these is a reason to refuse; each may explain a gap between agents of two runs.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from harness.figures.circumstances import OnsetError, onset_error
from harness.figures.machine import MachineSummary, machine_of, thread_words
from harness.reports.provenance import transcriber_of
from harness.reports.shown_runs import Part
from harness.store.judgment import is_rule
from harness.store.manifest import RunManifest
from harness.wording import counted


def differences(parts: Sequence[Part]) -> tuple[tuple[str, str], ...]:
    """(topic, one or two sentences) for everything that is not the same in all runs."""
    return tuple(_differences(parts))


def _differences(parts: Sequence[Part]) -> Iterator[tuple[str, str]]:
    invalid = [p.label for p in parts if not p.summary.valid]
    if invalid and len(invalid) < len(parts):
        yield (
            "Validity",
            (f"{', '.join(invalid)}: invalid, so nothing of it may be quoted, nor compared with the other runs."),
        )
    manifests = {p.label: p.store.manifest for p in parts}
    yield from _machines(manifests)
    for what, of, why in _FACTS:
        words = {p.label: of(p) for p in parts}
        if len(set(words.values())) > 1:
            yield what, "; ".join(f"{label}: {value}" for label, value in words.items()) + f". {why}"
    ids = [set(m.context_ids) for m in manifests.values()]
    shared, played = set.intersection(*ids), set.union(*ids)
    if shared != played:
        yield (
            "Conversations",
            (
                f"{len(shared)} of {len(played)} are in all runs. Each agent's figures are over the conversations of its own "
                "run; paired differences are over shared ones."
            ),
        )


def _machines(manifests: Mapping[str, RunManifest]) -> Iterator[tuple[str, str]]:
    """One sentence on differences of the machines; the machine of a run without local agents is not compared."""
    local = {label: (machine, manifests[label]) for label in manifests if (machine := machine_of(manifests[label]))}
    differ = []
    for what, of in _MACHINE_FACTS:
        words = {label: of(machine, manifest) for label, (machine, manifest) in local.items()}
        if len({value for value in words.values() if value}) > 1:
            differ.append(f"{what}: " + "; ".join(f"{label}: {value or 'not known'}" for label, value in words.items()))
    if differ:
        yield "Machine", ". ".join(differ) + ". A gap in latency between the runs may be the machines'."


def _threads(machine: MachineSummary) -> str:
    known = sorted({thread_words(parts) for parts in machine.threads.values() if parts})
    return " and ".join(known)


def _method(part: Part) -> str:
    return ", ".join(sorted({s.timing.method for s in part.sessions if s.timing is not None})) or "none"


def _judges(part: Part) -> str:
    found = {row.judge for row in part.every_verdict() if row.source == "judge" and not is_rule(row.judge)}
    return ", ".join(sorted(found)) or "none"


def _voices(part: Part) -> str:
    speakers = Counter(part.store.manifest.voices.values())
    return ", ".join(f"{name} {count} times" if count > 1 else name for name, count in sorted(speakers.items())) or "none"


def _calibration(part: Part) -> str:
    error = onset_error_of(part)
    return "not calibrated" if error is None else f"onset within {error.words}"


_MACHINE_FACTS: tuple[tuple[str, Callable[[MachineSummary, RunManifest], str]], ...] = (
    ("Processor", lambda machine, _: machine.processor or ""),
    ("Cores", lambda machine, _: counted(machine.cores, "core") if machine.cores is not None else ""),
    ("Instruction sets", lambda machine, _: machine.instruction_sets or ""),
    ("Recogniser limited to", lambda machine, _: machine.recogniser_held_to or ("nothing" if machine.instruction_sets else "")),
    ("GPUs", lambda machine, _: machine.gpus or ("none seen" if machine.instruction_sets else "")),
    ("GPU driver", lambda _, manifest: str(manifest.machine.get("gpu_driver", ""))),
    ("Threads", lambda machine, _: _threads(machine)),
    ("System", lambda _, manifest: str(manifest.machine.get("system", ""))),
)

_FACTS: tuple[tuple[str, Callable[[Part], str], str], ...] = (
    (
        "Pack",
        lambda p: f"{p.store.manifest.pack} {p.store.manifest.pack_hash[:8]}",
        "Only conversations that both hold are paired.",
    ),
    ("Line conditions", lambda p: ", ".join(p.store.manifest.conditions), "Agents heard their callers over different lines."),
    ("Callers at once", lambda p: str(p.store.manifest.concurrency), "More callers at once make every agent slower."),
    ("Voices", _voices, "Agents heard different callers."),
    ("Harness", lambda p: p.store.manifest.harness_version, "Methods may have changed in between."),
    ("Timing method", _method, "Run `harness measure` on the older run to time both alike."),
    ("Calibration", _calibration, "Their figures are not equally exact."),
    ("Transcriber", lambda p: transcriber_of(p) or "none", "Replies were judged as different ears heard them."),
    ("Judges", _judges, "Only verdicts of judges that all judged runs share are ranked together."),
)


def onset_error_of(part: Part) -> OnsetError | None:
    """The measurement error of the run's TTFA; None if it was not calibrated."""
    return onset_error(part.summary.calibration or part.store.manifest.calibration)
