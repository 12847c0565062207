"""The conduct of known agents in virtual time: every figure is as its definition says, and the sound bears the truth out."""

import asyncio
import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.clock import now_ns
from harness.errors import UserError
from harness.known.behaviours import BEHAVIOURS, FIXED_MS, behaviour
from harness.known.conduct import Conduct, Message
from harness.known.server import Calls, named
from harness.known.truth import COLUMNS, TurnTruth, read_truth, write_truth
from tests.virtual_time.clock import in_virtual_time

HZ = 24_000
FRAME = HZ // 50
AUDIBLE = 33
NEAR_MS = 0.1
"""What virtual time and a sample take."""
Talk = Sequence[tuple[float, float]]
"""Stretches in which the caller speaks, in seconds after the call opens."""
ONCE, LATER, PAUSES, INTERRUPTS = ((0.3, 1.5),), ((4.0, 5.5),), ((0.3, 1.2), (1.8, 3.2)), ((0.3, 1.5), (3.5, 4.5))


def talk_of(name: str) -> Talk:
    return LATER if name == "late-greeting" else PAUSES if name == "cut-pause" else INTERRUPTS if "yield" in name else ONCE


async def call(
    name: str, talk: Talk, *, streams: bool = False, lasts_s: float = 8.0
) -> tuple[list[TurnTruth], NDArray[np.int32]]:
    """The truth of a call, and the sound that a listener without a buffer hears of it."""
    does = behaviour(name)
    assert does is not None
    conduct = Conduct(does, "1", hears_hz=HZ, says_hz=HZ, streams=streams)
    opened_ns, messages = now_ns(), list[tuple[int, Message]]()

    async def speak() -> None:
        async for message in conduct.messages():
            messages.append((now_ns(), message))
            conduct.sent(message, now_ns())

    speaking = asyncio.create_task(speak())
    for k in range(round(lasts_s * 50)):
        await asyncio.sleep((opened_ns + (k + 1) * 20_000_000 - now_ns()) / 1e9)
        at_s = (k * FRAME + np.arange(FRAME)) / HZ
        spoken = sum(((at_s >= start) & (at_s < end)).astype(int) for start, end in talk)
        conduct.hear(np.asarray(8_000 * spoken * np.where(np.arange(FRAME) % 2, 1, -1), np.int16), now_ns())
    conduct.close()
    await speaking
    return conduct.truths(), heard(messages, opened_ns, lasts_s, late_silence_drops=streams or does.bed != "none")


def heard(
    messages: Sequence[tuple[int, Message]], opened_ns: int, lasts_s: float, *, late_silence_drops: bool
) -> NDArray[np.int32]:
    """The track of a listener, written from the definition: a message plays as it arrives, or after the sound before it."""
    track, until = np.zeros(round((lasts_s + 15) * HZ), np.int32), 0
    for sent_ns, message in messages:
        start = max(round((sent_ns - opened_ns) * HZ / 1e9), until)
        if late_silence_drops:
            start = max(round((sent_ns - opened_ns) * HZ / 1e9), until if np.ptp(message.samples) > 2 * AUDIBLE else 0)
        track[start : start + len(message.samples)] = message.samples
        if not late_silence_drops or np.ptp(message.samples) > 2 * AUDIBLE:
            until = start + len(message.samples)
    return track


