"""Sounds beside a reply, over real sockets: four agents whose way with them is known, and every row must say it."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import soundfile

from harness.audio.pcm import resample
from harness.scenarios.context import Turn
from harness.scenarios.pack import load_pack
from harness.store.run_store import RunStore
from harness.voices.choice import open_voices
from tests.harness.conftest import Finished, peer

REPLY = (
    "You left many people behind when you moved, and the new town is still strange to you. "
    "Some evenings must feel very long, with nobody there who knows your face. "
    "Tell me about the friend whom you miss most of all these days."
)
FATES = {
    "goes-on": (1, 0, 0, 0, 0),
    "stops": (1, 1, 1, 0, 0),
    "restarts": (1, 1, 0, 1, 0),
    "loses-words": (1, 1, 0, 0, 1),
}
LOST_WORDS = {"goes-on": [0, 1], "stops": [1, 1], "restarts": [0, 1], "loses-words": [1, 1]}
AT_MS = 2_500
PEER_HZ = 16_000


@pytest.fixture(scope="module")
def reply(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reply") / "reply.wav"
    spoken = open_voices(load_pack("heart-mini")).render(Turn(role="supporter", text=REPLY), "joe")
    soundfile.write(path, resample(spoken.samples, spoken.rate_hz, PEER_HZ), PEER_HZ)
    return path


@pytest.mark.models
@pytest.mark.long
def test_each_row_says_what_the_agent_really_did(
    harness_virtual: Callable[..., Finished], pack: Path, reply: Path, tmp_path: Path
) -> None:
    events, folder = tmp_path / "events.yaml", tmp_path / "r"
    events.write_text(f"events: [{{sound: cough, at_ms: {AT_MS}}}, {{sound: nothing, at_ms: {AT_MS}}}]\n", encoding="utf-8")
    agents = [word for way in FATES for word in ("--agent", peer(f"talker-{way}"))]
    done = harness_virtual(
        "run", *agents, "--pack", pack, "--events", events, "--concurrency", 4, "--json", "--out", folder,
        PEER_REPLY=str(reply), PEER_WORDS=REPLY,
    )  # fmt: skip
    assert done.code == 0, done.err
    cells = {c["agent"].removeprefix("talker-"): c for c in done.json["cells"] if c["subset"] == "all"}
    rows = {(way, row["sound"]): row for way in FATES for row in cells[way]["events"]}
    assert {(key, row["no_occasion"], row["not_sounding"]) for key, row in rows.items()} == {(key, 0, 0) for key in rows}
    if any(row["left_out"] for row in rows.values()):
        pytest.skip("others held the machine")

    for way in FATES:
        assert _fates(rows[way, "nothing"]) == (1, 0, 0, 0, 0), way
        assert rows[way, "nothing"]["lost_words"] == [0, 1], way
    assert {way: _fates(rows[way, "cough"]) for way in FATES} == FATES
    assert {way: rows[way, "cough"]["lost_words"] for way in FATES} == LOST_WORDS
    # Clopper and Pearson for 0 and for 1 of 1.
    assert rows["goes-on", "cough"]["interval"] == pytest.approx([0.0, 0.975])
    assert rows["stops", "cough"]["interval"] == pytest.approx([0.025, 1.0])
    _says_it_in_words(harness_virtual, folder)
    _keeps_it(folder, str(events))


def _fates(row: dict[str, Any]) -> tuple[int, ...]:
    return row["of"], row["stopped"], row["fell_silent"], row["restarted"], row["went_on_later"]


def _says_it_in_words(harness_virtual: Callable[..., Finished], folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert 'id="events"' in page
    assert "no sound (control)" in page
    again = harness_virtual("remeasure", folder, "--json")
    assert again.code == 0, again.err
    assert again.json["changed"] == []


def _keeps_it(folder: Path, source: str) -> None:
    with closing(RunStore.open(folder)) as store:
        settings = store.manifest.events
        assert settings is not None
        assert (settings.source, len(settings.events)) == (source, 2)
        ids, seed = store.manifest.context_ids, store.manifest.seed
        for session in store.sessions():
            dealt = settings.dealt(ids, session.key.context_id, session.key.repeat, seed)
            (event,) = [t for t in store.recording(session).caller.turns if t.kind == "event"]
            assert event.event == dealt.sound
