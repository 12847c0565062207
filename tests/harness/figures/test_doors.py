"""A run of over a hundred thousand verdicts: every door rates the same columns, at much the same cost."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.ranking.ranking import MANY
from harness.wording import counted
from tests import large_run

AGENTS, CONTEXTS = 20, 180


def door(*arguments: str) -> tuple[str, int]:
    """What a command printed, and how many KiB it had at most; a parent would hand its own size down, so it says so itself."""
    done = subprocess.run(
        [sys.executable, "-c", large_run.SAYS_ITS_PEAK, *arguments], capture_output=True, text=True, check=True, timeout=600
    )
    return done.stdout, int(done.stderr.rpartition("VmHWM:")[2].split()[0])


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="sizes of processes are Linux's")
def test_a_run_of_very_many_verdicts_is_rated_and_shown_like_a_file_of_them(tmp_path: Path) -> None:
    run = large_run.make(tmp_path, AGENTS, CONTEXTS)
    (of_file, file_kib), (of_run, run_kib) = (door("rank", str(path), "--json") for path in (tmp_path / "rows.jsonl", run))
    one, other = json.loads(of_file), json.loads(of_run)
    assert one["judgments"] > MANY
    assert _rated(one) == _rated(other)
    _, page_kib = door("report", str(run))
    page = (run / "report.html").read_text(encoding="utf-8")
    best = max(one["systems"].items(), key=lambda item: float(item[1]["elo"]))
    assert best[0] in page
    assert counted(one["judgments"], "verdict") in page
    assert run_kib < 2.5 * file_kib
    assert page_kib < 3.0 * file_kib


def _rated(board: dict[str, Any]) -> dict[str, Any]:
    """All that is of verdicts alone: a file knows no length of a reply, and draws by a seed of its own."""
    systems = {
        name: {key: value for key, value in row.items() if key not in ("elo_with_length", "bootstrap_interval")}
        for name, row in board["systems"].items()
    }
    return {**{name: board[name] for name in ("judgments", "contexts", "presentation")}, "systems": systems}
