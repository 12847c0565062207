"""A run whose judge does not answer is played to its end, says why on its last lines, and ends with 3."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.store.run_store import RunStore
from tests.harness.conftest import Finished, peer
from tests.harness.judging.model_server import ModelServer, error


@pytest.mark.long
def test_a_run_with_a_wrong_key_is_played_and_ends_with_the_reason(
    harness_virtual: Callable[..., Finished], pack: Path, tmp_path: Path
) -> None:
    judge = tmp_path / "far.toml"
    with ModelServer(lambda *_: error(401, "Incorrect API key provided")).serving() as server:
        judge.write_text(
            f'id = "far"\nfamily = "rules"\nversion = "1"\nmodel = "m"\nkey_env = "FAR_KEY"\nbase_url = "{server.url}"\n'
        )
        done = harness_virtual(
            "run", "--agent", peer("raw-pcm-echo"), "--pack", pack, "--limit", 1, "--judge", judge, "--json",
            "--out", tmp_path / "r", FAR_KEY="not-the-right-one",
        )  # fmt: skip
    assert done.code == 3, done.err
    assert server.asked == 1
    (found,) = done.json["judges"]
    why = "1 of 1: HTTP 401: check FAR_KEY"
    assert why in found["why_missing"]
    assert found["missing_by_kind"] == {"rejected": 60}
    assert any(f"far@1: {why}" in caution["text"] for caution in done.json["cautions"])
    assert f"far@1: {why}" in done.err
    assert all(session.failure_kind is None for session in RunStore.open(tmp_path / "r").sessions())
