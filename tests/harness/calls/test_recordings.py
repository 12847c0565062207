"""The calls of a folder and of the table beside it."""

import os
import re
import shutil
from pathlib import Path

import pytest

from harness.calls.recordings import TABLE, find_calls
from harness.errors import UserError
from harness.printable import DOT
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
        ("name,side\nb.wav,left\n", "1: column"),
        ("file,caller\nb.wav,middle\n", "2: caller 'middle'"),
        ("file,caller\nc.wav,left\n", "2: there is no file 'c.wav'"),
        ("file,caller\nb.wav\n", "2: 1 cells where the header has 2"),
        ("file,caller\nb.wav,left,x\n", "2: 3 cells where the header has 2"),
        ("caller_file,agent_file,caller\nb.wav,a.flac,left\n", "2: caller 'left'"),
        (f"file,caller\n{'x' * 300}.wav,left\n", "2: there is no file 'xxx"),
        (f"file,caller\nb.wav,{'x' * 200_000}\n", "2: caller 'xxx"),
        ("file,caller\nb.wav,left\n./b.wav,right\n", "3: 'b.wav' is in the table already"),
        ("file,caller_file,agent_file\nb.wav,,\n,a.flac,b.wav\n", "3: 'b.wav' is in the table already"),
        ("caller_file,agent_file\na.flac,a.flac\n", "2: 'a.flac' is in the table already"),
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
    with pytest.raises(UserError, match="cannot be read as UTF-8"):
        find_calls(folder)


def test_a_table_that_is_not_there_is_said(folder: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.csv: no such file"):
        find_calls(folder, folder / "nowhere.csv")


def test_nothing_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no recording in it"):
        find_calls(tmp_path)
    with pytest.raises(UserError, match="is no file or folder"):
        find_calls(tmp_path / "nowhere")


def test_the_same_recording_under_two_names_counts_once(folder: Path) -> None:
    shutil.copy(folder / "a.flac", folder / "copy of a.flac")
    assert [call.files.name for call in find_calls(folder)] == ["a.flac", "b.wav", "week 2/Anruf Nr. 7.ogg"]


def test_recordings_that_begin_and_end_alike_are_two(folder: Path) -> None:
    """As those of a recorder that cuts every hour, in the silence of a night."""
    for name, in_the_middle in (("one.wav", b"\1"), ("two.wav", b"\2")):
        (folder / name).write_bytes(b"\0" * 200_000 + in_the_middle + b"\0" * 200_000)
    assert len(find_calls(folder)) == 5


@pytest.mark.parametrize("name", [b"t\xe9l\xe9phone.wav", b"two\nlines.wav", b"\x1b[31mred.wav"])
def test_a_name_is_shown_as_text_of_one_line(folder: Path, name: bytes) -> None:
    shutil.move(folder / "b.wav", folder / os.fsdecode(name))
    (call,) = [call for call in find_calls(folder) if call.files.name.endswith(".wav")]
    assert DOT in call.files.name
    assert not re.search(r"[\x00-\x1f]", call.files.name)
    call.files.name.encode()
    assert call.files.files[0].is_file()


def test_numbers_and_cells_with_spaces_name_a_side_too(folder: Path) -> None:
    table(folder, "\ufefffile,caller\r\n b.wav , 2\r\na.flac,LEFT\r\n")
    assert {call.files.name: call.files.caller for call in find_calls(folder)} == {
        "a.flac": "left", "b.wav": "right", "week 2/Anruf Nr. 7.ogg": None,
    }  # fmt: skip


def test_the_row_of_a_file_counts_more_than_the_option(folder: Path) -> None:
    table(folder, "file,caller\nb.wav,right\na.flac,\n")
    sides = {call.files.name: call.files.caller for call in find_calls(folder, caller="left")}
    assert (sides["b.wav"], sides["a.flac"]) == ("right", "left")


def test_the_files_of_a_table_may_lie_elsewhere(folder: Path) -> None:
    shutil.move(folder / "b.wav", folder.parent / "b.wav")
    table(folder, "file,caller\n../b.wav,left\n")
    assert "../b.wav" in [call.files.name for call in find_calls(folder)]


def test_links_that_lead_nowhere_or_in_a_circle_are_no_calls(folder: Path) -> None:
    (folder / "gone.wav").symlink_to("nowhere.wav")
    (folder / "week 2" / "up").symlink_to("..")
    (folder / "LOUD.WAV").write_bytes(b"1")
    assert len(find_calls(folder)) == 4


def test_a_name_without_a_letter_and_a_long_one_give_ids(folder: Path) -> None:
    shutil.move(folder / "a.flac", folder / "通話.flac")
    shutil.move(folder / "b.wav", folder / f"{'b' * 200}.wav")
    ids = [call.id for call in find_calls(folder)]
    assert any(name.startswith("call-") for name in ids)
    assert max(map(len, ids)) < 80
