"""`harness load`: what is asked for wrongly is refused before anything starts, and what is played is on disk step by step."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.commands.load import _tell
from harness.load.ceiling import LoadResult
from harness.store.load_files import LoadMade, read_load, read_turns
from tests.harness.conftest import Finished, peer
from tests.harness.load.made_turns import queued, stored

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
        (("--rate", "1", "--for", "inf"), "--for inf: write a finite number"),
        (("--callers", "1", "--for", "inf"), "--for inf: write a finite number"),
        (("--rate", "1", "--budget-ms", "inf"), "--budget-ms inf: write a finite number"),
        (("--rate", "1,0.0001"), "--rate 0.0001: nobody would call in 3 minutes"),
        (("--callers", "2,2"), "each once"),
        (("--callers", "2", "--for", "1", "--rounds", "3"), "--rounds: has no effect"),
        (("--callers", "2", "--for", "1", "--budget-ms", "300"), "--budget-ms: has no effect"),
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


def test_an_earlier_load_test_is_not_overwritten(harness_here: Callable[..., Finished], tmp_path: Path) -> None:
    folder = stored(tmp_path / "load", [queued(2.0, 30.0, 1)])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = harness_here("load", *AGENT, "--rate", "1", "--out", folder)
    assert done.code == 2
    assert "holds a load test already; name another folder" in done.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_room_for_every_round_is_asked_for(
    harness_here: Callable[..., Finished], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.load.agent.free_bytes", lambda _: 10_000_000)
    done = harness_here("load", *AGENT, "--callers", "2", "--rounds", "500", "--out", tmp_path / "load")
    assert done.code == 3
    assert "the recordings of 1000 calls need about" in done.err
    assert done.err.count("\n") == 1


def test_a_folder_with_brackets_in_its_name_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    _tell(LoadMade(agent="a", pack="p"), LoadResult((), ""), Path("runs/[/b]/load.html"))
    assert "page    runs/[/b]/load.html" in capsys.readouterr().out


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
    samples = [json.loads(line) for line in (folder / "telemetry.jsonl").read_text().splitlines()]
    columns = {column for sample in samples for column in sample}
    assert {"cpu_percent", "memory_mib", "raw-pcm-echo.cpu_percent", "harness caller.cpu_percent"} <= columns
    spoken = [turn for turn in turns if turn.failure is None]
    assert samples[0]["at_ns"] < spoken[0].begin_ns
    assert samples[-1]["at_ns"] > max(turn.end_ns for turn in spoken)
    assert done.json["made"]["cards"].keys() == {c.split(".")[0] for c in columns if c.startswith("gpu")} - {"gpu"}
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
