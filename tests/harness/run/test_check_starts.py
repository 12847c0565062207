"""How a check avoids needless work: nobody there, limits out of reach, words that no limit needs."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.store.run_store import RunStore
from tests.harness.conftest import Finished
from tests.harness.run.test_check_real import WORDS, answering

Command = Callable[..., Finished]
LIMITS = "schema: 1\nlimits:\n  - {figure: ttfa_ms.p50, at_most: 9000}\n"


def short_pack(folder: Path) -> Path:
    """A pack of fourteen callers with three words each."""
    turns = "".join(
        f"  - id: c{k}\n    subset: regular\n    emotion: worry\n    problem: exams\n"
        f'    turns: [{{role: seeker, text: "It is {word}."}}]\n'
        for k, word in enumerate(WORDS)
    )
    pack = folder / "short.yaml"
    pack.write_text(f"pack: short\nsource: tests\nlicence: Apache-2.0\ncontexts:\n{turns}", encoding="utf-8")
    return pack


def test_an_agent_that_nobody_started_is_named_before_anything_is_made(harness_here: Command, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    profile, limits = tmp_path / "absent.toml", tmp_path / "limits.yaml"
    profile.write_text(f'kind = "raw-pcm"\naccepts_history = true\nurl = "ws://127.0.0.1:{port}/"\n', encoding="utf-8")
    limits.write_text(LIMITS, encoding="utf-8")
    done = harness_here("check", "--agent", profile, "--judge", "none", "--budgets", limits, "--out", tmp_path / "run")
    assert done.code == 3
    assert f"127.0.0.1:{port}" in done.err
    assert "Rendering" not in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "run").exists()


@pytest.mark.long
@pytest.mark.models
def test_words_are_transcribed_only_where_a_limit_needs_them(harness_virtual: Command, tmp_path: Path) -> None:
    limits, run = tmp_path / "limits.yaml", tmp_path / "run"
    limits.write_text(LIMITS, encoding="utf-8")
    with answering(tmp_path, "fast") as fast:
        played = ("--agent", fast, "--pack", short_pack(tmp_path), "--judge", "none", "--concurrency", 14, "--out", run)
        done = harness_virtual("check", *played, "--budgets", limits)
        assert done.code in (0, 4), done.err  # 4: this machine could not pace the calls
        assert "Transcribing" not in done.err
        assert all(session.heard_text is None for session in RunStore.open(run).sessions())

        limits.write_text(LIMITS + "  - {figure: heard_wer, at_most: 0.9}\n", encoding="utf-8")
        done = harness_virtual("check", *played, "--resume", "--budgets", limits)
        assert done.code in (0, 1, 4), done.err
        assert "Transcribing the replies" in done.err
        assert any(session.heard_text for session in RunStore.open(run).sessions())
