"""The main job on real input: real recogniser, language model, voice, sockets, processes and judge; and text beside speech."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.measuring.transcribe import TRANSCRIBER
from harness.ranking.leaderboard import leaderboard
from harness.store.manifest import RunManifest
from harness.store.run_store import RunStore
from tests.harness.conftest import Finished, harness


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Path]:
    folder = tmp_path_factory.mktemp("real") / "run"
    # Threads that spin for each other lose whole time slices to other programs: beside one, an answer then takes over 60 s.
    line = ("run", "--agent", "polaris-like", "--agent", "smollm2-text", "--limit", 2, "--judge", "embedded", "--json")
    return harness(folder.parent, *line, "--out", folder, timeout_s=900, OMP_WAIT_POLICY="passive"), folder


@pytest.mark.models
class TestTheMainJob:
    def test_it_ends_well_with_one_object(self, finished: tuple[Finished, Path]) -> None:
        done, _ = finished
        assert done.code == 0, done.err
        assert done.json["schema"] == 1
        assert done.json["failures"] == []

    def test_the_reply_was_heard_and_timed(self, finished: tuple[Finished, Path]) -> None:
        done, folder = finished
        agent = done.json["agents"]["polaris-like"]
        assert agent["turns"] == 2
        assert agent["no_reply"] == 0
        assert agent["ttfa_ms"]["p50"] > agent["ttft_ms"]["p50"] > 0, "also where others have the machine"
        low_ms, high_ms = agent["ttfa_ms"]["p50_range"]
        assert 0 <= low_ms <= high_ms == agent["ttfa_ms"]["p50"]
        assert agent["ttfa_ms"]["p95"] is None, "two turns are too few for a p95"
        assert agent["ttfa_ms"]["p50_interval"] is None
        store = RunStore.open(folder)
        assert store.manifest.transcriber == TRANSCRIBER
        assert TRANSCRIBER in store.manifest.models
        for session in store.sessions():
            assert session.heard_text or session.written_text
            if session.key.agent == "polaris-like":
                assert session.timing is not None
                assert session.timing.ttfa_ms is not None
                assert session.timing.ttft_ms is not None
                assert session.timing.ttfa_ms > session.timing.ttft_ms > 0
                assert session.timing.waterfall is not None
                stages = sum(stage.duration_ms for stage in session.timing.waterfall.stages)
                assert stages == pytest.approx(session.timing.ttfa_ms, abs=0.01), "the waterfall adds up"

    def test_the_text_system_stands_beside_it_without_a_ttfa(self, finished: tuple[Finished, Path]) -> None:
        done, _ = finished
        text = done.json["agents"]["smollm2-text"]
        assert text["ttft_ms"]["p50"] > 0
        assert text["ttfa_ms"]["p50"] is None
        assert text["within_budget"]["ttfa"] is None
        assert (text["elo"] is None) == (text["elo_interval"] is None), "an Elo is shown where an end of it is known"

    def test_the_judge_proved_itself_and_stands_beside_its_elo(self, finished: tuple[Finished, Path]) -> None:
        done, folder = finished
        (judge,) = done.json["judges"]
        assert 0 <= judge["accuracy"] <= 1
        assert judge["flip_rate"] is not None
        rows = RunStore.open(folder).judgments()
        assert {r.presentation for r in rows} == {"heard_text"}
        assert not judge["trusted"] or not any(r.own_family for r in rows)
        rated = [*done.json["agents"].values(), *done.json["references"].values()]
        assert all((r["elo"] is None) == (r["elo_interval"] is None) for r in rated)
        board = leaderboard(rows)
        core = [r.elo for r in board.systems if r.system not in board.separated] or [r.elo for r in board.systems]
        assert sum(core) / len(core) == pytest.approx(1500, abs=0.5)

    def test_the_run_measured_its_own_pacing(self, finished: tuple[Finished, Path]) -> None:
        done, folder = finished
        manifest: RunManifest = RunStore.open(folder).manifest
        assert manifest.pacing is not None
        assert done.json["pacing"]["p99_error_ms"] == pytest.approx(manifest.pacing.p99_error_ms)
        assert done.json["valid"] == (not manifest.invalid)

    @pytest.mark.long
    def test_it_spoke_in_real_time(self, finished: tuple[Finished, Path]) -> None:
        done, _ = finished
        assert done.json["pacing"]["realtime_ratio"] == pytest.approx(1, abs=0.001)

    def test_the_page_is_there_and_asks_for_nothing(self, finished: tuple[Finished, Path]) -> None:
        done, _ = finished
        page = Path(done.json["report"]).read_text(encoding="utf-8")
        assert "polaris-like" in page
        for tag in ('src="http', "src='http", 'href="http', "url(http"):
            assert tag not in page

    def test_it_is_judged_again_without_playing_again(
        self, finished: tuple[Finished, Path], harness_command: Callable[..., Finished]
    ) -> None:
        _, folder = finished
        before = {s.id: s.started_ns for s in RunStore.open(folder).sessions()}
        again = harness_command("judge", folder, "--judge", "embedded", "--json")
        assert again.code == 0, again.err
        assert again.json["calls"] == 0, "every answer was kept"
        assert again.json["cached"] > 0
        assert {s.id: s.started_ns for s in RunStore.open(folder).sessions()} == before
