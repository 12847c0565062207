"""`harness check` on agents of known delay over real sockets: too few turns, then enough, and one that is truly slow."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.figures.validity import with_validity
from harness.recording import files as recording_files
from harness.store.run_store import RunStore
from tests.harness.conftest import PEERS, Finished
from tests.harness.figures.test_validity import STARVED

WORDS = ("late", "cold", "dark", "near", "over", "gone", "here", "lost", "mine", "hard", "soon", "true", "loud", "long")
ANSWERS_AFTER_S, LATER_S = 0.6 + 0.15, 1.5
"""Of `tests/peers/agent.py`: what a turn takes it, and how much longer where it answers late."""


@contextmanager
def answering(folder: Path, name: str, behaviour: str = "answers") -> Iterator[Path]:
    """The profile of an agent of known delay that runs on its own: a busy machine then takes no turn out of the figures."""
    line = [sys.executable, "agent.py", "--wire", "raw-pcm", "--behaviour", behaviour]
    with subprocess.Popen(line, cwd=PEERS, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            url = json.loads(running.stdout.readline())["url"]
            path = folder / f"{name}.toml"
            path.write_text(f'kind = "raw-pcm"\naccepts_history = true\ngreets = false\nurl = "{url}"\n', encoding="utf-8")
            yield path
        finally:
            running.kill()


@pytest.mark.long
def test_a_fast_one_passes_a_slow_one_fails_and_too_few_turns_cannot_tell(
    harness_command: Callable[..., Finished], tmp_path: Path
) -> None:
    pack = tmp_path / "short.yaml"
    turns = "".join(
        f"  - id: c{k}\n    subset: regular\n    emotion: worry\n    problem: exams\n"
        f'    turns: [{{role: seeker, text: "It is {word}."}}]\n'
        for k, word in enumerate(WORDS)
    )
    pack.write_text(f"pack: short\nsource: tests\nlicence: Apache-2.0\ncontexts:\n{turns}", encoding="utf-8")
    keeps, misses = tmp_path / "keeps.yaml", tmp_path / "misses.yaml"
    limit_ms = 1_000 * (ANSWERS_AFTER_S + LATER_S * 2 / 3)
    keeps.write_text(f"schema: 1\nlimits:\n  - {{figure: ttfa_ms.p50, agent: fast, at_most: {limit_ms}}}\n")
    misses.write_text(f"schema: 1\nlimits:\n  - {{figure: ttfa_ms.p50, at_most: {limit_ms}}}\n")
    run = tmp_path / "r"

    with answering(tmp_path, "fast") as fast, answering(tmp_path, "slow", "answers-late") as slow:
        four = ("--agent", fast, "--agent", slow, "--pack", pack, "--limit", 4, "--judge", "none", "--out", run)
        refused = harness_command("check", *four, "--budgets", keeps)
        assert refused.code == 2
        assert "no run of these 4 conversations can pass ttfa_ms.p50" in refused.err
        assert not run.exists()
        assert harness_command("run", *four).code == 0
        few = harness_command("check", run, "--budgets", keeps, "--json")
        if few.json["invalid"]:
            pytest.skip(f"this machine cannot pace a call: {few.json['invalid']}")
        assert few.code == 4, few.err
        assert few.json["verdict"] == "cannot tell"
        assert few.json["limits"][0]["more_needed"] >= 4
        played = {s.id: s.started_ns for s in RunStore.open(run).sessions()}

        grown = harness_command("check", run, "--budgets", keeps, "--until-clear", "--minutes", 20, "--json", timeout_s=900)
        assert grown.json["conversations"] > 4, grown.err
        assert grown.json["look"] >= 2
        sessions = {s.id: s.started_ns for s in RunStore.open(run).sessions()}
        assert {k: sessions[k] for k in played} == played, "a finished session was played again"
        if grown.json["invalid"]:
            pytest.skip(f"this machine cannot pace a call: {grown.json['invalid']}")
        assert (grown.code, grown.json["verdict"]) == (0, "pass"), grown.out

    junit, page = tmp_path / "gate.xml", tmp_path / "gate.md"
    both = harness_command("check", run, "--budgets", misses, "--junit", junit, "--summary", page, "--json")
    assert (both.code, both.json["verdict"]) == (1, "fail"), both.out
    assert {row["agent"]: row["verdict"] for row in both.json["limits"]} == {"fast": "pass", "slow": "fail"}
    suite = ElementTree.fromstring(junit.read_bytes()).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "fail" in page.read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.long
def test_sessions_in_which_the_harness_was_at_fault_are_played_again_and_the_others_are_not(
    harness_command: Callable[..., Finished], tmp_path: Path
) -> None:
    pack, limits, run = tmp_path / "short.yaml", tmp_path / "limits.yaml", tmp_path / "r"
    turns = "".join(
        f"  - id: c{k}\n    subset: regular\n    emotion: worry\n    problem: exams\n"
        f'    turns: [{{role: seeker, text: "It is {word}."}}]\n'
        for k, word in enumerate(WORDS[:11])
    )
    pack.write_text(f"pack: short\nsource: tests\nlicence: Apache-2.0\ncontexts:\n{turns}", encoding="utf-8")
    limits.write_text("schema: 1\nlimits:\n  - {figure: ttfa_ms.p50, at_most: 9000}\n", encoding="utf-8")
    with answering(tmp_path, "fast") as fast:
        played = harness_command(
            "check", "--agent", fast, "--pack", pack, "--judge", "none", "--budgets", limits, "--out", run, "--json",
            timeout_s=900,
        )  # fmt: skip
        if played.json["invalid"]:
            pytest.skip(f"this machine cannot pace a call: {played.json['invalid']}")
        assert (played.code, played.json["verdict"]) == (0, "pass"), played.out

        store = RunStore.open(run)
        victims = store.sessions()[3:5]
        began = {s.id: s.started_ns for s in store.sessions()}
        for victim in victims:
            recording = store.recording(victim)
            recording_files.save(replace(recording, loop_lag_ms=(*recording.loop_lag_ms, 500.0)), victim.folder)
        store.set_manifest(with_validity(store))
        store.close()
        seen = harness_command("check", run, "--budgets", limits, "--json")
        assert (seen.code, seen.json["verdict"]) == (4, "cannot tell"), "the harness was at fault, so no agent is blamed"
        assert victims[0].key.context_id in seen.json["invalid"][0]
        assert [row["verdict"] for row in seen.json["limits"]] == ["cannot tell"]

        again = harness_command("check", run, "--budgets", limits, "--until-clear", "--minutes", 15, "--json", timeout_s=900)
        if again.json["invalid"]:
            pytest.skip(f"this machine cannot pace a call: {again.json['invalid']}")
        assert (again.code, again.json["verdict"]) == (0, "pass"), again.out
        assert "Transcribing" not in again.err, "no limit and no judge asks for words"
        now = {s.id: s.started_ns for s in RunStore.open(run).sessions()}
        assert {s for s in now if now[s] != began[s]} == {victim.id for victim in victims}
        once = harness_command("check", run, "--budgets", limits, "--json").json["limits"][0]["interval"]
        surer = again.json["limits"][0]["interval"]
        assert (surer[0] < once[0], surer[1]) == (True, once[1]), "it could have failed before those calls were played again"

        delay(run, 11, owed_ms=1_000 * ANSWERS_AFTER_S / 3)
        strict, at = tmp_path / "strict.yaml", {s.id: s.started_ns for s in RunStore.open(run).sessions()}
        for share, code in ((1 / 3, 1), (5 / 6, 4), (4 / 3, 0)):
            strict.write_text(f"schema: 1\nlimits:\n  - {{figure: ttfa_ms.p50, at_most: {1_000 * ANSWERS_AFTER_S * share}}}\n")
            found = harness_command("check", run, "--budgets", strict, "--until-clear", "--minutes", 15, "--json")
            assert (found.code, found.json["invalid"]) == (code, []), found.out
        assert {s.id: s.started_ns for s in RunStore.open(run).sessions()} == at, (
            "others delayed them all, and none is played again"
        )


def delay(run: Path, count: int, owed_ms: float) -> None:
    """Store that others could have caused so much of each turn of the first sessions of a run."""
    store = RunStore.open(run)
    for session in store.sessions()[:count]:
        by_others = replace(STARVED, at_most_ms=dict.fromkeys(STARVED.at_most_ms, owed_ms))
        store.set_timing(session.id, (*session.turn_timings[:-1], replace(session.turn_timings[-1], contention=by_others)))
    store.close()
