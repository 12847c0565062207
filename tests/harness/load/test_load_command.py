"""`harness load`: what is asked for wrongly is refused before anything starts, and what is played is on disk step by step."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.store.load_files import read_load, read_turns
from tests.harness.conftest import Finished, peer

AGENT = ("--agent", peer("raw-pcm-echo"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--arrivals", "burst"), "name rates with --rate"),
        (("--rate", "1", "--callers", "2"), "leave one of the two out"),
        (("--rate", "1", "--rounds", "2"), "allow more --for"),
        (("--rate", "1", "--arrivals", "uniform"), "choose poisson or burst"),
        (("--rate", "1,x"), "write calls a second"),
        (("--rate", "1", "--for", "0"), "give minutes"),
        (("--for", "1"), "--for: repeats one number of callers"),
        (("--callers", "0"), "write numbers from 1 to 1000"),
        (("--rate", "1", "--pack", "no-such-pack"), "no-such-pack"),
        (("--isolate",), "--isolate: only a cascade of the harness"),
        (("--isolate", "--callers", "2", "--for", "1"), "--for with --callers looks for drifts"),
    ],
)
def test_a_contradiction_is_one_line(
    harness_here: Callable[..., Finished], tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    done = harness_here("load", *AGENT, *options, "--out", tmp_path / "load")
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "load").exists()


@pytest.mark.models
def test_callers_of_a_pack_come_at_a_rate(harness_in_real_time: Callable[..., Finished], pack: Path, tmp_path: Path) -> None:
    folder = tmp_path / "load"
    done = harness_in_real_time(
        "load", *AGENT, "--pack", pack, "--rate", "0.5,1", "--for", "0.2", "--out", folder, "--json",
        PYTHONPATH=str(Path(__file__).parents[3]),
    )  # fmt: skip
    assert done.code == 0, done.err
    assert [step["rate"] for step in done.json["steps"]] == [0.5, 1.0]
    stored = read_load(folder)
    assert stored.made.agent == "raw-pcm-echo"
    assert stored.arrivals == "poisson"
    turns = list(read_turns(folder))
    assert {turn.step for turn in turns} == {0, 1}
    assert {turn.context for turn in turns} == {"first", "second"}, "callers speak the pack's contexts in turn"
    assert all(turn.end_ns >= turn.spoken_end_ns > turn.begin_ns for turn in turns if turn.failure is None)
    for step in done.json["steps"]:
        assert step["arrivals"]["calls"] == sum(turn.rate == step["rate"] for turn in turns)
        assert step["caller_error"]["calls"] > 0
    assert (folder / "load.html").exists()
    assert json.loads((folder / "load.json").read_text()) == done.json


@pytest.mark.models
@pytest.mark.long
def test_stages_are_isolated(harness_in_real_time: Callable[..., Finished], pack: Path, tmp_path: Path) -> None:
    folder = tmp_path / "load"
    done = harness_in_real_time(
        "load", "--agent", "polaris-like", "--pack", pack, "--callers", "1", "--isolate", "--out", folder, "--json",
        PYTHONPATH=str(Path(__file__).parents[3]), timeout_s=1800,
    )  # fmt: skip
    assert done.code == 0, done.err
    found = done.json["isolated"]
    assert found["offered"] == 1
    assert found["missing"] == 0
    assert len(found["plays"]) == 14
    turns = list(read_turns(folder))
    assert {turn.step for turn in turns if turn.computing is None} == {0}
    played = [turn for turn in turns if turn.computing is not None]
    assert {turn.step for turn in played} == set(range(1, 15))
    assert all(set(turn.own_ms) <= set(turn.computing or ()) for turn in played)
    assert {turn.context for turn in played} == {"first"}, "every play has the same calls"
    for time in found["times"]:
        assert time["turns"] + time["without"] <= 2
    assert sum(time["turns"] for time in found["times"]) > 18, "of 24 times at most few are missing"
    assert len(read_load(folder).steps) == 1
    assert "Who slows whom" in (folder / "load.html").read_text(encoding="utf-8")
