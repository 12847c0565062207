"""Kept recordings become a pack that is played, is rewritten whole, and says how far it carries."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import soundfile

from harness.audio.vocal import silero
from harness.errors import UserError
from harness.people.caller.as_pack import LICENCE, RECORDINGS, KeptTake, Words, export
from harness.people.caller.ends import Corrections, corrected, found_ends
from harness.people.caller.prompts import Prompt, topics
from harness.scenarios import load_pack
from harness.scenarios.context import Context, Turn
from harness.scenarios.speakers import AUTOMATIC, Speaker, source_of, speaker_of
from harness.store.run_store import RunStore
from harness.study.texts import texts
from harness.turn_taking.speakers import how_far
from harness.voices.recorded_packs import pack_of_recordings
from tests.harness.conftest import Finished, peer
from tests.harness.people.spoken import LEAD_S, RATE_HZ, spoken

PROMPT = Prompt("mini-night-shift-exam", "retell", "…")
ROBOT = Speaker("robot", automatic=True)


@cache
def take(k: int) -> KeptTake:
    """The kth automatic turn, kept as the analyser and the press found it."""
    turn = spoken(k)
    found = found_ends(turn.samples, RATE_HZ, silero(), turn.end_s + 0.4)
    return KeptTake(f"t{k}", ROBOT, PROMPT, turn.samples, RATE_HZ, corrected(found, Corrections()))


def of_people(*names: str) -> list[KeptTake]:
    return [replace(take(k), speaker=Speaker(name, automatic=False)) for k, name in enumerate(names)]


def everything_under(folder: Path) -> str:
    return " ".join(str(p.relative_to(folder)) for p in folder.rglob("*")) + "".join(
        p.read_text(encoding="utf-8") for p in folder.rglob("*") if p.suffix in (".yaml", ".csv")
    )


@pytest.mark.long  # twelve conversations
def test_twelve_automatic_recordings_are_played_with_their_true_ends_and_pauses(
    tmp_path: Path, harness_command: Callable[..., Finished], harness_here: Callable[..., Finished]
) -> None:
    done = export([take(k) for k in range(12)], tmp_path / "rehearsal", silero())
    assert done.left_out == ()
    pack = load_pack(tmp_path / "rehearsal")
    assert len(pack.contexts) == 12
    assert all(AUTOMATIC in c.source and c.timing_alone and LICENCE not in c.licence for c in pack.contexts)
    by_id = {c.id: c for c in pack.contexts}
    for k in range(12):
        truth, context = spoken(k), by_id[f"robot-t{k}-mini-night-shift-exam"]
        lasts_s = soundfile.info(tmp_path / "rehearsal" / (context.spoken.audio or "")).duration
        assert lasts_s == pytest.approx(truth.end_s - LEAD_S, abs=0.03)
        for start, end in truth.pauses:
            near = [p for p in context.spoken.pauses_s or () if p[0] + LEAD_S < end and start < p[1] + LEAD_S]
            assert np.abs(np.array(near) + LEAD_S - (start, end)).max() <= 0.03
    run = tmp_path / "run"
    played = harness_command(
        "run", "--agent", peer("raw-pcm-answers"), "--pack", tmp_path / "rehearsal", "--json", "--out", run
    )
    assert played.code == 0, played.err
    sessions = list(RunStore.open(run).sessions())
    assert len(sessions) == 12
    for session in sessions:
        (timing,) = session.turn_timings
        assert timing.endpointing is not None
        expected = by_id[session.key.context_id].spoken.pauses_s or ()
        assert len(timing.endpointing.pauses) == len(expected)
    told = harness_here("scenarios", "check", tmp_path / "rehearsal", "--turn-taking")
    assert told.code == 0
    assert "recorded turns of 1 automatic speakers, no people (12 turns, 12 each)" in told.out
    assert "nothing about people follows" in told.out


def test_the_recordings_and_their_table_are_what_the_import_reads(tmp_path: Path) -> None:
    export(of_people("p1", "p2"), tmp_path / "pack", silero())
    again = pack_of_recordings(tmp_path / "pack" / RECORDINGS, silero())
    for k, (_, row) in enumerate(again.table):
        assert np.array(row.pauses) == pytest.approx(np.array(take(k).turn.pauses), abs=0.001)
    sound, rate_hz = soundfile.read(tmp_path / "pack" / RECORDINGS / "p1-t0-mini-night-shift-exam.flac", dtype="int16")
    assert rate_hz == RATE_HZ
    assert np.array_equal(sound, take(0).samples)


def test_words_of_a_program_are_marked_as_such(tmp_path: Path) -> None:
    heard: list[float] = []

    def words(samples: np.ndarray, rate_hz: int) -> str:
        heard.append(samples.size / rate_hz)
        return " Well, it was the night shift. "

    topic = replace(of_people("p1")[0], prompt=topics(texts())[0])
    done = export([topic], tmp_path / "pack", silero(), Words("whisper-base", words))
    (context,) = load_pack(tmp_path / "pack").contexts
    assert context.spoken.text == "Well, it was the night shift."
    assert context.source == "speaker p1, about topic-breakfast; words by whisper-base, a program, unchecked"
    assert context.licence == LICENCE
    assert not context.timing_alone
    assert heard == [pytest.approx(spoken(0).end_s - LEAD_S, abs=0.06)]
    shorter = replace(topic, turn=replace(topic.turn, end_s=topic.turn.end_s - 0.5))
    for again, times in ((topic, 1), (shorter, 2)):
        export([again], tmp_path / "pack", silero(), Words("whisper-base", words))
        assert len(heard) == times, "the same cut is not transcribed again, another is"
    assert speaker_of(done.contexts[0].source) == Speaker("p1", automatic=False)


def test_nothing_of_who_withdrew_is_left(tmp_path: Path) -> None:
    out = tmp_path / "pack"
    export(of_people("p1", "p2", "p1"), out, silero())
    (tmp_path / ".pack.new-killed").mkdir()
    (tmp_path / ".pack.new-killed" / "p1.flac").write_bytes(b"p1")
    assert "p1" in everything_under(tmp_path)
    export([t for t in of_people("p1", "p2", "p1") if t.speaker.name != "p1"], out, silero())
    assert "p1" not in everything_under(tmp_path)
    assert [c.source for c in load_pack(out).contexts] == ["speaker p2, retelling mini-night-shift-exam"]
    assert export([], out, silero()).path is None
    assert list(tmp_path.iterdir()) == []


def test_an_unusable_recording_is_left_out_with_the_reason(tmp_path: Path) -> None:
    clipped = replace(
        of_people("p1")[0], id="loud", samples=np.clip(take(0).samples.astype(int) * 20, -32768, 32767).astype(np.int16)
    )
    done = export([clipped, *of_people("p1", "p2")], tmp_path / "pack", silero())
    ((name, why),) = done.left_out
    assert name == "loud"
    assert why.startswith("p1-loud-mini-night-shift-exam.flac at ")
    assert "clipped" in why
    assert len(load_pack(tmp_path / "pack").contexts) == 2


def test_people_and_programs_are_never_mixed_and_nothing_else_is_replaced(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not go into one pack"):
        export([take(0), *of_people("p1")], tmp_path / "pack", silero())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(UserError, match="is no pack of the caller's seat"):
        export([take(0)], tmp_path / "mine", silero())
    assert (tmp_path / "mine" / "thesis.txt").exists()


def recorded(speakers: Sequence[Speaker | None], pauses: Callable[[int], tuple[tuple[float, float], ...]]) -> list[Context]:
    return [
        Context(
            id=f"c{k}",
            subset="regular",
            emotion="neutral",
            problem="recorded",
            turns=(Turn(role="seeker", text="", audio="a.flac", pauses_s=pauses(k)),),
            source="c.wav, 0.10 s" if who is None else source_of(who, "topic-book", topic=True, words_by=None),
            licence="t",
        )
        for k, who in enumerate(speakers)
    ]


def people(n: int, turns: int) -> list[Speaker]:
    return [Speaker(f"p{k}", automatic=False) for k in range(n) for _ in range(turns)]


def test_a_pack_says_how_far_its_speakers_carry() -> None:
    def pauses(k: int) -> tuple[tuple[float, float], ...]:
        return ((1.0, 1.25), (2.0, 2.0 + 0.3 + 0.1 * (k % 13)))

    ten = how_far(recorded(people(10, 12), pauses))
    assert ten is not None
    assert (len(ten.speakers), ten.turns, len(ten.pauses_ms), ten.without_pause) == (10, 120, 240, 0)
    share = ten.longer[600]
    assert share.value is not None
    assert share.interval is not None
    assert share.interval[0] <= share.value <= share.interval[1]
    assert ten.follows()[0].startswith("10 speakers: intervals are over speakers")
    assert "240 pauses: an agent's share of cut pauses is known to ±6 points at best" in ten.follows()[1]
    three = how_far(recorded(people(3, 40), pauses))
    assert three is not None
    assert three.longer[600].interval is None
    assert "no interval is given" in three.follows()[0]
    one = how_far(recorded(people(1, 120), pauses))
    assert one is not None
    assert "nothing about people can be generalised" in one.follows()[0]
    assert one.as_json()["turns_a_speaker"] == {"p0": 120}
    assert how_far(recorded([None, None], pauses)) is None
    silent = how_far(recorded(people(9, 1), lambda _: ()))
    assert silent is not None
    assert "cannot be seen to cut a pause" in silent.follows()[1]
