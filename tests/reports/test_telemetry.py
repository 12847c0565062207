"""The machine's course through a run, thinned for a chart without losing its bursts."""

import json
from pathlib import Path

from harness.reports.charts.over_run import telemetry
from harness.reports.telemetry import series
from tests.reports.invented import invented_view


def test_a_burst_survives_the_thinning_and_a_torn_line_does_not_matter(tmp_path: Path) -> None:
    with (tmp_path / "telemetry.jsonl").open("w", encoding="utf-8") as out:
        for k in range(36_000):
            busy = 97.0 if k == 20_000 else 5.0
            out.write(json.dumps({"at_ns": 1_000 + k * 100_000_000, "cpu_percent": busy, "memory_mib": 9.0}) + "\n")
        out.write('{"at_ns": 12')
    (line,) = series(tmp_path / "telemetry.jsonl", 1_000)
    assert len(line.points) <= 401
    (burst,) = [second for second, value in line.points if value == 97.0]
    assert abs(burst - 2_000) <= 9


def test_samples_of_another_clock_are_left_out(tmp_path: Path) -> None:
    sample = {"at_ns": 5_000_000_000, "cpu_percent": 5.0}
    (tmp_path / "telemetry.jsonl").write_text(json.dumps(sample) + "\n", encoding="utf-8")
    assert series(tmp_path / "telemetry.jsonl", 4_000_000_000)
    assert series(tmp_path / "telemetry.jsonl", 1_900_000_000_000_000_000) == ()
    assert series(tmp_path / "telemetry.jsonl", -4_000_000_000_000) == ()


def test_a_run_without_samples_has_no_chart(tmp_path: Path) -> None:
    assert series(tmp_path / "telemetry.jsonl", 1) == ()
    assert telemetry(invented_view(agents=1, contexts=1)) is None
