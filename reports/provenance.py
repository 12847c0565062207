"""The provenance of a run as pairs of words for the page and every export: plan, seeds, versions, machine, pacing."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from harness.figures import rated_on
from harness.figures.machine import ran_here, thread_words
from harness.reports.shown_runs import Part
from harness.store.manifest import PEOPLE, REHEARSAL, RunManifest
from harness.wording import UNKNOWN_TEXT, milliseconds, when

Fact = tuple[str, str]
ESSENTIAL: Final = ("Played", "Pack", "Mode", "Line conditions", "Repeats", "Callers at once", "Replies rated", "Budgets")
"""Names of the facts that a reader needs to understand a figure; the others are for whoever plays the run again."""
_SEATED: Final = {
    PEOPLE: "people, who answered the callers after the run was played, in browsers of their own",
    REHEARSAL: "programs in people's place, after the run was played: a rehearsal",
}
_UNITS: Final = {"_ms": "ms", "_gib": "GiB"}
"""Ending of a stored name → its unit."""
_INITIALS: Final = frozenset({"ttfa", "ttft"})
_LONG_HASH = re.compile(r"\b([0-9a-f]{16})[0-9a-f]{48}\b")


def provenance(parts: Sequence[Part]) -> tuple[Fact, ...]:
    """The facts that another person needs to reproduce the numbers, or to see why they cannot be trusted.

    For several runs, a fact appears once if it is the same in all, otherwise once per run. What is known of none is left out.
    """
    facts = {part.label: dict(_facts(part)) for part in parts}
    found: list[Fact] = []
    for name in dict.fromkeys(name for known in facts.values() for name in known):
        values = {label: known[name] for label, known in facts.items() if name in known}
        if set(values.values()) == {UNKNOWN_TEXT}:
            continue
        if len(set(values.values())) == 1:
            found.append((name, next(iter(values.values()))))
        else:
            found += [(f"{name} ({label})", value) for label, value in values.items()]
    return tuple(found)


def essential(facts: Sequence[Fact]) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """The facts that a reader needs, and the others; of several runs a name has its run in brackets."""
    needed = [fact for fact in facts if fact[0].partition(" (")[0] in ESSENTIAL]
    return tuple(needed), tuple(fact for fact in facts if fact not in needed)


def transcriber_of(part: Part) -> str | None:
    """The transcriber of the judged replies; None if nothing was transcribed."""
    return rated_on.transcriber_of(part.store.manifest, part.sessions)


def _facts(part: Part) -> tuple[Fact, ...]:
    manifest, summary = part.store.manifest, part.summary
    pacing, calibration = manifest.pacing, summary.calibration or manifest.calibration
    facts: list[Fact] = [
        ("Played", when(manifest.created))
        if manifest.replies is None
        else ("Imported", f"{when(manifest.created)}, from {manifest.replies.source}"),
        ("Pack", f"{manifest.pack} ({manifest.pack_hash[:12]})"),
        ("Mode", manifest.mode),
        ("Line conditions", ", ".join(manifest.conditions) or UNKNOWN_TEXT),
        ("Repeats", str(manifest.repeats)),
        ("Callers at once", str(manifest.concurrency)),
        ("Seed", str(manifest.seed)),
        ("Budgets", _pairs({name.upper(): milliseconds(value) for name, value in _budgets_ms(manifest).items()})),
        (
            "Pacing",
            f"p99 error {pacing.p99_error_ms:.2f} ms, worst {pacing.max_error_ms:.2f} ms over {pacing.frames:,} frames"
            + (f"; {pacing.realtime_ratio:.4f}× real time" if pacing.realtime_ratio is not None else "")
            if pacing is not None
            else UNKNOWN_TEXT,
        ),
        ("Calibration", _pairs(calibration, stored=True) if calibration else _not_calibrated(manifest)),
        ("Replies rated", _rated(part)),
        ("Transcriber", transcriber_of(part) or UNKNOWN_TEXT),
        ("Caller voices", _pairs({} if _is_text(manifest) else manifest.voices)),
        ("Machine", _pairs(manifest.machine, stored=True)),
        ("Versions", _pairs(manifest.versions)),
        ("Weights", _pairs({name: _LONG_HASH.sub(r"\1…", value) for name, value in manifest.models.items()})),
        ("Idle CPU of agents", _pairs({name: f"{value:.1f} %" for name, value in manifest.idle_cpu_percent.items()})),
    ]
    facts += [
        (
            f"Agent {agent.name}",
            f"{agent.kind}, model family {agent.family or UNKNOWN_TEXT}, profile {agent.profile_hash[:12]}, "
            + (f"here, threads: {thread_words(agent.threads)}" if ran_here(agent) else "not known to have run here"),
        )
        for agent in manifest.played
    ]
    facts += [(f"Supporter's seat: {name}", _SEATED[name]) for name in sorted(manifest.seated)]
    return tuple(facts)


def _is_text(manifest: RunManifest) -> bool:
    """True if every agent reads and writes: then no caller has a voice, and nobody waits for a first sound."""
    return bool(manifest.played) and all(agent.kind == "text" for agent in manifest.played)


def _budgets_ms(manifest: RunManifest) -> Mapping[str, float]:
    return {name: value for name, value in manifest.budgets_ms.items() if not (_is_text(manifest) and name == "ttfa")}


def _rated(part: Part) -> str:
    found = (part.summary.board(condition) for condition in part.summary.conditions)
    return "; ".join(dict.fromkeys(board.reads for board in found if board is not None and board.reads)) or UNKNOWN_TEXT


def _not_calibrated(manifest: RunManifest) -> str:
    return f"not calibrated: {manifest.not_calibrated}" if manifest.not_calibrated else "not calibrated"


def _pairs(values: Mapping[str, object], *, stored: bool = False) -> str:
    """One line for each known value. `stored`: the names are of the store, and no agent's or conversation's."""
    known = [(name, value) for name, value in values.items() if value is not None]
    return "\n".join(_as_people_write(*one) if stored else f"{one[0]}: {one[1]}" for one in known) or UNKNOWN_TEXT


def _as_people_write(name: str, value: object) -> str:
    """`TTFA bias: 6.5 ms`, `memory: 23.5 GiB`, `trials: 16`: a stored fact with its unit after the figure."""
    ending, unit = next(((end, unit) for end, unit in _UNITS.items() if name.endswith(end)), ("", ""))
    words = " ".join(word.upper() if word in _INITIALS else word for word in name.removesuffix(ending).split("_"))
    if isinstance(value, float):
        return f"{words}: {value:,.1f} {unit}" if unit else f"{words}: {value:,.10g}"
    return f"{words}: {when(str(value)) if name == 'created' else value}{f' {unit}' if unit else ''}"
