from typing import Literal

import numpy as np
import pytest

from harness.ranking.rationales import accepted, agreement_with_rules, co_mention, code_by_rules, codebook, residuals
from harness.store.judgment import AXES, Judgment
from tests.present import present


def _row(
    context: str,
    source: Literal["judge", "human"],
    judge: str,
    rationale: str,
    winner: Literal["a", "b", "tie"] = "a",
    shown: Literal["a", "b"] = "a",
) -> Judgment:
    return Judgment(
        context=context,
        subset="regular",
        system_a="x",
        system_b="y",
        source=source,
        judge=judge,
        winner=winner,
        rationale=rationale,
        shown_first=shown,
    )


def test_the_codebook_covers_every_axis_and_knows_plain_reasons() -> None:
    assert {skill.axis for skill in codebook()} == set(AXES)
    assert "validates" in code_by_rules("It acknowledges how hard this is.")
    assert "asks a fitting question" in code_by_rules("B asks what happened next")
    assert "sounds scripted" in code_by_rules("feels ROBOTIC to me")
    assert "offers a doable step" in code_by_rules("gives one small step she can take")
    assert code_by_rules("I just prefer it") == frozenset()


def test_a_judges_code_needs_a_snippet_that_occurs() -> None:
    reason = "A names the feeling and asks one question."
    assert accepted({"names the feeling": "names the feeling", "is warm": "so warm", "made up": "A names"}, reason) == {
        "names the feeling"
    }
    ruled = [(reason, code_by_rules(reason)), ("cold and generic", code_by_rules("cold and generic"))]
    assert agreement_with_rules(ruled) == pytest.approx(1.0)
    assert agreement_with_rules([]) is None


def test_co_mention_counts_agreed_pairs_only() -> None:
    rows = []
    for c in range(12):
        rows += [
            _row(f"c{c}", "human", "h", "validates her"),
            _row(f"c{c}", "judge", "j", "validates, and asks a question"),
        ]
    rows += [_row("apart", "human", "h", "warm", "a"), _row("apart", "judge", "j", "warm", "b")]
    rows += [_row("silent", "human", "h", "", "a"), _row("silent", "judge", "j", "warm", "a")]
    found = present(co_mention(rows, draws=100))
    assert found.pairs == 12
    # Of all skills they differ in one.
    assert found.co_mention == pytest.approx(1 - 1 / len(codebook()))
    assert 0 < present(found.kappa) < 1
    assert co_mention(rows[-4:]) is None


def test_length_of_reasons_is_regressed_out() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for c in range(300):
        # Long reasons mention everything; beyond that people and judges have nothing in common.
        long = rng.random() < 0.5
        filler = " word" * (60 if long else 2)
        for source in ("human", "judge"):
            warm = "warm" if rng.random() < (0.9 if long else 0.1) else "plain"
            rows.append(_row(f"c{c}", source, source, f"reason {warm}{filler}"))
    found = present(co_mention(rows, draws=100))
    is_warm = next(s for s in found.skills if s.skill == "is warm")
    raw = np.array([["warm" in r.rationale for r in rows if r.source == s] for s in ("human", "judge")], dtype=float)
    assert np.corrcoef(raw)[0, 1] > 0.4
    assert abs(present(is_warm.residual_correlation)) < 0.15
    assert present(is_warm.p_adjusted) > 0.01


def test_residuals_are_orthogonal_to_what_was_regressed_out() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    left = residuals(y, x)
    assert np.abs(left @ x).max() < 1e-9
    assert abs(left.sum()) < 1e-9
