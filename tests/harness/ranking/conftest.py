"""Verdicts made by a known rule, so that every figure has something true to be held against."""

from collections.abc import Callable

import numpy as np
import pytest

from harness.judgment import Judgment

Simulate = Callable[..., list[Judgment]]


def _simulate(
    contexts: int = 30,
    systems: int = 4,
    judges: int = 2,
    *,
    seed: int = 0,
    spread: float = 1.0,
    position: float = 0.0,
    ties: float = 0.0,
    context_sd: float = 0.5,
    source: str = "judge",
    axes: bool = False,
) -> list[Judgment]:
    """All pairs in every context. System s0 is weakest; η is logistic; strengths fall into five bins."""
    rng = np.random.default_rng(seed)
    theta = np.linspace(-spread, spread, systems)
    rows = []
    for c in range(contexts):
        lean = rng.normal(0, context_sd, systems)
        for i in range(systems):
            for j in range(i + 1, systems):
                for judge in range(judges):
                    shown = "a" if rng.random() < 0.5 else "b"
                    eta = theta[i] - theta[j] + lean[i] - lean[j] + (position if shown == "a" else -position)
                    y = eta + rng.logistic()
                    winner = "tie" if abs(y) < ties else "a" if y > 0 else "b"
                    marks = {}
                    if axes:
                        for axis in "HEART":
                            z = eta + rng.logistic()
                            marks[axis] = {"winner": "a" if z > 0 else "b", "strength": 1 + int(min(abs(z), 4))}
                    rows.append(
                        Judgment(
                            context=f"c{c:03}",
                            subset="adversarial" if c % 10 == 9 else "regular",
                            system_a=f"s{i}",
                            system_b=f"s{j}",
                            source=source,  # type: ignore[arg-type]
                            judge=f"{source}-{judge}",
                            winner=winner,  # type: ignore[arg-type]
                            strength=1 if winner == "tie" else 1 + int(np.searchsorted([0.5, 1.0, 1.8, 3.0], abs(y))),
                            shown_first=shown,  # type: ignore[arg-type]
                            axes=marks,  # type: ignore[arg-type]
                        )
                    )
    return rows


@pytest.fixture(scope="session")
def simulate() -> Simulate:
    return _simulate
