"""Recordings become a pack: pauses and ends where they are, corrections obeyed, and one line for what cannot be used."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from harness.audio.pcm import Float32, resample_float, to_float
from harness.audio.speech import RATE_HZ, RenderedTurn, breath
from harness.audio.speech_edges import level_db
from harness.audio.vocal import silero
from harness.errors import UserError
from harness.scenarios import load_pack
from harness.scenarios.context import Turn
from harness.store.run_store import RunStore
from harness.voices.choice import open_voices
from harness.voices.recorded_packs import pack_of_recordings
from tests.harness.conftest import Finished, peer

SAID = "I went home and <pause 1000> then I sat <pause 300> in the kitchen, <pause 650> with all of the boxes around me."
LEAD_S = 0.6
TAIL_S = 0.8
EDGE_S = 0.04
IN_NOISE_S = 0.08
"""A phoneme: what fades into a room's noise cannot be followed to its end."""


@pytest.fixture(scope="module")
def turn() -> RenderedTurn:
    voices = open_voices(load_pack("heart-mini"))
    return voices.render(Turn(role="seeker", text=SAID), "default")


def around(signal: Float32, lead_s: float = LEAD_S, tail_s: float = TAIL_S, noise_db: float | None = None) -> Float32:
    """Speech in a room whose noise lies so many dB below it."""
    whole = np.concatenate([np.zeros(round(lead_s * RATE_HZ)), signal, np.zeros(round(tail_s * RATE_HZ))])
    if noise_db is not None:
        level = 10 ** ((level_db(signal, RATE_HZ) - noise_db) / 20)
        whole = whole + level * np.random.default_rng(0).normal(size=whole.size)
    return whole.astype(np.float32)


def true_pauses(turn: RenderedTurn) -> list[tuple[float, float]]:
    return [(LEAD_S + a / RATE_HZ, LEAD_S + b / RATE_HZ) for a, b in turn.pauses]


def end_of(turn: RenderedTurn) -> float:
    return LEAD_S + turn.samples.size / RATE_HZ


def folder_with(tmp_path: Path, name: str, samples: Float32, rate_hz: int = RATE_HZ) -> Path:
    folder = tmp_path / "recordings"
    folder.mkdir(exist_ok=True)
    soundfile.write(folder / name, samples, rate_hz, subtype="PCM_16")
    return folder


@pytest.mark.parametrize(("noise_db", "rate_hz"), [(None, 16_000), (30.0, 16_000), (30.0, 44_100), (35.0, 8_000)])
def test_pauses_and_the_end_are_found_in_silence_and_in_a_room(
    tmp_path: Path, turn: RenderedTurn, noise_db: float | None, rate_hz: int
) -> None:
    heard = resample_float(around(to_float(turn.samples), noise_db=noise_db), RATE_HZ, rate_hz)
    found = pack_of_recordings(folder_with(tmp_path, "a.wav", heard, rate_hz), silero())
    (_, used) = found.table[0]
    assert len(used.pauses) == 3
    off = EDGE_S if noise_db is None else IN_NOISE_S
    assert np.abs(np.array(used.pauses) - np.array(true_pauses(turn))).max() < off
    assert abs(used.ends[0] - end_of(turn)) < off
    assert any("resampled" in note for note in found.imported.not_carried) == (rate_hz != RATE_HZ)


def test_a_breath_and_a_click_are_part_of_the_pause(tmp_path: Path, turn: RenderedTurn) -> None:
    signal = to_float(turn.samples).copy()
    start, end = turn.pauses[0]
    drawn = breath(RATE_HZ, level_db(signal, RATE_HZ), 0)
    signal[start + 3_200 : start + 3_200 + drawn.size] += drawn
    signal[end - 3_000 : end - 2_960] += 0.3
    found = pack_of_recordings(folder_with(tmp_path, "a.wav", around(signal)), silero())
    assert np.abs(np.array(found.table[0][1].pauses) - np.array(true_pauses(turn))).max() < EDGE_S


def test_the_table_beside_replaces_what_was_found(tmp_path: Path, turn: RenderedTurn) -> None:
    folder = folder_with(tmp_path, "a.wav", around(to_float(turn.samples)))
    (start, end), *_ = true_pauses(turn)
    (folder / "pauses.csv").write_text(
        f"file,pause_start_s,pause_end_s,end_s\na.wav,{start},{end},\na.wav,,,{end_of(turn) - 0.2}\n"
    )
    found = pack_of_recordings(folder, silero())
    assert found.table[0][1].pauses == [(start, end)]
    ((_, sound),) = found.sounds.items()
    assert sound.size / RATE_HZ == pytest.approx(end_of(turn) - 0.2 - LEAD_S, abs=EDGE_S)


