"""A new latency is written in three files, and every reader has it: `--json`, gate, page, tables and traces."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WRITTEN = {
    "harness/timing/figures.py": (
        "    first_speech_ms: float | None = None\n",
        "    first_speech_ms: float | None = None\n    half_ttfa_ms: float | None = None\n",
    ),
    "harness/timing/measure.py": (
        "        signed_ms=onset_ms if early else None,\n",
        "        signed_ms=onset_ms if early else None,\n"
        "        half_ttfa_ms=None if early or discarded or onset_ms is None else onset_ms / 2,\n",
    ),
    "harness/turns/catalogue.py": (
        '    _latency("greeting"',
        '    _latency("half_ttfa", "Half of TTFA", lambda t: t.half_ttfa_ms, "timing/measure", "sound"),\n'
        '    _latency("greeting"',
    ),
}
FIELD = (
    "    greeting_ms: Quantiles = Field(default_factory=Quantiles)\n",
    "    greeting_ms: Quantiles = Field(default_factory=Quantiles)\n"
    "    half_ttfa_ms: Quantiles = Field(default_factory=Quantiles)\n",
)
READERS = """
import json, sys
from pathlib import Path
from harness.figures.summarise import summarise
from harness.gate.budgets import read_budgets
from harness.measuring.remeasure import remeasure
from harness.reports.assemble import assemble
from harness.reports.shown_runs import alone
from harness.reports.tables import tables
from harness.reports.view import METRICS
from harness.store.run_store import RunStore
from harness.traces.export import spans_of

folder = Path(sys.argv[1])
store = RunStore.open(folder)
remeasure(store)
summary = summarise(store)
made = tables(assemble(alone(store, summary), folder, audio=False))
print(json.dumps({
    "json": json.loads(summary.to_json())["cells"][0],
    "limits": [limit.figure for limit in read_budgets(folder / "limits.yaml").limits],
    "page": METRICS.get("half_ttfa"),
    "systems": made["systems"][0],
    "turns": made["turns"],
    "spans": [dict(span.attributes) for span in spans_of(store)],
}, default=str))
"""


@pytest.mark.long  # `test_catalogue` has that each figure reaches its cell
def test_a_made_up_figure_is_three_files_and_reaches_every_reader(tmp_path: Path) -> None:
    tree, run = tmp_path / "tree", tmp_path / "run"
    for name in ("harness", "agents", "audio", "scenarios", "reports"):
        shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (before, after) in WRITTEN.items():
        path = tree / name
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1, name
        path.write_text(text.replace(before, after).replace(*FIELD), encoding="utf-8")
    shutil.copytree(ROOT / "tests/harness/store/layout_1/one-condition", run)
    (run / "limits.yaml").write_text("schema: 1\nlimits:\n  - {figure: half_ttfa_ms.p50, at_most: 400}\n", encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-c", READERS, str(run)],
        env={**os.environ, "PYTHONPATH": str(tree)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(WRITTEN) == 3
    assert found["json"]["half_ttfa_ms"]["p50"] == found["json"]["ttfa_ms"]["p50"] / 2
    assert found["limits"] == ["half_ttfa_ms.p50"]
    assert found["page"] == "Half of TTFA"
    assert "half_ttfa_p50_ms" in found["systems"]
    assert any(turn["half_ttfa_ms"] for turn in found["turns"])
    assert any("heart.half_ttfa_ms" in span for span in found["spans"])
