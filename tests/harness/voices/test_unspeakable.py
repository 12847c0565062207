"""Turns that no voice here can speak are named by the check of a pack, and refused before a run renders any."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.errors import UserError
from harness.scenarios.imports import import_jsonl, write_imported
from harness.scenarios.pack import load_pack, shipped_packs
from harness.scenarios.speakable import other_language, unreadable_sign
from harness.voices.choice import open_voices
from harness.voices.unspeakable import refuse_unspeakable, unspeakable


def pack_of(folder: Path, *texts: str) -> Path:
    rows = "".join(f'{{"turns": [{{"role": "user", "text": "{text}"}}]}}\n' for text in texts)
    (folder / "mine.jsonl").write_text(rows, encoding="utf-8")
    return write_imported(import_jsonl(folder / "mine.jsonl"), folder / "mine.yaml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("私はとても悲しいです", "not Latin"),
        ("Мне очень грустно", "not Latin"),
        ("I am fine \\u202e really", "U+202E"),
        ("I am \\u200bfine", "U+200B"),
        ("I am fine 😀", "emoji"),
        ("Ich weiß nicht, was ich tun soll, seit meine Frau weg ist.", "German"),
        ("Je ne sais pas quoi faire depuis que ma femme est partie.", "French"),
        ("No sé qué hacer desde que ella se fue de la casa.", "Spanish"),
        ("Jag vet inte vad jag ska göra sedan min fru lämnade mig.", "not to be English"),
    ],
)
def test_a_turn_that_no_voice_speaks_is_a_problem_and_refused(text: str, says: str, tmp_path: Path) -> None:
    path = pack_of(tmp_path, "I can't sleep at night.", text)
    assert (checked := CliRunner().invoke(app, ["scenarios", "check", str(path)], standalone_mode=False)).return_value == 1
    assert "mine-2: turn 1" in checked.output
    assert says in " ".join(checked.output.split())
    pack = load_pack(path)
    with pytest.raises(UserError, match="mine-2, turn 1") as caught:
        refuse_unspeakable(pack, pack.contexts, open_voices(pack), "seeded")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "José and Zoë met Jürgen in München, and I felt left out.",
        "My abuela said mija no llores and I just cried all day.",
        "Room 12, 3:45, 50 °C, 20 €, 5½ — that’s all…",
        "Oh no.", "Ugh!", "Schadenfreude", "",
    ],
)  # fmt: skip
def test_names_numbers_and_borrowed_words_pass(text: str) -> None:
    assert unreadable_sign(text) is None
    assert other_language(text) is None


@pytest.mark.parametrize("name", shipped_packs())
def test_every_turn_of_the_packs_that_ship_can_be_spoken(name: str) -> None:
    pack = load_pack(name)
    assert [found for c in pack.contexts for found in unspeakable(c, open_voices(pack), "replay")] == []


def test_a_voice_of_the_user_s_own_may_speak_any_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "voices.toml").write_text('[default]\nservice = "some.where.Service"\n')
    monkeypatch.setenv("HEART_VOICES", str(tmp_path / "voices.toml"))
    pack = load_pack(pack_of(tmp_path, "私はとても悲しいです"))
    refuse_unspeakable(pack, pack.contexts, open_voices(pack), "seeded")
