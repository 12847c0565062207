"""TurnBench's rows become callers: agreed turns with their pauses, and a reason for each turn that is left out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from harness.errors import UserError
from harness.scenarios import load_pack
from harness.scenarios.imports import ImportFault
from harness.scenarios.imports.turnbench import DISPUTED, LEFT_OPEN, OWN_SOUND, SPEAKERS, turns_of
from harness.scenarios.imports.turnbench import talks as read_talks
from harness.voices.turnbench_packs import pack_of_turnbench
from tests.harness.conftest import Finished

RATE_HZ = 24_000
LASTS_S = 40.0
Stretch = tuple[float, float, str]
FIRST: tuple[Stretch, ...] = ((1.0, 2.0, "I was there,"), (2.8, 4.0, "and it rained."), (6.3, 9.0, "So I went home."))
SECOND: tuple[Stretch, ...] = ((4.3, 6.0, "What did you do?"),)


def events(stretches: tuple[Stretch, ...], late_s: float = 0.0, label: str = "Normal Turn") -> list[dict[str, Any]]:
    return [{"start_s": a + late_s, "end_s": b + late_s, "label": label, "text": text} for a, b, text in stretches]


def row(
    first: tuple[Stretch, ...] = FIRST, second: tuple[Stretch, ...] = SECOND, **more: list[dict[str, Any]]
) -> dict[str, Any]:
    """A talk whose annotators differ by 50 ms; `more` adds events to tracks ("a1": annotator a of speaker 1)."""
    found: dict[str, Any] = {"conversation_id": "20", "metadata": {"conversation_type": "Narrative/Storytelling"}}
    for speaker, stretches in ((1, first), (2, second)):
        found[f"speaker_{speaker}_audio"] = {"path": f"{speaker}.flac"}
        for annotator, late_s in (("a", -0.05), ("b", 0.0), ("c", 0.05)):
            track = events(stretches, late_s) + more.get(f"{annotator}{speaker}", [])
            found[f"speaker_{speaker}_annotation_{annotator}"] = track
    return found


def written(folder: Path, *rows: dict[str, Any], clipped: bool = False) -> Path:
    """The rows as JSON Lines, with sound only where a stretch of that speaker is."""
    folder.mkdir(exist_ok=True)
    for speaker in SPEAKERS:
        sound = np.zeros(round(LASTS_S * RATE_HZ))
        for one in rows:
            for event in one[f"speaker_{speaker}_annotation_b"]:
                a, b = (round(event[edge] * RATE_HZ) for edge in ("start_s", "end_s"))
                sound[a:b] = 0.3 * np.sin(np.arange(b - a) / 20)[: sound.size - a]
        if clipped:
            sound = np.clip(9 * sound, -1, 1)
        soundfile.write(folder / f"{speaker}.flac", sound, RATE_HZ)
    (folder / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return folder


def doubts(folder: Path, one: dict[str, Any]) -> list[tuple[int, float, str | None]]:
    ((_, _, talk),) = read_talks(written(folder, one))
    return [(turn.speaker, turn.start_s, turn.doubt) for turn in turns_of(talk)]


def test_agreed_turns_have_their_pauses_and_the_talk_before_them(tmp_path: Path, harness_here: Callable[..., Finished]) -> None:
    folder = written(tmp_path / "talks", row())
    done = harness_here("scenarios", "import", "turnbench", folder, "--out", tmp_path / "theirs", "--json")
    assert done.code == 0, done.err
    assert "3 turns of 1 talk:" in done.json["not_carried"][-1]
    one, two, three = load_pack(tmp_path / "theirs").contexts
    assert (one.spoken.text, two.spoken.text) == ("I was there, and it rained.", "What did you do?")
    assert one.spoken.pauses_s == ((1.0, 1.8),)
    assert [(t.role, t.text) for t in three.history] == [
        ("seeker", "I was there, and it rained."),
        ("supporter", "What did you do?"),
    ]
    assert soundfile.info(tmp_path / "theirs" / str(one.spoken.audio)).duration == pytest.approx(3.0)
    assert two.spoken.pauses_s == ()
    assert "not to be passed on" in one.licence
    assert [c.source.split(",")[0] for c in (one, two, three)] == [f"speaker turnbench-20-{s}" for s in (1, 2, 1)]


def test_the_same_rows_are_read_from_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    one = row()
    folder = written(tmp_path / "talks", one)
    plain = pack_of_turnbench(folder)
    for speaker in SPEAKERS:
        one[f"speaker_{speaker}_audio"] = {"bytes": (folder / f"{speaker}.flac").read_bytes(), "path": f"{speaker}.flac"}
    (tmp_path / "hub").mkdir()
    write_table(pyarrow.Table.from_pylist([one]), tmp_path / "hub" / "dev-00000-of-00001.parquet")
    assert pack_of_turnbench(tmp_path / "hub").imported.contexts == plain.imported.contexts


def test_what_is_in_doubt_is_left_out_by_its_reason(tmp_path: Path) -> None:
    alone = events(((4.05, 4.2, "or"),))
    assert doubts(tmp_path / "disputed", row(a1=alone)) == [(1, 1.0, DISPUTED), (2, 4.3, None), (1, 6.3, None)]
    laughs = events(((2.2, 2.6, ""),), label="Laughter")
    assert doubts(tmp_path / "laughs", row(c1=laughs))[0] == (1, 1.0, OWN_SOUND)
    listens = events(((2.2, 2.6, "mm-hm"),), label="Continuer Backchannel")
    assert doubts(tmp_path / "listens", row(a2=listens, b2=listens))[0] == (1, 1.0, None)
    silent = row(first=(*FIRST, (15.0, 16.0, "Hello?")))
    assert doubts(tmp_path / "open", silent)[2:] == [(1, 6.3, LEFT_OPEN), (1, 15.0, None)]


def test_one_annotator_who_sees_it_otherwise_is_outvoted(tmp_path: Path) -> None:
    one = row()
    one["speaker_1_annotation_c"] = events(((1.0, 4.0, "I was there, and it rained."), FIRST[2]))
    ((_, _, talk),) = read_talks(written(tmp_path / "talks", one))
    turn = turns_of(talk)[0]
    assert turn.doubt is None
    assert np.array(turn.pauses) == pytest.approx(np.array([[1.975, 2.775]]))


def test_words_of_the_other_inside_a_stretch_do_not_end_the_turn(tmp_path: Path) -> None:
    inside = row(second=((3.0, 3.5, "Yes, but"), *SECOND))
    assert [start for speaker, start, _ in doubts(tmp_path / "inside", inside) if speaker == 1] == [1.0, 6.3]


def test_rows_that_give_no_turn_are_refused_in_one_line(tmp_path: Path, harness_here: Callable[..., Finished]) -> None:
    blank = {**row((), ()), "speaker_1_annotation_a": None}
    done = harness_here("scenarios", "import", "turnbench", written(tmp_path / "test", blank), "--out", tmp_path / "x")
    assert done.code == 2
    assert "has no labels, as in the test split; give the dev split" in done.err.splitlines()[-1]
    with pytest.raises(UserError, match="3: clipped"):
        pack_of_turnbench(written(tmp_path / "clipped", row(), clipped=True))
    late = row(first=((LASTS_S - 1, LASTS_S + 1, "Late"),))
    with pytest.raises(UserError, match=r"'20' at 41\.000 s: a label is outside the sound \(40\.00 s\)"):
        pack_of_turnbench(written(tmp_path / "late", late))
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "rows.jsonl").write_text('{"conversation_id": 1, "speaker_1_audio": "1.flac"}\n')
    with pytest.raises(ImportFault, match="speaker_2_audio: Field required; the columns are conversation_id"):
        pack_of_turnbench(tmp_path / "wrong")
    refused = harness_here("scenarios", "import", "turnbench", tmp_path, "--out", tmp_path / "x", "--language", "en")
    assert "--language: is for recordings and eot-bench alone" in refused.err
