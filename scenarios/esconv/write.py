"""The built set on disk: a pack that `load_pack` reads, the report, and the list of removals for a person to review.

The bytes depend only on the contexts and the report, so that two builds can be compared with a checksum.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from harness.files import write_whole
from harness.printable import visible_json
from harness.scenarios.context import Context
from harness.scenarios.esconv.build import BuildReport
from harness.scenarios.pause_law import PauseLaw


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, _data: Any) -> bool:
        return True


def pack_text(name: str, about: str, contexts: tuple[Context, ...], law: PauseLaw | None = None) -> str:
    """The YAML of a pack: keys in the order of the type, defaults left out. `law`: the law of its drawn pauses."""
    rows = [context.model_dump(mode="json", exclude_defaults=True) for context in contexts]
    head = {"pack": name, "about": about, **({"pauses": law.name} if law else {}), "contexts": rows}
    return yaml.dump(head, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


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
    told = report_json(report, contexts, problems, law)
    pack = out / "esconv.yaml"
    write_whole(pack, pack_text("esconv", about, contexts, law))
    write_whole(out / "report.json", visible_json(json.dumps(told, indent=1, ensure_ascii=False)) + "\n")
    rows = (visible_json(json.dumps(asdict(removal), ensure_ascii=False)) + "\n" for removal in report.removals)
    write_whole(out / "removed.jsonl", "".join(rows))
    return pack, told
