"""Each peer has what the runner needs, and what is said of it comes from its own output."""

import json
from pathlib import Path

import pytest

from harness.known.truth import TurnTruth, write_truth
from harness.known.wires import WIRES
from tests.conformance.__main__ import HERE, RECORDINGS, Peer, Row, measured, peers, scored, table
from tests.play_peers import Environment

ENVIRONMENTS, PEERS = peers()


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_it_has_a_driver_and_both_settings_or_a_reason(peer: Peer) -> None:
    if peer.not_had:
        assert not peer.program
        return
    assert (HERE / peer.program).is_file()
    assert peer.wire in (*WIRES, RECORDINGS)
    if peer.name.startswith("harness"):
        assert set(peer.settings) == {"default"}
        return
    assert set(peer.settings) == {"default", "best"}
    assert peer.environment in ENVIRONMENTS
    assert all("==" in package for package in ENVIRONMENTS[peer.environment].packages)


def test_a_peer_whose_program_is_missing_is_named_with_the_reason(tmp_path: Path) -> None:
    peer = Peer("tool", program="drive_voxprobe.py", settings={"default": {}}, needs=("no-such-program",))
    (row,) = measured(peer, Environment(()), tmp_path, (), 1)
    assert (row.figure, row.remark) == ("", "needs no-such-program, which this system does not have")


def test_a_row_counts_what_is_missing_and_invented(tmp_path: Path) -> None:
    write_truth(
        tmp_path / "truth.csv",
        [
            TurnTruth("fixed-300.1", "fixed", "live", 1, 2.0, sound_ms=300.0),
            TurnTruth("fixed-300.2", "fixed", "live", 1, 6.0, sound_ms=310.0),
            TurnTruth("no-reply.1", "no-reply", "live", 1, 2.0),
        ],
    )
    for call, ms in {"fixed-300.1": 290.0, "no-reply.1": 90.0}.items():
        (tmp_path / f"{call}.json").write_text(json.dumps({"turns": [{"turn": 1, "sound_ms": ms}]}))
    row = Row("tool", "tool 1", "raw-pcm", "default", "2026-11-30")
    (found,) = scored(row, tmp_path, failed=0, claims="sound")
    assert (found.figure, found.turns, found.reported, found.missing, found.invented) == ("sound", 3, 2, 1, 1)
    assert found.bias_ms == pytest.approx(-10.0)
    assert found.behaviours["fixed-300"] == pytest.approx(-10.0)
    assert "|tool|tool 1|raw-pcm|default|sound|3|2|−10|10|–|1|1|2026-11-30||" in table([found])
