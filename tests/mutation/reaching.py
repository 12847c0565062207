"""Tests that reach a line, with the time that each takes: one run of the tests under coverage, in a context per test.

A mutant is tried on the tests that reach it alone, those that take least first: all tests for each of 300 mutants would take
days, and a test that never runs the line cannot find a fault in it.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import coverage
import pytest


@dataclass(frozen=True)
class Reaching:
    """``tests[path][line]``: node ids of the tests that run this line; ``seconds``: of each test, with its fixtures."""

    tests: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]

    def of(self, path: str, lines: tuple[int, int], at_most_s: float) -> list[str]:
        """Node ids of the tests that run any of ``lines``, quickest first, as many as fit into ``at_most_s`` seconds together.

        A line that runs on import alone belongs to every test of its file.
        """
        by_line = self.tests.get(path, {})
        ids = {test for line in range(lines[0], lines[1] + 1) for test in by_line.get(line, ())}
        if not ids:
            ids = {test for tests in by_line.values() for test in tests}
        chosen: list[str] = []
        left_s = at_most_s
        for test in sorted(ids, key=lambda each: (self.seconds.get(each, 0.0), each)):
            left_s -= self.seconds.get(test, 0.0)
            if left_s < 0 and chosen:
                break
            chosen.append(test)
        return chosen


@dataclass(eq=False)
class _Contexts:
    """A plugin of pytest that opens a context of ``measured`` for each test, and adds up the seconds of each."""

    measured: coverage.Coverage
    seconds: dict[str, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.measured.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.measured.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)


def observed(root: Path, paths: Sequence[str], tests: Sequence[str], into: Path | None) -> Reaching:
    """Which of ``tests`` reach which lines of ``paths``; read again from ``into`` where it is there, else written there.

    Raises:
        RuntimeError: if one of the tests fails on the code as it is: no mutant can be tried on it.
    """
    if into and into.exists():
        loaded = json.loads(into.read_text(encoding="utf-8"))
        by_line = {path: {int(line): ids for line, ids in lines.items()} for path, lines in loaded["tests"].items()}
        return Reaching(by_line, loaded["seconds"])
    files = [str((root / path).resolve()) for path in paths]
    measured = coverage.Coverage(data_file=None, include=files, config_file=False)
    contexts = _Contexts(measured)
    measured.start()
    try:
        code = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests], plugins=[contexts])
    finally:
        measured.stop()
    if code != 0:
        failed = ", ".join(contexts.failed[:5])
        raise RuntimeError(f"{len(contexts.failed)} tests fail on the code as it is (exit {code}): {failed}")
    reaching = Reaching({path: _lines(measured, (root / path).resolve()) for path in paths}, contexts.seconds)
    if into:
        into.write_text(json.dumps(asdict(reaching)), encoding="utf-8")
    return reaching


def _lines(measured: coverage.Coverage, path: Path) -> dict[int, list[str]]:
    by_line = measured.get_data().contexts_by_lineno(str(path))
    return {line: sorted(set(ids) - {""}) for line, ids in by_line.items()}
