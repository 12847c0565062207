"""Endpointing over a real socket: who answers every silence of 600 ms has cut pauses and dead air that are known beforehand."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from harness.store.run_store import RunStore
from tests.harness.conftest import Finished, peer

PACK = """
pack: pauses
source: tests
licence: Apache-2.0
contexts:
  - id: kitchen
    subset: regular
    emotion: sadness
    problem: moving away
    turns:
      - role: seeker
        text: >-
          I went home. <pause 1000> And then I sat <pause 300> in the kitchen, <pause 900> with all of the boxes around me.
          <pause 380> It was dark.
    references:
      - {id: good, author: authored, quality: 5, text: "A dark kitchen, and you alone in it. What went through your head?"}
"""
CUT = {"after_sentence": (1, 2), "mid_sentence": (1, 2)}


def test_known_pauses_are_cut_by_length_and_dead_air_is_the_agents_own_wait(
    harness_virtual: Callable[..., Finished], harness_here: Callable[..., Finished], tmp_path: Path
) -> None:
    pack = tmp_path / "pauses.yaml"
    pack.write_text(PACK, encoding="utf-8")
    folder = tmp_path / "r"
    done = harness_virtual("run", "--agent", peer("raw-pcm-answers"), "--pack", pack, "--json", "--out", folder)
    assert done.code == 0, done.err
    (cell,) = done.json["cells"]
    rows = {(row["kind"], tuple(row["pause_ms"])): (row["cut"], row["of"]) for row in cell["endpointing"]}
    assert {kind: rows[kind, (200, None)] for kind in CUT} == CUT
    assert rows["all", (200, 400)] == (0, 2)
    assert rows["all", (800, 1600)] == (2, 2)
    assert cell["inner_pauses_cut"] == [2, 4]
    assert cell["pauses_cut_share"] == 0.5
    decided = {row["kind"]: row["decided"] for row in cell["endpointing"] if row["pause_ms"] == [200, None]}
    assert decided == {"all": 2, "mid_sentence": 1, "after_sentence": 1}

    # What it computes lies between the two waits, whatever the machine was doing meanwhile.
    dead_air, decision = cell["dead_air_ms"]["mean"], cell["decision_delay_ms"]["mean"]
    assert decision >= 600
    assert dead_air - decision >= 150
    assert dead_air == cell["ttfa_ms"]["p50"]
    assert cell["dead_air_ms"]["n"] == 1
    assert cell["talking_at_end"] == [0, 1]

    shown = harness_here("endpointing", folder, "--json")
    assert shown.code == 0, shown.err
    (again,) = shown.json["cells"]
    assert {name: cell[name] for name in again} == again
    words = harness_here("endpointing", folder)
    assert "2/4 50 %" in words.out
    assert harness_here("endpointing", tmp_path / "nothing").code == 2

    # A run of before this figure gets it from its recordings.
    store = RunStore.open(folder)
    (session,) = store.sessions()
    (timing,) = session.turn_timings
    store.set_timing(session.id, (replace(timing, endpointing=None),))
    store.close()
    assert "harness measure" in harness_here("endpointing", folder).out
    assert harness_here("remeasure", folder).code == 0
    (restored,) = harness_here("endpointing", folder, "--json").json["cells"]
    assert restored == again
