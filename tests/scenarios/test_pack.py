"""A malformed pack gets one line that names file, line, item and field; a good one is read whole."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

from harness.scenarios import Context, PackError, context_hash, load_pack
from tests.scenarios.conftest import WritePack


def refusal(path: Path | str) -> str:
    with pytest.raises(PackError) as caught:
        load_pack(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_reads_a_pack_with_its_head_inherited(write_pack: WritePack) -> None:
    pack = load_pack(write_pack())
    assert pack.name == "tiny"
    (context,) = pack.contexts
    assert (context.source, context.licence) == ("written for the tests", "Apache-2.0")
    assert context.spoken.plain == "It's the exam. I mean, the second one."


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("emotion: anxiety", "emotion: anxeity", 7, ["'one'", "emotion", "anxiety"]),
        ("<pause 400>", "<pause>", 13, ["'one'", "turns[1].text", "<pause 450>"]),
        ("<pause 400>", "<pause 90000>", 13, ["turns[1].text", "90000"]),
        ("<pause 400> the second one.", "<pause 400>", 13, ["turns[1].text", "open or close"]),
        ("text: It's the exam. I mean, <pause 400> the second one.", "text: '... !'", 13, ["nothing is said"]),
        ("text: Hello there.", "text: ''", 11, ["'one'", "turns[0].text"]),
        ("text: Hello there.", f"text: {'a' * 5000}", 11, ["turns[0].text", "4000"]),
        ("text: Hello there.", "txt: Hello there.", 11, ["turns[0].txt is no setting of a context; did you mean text?"]),
        ("text: Hello there.", "text: 2026-13-99", 11, ["2026-13-99"]),
        ("role: supporter", "role: seeker", 5, ["'one'", "turns 1 and 2"]),
        ("id: one", "id: One Two", 5, ["id"]),
        ("subset: regular", "subset: adversarial", 5, ["escalation"]),
        ("licence: Apache-2.0\n", "", 4, ["licence", "missing"]),
        ("licence: Apache-2.0", "licence: Apache-2.0\nlicense: MIT", 4, ["license"]),
        ("problem: exams", "problem: exams\n    problem: money", 9, ["problem", "twice"]),
        ("problem: exams", "problem: [exams", 9, ["not YAML"]),
        ("problem: exams", "problem: &a exams", 8, ["anchors"]),
        ("problem: exams", "problem: *a", 8, ["aliases"]),
        ("problem: exams", "problem: !!python/object/apply:os.getcwd []", 8, ["tags"]),
        ("problem: exams", "problem: " + "[" * 5000 + "]" * 5000, 8, ["nested"]),
    ],
)
def test_a_fault_is_one_line_with_its_place(write_pack: WritePack, old: str, new: str, line: int, says: list[str]) -> None:
    path = write_pack(old, new)
    message = refusal(path)
    assert message.startswith(f"{path}:{line}: ")
    for word in says:
        assert word in message
    assert len(message) < 400


def test_a_yaml_bomb_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "bomb.yaml"
    rows = ["a0: &a0 [lol, lol]"] + [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 12)]
    path.write_text("\n".join(rows))
    begun = time.monotonic()
    assert "anchors" in refusal(path)
    assert time.monotonic() - begun < 2


def test_other_encodings_are_named_with_their_line(tmp_path: Path, pack_text: str) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes(pack_text.replace("exams", "café").encode("latin-1"))
    assert refusal(path).startswith(f"{path}:8: not UTF-8")
    path.write_bytes(pack_text.encode("utf-16"))
    assert "not UTF-8" in refusal(path)


def test_empty_binary_and_oversized_files(tmp_path: Path) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text("")
    assert "empty" in refusal(path)
    path.write_bytes(b"pack: \x01")
    assert "not YAML" in refusal(path)
    path.write_bytes(b"pack: \x00\x01")
    assert "NUL" in refusal(path)
    path.write_text("- just\n- a list")
    assert "odd.yaml:1:" in refusal(path)
    with path.open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    assert "larger than 8 MiB" in refusal(path)


def test_an_unknown_name_offers_what_is_near() -> None:
    assert "heart-mini" in refusal("hart-mini")
    assert "shipped are" in refusal("zzz")
    assert len(refusal("x" * 10_000)) < 400


def test_a_folder_is_one_pack_and_ids_differ_across_its_files(tmp_path: Path, pack_text: str) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    assert "no .yaml file" in refusal(folder)
    (folder / "a.yaml").write_text(pack_text)
    (folder / "b.yaml").write_text(pack_text.replace("id: one", "id: two"))
    pack = load_pack(folder)
    assert (pack.name, [c.id for c in pack.contexts]) == ("set", ["one", "two"])
    (folder / "b.yaml").write_text(pack_text)
    message = refusal(folder)
    assert "b.yaml:5" in message
    assert "a.yaml:5" in message
    assert "'one'" in message


@pytest.mark.parametrize(
    "audio",
    [
        "/etc/passwd",
        "../secret.wav",
        "a/../../secret.wav",
        "..\\secret.wav",
        "C:/x.wav",
        "link.wav",
        "linked/secret.wav",
    ],
)
def test_audio_never_leaves_the_folder_of_its_pack(tmp_path: Path, pack_text: str, audio: str) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    outside = tmp_path / "secret.wav"
    soundfile.write(outside, np.zeros(800), 16000)
    (folder / "link.wav").symlink_to(outside)
    os.symlink(tmp_path, folder / "linked")
    path = folder / "p.yaml"
    path.write_text(pack_text.replace("text: It's", f"audio: '{audio}'\n        text: It's"))
    message = refusal(path)
    assert "turns[1].audio" in message
    assert "folder" in message


def test_a_recording_is_checked_and_counts_by_content(tmp_path: Path, pack_text: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(pack_text.replace("text: It's", "audio: me.wav\n        text: It's"))
    assert "no recording" in refusal(path)
    (tmp_path / "me.wav").write_text("this is not sound")
    assert "not audio" in refusal(path)
    soundfile.write(tmp_path / "me.wav", np.zeros(1600), 16000)
    first = load_pack(path)
    assert first.recording_of(first.contexts[0].spoken) == tmp_path / "me.wav"
    assert first.recording_of(first.contexts[0].turns[0]) is None
    soundfile.write(tmp_path / "me.wav", np.full(1600, 0.1), 16000)
    assert load_pack(path).hash != first.hash
    soundfile.write(tmp_path / "me.wav", np.zeros(16000 * 130), 16000)
    assert "lasts 130.0 s" in refusal(path)


def test_the_hash_follows_what_is_said_and_not_how_the_file_is_laid_out(write_pack: WritePack) -> None:
    first = load_pack(write_pack())
    reflowed = load_pack(write_pack("text: Hello there.", "text: >-\n          Hello\n          there.", name="other.yaml"))
    changed = load_pack(write_pack("Hello there", "Hello here"))
    assert first.hash == reflowed.hash
    assert context_hash(first.contexts[0]) != context_hash(changed.contexts[0])


def test_a_field_at_its_default_leaves_the_hash_alone(write_pack: WritePack) -> None:
    context = load_pack(write_pack()).contexts[0]
    spelled_out = Context.model_validate({**context.model_dump(), "voice": "default", "references": ()})
    assert context_hash(spelled_out) == context_hash(context)
