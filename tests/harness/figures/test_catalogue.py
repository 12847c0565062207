"""One list of figures: each is in the summary under its path, and in the documents under its name."""

from typing import Any

import pytest
from pydantic import BaseModel

from harness.figures.cells import Cell
from harness.figures.latency import FIGURES, TurnFigures
from harness.gate.evidence import PEOPLE, has_no_need_of_sound, lower_is_better, unit_of
from harness.turns.catalogue import BY_PATH, CATALOGUE, HEARD, LATENCIES
from tests.harness.figures.figures_table import PAGE, written

MADE_BY_A_GATE = {"no_reply_rate": "no_reply", "continuity": "underruns", "people.win_rate": "win_rate"}
"""Of a run `cells` hold the count; of people's votes alone, nothing."""


@pytest.mark.parametrize("path", BY_PATH)
def test_a_figure_is_in_a_cell_under_its_path(path: str) -> None:
    model: Any = Cell
    for name in MADE_BY_A_GATE.get(path, path).split("."):
        field = model.model_fields[name].annotation
        inside = [part for part in (field, *getattr(field, "__args__", ())) if isinstance(part, type)]
        model = next((part for part in inside if issubclass(part, BaseModel)), None)


def test_every_latency_of_a_cell_is_in_the_catalogue() -> None:
    times = {name for name in TurnFigures.model_fields if name.endswith("_ms")} - {"unexplained_p95_ms", "yield_ms"}
    assert times - {"inter_token_gap_p95_ms"} == {f"{figure.key}_ms" for figure in LATENCIES}
    assert tuple(figure.key for figure in LATENCIES) == FIGURES
    assert set(HEARD) == {f.key for f in LATENCIES if "sound" in f.needs and f.drawn}


def test_the_page_defines_every_latency() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for figure in LATENCIES:
        assert f"`{figure.key}`" in page, figure.key


def test_the_table_of_the_documents_is_the_catalogue() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "write it anew: python -m tests.harness.figures.figures_table"
    assert all((PAGE.parents[1] / "harness" / f"{figure.computed_in}.py").is_file() for figure in CATALOGUE.values())


def test_what_a_figure_needs_says_who_can_have_it() -> None:
    asked_in_text = {path for path in BY_PATH if has_no_need_of_sound(path)}
    assert asked_in_text == {"ttft_ms.p50", "ttft_ms.p95", "within_budget.ttft", "win_rate", f"{PEOPLE}win_rate"}
    assert {path for path in BY_PATH if not lower_is_better(path)} == {
        "within_budget.ttfa", "within_budget.answer", "within_budget.ttft", "continuity", "win_rate", f"{PEOPLE}win_rate",
    }  # fmt: skip
    assert [unit_of(name) for name in ("elo_over.ref:good", "people.elo_over.x", "elo_over.", "nothing")] == [
        "elo",
        "elo",
        None,
        None,
    ]
