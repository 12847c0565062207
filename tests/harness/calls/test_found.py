"""The calls of a folder and of the table beside it."""

import shutil
from pathlib import Path

import pytest

from harness.calls.found import TABLE, find_calls
from harness.errors import UserError
from harness.scenarios.context import Context
from tests.harness.calls.made_calls import short_call, write_call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for seed, name in enumerate(("b.wav", "a.flac", "week 2/Anruf Nr. 7.ogg")):
        write_call(tmp_path / "calls" / name, short_call(seed), **({"format": "OGG"} if name.endswith("ogg") else {}))
    (tmp_path / "calls" / "notes.txt").write_text("no call")
    (tmp_path / "calls" / ".hidden.wav").write_text("no call")
    return tmp_path / "calls"


def table(folder: Path, text: str) -> Path:
    path = folder / TABLE
    path.write_text(text, encoding="utf-8")
    return path


def test_every_recording_of_a_folder_is_a_call(folder: Path) -> None:
    found = find_calls(folder, caller="right")
    assert [call.files.name for call in found] == ["a.flac", "b.wav", "week 2/Anruf Nr. 7.ogg"]
    assert {call.files.caller for call in found} == {"right"}


def test_an_id_is_a_contexts_and_stays_when_the_file_moves(folder: Path) -> None:
    before = {call.files.name: call.id for call in find_calls(folder)}
    (folder / "elsewhere").mkdir()
    shutil.move(folder / "b.wav", folder / "elsewhere" / "b.wav")
    after = {call.files.name: call.id for call in find_calls(folder)}
    assert after["elsewhere/b.wav"].rpartition("-")[2] == before["b.wav"].rpartition("-")[2]
    for name in after.values():
        Context.model_validate(
            {"id": name, "subset": "regular", "emotion": "neutral", "problem": "calls", "source": "x", "licence": "x",
             "turns": [{"role": "seeker", "text": "Hello."}]}
        )  # fmt: skip


def test_a_recording_that_is_there_twice_is_one_call(folder: Path) -> None:
    shutil.copy(folder / "b.wav", folder / "copy" if (folder / "copy").is_dir() else folder / "week 2" / "b.wav")
    assert len(find_calls(folder)) == 4  # under two names
    shutil.copy(folder / "b.wav", folder / "B.WAV")
    assert len(find_calls(folder)) == 4  # under one


def test_one_file_is_one_call(folder: Path) -> None:
    (call,) = find_calls(folder / "b.wav")
    assert call.files.files == (folder / "b.wav",)


def test_the_table_names_sides_and_pairs(folder: Path) -> None:
    table(folder, "file,caller,caller_file,agent_file\na.flac,Right,,\n,,b.wav,week 2/Anruf Nr. 7.ogg\n")
    one, pair = find_calls(folder, caller="left")
    assert (one.files.name, one.files.caller) == ("a.flac", "right")
    assert (pair.files.files, pair.files.caller) == ((folder / "b.wav", folder / "week 2/Anruf Nr. 7.ogg"), None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name,side\nb.wav,left\n", "1: its columns"),
        ("file,caller\nb.wav,middle\n", "2: caller 'middle'"),
        ("file,caller\nc.wav,left\n", "2: there is no file 'c.wav'"),
        ("file,caller\nb.wav\n", "2: has not as many cells"),
        ("caller_file,agent_file\nb.wav,\n", "2: a row names"),
        ("file,caller,caller_file,agent_file\nb.wav,left,a.flac,b.wav\n", "2: a row names"),
    ],
)
def test_a_wrong_row_is_refused_by_its_number(folder: Path, text: str, says: str) -> None:
    path = table(folder, text)
    with pytest.raises(UserError) as caught:
        find_calls(folder)
    assert str(caught.value).startswith(f"{path}:{says}")


def test_a_table_that_is_no_text_is_refused(folder: Path) -> None:
    (folder / TABLE).write_bytes(b"\xff\xfe\x00file")
    with pytest.raises(UserError, match="cannot be read as text"):
        find_calls(folder)


def test_nothing_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no recording in it"):
        find_calls(tmp_path)
    with pytest.raises(UserError, match="is no file or folder"):
        find_calls(tmp_path / "nowhere")
