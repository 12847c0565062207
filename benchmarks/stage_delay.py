"""Does the waterfall tell the truth? `python benchmarks/stage_delay.py [repeats]`

`baseline` is played beside copies of itself in which one stage waits 200 ms longer, in one run, in random order. The bar of
that stage must grow by 200 ms, and no other bar may move. Medians, because a stage on a shared machine has outliers.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from harness.agents.profile import load_profile
from harness.store.run_store import RunStore

DELAY_MS = 200
DELAYED = {"asr": "asr", "llm": "llm", "tts": "tts"}
"""Setting of `[cascade.delays]` → stage of the waterfall."""
PACK = """
pack: one-turn
source: benchmark
licence: Apache-2.0
contexts:
  - id: one
    subset: regular
    emotion: sadness
    problem: moving away
    turns:
      - {role: seeker, text: "I moved here for the job, and now I eat my dinner alone every single night."}
"""


def main() -> None:
    """Play, then print one line a stage: its median in the plain profile, and how far each delay moved it."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    plain = load_profile("baseline").shown_text.replace('name = "baseline"', "").replace("max_tokens = 60", "max_tokens = 12")
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        (there / "pack.yaml").write_text(PACK)
        names = ["plain", *DELAYED]
        for name in names:
            delay = f"\n[cascade.delays]\n{name}_ms = {DELAY_MS}\n" if name in DELAYED else ""
            (there / f"{name}.toml").write_text(plain + delay)
        agents = [part for name in names for part in ("--agent", str(there / f"{name}.toml"))]
        command = [sys.executable, "-m", "harness", "run", *agents, "--pack", str(there / "pack.yaml")]
        command += ["--repeats", str(repeats), "--judge", "none", "--out", str(there / "run")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        bars = _bars(RunStore.open(there / "run"))
    medians = {agent: {s: statistics.median(v) for s, v in stages.items()} for agent, stages in bars.items()}
    print(f"{'stage':14} {'plain':>8} " + " ".join(f"{'+200 ' + n:>10}" for n in DELAYED))
    for stage in medians["plain"]:
        moved = [medians[name].get(stage, 0.0) - medians["plain"][stage] for name in DELAYED]
        print(f"{stage:14} {medians['plain'][stage]:8.1f} " + " ".join(f"{m:+10.1f}" for m in moved))
    print(json.dumps({name: len(next(iter(stages.values()))) for name, stages in bars.items()}))


def _bars(store: RunStore) -> dict[str, dict[str, list[float]]]:
    bars: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for session in store.sessions():
        if session.timing is not None and session.timing.waterfall is not None:
            for stage in session.timing.waterfall.stages:
                bars[session.key.agent][stage.name].append(stage.duration_ms)
    return bars


if __name__ == "__main__":
    main()
