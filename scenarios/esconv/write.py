"""The complete build, from a path to a folder: a pack that `load_pack` reads, the report, and the removals for a person to
review. Reading comes before writing, so that a wrong path leaves nothing behind.

The bytes depend only on the contexts and the report, so that two builds can be compared with a checksum.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.files import write_whole
from harness.printable import visible_json
from harness.scenarios.adversarial.rewrite import PER_PROFILE, rewrite_set
from harness.scenarios.adversarial.validate import PROFILES
from harness.scenarios.context import Context
from harness.scenarios.esconv.build import REGULAR, BuildReport, build
from harness.scenarios.esconv.read import EsconvError, read_esconv
from harness.scenarios.imports.imported import pack_text
from harness.scenarios.llm import Complete
from harness.scenarios.pause_law import PauseLaw
from harness.scenarios.people_pauses import paused_contexts
from harness.scenarios.screens import Finding
from harness.scenarios.screens.second import second_screen


def report_json(
    report: BuildReport, contexts: tuple[Context, ...], problems: tuple[str, ...], law: PauseLaw | None = None
) -> dict[str, Any]:
    """The object that `harness scenarios build --json` prints."""
    adversarial = sum(context.subset == "adversarial" for context in contexts)
    return {
        "schema": 1,
        "items": len(contexts),
        "regular": len(contexts) - adversarial,
        "adversarial": adversarial,
        "cells": report.cells,
        "removed": report.removed,
        "problems": list(problems),
        "model_quality": "not measured here",
        "steps": report.steps,
        "second_screen": report.second_screen,
        "pauses": None if law is None else {"law": law.name, "source": law.source},
    }


def write_build(
    contexts: tuple[Context, ...],
    report: BuildReport,
    out: Path,
    problems: tuple[str, ...] = (),
    law: PauseLaw | None = None,
) -> tuple[Path, dict[str, Any]]:
    """Write `esconv.yaml`, `report.json` and `removed.jsonl` into `out`, a new or existing folder; returns pack and report."""
    out.mkdir(parents=True, exist_ok=True)
    about = "Built from ESConv as the user has it. Its licence is for research; this file is not to be passed on."
    counts = report_json(report, contexts, problems, law)
    pack = out / "esconv.yaml"
    write_whole(pack, pack_text("esconv", about, contexts, law))
    write_whole(out / "report.json", visible_json(json.dumps(counts, indent=1, ensure_ascii=False)) + "\n")
    rows = (visible_json(json.dumps(asdict(removal), ensure_ascii=False)) + "\n" for removal in report.removals)
    write_whole(out / "removed.jsonl", "".join(rows))
    return pack, counts


def build_to(
    path: Path,
    out: Path,
    *,
    regular: int = REGULAR,
    adversarial_per_profile: int = PER_PROFILE,
    seed: int = 0,
    complete: Complete | None = None,
    pauses: PauseLaw | None = None,
    phase: Callable[[str, int | None], None] = lambda _what, _steps: None,
    step: Callable[[str], None] = lambda _line: None,
) -> tuple[Path, dict[str, Any]]:
    """Run `harness scenarios build esconv PATH --out DIR`: read, screen, choose, rewrite, check, write.

    Without `complete` (a model, `harness.scenarios.llm`) there is no second screen and no adversarial item, and the report says
    so. `pauses` is the law of the pauses to mark in seekers' turns, from the same seed; None marks none. Returns the path of
    the pack and the report. `phase` is called with the number of steps (None: unknown), `step` at each of them.
    Raises `EsconvError` before anything is written when `path` is not ESConv or `out` cannot be a folder.
    """
    if out.exists() and not out.is_dir():
        raise EsconvError(f"{out}: is a file; give a folder for the built set")
    dialogues = read_esconv(path)
    phase(f"Screening {len(dialogues)} dialogues", None)
    second = None
    if complete is not None:
        screen = second_screen(complete)

        def second(context: Context) -> tuple[Finding, ...]:
            found = screen(context)
            step(f"{context.id}: {found[0].reason if found else 'fit'}")
            return found

    built = build(dialogues, regular=regular, seed=seed, second=second)
    problems: list[str] = []
    if len(built.contexts) < regular:
        problems.append(f"{len(built.contexts)} regular items, {regular} were asked for: the screens leave no more")
    contexts = built.contexts
    if complete is None:
        problems.append("no adversarial items: they need a model to rewrite seeker turns")
    else:
        phase("Rewriting to escalation profiles", adversarial_per_profile * len(PROFILES))
        done, failed = rewrite_set(
            built.contexts,
            complete,
            per_profile=adversarial_per_profile,
            seed=seed,
            progress=lambda profile, kept: step(f"{profile}: {kept}"),
        )
        contexts += tuple(item.context for item in done)
        problems += [f"{f.id}, {f.profile}: not rewritten: {'; '.join(f.faults)}" for f in failed]
    if pauses is not None:
        contexts = paused_contexts(contexts, seed, law=pauses)
    return write_build(contexts, built.report, out, tuple(problems), pauses)