def test_a_call_is_parted_where_the_other_side_speaks(tmp_path: Path, turn: RenderedTurn) -> None:
    one = around(to_float(turn.samples), 0.3, 0.5)
    voices = open_voices(load_pack("heart-mini"))
    said = voices.render(Turn(role="seeker", text="That sounds like a lot."), "default")
    reply = around(to_float(said.samples), 0.2, 0.2)
    caller = np.concatenate([one, np.zeros(reply.size, np.float32), one])
    agent = np.concatenate([np.zeros(one.size, np.float32), reply, np.zeros(one.size, np.float32)])
    folder = folder_with(tmp_path, "call.flac", np.stack([agent, caller], axis=1))
    with pytest.raises(UserError, match="--caller-channel"):
        pack_of_recordings(folder, silero())
    found = pack_of_recordings(folder, silero(), caller_channel=2)
    assert [c.id for c in found.imported.contexts] == ["call-1", "call-2"]
    assert [len(c.spoken.pauses_s or ()) for c in found.imported.contexts] == [3, 3]


def clipped(signal: Float32) -> Float32:
    return np.clip(signal * 40, -1, 1)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("cut.wav", lambda s: around(s, tail_s=0.0), r"cut\.wav at \d+\.\d+ s: the caller speaks until the recording ends"),
        ("loud.wav", lambda s: clipped(around(s)), r"loud\.wav at \d+\.\d{3} s: clipped"),
        ("noise.wav", lambda s: around(s, noise_db=5.0), r"noise\.wav: it is never silent"),
        (
            "hiss.wav",
            lambda s: around(np.float32(0.03) * np.random.default_rng(0).standard_normal(s.size, dtype=np.float32)),
            r"hiss\.wav: nothing is spoken",
        ),
        ("none.wav", lambda s: np.zeros_like(s), r"none\.wav: is completely silent"),
    ],
)
def test_what_cannot_be_used_is_named_with_the_instant(
    tmp_path: Path, turn: RenderedTurn, name: str, change: Callable[[Float32], Float32], said: str
) -> None:
    folder = folder_with(tmp_path, name, change(to_float(turn.samples)).astype(np.float32))
    with pytest.raises(UserError, match=said) as fault:
        pack_of_recordings(folder, silero())
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a.wav,1.0,99.0,", r"a\.wav at 99\.000 s: pauses\.csv names an instant outside"),
        ("a.wav,,,99.0", r"at 99\.000 s"),
        ("a.wav,0.1,0.2,", r"a\.wav at 0\.100 s: the pause to 0\.200 s is not inside a turn"),
        ("a.wav,2.0,1.0,", r"pauses\.csv:2: a\.wav at 2\.000 s: the pause ends before it begins"),
        ("a.wav,x,1.0,", r"pauses\.csv:2: a\.wav: pause_start_s: 'x' is no number of seconds"),
        ("b.wav,1.0,2.0,", r"'b\.wav' is not a sound file"),
    ],
)
def test_a_wrong_table_is_refused_with_the_instant(tmp_path: Path, turn: RenderedTurn, row: str, said: str) -> None:
    folder = folder_with(tmp_path, "a.wav", around(to_float(turn.samples)))
    (folder / "pauses.csv").write_text(f"file,pause_start_s,pause_end_s,end_s\n{row}\n")
    with pytest.raises(ValueError if "csv:2" in said else UserError, match=said):
        pack_of_recordings(folder, silero())


def eot_row(turn: RenderedTurn, **more: object) -> dict[str, object]:
    spans = [{"start": a, "end": b} for a, b in true_pauses(turn)]
    last = {"start": end_of(turn), "end": end_of(turn) + TAIL_S}
    return {"id": "Turn 1", "language": "en", "audio": {"path": "1.wav"}, "silence_spans": [*spans, last], **more}


