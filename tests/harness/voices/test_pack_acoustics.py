"""A pack by ear: words as they sound, and both checks on the real voice and the real transcriber."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness import models
from harness.audio import transcribe
from harness.audio.caller_voices import cast
from harness.audio.speech import RenderedTurn
from harness.audio.transcribe import Transcriber, Transcription
from harness.scenarios.pack import load_pack
from harness.voices.choice import Voices
from harness.voices.pack_acoustics import MOST_WER, measure_pack, spoken_words, word_errors


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Forty-one years, and I'm frightened.", "41 years and I’m frightened"),
        ("My mum said, um, OK.", "my mom said okay"),
        ("At six a.m.", "at 6 A.M."),
        ("Not since nineteen ninety-nine.", "not since 1999"),
    ],
)
def test_spelling_is_no_error(one: str, other: str) -> None:
    assert spoken_words(one) == spoken_words(other)


def test_errors_are_counted() -> None:
    assert word_errors(("a", "b", "c"), ("a", "x", "c", "d")) == 2
    assert word_errors(("a", "b"), ()) == 2
    assert word_errors((), ("a",)) == 1


@pytest.mark.models
def test_shipped_callers_are_understood_and_their_emotions_heard(tmp_path: Path) -> None:
    pack = load_pack("heart-mini")
    one = replace(pack, contexts=pack.contexts[:1])
    (context,) = one.contexts
    lines: list[str] = []
    found = measure_pack(one, Voices(one, tmp_path), Transcriber(models.resolve("whisper-tiny.en")), step=lines.append)
    (turn,) = found.turns
    assert len([line for line in lines if line != "rendered"]) == 1
    assert (turn.voice, turn.place) == (cast(context.voice, context.id, 0), context.id)
    assert found.wer <= MOST_WER
    assert [(check.emotion, check.audible) for check in found.emotions] == [("anxiety", True)]
    assert found.problems() == ()
    assert found.as_json()["emotions"]["anxiety"]["audible"]
    worse = replace(found, turns=(replace(turn, errors=turn.words),), emotions=(replace(found.emotions[0], as_expected=()),))
    assert len(worse.problems()) == 3


@pytest.mark.models
@pytest.mark.long
def test_the_earlier_turns_are_heard_too_when_asked_for(tmp_path: Path) -> None:
    pack = load_pack("heart-mini")
    one = replace(pack, contexts=pack.contexts[:1])
    (context,) = one.contexts
    found = measure_pack(one, Voices(one, tmp_path), Transcriber(models.resolve("whisper-tiny.en")), every_turn=True)
    assert [turn.place for turn in found.turns] == [f"{context.id}, turn 1", f"{context.id}, turn 3", context.id]
    assert {turn.emotion for turn in found.turns} == {"anxiety"}
    assert found.emotions[0].turns == 3
    assert found.wer <= MOST_WER


HARD_PACK = Path(__file__).parent / "hard_to_hear.yaml"
HARD_TURNS = {
    "plain decoding loops": "mini-sister-wedding-loan",
    "words are made up behind the last one": "open-three-seventeen",
    "whole sentences are skipped at the start": "open-adv-deposit-for-the-hall",
}


@pytest.fixture(scope="module")
def unrounded() -> Transcriber:
    """The same weights without int8, whose rounding makes Whisper hear other words on a processor without VNNI."""
    return Transcriber(models.resolve("whisper-base"), compute_type="float32")


@pytest.fixture(scope="module")
def shipped() -> Transcriber:
    return Transcriber(models.resolve("whisper-base"))


@pytest.mark.models
@pytest.mark.long
@pytest.mark.parametrize("context_id", HARD_TURNS.values(), ids=HARD_TURNS)
def test_a_turn_on_which_plain_decoding_fails_is_heard_after_all(
    unrounded: Transcriber, context_id: str, tmp_path: Path
) -> None:
    rendered = spoken_turn(context_id, tmp_path)
    found = unrounded.transcribe(rendered.samples, rendered.rate_hz)
    meant = spoken_words(rendered.text)
    assert word_errors(meant, spoken_words(found.text)) <= 0.25 * len(meant)
    assert_words_lie_within(found, rendered)


@pytest.mark.models
@pytest.mark.long
@pytest.mark.parametrize("context_id", HARD_TURNS.values(), ids=HARD_TURNS)
def test_hearing_again_mends_what_plain_decoding_gets_wrong_on_this_processor(
    shipped: Transcriber, context_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered = spoken_turn(context_id, tmp_path)
    meant = spoken_words(rendered.text)
    found = shipped.transcribe(rendered.samples, rendered.rate_hz)
    assert_words_lie_within(found, rendered)
    for guard in ("MOST_COMPRESSION", "MOST_WORDS_PER_S", "LEAST_SKIPPED_S"):
        monkeypatch.setattr(transcribe, guard, float("inf"))
    plain_errors = word_errors(meant, spoken_words(shipped.transcribe(rendered.samples, rendered.rate_hz).text))
    errors = word_errors(meant, spoken_words(found.text))
    assert errors <= (plain_errors if plain_errors <= 0.25 * len(meant) else 0.5 * plain_errors)


def spoken_turn(context_id: str, folder: Path) -> RenderedTurn:
    pack = load_pack(HARD_PACK)
    (context,) = (each for each in pack.contexts if each.id == context_id)
    return Voices(pack, folder).render(context.spoken, context.voice)


def assert_words_lie_within(found: Transcription, rendered: RenderedTurn) -> None:
    assert [start for _, start, _ in found.words] == sorted(start for _, start, _ in found.words)
    assert found.words[-1][2] <= rendered.duration_s + 0.1
