"""What the runs of one page differ in, in plain words, and what each difference does to the figures.

Nothing here is a reason to refuse; every one is a reason why a gap between agents of two runs may not be the agents'.
"""

from collections.abc import Callable, Iterator, Sequence

from harness.steps import summary
from harness.store.judgment import is_rule
from harness.store.manifest import RunManifest
from harness.wording import milliseconds
from reports.shown_runs import Part


def differences(parts: Sequence[Part]) -> tuple[tuple[str, str], ...]:
    """(what, one sentence or two) for everything that is not the same in all runs."""
    return tuple(_differences(parts))


def _differences(parts: Sequence[Part]) -> Iterator[tuple[str, str]]:
    invalid = [p.label for p in parts if not p.summary.valid]
    if invalid and len(invalid) < len(parts):
        yield (
            "Validity",
            (f"{', '.join(invalid)}: invalid, so nothing of it may be quoted, nor compared with the other runs."),
        )
    manifests = {p.label: p.store.manifest for p in parts}
    timing = {p.label: _method(p) for p in parts}
    calibration = {p.label: _calibration(p) for p in parts}
    judges = {p.label: ", ".join(sorted({row.judge for row in p.judgments if not is_rule(row.judge)})) or "none" for p in parts}
    every: list[tuple[str, dict[str, str], str]] = [
        (what, {label: of(manifest) for label, manifest in manifests.items()}, why) for what, of, why in _FACTS
    ]
    every.append(("Timing method", timing, "Run `harness retime` on the older run to time both alike."))
    every.append(("Calibration", calibration, "Their figures are not equally exact."))
    every.append(("Judges", judges, "Only verdicts of judges that all judged runs share are ranked together."))
    for what, words, why in every:
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


def _machine(manifest: RunManifest) -> str:
    facts = manifest.machine
    return ", ".join(
        str(part)
        for part in (facts.get("processor"), f"{facts['cores']} cores" if "cores" in facts else None, facts.get("system"))
        if part
    ) or "unknown"  # fmt: skip


def _method(part: Part) -> str:
    return ", ".join(sorted({s.timing.method for s in part.sessions if s.timing is not None})) or "none"


def _calibration(part: Part) -> str:
    error = onset_error_ms(part)
    return "not calibrated" if error is None else f"onset within {milliseconds(error)}"


_FACTS: tuple[tuple[str, Callable[[RunManifest], str], str], ...] = (
    ("Pack", lambda m: f"{m.pack} {m.pack_hash[:8]}", "Only conversations that both hold are paired."),
    ("Line conditions", lambda m: ", ".join(m.conditions), "Agents heard their callers over different lines."),
    ("Machine", _machine, "A gap in latency between the runs may be the machines'."),
    ("Callers at once", lambda m: str(m.concurrency), "More callers at once make every agent slower."),
    ("Transcriber", lambda m: m.transcriber or "none", "Replies were judged as different ears heard them."),
    ("Voices", lambda m: ", ".join(m.voices.values()) or "none", "Agents heard different callers."),
    ("Harness", lambda m: m.harness_version, "Methods may have changed in between."),
)


def onset_error_ms(part: Part) -> float | None:
    """95th percentile of the onset error from the run's calibration; None where it was not calibrated."""
    return summary.onset_error_ms(part.summary.calibration or part.store.manifest.calibration)
