"""One limit of a wait's error: the page that measures it and the caution about it agree, on either side of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.figures.summarise import summarise
from harness.people import loop_back
from harness.people.supporter.into_run import add_people
from harness.people.track import RATE_HZ, Track
from harness.people.trials import measured
from harness.progress import RunProgress
from harness.recording.sitting import LoopError
from harness.store.run_store import RunStore
from tests.harness.people.supporter.conftest import persons_reply
from tests.present import present


@pytest.mark.parametrize("error_ms", [19.9, 20.1])
def test_a_page_and_a_caution_have_one_limit(played: Path, monkeypatch: pytest.MonkeyPatch, error_ms: float) -> None:
    found = loop_back.LoopBack(2_400.0, error_ms, 0.0, 12, 12)
    monkeypatch.setattr(loop_back, "loop_back", lambda *_: found)
    page = measured(Track(RATE_HZ, 0, np.ones(9, np.int16), ()), {"played": [{"name": "loop-back", "at": 0, "frames": 9}]})
    store = RunStore.open(played)
    reply = persons_reply(store, "P01", "first", "second")
    loop = replace(present(reply.sitting.loop), error_p95_ms=error_ms)
    assert isinstance(loop, LoopError)
    add_people(store, [replace(reply, sitting=replace(reply.sitting, loop=loop))], RunProgress(quiet=True))
    (seat,) = summarise(store).seats
    assert page["fit"] is (seat.over_limit == 0)
