"""Each fault of a recording is said where it is, and not where it is not."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.audio.conditions.line import room_tail
from harness.audio.conditions.noise import babble, street
from harness.audio.pcm import Float32, to_float, to_int16
from harness.audio.speech_edges import level_db
from harness.audio.vocal import silero
from harness.people.faults import Finding, Played, Taken, findings
from tests.harness.people.spoken import LEAD_S, RATE_HZ, dry, in_room, room, spoken, turns

LATENCY = 4_800


def found(sound: NDArray[np.floating], reason: str = "pressed") -> tuple[Finding, ...]:
    return findings(Taken(to_int16(sound), reason=reason), silero())


def codes(seen: Sequence[Finding]) -> list[str]:
    return [f.code for f in seen]


def chords(samples: int) -> Float32:
    """Three notes at a time, each for half a second."""
    rng = np.random.default_rng(0)
    at = np.arange(samples) / RATE_HZ
    out = np.zeros(samples)
    for begin in range(0, samples, RATE_HZ // 2):
        part = slice(begin, begin + RATE_HZ // 2)
        for note in rng.choice([196, 220, 262, 330]) * np.array([1, 1.25, 1.5]):
            out[part] += sum(np.sin(2 * np.pi * note * h * at[part]) / h for h in range(1, 6))
    return np.asarray(out / np.sqrt(np.mean(out**2)), dtype=np.float32)


def with_noise(k: int, noise: NDArray[np.floating], below_db: float) -> Float32:
    sound = dry(turns()[k])
    level = 10 ** ((level_db(sound, RATE_HZ) - below_db) / 20) / np.sqrt(np.mean(noise[: sound.size] ** 2))
    return np.asarray(in_room(sound, 45, k) + noise[: sound.size] * level, dtype=np.float32)


@pytest.mark.parametrize("room_db", [40.0, 32.0])
@pytest.mark.parametrize("k", range(12))
def test_nothing_is_said_of_a_turn_without_a_fault(k: int, room_db: float) -> None:
    assert found(to_float(spoken(k, room_db).samples)) == ()


MINUTE = 60 * RATE_HZ


@pytest.mark.parametrize(
    ("make", "code", "again"),
    [
        (lambda _: np.zeros(5 * RATE_HZ), "silent", True),
        (lambda k: room(5 * RATE_HZ, k) * 1e-4, "silent", True),
        (lambda k: in_room(dry(turns()[k]), 40, k) * 0.03, "quiet", True),
        (lambda k: in_room(dry(turns()[k]), 40, k) * 12, "clipped", True),
        (lambda k: with_noise(k, room(MINUTE, k), 8), "noisy", True),
        (lambda k: with_noise(k, room(MINUTE, k), 25), "some_noise", False),
        (lambda k: with_noise(k, street(MINUTE, RATE_HZ, np.random.default_rng(k)), 19), "some_noise", False),
        (lambda k: with_noise(k, babble(MINUTE, RATE_HZ, np.random.default_rng(k)), 14), "some_noise", False),
        (lambda k: with_noise(k, chords(MINUTE), 20), "music", True),
        (lambda k: with_noise(k, chords(MINUTE), 33), "music", False),
        (lambda _: chords(5 * RATE_HZ) * 0.05, "music", True),
        (lambda k: room(5 * RATE_HZ, k) * 0.01, "no_speech", True),
        (lambda _: street(5 * RATE_HZ, RATE_HZ, np.random.default_rng(0)) * 0.02, "no_speech", True),
        (lambda k: in_room(dry(turns()[k], 0.0), 40, k), "cut", True),
    ],
)
@pytest.mark.parametrize("k", [0, 9])
def test_each_fault_is_said(make: Callable[[int], NDArray[np.floating]], code: str, again: bool, k: int) -> None:
    seen = {f.code: f for f in found(make(k))}
    assert code in seen
    assert seen[code].again == again
    assert seen[code].words.endswith(".")
    assert seen[code].do == "" or (seen[code].do.startswith("Please") and seen[code].do.endswith("."))
    assert not any(word in seen[code].words + seen[code].do for word in ("again", "keep"))
    assert "Please" not in seen[code].words


def test_a_silent_person_is_asked_whether_that_is_meant() -> None:
    for level in (0.01, 1e-4):
        (seen,) = found(room(5 * RATE_HZ, 0) * level, "never")
        assert (seen.code, seen.again) == ("never", True)
    (dead,) = found(np.zeros(5 * RATE_HZ), "never")
    assert dead.code == "silent"


def test_clipping_has_its_place() -> None:
    sound = in_room(dry(turns()[0]), 40, 0)
    loud = slice(round(2.0 * RATE_HZ), round(2.5 * RATE_HZ))
    sound[loud] = np.clip(sound[loud] * 30, -1, 1)
    (seen,) = found(sound)
    assert seen.code == "clipped"
    assert seen.at_s is not None
    assert 2.0 <= seen.at_s < 2.5
    assert f"at {seen.at_s:.1f} s and in" in seen.words


def with_echo(k: int, below_db: float | None, cuts_in: bool) -> Taken:
    """Turn `k` played to somebody who answers with another, after it or into it; its echo lies below their voice."""
    caller, answer = dry(turns()[k]), dry(turns()[(k + 3) % 12])
    begin = caller.size // 2 if cuts_in else caller.size
    mine = np.concatenate([np.zeros(begin, np.float32), answer, np.zeros(caller.size, np.float32)])
    heard = in_room(mine, 40, k)
    if below_db is not None:
        tail = room_tail(0.4, RATE_HZ, np.random.default_rng(k))
        spread = np.fft.irfft(np.fft.rfft(caller, 2 * MINUTE) * np.fft.rfft(tail, 2 * MINUTE))[: caller.size]
        level = 10 ** ((level_db(mine, RATE_HZ) - level_db(caller, RATE_HZ) - below_db) / 20)
        heard[LATENCY : LATENCY + caller.size] += level * (caller + spread)
    return Taken(to_int16(heard), first=1_000, played=(Played(to_int16(caller), 1_000),), latency_s=LATENCY / RATE_HZ)


@pytest.mark.parametrize("cuts_in", [False, True])
@pytest.mark.parametrize("k", [0, 6, *(pytest.param(k, marks=pytest.mark.long) for k in (2, 4, 8, 10))])
def test_the_caller_in_the_microphone_is_said_and_headphones_are_not(k: int, cuts_in: bool) -> None:
    (seen, *_) = findings(with_echo(k, 25.0, cuts_in), silero())
    assert (seen.code, seen.again) == ("echo", True)
    assert "100 ms after" in seen.words
    assert "echo" not in codes(findings(with_echo(k, None, cuts_in), silero()))
    assert "echo" not in codes(findings(with_echo(k, 65.0, cuts_in), silero()))


def test_without_a_measured_latency_the_echo_is_found_too() -> None:
    taken = with_echo(1, 25.0, False)
    (seen, *_) = findings(Taken(taken.samples, first=taken.first, played=taken.played), silero())
    assert seen.code == "echo"


def test_lost_blocks_are_said_and_spoil_only_what_is_near_the_turn() -> None:
    turn = spoken(0)
    first = 96_000
    inside = round(2.5 * RATE_HZ) + first
    (seen,) = findings(Taken(turn.samples, first, ((inside, inside + 4_800),)), silero())
    assert (seen.code, seen.again) == ("lost", True)
    assert seen.at_s == pytest.approx(2.5)
    assert "100 ms of sound were lost, first at 2.5 s" in seen.words
    (before,) = findings(Taken(turn.samples, first, ((first, first + 480),)), silero())
    assert LEAD_S > 0.6
    assert (before.code, before.again) == ("lost", False)


def test_sleep_and_a_telephone_microphone_are_said() -> None:
    turn = spoken(0)
    seen = findings(Taken(turn.samples, lost=((0, 9),), reason="slept", microphone_hz=16_000), silero())
    assert codes(seen) == ["slept", "rate"]
    assert "16,000 samples a second" in seen[1].words
    for rate_hz in (44_100, 48_000):
        assert findings(Taken(turn.samples, microphone_hz=rate_hz), silero()) == ()
