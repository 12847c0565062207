"""Turns that are said whole and cut at their pauses: where the cuts lie, what comes before them, and the voices' own ends."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from harness.audio.caller_voices import CALLER_VOICES
from harness.audio.pcm import Float32, to_float
from harness.audio.prosody import Prosody, Speaker, ceiling_hz, f0_track
from harness.audio.speech import Delivery, PlainDirections, deliver, render_turn
from harness.audio.speech_floor import FloorSettings, Stretch, plan_turn
from harness.audio.speech_text import parse_marked
from harness.audio.synthesis import AlignedVoice, Passage, PiperSynthesiser, ShapingVoice, sentences_of
from harness.audio.synthesis_hibari import HibariSynthesiser

TURN = "I had two good hours on Sunday, <pause 600> and I can't remember any of it now. <pause 900> It was late."
VOICED_TO_THE_END = "I had two good hours on Sunday, <pause 600> and then I stayed with my mother all morning."
HELD = FloorSettings(hold_share=1.0, breath_share=0.0, filler_share=0.0, conjunction_share=0.0, yield_share=1.0)
FINISHED = FloorSettings(hold_share=0.0, yield_share=1.0)


@pytest.fixture(scope="module")
def hibari() -> HibariSynthesiser:
    return HibariSynthesiser()


@dataclass(frozen=True)
class Ramp:
    """An aligned voice of one sentence, in which each stretch has its own tone, so that a cut in the wrong place is heard."""

    rate_hz: int = 16_000
    identity: str = "ramp:1"

    def speak_turn(self, stretches: Sequence[Stretch], seed: int) -> list[Passage]:
        del seed
        time_s = np.arange(self.rate_hz) / self.rate_hz
        tones = [np.sin(2 * np.pi * (k + 1) * 200 * time_s) for k in range(len(stretches))]
        ends = [(k, (k + 1) * self.rate_hz) for k in range(len(stretches))]
        return [Passage(np.concatenate(tones).astype(np.float32), tuple(ends))]


PLAINLY = Delivery(Speaker(), Prosody(), 1.0, 1)


def _stretches(text: str, settings: FloorSettings = HELD) -> tuple[Stretch, ...]:
    return plan_turn(parse_marked(text), settings)


def test_a_sentence_with_a_pause_inside_is_one_input_and_a_held_one_runs_into_the_next() -> None:
    said = sentences_of(_stretches(TURN, FINISHED), lambda text: [text])
    assert [[piece.stretch for piece in sentence] for sentence in said] == [[0, 1], [2]]
    said = sentences_of(_stretches(TURN), lambda text: [text])
    assert [[piece.stretch for piece in sentence] for sentence in said] == [[0, 1, 2]]
    apart = sentences_of(_stretches(TURN), lambda text: [text], most_phonemes=40)
    assert len(apart) == 3


def test_what_a_voice_says_whole_is_cut_where_it_says_that_a_stretch_ends() -> None:
    voice = Ramp()
    assert isinstance(voice, AlignedVoice)
    parts = deliver(voice, _stretches(TURN), PLAINLY, 16_000)
    for k, (part,) in enumerate(parts):
        spectrum = np.abs(np.fft.rfft(part[2_000:-2_000]))
        heard_hz = np.argmax(spectrum) * 16_000 / (part.size - 4_000)
        assert heard_hz == pytest.approx((k + 1) * 200, abs=8)


def _last_f0(sound: Float32, rate_hz: int, last_s: float) -> float:
    """The median of the last voiced stretch that is heard, in the range of the speaker's own voice."""
    track = f0_track(sound, rate_hz, ceiling_hz([f0_track(sound, rate_hz)]))
    hop = round(0.005 * rate_hz)
    power = np.array([np.mean(sound[max(0, k * hop - hop) : k * hop + hop] ** 2) for k in range(track.size)])
    heard = (track > 0) & (power > power.max() * 10**-2.5)
    return float(np.median(track[heard][-round(last_s / 0.005) :]))


@pytest.mark.models
@pytest.mark.parametrize("name", ["joe", "tom"])
def test_a_turn_that_is_held_ends_higher_than_one_that_is_handed_over(
    name: str, joe: PiperSynthesiser, hibari: HibariSynthesiser
) -> None:
    voice: PiperSynthesiser | HibariSynthesiser = joe if name == "joe" else hibari
    ends = []
    for share in (0.0, 1.0):
        turn = render_turn(VOICED_TO_THE_END, None, voice, None, CALLER_VOICES[name].speaker, replace(HELD, yield_share=share))
        ends.append(_last_f0(to_float(turn.samples), turn.rate_hz, 0.1))
        assert [end.at_sample for end in turn.ends] == [*(start for start, _ in turn.pauses), turn.samples.size]
    assert 12 * np.log2(ends[0] / ends[1]) > 2


@pytest.mark.models
def test_what_comes_before_a_cut_is_what_the_whole_sentence_has_there(hibari: HibariSynthesiser) -> None:
    """The cut lies between two sounds: hibari's own frames say where, and the pieces together are as long as the whole."""
    whole = _stretches("I had two good hours on Sunday, and I can't remember any of it now.", FINISHED)
    parted = _stretches("I had two good hours on Sunday, <pause 600> and I can't remember any of it now.", FINISHED)
    ((sound,),) = deliver(hibari, whole, PLAINLY, 16_000)
    pieces = deliver(hibari, parted, PLAINLY, 16_000)
    assert sum(piece.size for (piece,) in pieces) == pytest.approx(sound.size, abs=0.03 * 16_000)


@pytest.mark.models
def test_hibari_says_the_same_bytes_again_whatever_it_said_before(hibari: HibariSynthesiser) -> None:
    assert isinstance(hibari, ShapingVoice)
    said = PlainDirections("sadness", 0.5)
    turn = render_turn(TURN, said, hibari, None, CALLER_VOICES["abe"].speaker)
    render_turn("Something else.", None, hibari, None)
    again = render_turn(TURN, said, HibariSynthesiser(), None, CALLER_VOICES["abe"].speaker)
    assert np.array_equal(turn.samples, again.samples)
    assert turn.ends == again.ends
    for start, end in turn.pauses:
        assert not turn.samples[start:end].any()


@pytest.mark.models
def test_speakers_differ_in_pitch_and_pace_by_sex_and_age(hibari: HibariSynthesiser) -> None:
    sentences = (
        "I had two good hours on Sunday, and I can't remember any of it.",
        "My brother has stopped calling me back, and I keep telling myself that he is only busy.",
        "They gave my shifts to somebody else and never told me why.",
    )
    made = {
        name: [render_turn(text, None, hibari, None, voice.speaker) for text in sentences]
        for name, voice in CALLER_VOICES.items()
        if voice.weight == "hibari"
    }
    pitch = {name: _last_f0(to_float(first.samples), first.rate_hz, 60.0) for name, (first, *_) in made.items()}
    assert pitch["abe"] < pitch["tom"] < pitch["max"] < pitch["eve"] < pitch["ann"] < pitch["zoe"]
    # Lengths come in frames of 16 ms, and processors round them differently: one sentence is too short to tell a pace by.
    lasts_s = {name: sum(turn.duration_s for turn in turns) for name, turns in made.items()}
    assert lasts_s["zoe"] < lasts_s["ann"] < lasts_s["eve"]
    assert lasts_s["max"] < lasts_s["tom"] < lasts_s["abe"]