@pytest.mark.parametrize("streams", [False, True], ids=["replies", "stream"])
@pytest.mark.parametrize("name", [*BEHAVIOURS, *(f"fixed-{ms}" for ms in FIXED_MS)])
def test_every_behaviour_does_what_its_definition_says(name: str, streams: bool) -> None:
    @in_virtual_time
    async def check() -> None:
        does = behaviour(name)
        assert does is not None
        turns, track = await call(name, talk_of(name), streams=streams)
        first = turns[0]
        assert first.spoken_end_s == pytest.approx(talk_of(name)[-1 if name == "cut-pause" else 0][1], abs=NEAR_MS / 1e3)
        answers = any(part.sound in ("answer", "long") for part in does.parts)
        at_ms = {part.sound: does.at_ms(part) for part in does.parts if part.anchor == "end"}
        assert first.answer_ms == (pytest.approx(does.delay_ms, abs=NEAR_MS) if answers else None)
        assert first.speech_ms == (pytest.approx(at_ms.get("filler", does.delay_ms), abs=NEAR_MS) if answers else None)
        assert first.sound_ms == (pytest.approx(min(at_ms.values()), abs=NEAR_MS) if answers else None)
        cut_ms = {"cut-pause": -1_700.0, "cut-over": -600.0}.get(name)
        assert first.cut_ms == (cut_ms and pytest.approx(cut_ms, abs=NEAR_MS))
        assert first.gap_ms == (pytest.approx(350, abs=1) if name in ("gap", "underrun") else None)
        if "yield" in name:
            least_ms = does.yields_ms
            assert len(turns) == 2
            assert turns[1].yield_ms == (least_ms and pytest.approx(least_ms, abs=30)), "a message, and the quiet at its end"
        if first.sound_ms is not None and does.bed in ("none", "silence") and first.cut_ms is None:
            begins = round((first.spoken_end_s + first.sound_ms / 1e3) * HZ)
            before, after = (np.abs(track[at : at + HZ // 25]).max() for at in (begins - HZ // 25, begins))
            assert after > 3 * AUDIBLE, "or nothing is heard where the truth says that it begins"
            assert before == 0, "or something is heard before it"

    check()


@in_virtual_time
async def test_an_answer_that_falls_into_a_closure_is_a_cut() -> None:
    turns, _ = await call("fixed-100", ((0.3, 1.0), (1.15, 1.9)))
    assert len(turns) == 1
    assert turns[0].spoken_end_s == pytest.approx(1.9, abs=NEAR_MS)
    assert turns[0].cut_ms == pytest.approx(-800, abs=NEAR_MS)
    assert turns[0].answer_ms is None


@in_virtual_time
async def test_a_yield_is_the_last_sound_that_is_heard() -> None:
    turns, track = await call("yields-400", INTERRUPTS)
    assert turns[1].yield_ms is not None
    silent = round((3.5 + turns[1].yield_ms / 1e3) * HZ)
    assert np.abs(track[silent - HZ // 50 : silent]).max() > AUDIBLE
    assert np.abs(track[silent + 1 : silent + HZ // 4]).max() <= AUDIBLE


@in_virtual_time
async def test_a_late_message_makes_the_truth_late() -> None:
    conduct = Conduct(BEHAVIOURS["fixed"], "1", hears_hz=HZ, says_hz=HZ)
    conduct.hear(np.full(FRAME, 8_000, np.int16), now_ns())
    end_ns, late = now_ns(), False
    async for message in conduct.messages():
        if not late:
            await asyncio.sleep(0.25)
            late = True
        conduct.sent(message, now_ns())
        conduct.over = now_ns() - end_ns > 2e9 or not conduct._voices
    assert conduct.truths()[0].answer_ms == pytest.approx(BEHAVIOURS["fixed"].delay_ms + 250, abs=NEAR_MS)


def test_a_call_chooses_its_behaviour_and_is_found_by_its_name(tmp_path: Path) -> None:
    truth = tmp_path / "truth.csv"
    calls = Calls(BEHAVIOURS["no-reply"], truth=truth)
    calls.listening()
    asked = {
        "/click-1200/ws?call=7": ("click", 1_200.0, "7"),
        "/": ("no-reply", 800.0, "2"),
        "/none/": ("no-reply", 800.0, "3"),
    }
    for address, expected in asked.items():
        conduct = calls.begin(address, hears_hz=HZ, says_hz=HZ)
        assert (conduct.behaviour.name, conduct.behaviour.delay_ms, conduct.call) == expected
        conduct.hear(np.full(FRAME, 8_000, np.int16), now_ns())
        conduct._decide(now_ns())
        calls.end(conduct)
    assert [(turn.call, turn.behaviour, turn.turn) for turn in read_truth(truth)] == [
        ("7", "click", 1), ("2", "no-reply", 1), ("3", "no-reply", 1),
    ]  # fmt: skip


def test_a_misspelt_behaviour_is_named() -> None:
    with pytest.raises(UserError, match=r"--behaviour clik: is no behaviour; did you mean click\?"):
        named("clik")


def test_a_table_of_truth_is_read_as_it_was_written(tmp_path: Path) -> None:
    turns = [TurnTruth("a,b", "click", "clean", 1, 1.5, 150.0, 800.25, 800.25, None, -3.5, None)]
    write_truth(tmp_path / "truth.csv", turns)
    assert read_truth(tmp_path / "truth.csv") == turns


@pytest.mark.parametrize("text", ["", "call,turn\n1,1\n", ",".join(COLUMNS) + "\n1,x,live,one,2\n", "\0\xff"])
def test_a_table_that_is_none_is_refused_by_name(text: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text(text, encoding="latin-1")
    if text:
        with pytest.raises(UserError, match=r"bad\.csv: is no table of true figures"):
            read_truth(bad)
    else:
        assert list(csv.reader(bad.open())) == []
