"""The record of an unchanged agent at the gate: `python -m tests.gate_record [--times 100] [--write]`.

An agent that does not change should not change its verdict. The demo's echo bot is checked again and again over the same twelve
conversations, against three limits: one far from its figures, one on the share of turns within its own median, where a gate
without intervals would flap every second time, and one on pauses cut. A *flap* is a pass after a fail or a fail after a pass.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from harness.store.manifest import machine_facts

PAGE: Final = Path(__file__).parents[1] / "docs" / "gate.md"
RECORD: Final = re.compile(r"(?<=<!-- record -->\n).*?(?=<!-- /record -->)", re.DOTALL)
WAIT_MS: Final = 1_200
OWN_MEDIAN_MS: Final = 1_230
"""About the bot's median: its silence, and the way of the sound."""
LIMITS: Final = f"""\
schema: 1
budgets_ms: {{ttfa: {OWN_MEDIAN_MS}}}
limits:
  - {{figure: ttfa_ms.p50, at_most: 1500}}
  - {{figure: within_budget.ttfa, at_least: 0.5}}
  - {{figure: pauses_cut_share, at_most: 0.75}}
"""


def checks(times: int, folder: Path) -> list[dict[str, Any]]:
    """The results of `times` checks in a row, as `check --json` prints them, with their minutes."""
    harness = [sys.executable, "-m", "harness"]
    subprocess.run([*harness, "init", "demo", "--kind", "demo", "--ci", "none"], cwd=folder, check=True, capture_output=True)
    bot = folder / "demo" / "echo_bot.py"
    bot.write_text(re.sub(r"(?m)^WAIT_MS = .*$", f"WAIT_MS = {WAIT_MS}", bot.read_text(encoding="utf-8")), encoding="utf-8")
    (folder / "limits.yaml").write_text(LIMITS, encoding="utf-8")
    found = []
    for number in range(times):
        begun_s = time.monotonic()
        done = subprocess.run(
            [*harness, "check", "--agent", "demo/echo_bot.toml", "--pack", "heart-mini", "--concurrency", "12",
             "--judge", "none", "--budgets", "limits.yaml", "--out", f"runs/{number}", "--json"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not done.stdout:
            raise RuntimeError(done.stderr)
        found.append({**json.loads(done.stdout), "minutes": (time.monotonic() - begun_s) / 60})
        said = ", ".join(f"{row['limit']} {row['value']} {row['verdict']}" for row in found[-1]["limits"])
        print(f"{number + 1}/{times} {found[-1]['verdict']} in {found[-1]['minutes']:.1f} min: {said}", flush=True)
    return found


def table(found: Sequence[dict[str, Any]]) -> str:
    """Markdown: for each limit its verdicts, its flaps, and the range of its figure."""
    facts = machine_facts()
    minutes = sorted(one["minutes"] for one in found)
    lines = [
        f"{len(found)} checks in a row of the demo's echo bot, {found[0]['conversations']} conversations each, twelve calls at "
        f"once, {datetime.now(UTC).date()}, on {facts['processor']}, {facts['cores']} cores; "
        f"{minutes[len(minutes) // 2]:.1f} min each (median). Invalid runs: {sum(bool(one['invalid']) for one in found)}.",
        "",
        "| limit | pass | fail | cannot tell | flaps | figure from … to |",
        "|---|---|---|---|---|---|",
    ]
    for k, row in enumerate(found[0]["limits"]):
        verdicts = [one["limits"][k]["verdict"] for one in found]
        values = [one["limits"][k]["value"] for one in found if one["limits"][k]["value"] is not None]
        counts = Counter(verdicts)
        flaps = sum({a, b} == {"pass", "fail"} for a, b in pairwise(verdicts))
        ((comparison, bound),) = row["limit"].items()
        span = f"{min(values):.4g} to {max(values):.4g}" if values else "–"
        lines.append(
            f"| {row['figure']} {comparison.replace('_', ' ')} {bound:g} | {counts['pass']} | {counts['fail']} | "
            f"{counts['cannot tell']} | {flaps} | {span} |"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description="The record of an unchanged agent at the gate.")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--write", action="store_true", help="write the table into docs/gate.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gate-record-") as folder:
        found = table(checks(given.times, Path(folder)))
    print(found)
    if given.write:
        PAGE.write_text(RECORD.sub(lambda _: found, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