def test_eot_bench_rows_keep_their_own_spans_and_words(
    tmp_path: Path, turn: RenderedTurn, harness_here: Callable[..., Finished]
) -> None:
    folder = folder_with(tmp_path, "1.wav", around(to_float(turn.samples), noise_db=30))
    words = [{"word": word, "start": 0.0, "end": 1.0} for word in ("I", "went", "home.")]
    messages = [{"role": "assistant", "content": "How was it?"}]
    rows = [eot_row(turn, words=words, messages=messages), eot_row(turn, id="2"), eot_row(turn, id="3", language="de")]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pyarrow = pytest.importorskip("pyarrow")
    parquet = tmp_path / "hub" / "en"
    parquet.mkdir(parents=True)
    sound = {"bytes": (folder / "1.wav").read_bytes(), "path": "1.wav"}
    table = pyarrow.Table.from_pylist([{**row, "audio": sound, "words": words, "messages": messages} for row in rows[:1]])
    from pyarrow.parquet import write_table

    write_table(table, parquet / "validation-00000-of-00001.parquet")
    for path, name, items in ((folder, "lines", 2), (parquet.parent, "hub-rows", 1)):
        done = harness_here("scenarios", "import", "eot-bench", path, "--out", tmp_path / name, "--json")
        assert done.code == 0, done.err
        assert done.json["items"] == items
        pack = load_pack(tmp_path / name)
        assert pack.contexts[0].spoken.text == "I went home."
        assert [t.text for t in pack.contexts[0].history] == ["How was it?"]
        expected = [(a, b) for a, b in true_pauses(turn)]
        assert np.abs(np.array(pack.contexts[0].spoken.pauses_s) - np.array(expected)).max() < 0.002
        assert not pack.contexts[0].timing_alone
    assert pack.name == "hub-rows"
    outside = eot_row(turn)
    outside["silence_spans"] = [{"start": 1.0, "end": 1.4}, {"start": 99.0, "end": 100.0}]
    (folder / "rows.jsonl").write_text(json.dumps(outside) + "\n")
    done = harness_here("scenarios", "import", "eot-bench", folder, "--out", tmp_path / "x")
    assert done.code == 2
    assert "'Turn 1' at 99.000 s: a silence span is outside the sound" in done.err.splitlines()[-1]
    assert not (tmp_path / "x").exists()


@pytest.fixture
def people(tmp_path: Path, turn: RenderedTurn, harness_here: Callable[..., Finished]) -> Path:
    """A pack of one recording without text."""
    folder = folder_with(tmp_path, "a.wav", around(to_float(turn.samples), noise_db=30))
    done = harness_here("scenarios", "import", "recordings", folder, "--out", tmp_path / "people")
    assert done.code == 0, done.err
    return tmp_path / "people"


def test_a_pack_without_texts_is_for_timing_alone(people: Path, tmp_path: Path, harness_here: Callable[..., Finished]) -> None:
    rows = list(csv.DictReader((people / "pauses.csv").open()))
    assert [row["file"] for row in rows] == ["a.wav"] * 4
    checked = harness_here("scenarios", "check", tmp_path / "people", "--json")
    assert checked.code == 0
    assert (checked.json["recorded"], checked.json["timing_alone"], checked.json["pauses"]["count"]) == (1, 1, 3)
    refused = harness_here("scenarios", "check", tmp_path / "people", "--turn-taking")
    assert (refused.code, "its callers are recordings" in refused.err) == (2, True)
    asked = harness_here("run", "--agent", "smollm2-text", "--pack", tmp_path / "people")
    assert (asked.code, "is a recording without text" in asked.err) == (2, True)


@pytest.mark.long
def test_a_pack_without_texts_is_played(
    people: Path, tmp_path: Path, harness_command: Callable[..., Finished], harness_here: Callable[..., Finished]
) -> None:
    run = tmp_path / "r"
    done = harness_command("run", "--agent", peer("raw-pcm-answers"), "--pack", people, "--json", "--out", run)
    assert done.code == 0, done.err
    (cell,) = done.json["cells"]
    (session,) = RunStore.open(run).sessions()
    (timing,) = session.turn_timings
    assert timing.endpointing is not None
    lengths = np.array([pause.length_ms for pause in timing.endpointing.pauses])
    marked = np.array([1000, 300, 650])
    assert lengths.shape == marked.shape, "the noise of the room hides no pause"
    assert np.abs(lengths - marked).max() < 1000 * IN_NOISE_S
    assert timing.endpointing.dead_air_ms is not None
    assert cell["turns"] == 1
    assert cell["elo"] is None
    assert "timing_alone" in [caution["code"] for caution in done.json["cautions"]]
    assert "not judged" in (run / "report.html").read_text(encoding="utf-8")
    shown = harness_here("endpointing", run)
    assert shown.code == 0, shown.err
    again = harness_here("judge", "run", run, "--judge", "embedded")
    assert "they are timed and not judged" in again.err + again.out
