"""The endpoint benchmark's arithmetic, on turns whose answers are known."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from agents.cascade.endpoint_policies import FixedSilence


@pytest.fixture(scope="module")
def endpointing() -> ModuleType:
    path = Path(__file__).parents[3] / "benchmarks" / "endpointing.py"
    spec = importlib.util.spec_from_file_location("endpointing_under_test", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


async def test_cuts_and_waits_are_counted_as_defined(endpointing: ModuleType) -> None:
    def pause(context: str, start: float, length: float | None, marked: float | None) -> object:
        return endpointing.SeenPause(context, "joe", "clean", start, length, marked, "words", {"llm": 0.5})

    seen = [
        pause("one", -3000, 560, 600),
        pause("one", -2000, 900, 950),
        pause("one", -1000, 120, None),
        pause("one", 20, None, None),
        pause("two", -1500, 300, 320),
        pause("two", 40, 200, None),
        pause("two", 400, None, None),
        pause("three", -900, 460, 470),
        pause("three", -600, 480, 490),
    ]
    got = await endpointing.evaluate(lambda _: FixedSilence(500), seen, ready_ms=300)
    # A pause of 480 ms is cut by a wait of 500: the window in which its caller goes on has passed before that is known.
    assert got.short_cut == (2, 4)
    assert got.all_cut == (3, 5)
    assert got.other_cut == (0, 1)
    assert got.ttfa_p50_ms == pytest.approx((20 + 500 + 10 + 400 + 500 + 10) / 2)
    assert got.unanswered == 1
    assert got.ttfa_p95_ms is None


async def test_audio_that_is_not_ready_is_waited_for(endpointing: ModuleType) -> None:
    seen = [endpointing.SeenPause("one", "joe", "clean", 30, None, None, "words", {})]
    got = await endpointing.evaluate(lambda _: FixedSilence(200), seen, ready_ms=450)
    assert got.ttfa_p50_ms == pytest.approx(30 + 450 + 10)


async def test_shipped_profiles_are_worked_out_from_what_was_seen(endpointing: ModuleType) -> None:
    def ends(words: int, llm: float) -> object:
        return endpointing.SeenPause("one", "joe", "clean", 0, None, None, "word " * words, {"llm": llm})

    sure = await endpointing.evaluate(endpointing.shipped("polaris-like"), [ends(70, 0.9)], ready_ms=0)
    unsure = await endpointing.evaluate(endpointing.shipped("polaris-like"), [ends(10, 0.01)], ready_ms=0)
    patient = await endpointing.evaluate(endpointing.shipped("patient"), [ends(70, 0.9)], ready_ms=0)
    assert sure.ttfa_p50_ms < patient.ttfa_p50_ms < unsure.ttfa_p50_ms


def test_a_frontier_holds_what_nothing_of_its_family_beats(endpointing: ModuleType) -> None:
    points = [endpointing.Point("fixed", *at) for at in ((0.0, 900.0), (0.1, 500.0), (0.1, 600.0), (0.2, 700.0))]
    other = endpointing.Point("other", 0.3, 400.0)
    assert endpointing.frontiers([*points, other]) == [points[0], points[1], other]
