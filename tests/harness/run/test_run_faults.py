"""Whatever an agent or a user does wrong: a named failure or one clear line, finished sessions kept, nothing left running."""

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from harness.store.run_store import RunStore
from tests.harness.conftest import PACK, Finished, harness, peer
from tests.harness.run.test_run_resume import begun

Command = Callable[..., Finished]
FAILS_AS = {"garbage": "garbage", "floods": "flood", "closes-early": "closed_early", "dies": "agent_died"}
"""What each bad agent of tests/peers does, and the failure it is named."""
NOT_STARTED = "raw-pcm-refuses-to-start"


def left_running(marker: Path) -> list[str]:
    """Command lines of processes that mention a path of this test."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if str(marker) in line:
            found.append(line)
    return found


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--agent", "polaris-lik"], ["unknown agent", "polaris-like"]),
        (["--agent", "baseline", "--pack", "heart-minni"], ["heart-minni", "heart-mini"]),
        (["--agent", "baseline", "--limit", "0"], ["--limit 0", "at least 1"]),
        (["--agent", "baseline", "--limit", "many"], ["--limit"]),
        (["--agent", "baseline", "--mode", "sideways"], ["--mode sideways", "seeded or replay"]),
        (["--agent", "baseline", "--condition", "underwater"], ["--condition", "'underwater'"]),
        (["--agent", "baseline", "--agent", "baseline"], ["named twice"]),
        (["--agent", "baseline", "--judge", "salomon"], ["salomon", "embedded"]),
        (["--agent", "baseline", "--resume"], ["--resume", "--out"]),
        (["--agent", "baseline", "--resume", "--out", "nowhere"], ["nowhere", "holds no run"]),
        (["--frobnicate"], ["--frobnicate"]),
    ],
)
def test_wrong_input_gets_one_line_and_exit_2(
    harness_here: Command, tmp_path: Path, arguments: list[str], names: list[str]
) -> None:
    before = set(tmp_path.iterdir())
    done = harness_here("run", *arguments)
    assert done.code == 2, done.err
    assert done.out == ""
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert "Traceback" not in done.err
    for name in names:
        assert name in done.err
    assert set(tmp_path.iterdir()) == before


def test_a_malformed_profile_names_file_and_line(harness_here: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('kind = "raw-pcm"\nurl = "ws://127.0.0.1:9"\ncolour = "blue"\n')
    done = harness_here("run", "--agent", tmp_path / "mine.toml")
    assert done.code == 2
    assert "mine.toml, line 3: colour" in done.err


def test_a_malformed_pack_names_file_item_and_field(harness_here: Command, pack: Path) -> None:
    pack.write_text(pack.read_text().replace("emotion: worry", "emotion: 7"))
    done = harness_here("run", "--agent", "baseline", "--pack", pack)
    assert done.code == 2
    assert len(done.err.strip().splitlines()) == 1
    for word in (f"{pack.name}:17:", "second", "emotion"):
        assert word in done.err


def test_an_error_is_one_object_for_a_program(harness_virtual: Command) -> None:
    done = harness_virtual("run", "--agent", "nobody", "--json")
    assert done.code == 2
    assert done.err == ""
    assert done.json["error"]["kind"] == "input"
    assert "nobody" in done.json["error"]["message"]


def test_the_traceback_is_shown_to_who_asks(harness_virtual: Command) -> None:
    assert "Traceback" in harness_virtual("run", "--agent", "nobody", "--debug").err


def test_a_folder_with_another_run_is_refused(harness_here: Command, pack: Path, tmp_path: Path) -> None:
    begun(tmp_path / "r", pack, limit=1)
    again = harness_here(
        "run", "--agent", peer("raw-pcm-echo"), "--pack", pack, "--limit", 1, "--judge", "none", "--out", tmp_path / "r"
    )
    assert again.code == 2
    assert "holds another run" in again.err


def test_an_agent_that_cannot_start_shows_its_last_words_and_exits_3(
    harness_virtual: Command, pack: Path, tmp_path: Path
) -> None:
    done = harness_virtual(
        "run", "--agent", peer("raw-pcm-refuses-to-start"), "--pack", pack, "--judge", "none", "--out", tmp_path / "r"
    )
    assert done.code == 3
    _, error, words = done.err.partition('harness: agent "raw-pcm-refuses-to-start" could not start (exit code 1)')
    assert error
    assert words.strip().splitlines()[-1] == "no model at /models/none.gguf", "the last line of its log"
    assert "Traceback (most recent call last)" not in done.err
    assert not left_running(tmp_path)


@pytest.fixture(scope="module")
def among_bad_ones(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Path]:
    """A good agent and bad ones of every kind in one run, all called at once, and one that cannot start."""
    place = tmp_path_factory.mktemp("among-bad-ones")
    (place / "pack.yaml").write_text(PACK, encoding="utf-8")
    behaviours = ["echo", "never-answers", "refuses-to-start", *FAILS_AS]
    agents = [word for behaviour in behaviours for word in ("--agent", str(peer(f"raw-pcm-{behaviour}")))]
    line = ("run", *agents, "--pack", "pack.yaml", "--limit", 1, "--judge", "none", "--json", "--concurrency", len(behaviours))
    return harness(place, *line, "--out", place / "r", virtual=True), place / "r"


@pytest.mark.parametrize("behaviour", FAILS_AS)
def test_a_bad_agent_is_a_named_failure(among_bad_ones: tuple[Finished, Path], behaviour: str) -> None:
    done, folder = among_bad_ones
    assert done.code == 3, done.err
    (failure,) = (f for f in done.json["failures"] if f["agent"] == f"raw-pcm-{behaviour}")
    assert failure["kind"] == FAILS_AS[behaviour]
    if behaviour == "dies":
        assert failure["detail"].splitlines()[-1] == "something is terribly wrong"
    assert not left_running(folder.parent)


def test_the_good_agent_among_bad_ones_is_kept(among_bad_ones: tuple[Finished, Path]) -> None:
    done, folder = among_bad_ones
    assert done.json["agents"]["raw-pcm-echo"]["turns"] == 1
    sessions = {s.key.agent: s.status for s in RunStore.open(folder).sessions()}
    assert sessions["raw-pcm-echo"] == "finished"
    assert NOT_STARTED not in sessions
    (failure,) = (f for f in done.json["failures"] if f["agent"] == NOT_STARTED)
    assert (failure["kind"], failure["detail"].splitlines()[-1]) == ("not_played", "no model at /models/none.gguf")


def test_an_agent_that_never_answers_is_no_failure_and_measured_as_no_reply(among_bad_ones: tuple[Finished, Path]) -> None:
    done, _ = among_bad_ones
    assert {f["agent"] for f in done.json["failures"]} == {NOT_STARTED, *(f"raw-pcm-{behaviour}" for behaviour in FAILS_AS)}
    figures = done.json["agents"]["raw-pcm-never-answers"]
    assert figures["no_reply"] == figures["turns"] == 1
    assert figures["ttfa_ms"]["p50"] is None
    assert figures["ttfa_ms"]["p50_over_limit"]
    assert figures["within_budget"]["ttfa"] == 0
