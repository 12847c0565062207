"""The record of an unchanged agent at the gate: `python -m tests.gate_record FOLDER [--times 100] [--write]`.

An agent that does not change should not change its verdict. The demo's echo bot is checked again and again over the same twelve
conversations, against three limits: one far from its figures, one on the share of turns within its own median, where a gate
without intervals would flap every second time, and one on pauses cut. A *flap* is a pass after a fail or a fail after a pass,
also with undecided checks between them. Disturbed calls are not played again, so that a check has one length on any machine.
The conversations are those of `heart-open` with the shortest calls and a pause inside their last turn, so that a night is
enough. Each result is on the disk when its check ends; the same command goes on after the last of them.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import yaml

from harness.gate.attainable import trials
from harness.gate.budgets import Limit
from harness.run.plan import lasting_s
from harness.scenarios.context import Context
from harness.scenarios.pack import load_pack
from harness.store.manifest import machine_facts

PAGE: Final = Path(__file__).parents[1] / "docs" / "evidence" / "gate-record.md"
RECORD: Final = re.compile(r"(?<=<!-- record -->\n).*?(?=<!-- /record -->)", re.DOTALL)
WAIT_MS: Final = 2_500
"""The bot's silence, as the demo has it."""
OWN_MEDIAN_MS: Final = 2_510
"""About the bot's median: its silence, and the way of the sound."""
CONVERSATIONS: Final = 12
PACK: Final = Path("twelve.yaml")
HARNESS: Final = (sys.executable, "-m", "harness")
LIMITS: Final = f"""\
schema: 1
budgets_ms: {{ttfa: {OWN_MEDIAN_MS}}}
limits:
  - {{figure: ttfa_ms.p50, at_most: 3000}}
  - {{figure: within_budget.ttfa, at_least: 0.5}}
  - {{figure: pauses_cut_share, at_most: 0.75}}
"""


def prepare(folder: Path) -> None:
    """Write the bot, its limits and its conversations, unless they are there."""
    if (folder / PACK).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([*HARNESS, "init", "demo", "--kind", "demo", "--ci", "none"], cwd=folder, check=True, capture_output=True)
    bot = folder / "demo" / "echo_bot.py"
    bot.write_text(re.sub(r"(?m)^WAIT_MS = .*$", f"WAIT_MS = {WAIT_MS}", bot.read_text(encoding="utf-8")), encoding="utf-8")
    (folder / "limits.yaml").write_text(LIMITS, encoding="utf-8")
    pack = load_pack("heart-open")
    paused = [context for context in pack.contexts if inner_pauses(context)]
    short = {context.id for context in sorted(paused, key=lambda context: lasting_s(context, pack, "seeded"))[:CONVERSATIONS]}
    texts = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(pack.path.glob("*.yaml"))]
    chosen = [one for text in texts for one in text["contexts"] if one["id"] in short]
    (folder / PACK).write_text(yaml.safe_dump({**texts[0], "pack": PACK.stem, "contexts": chosen}), encoding="utf-8")


def inner_pauses(context: Context) -> float:
    """The number of inner pauses of the caller's last turn."""
    of = trials(Limit(figure="pauses_cut_share", at_most=0.75), [context], "seeded")
    return 0.0 if of is None else float(of.sum())


def checks(times: int, folder: Path) -> list[dict[str, Any]]:
    """The results of `times` checks in a row, as `check --json` prints them, with their minutes and date."""
    results = folder / "results.jsonl"
    found = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()] if results.exists() else []
    for number in range(len(found), times):
        shutil.rmtree(folder / "run", ignore_errors=True)
        begun_s = time.monotonic()
        done = subprocess.run(
            [*HARNESS, "check", "--agent", "demo/echo_bot.toml", "--pack", PACK.name, "--concurrency", str(CONVERSATIONS),
             "--judge", "none", "--budgets", "limits.yaml", "--out", "run", "--json"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not done.stdout:
            raise RuntimeError(done.stderr)
        minutes, date = (time.monotonic() - begun_s) / 60, str(datetime.now(UTC).date())
        found.append({**json.loads(done.stdout), "minutes": minutes, "date": date})
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found[-1]) + "\n")
        said = ", ".join(f"{row['figure']} {row['value']} {row['verdict']}" for row in found[-1]["limits"])
        print(f"{number + 1}/{times} {found[-1]['verdict']} in {minutes:.1f} min: {said}", flush=True)
    return found


def table(found: Sequence[dict[str, Any]]) -> str:
    """Markdown: for each limit its verdicts, its flaps, and the range of its figure."""
    facts = machine_facts()
    minutes = sorted(one["minutes"] for one in found)
    lines = [
        f"{len(found)} checks in a row of the demo's echo bot, {found[0]['conversations']} conversations each, twelve calls at "
        f"once, {found[-1]['date']}, on {facts['processor']}, {facts['cores']} cores; "
        f"{minutes[len(minutes) // 2]:.1f} min each (median). Invalid runs: {sum(bool(one['invalid']) for one in found)}.",
        "",
        "| limit | pass | fail | cannot tell | flaps | figure from … to |",
        "|---|---|---|---|---|---|",
    ]
    for k, row in enumerate(found[0]["limits"]):
        verdicts = [one["limits"][k]["verdict"] for one in found]
        values = [one["limits"][k]["value"] for one in found if one["limits"][k]["value"] is not None]
        counts = Counter(verdicts)
        flaps = sum(a != b for a, b in pairwise(verdict for verdict in verdicts if verdict != "cannot tell"))
        ((comparison, bound),) = row["limit"].items()
        span = f"{min(values):.4g} to {max(values):.4g}" if values else "–"
        lines.append(
            f"| {row['figure']} {comparison.replace('_', ' ')} {bound:g} | {counts['pass']} | {counts['fail']} | "
            f"{counts['cannot tell']} | {flaps} | {span} |"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description="The record of an unchanged agent at the gate.")
    parser.add_argument("folder", type=Path, help="for the results; the same folder goes on with them")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--write", action="store_true", help="write the table into docs/evidence/gate-record.md")
    given = parser.parse_args()
    prepare(given.folder)
    found = table(checks(given.times, given.folder))
    print(found)
    if given.write:
        PAGE.write_text(RECORD.sub(lambda _: found, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
