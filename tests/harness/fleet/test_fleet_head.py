"""The benchmark of the cluster's head, with a few sessions."""

import sys

import pytest

from benchmarks import fleet_head


@pytest.mark.parametrize(("given", "contexts", "sessions", "parts"), [(("9", "5"), 9, 5, 1), (("7", "2"), 7, 2, 0)])
def test_it_stores_the_sessions_that_it_says(
    given: tuple[str, ...],
    contexts: int,
    sessions: int,
    parts: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["fleet_head.py", *given])
    fleet_head.main()
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{contexts} contexts, {sessions} sessions of 0.7 MB: ")
    assert len(rest) == parts


@pytest.mark.parametrize(("given", "size"), [((), (5000, 200)), (("9",), (9, 200)), (("9", "5"), (9, 5))])
def test_a_size_that_is_left_out_is_the_default(given: tuple[str, ...], size: tuple[int, int]) -> None:
    assert fleet_head.asked(given) == size
