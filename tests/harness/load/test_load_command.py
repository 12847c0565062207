"""`harness load`: what is asked for wrongly is refused before anything starts, and what is played is on disk step by step."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.commands.load_output import print_load
from harness.load.result import LoadResult
from harness.store.load_part import LoadPart
from harness.store.manifest import RunManifest
from harness.store.run_store import RunStore
from tests.harness.conftest import Finished, peer
from tests.harness.load.made_turns import MADE, queued, stored

AGENT = ("--agent", peer("raw-pcm-echo"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--arrivals", "burst"), "name rates with --rate"),
        (("--rate", "1", "--callers", "2"), "leave one of the two out"),
        (("--rate", "1", "--rounds", "2"), "allow more --for"),
        (("--rate", "1", "--arrivals", "uniform"), "choose one of poisson, burst"),
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
        (("--isolate",), "--isolate: is no more"),
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
    assert "holds a load test or another run already; name another folder" in done.err
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
    print_load(RunManifest(**MADE), LoadResult(LoadPart()), Path("runs/[/b]/report.html"))
    assert "page    runs/[/b]/report.html" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.models
def test_callers_of_a_pack_come_at_a_rate(harness_in_real_time: Callable[..., Finished], pack: Path, tmp_path: Path) -> None:
    folder = tmp_path / "load"
    done = harness_in_real_time(
        "load", *AGENT, "--pack", pack, "--rate", "0.5,1", "--for", "0.2", "--out", folder, "--json",
        PYTHONPATH=str(Path(__file__).parents[3]),
    )  # fmt: skip
    assert done.code == 0, done.err
    assert [step["rate"] for step in done.json["steps"]] == [0.5, 1.0]
    run = RunStore.open(folder)
    part, steps = run.manifest.load, ("0.5 calls/s", "1 calls/s")
    assert part is not None
    assert (run.manifest.played[0].name, part.law, part.for_s) == ("raw-pcm-echo", "poisson", 12.0)
    calls = run.sessions()
    assert {call.key.step for call in calls} == set(steps)
    assert {call.key.context_id for call in calls} == {"first", "second"}, "callers speak the pack's contexts in turn"
    spoken = [call for call in calls if call.status == "finished"]
    assert all(0 < (t.begin_ms or 0) < t.spoken_end_ms for call in spoken for t in call.turn_timings)
    assert not (folder / "sessions").exists(), "sound is removed once it is measured"
    for step, name in zip(done.json["steps"], steps, strict=True):
        assert step["arrivals"]["calls"] == sum(call.key.step == name for call in calls)
        assert step["caller_error"]["calls"] > 0
    samples = [json.loads(line) for line in (folder / "telemetry.jsonl").read_text().splitlines()]
    columns = {column for sample in samples for column in sample}
    assert {"cpu_percent", "memory_mib", "raw-pcm-echo.cpu_percent", "harness caller.cpu_percent"} <= columns
    assert samples[0]["at_ns"] < min(call.started_ns or 0 for call in spoken)
    assert samples[-1]["at_ns"] > max((call.started_ns or 0) + call.turn_timings[-1].spoken_end_ms * 1e6 for call in spoken)
    assert done.json["made"]["cards"].keys() == {c.split(".")[0] for c in columns if c.startswith("gpu")} - {"gpu"}
    assert (folder / "report.html").exists()
    assert json.loads((folder / "summary.json").read_text()) == done.json
    again = harness_in_real_time("report", folder, "--json", "--export", tmp_path / "export")
    assert again.json == done.json, "the report is written again from the rows"
    assert len((tmp_path / "export" / "each_turn.csv").read_text().splitlines()) > len(spoken)
