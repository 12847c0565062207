"""Line conditions: names, figures that are kept, and above all that nothing moves in time."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from harness.audio.conditions import Condition, ConditionError, parse_condition
from harness.audio.conditions.condition import kinds
from harness.audio.conditions.line import room_tail
from harness.audio.conditions.network import gilbert_elliott, jitter_delays_ms
from harness.audio.conditions.noise import babble
from harness.audio.pcm import Int16, to_float, to_int16
from harness.audio.speech_edges import level_db

RATE_HZ = 16_000
ALL = [example for example, _ in kinds()]


def _turn() -> Int16:
    """Speech-like bursts of known places in silence: starts at 0.5 s, ends at 3.5 s."""
    chance = np.random.default_rng(3)
    burst = babble(3 * RATE_HZ, RATE_HZ, chance)
    signal = np.concatenate([np.zeros(RATE_HZ // 2), burst, np.zeros(RATE_HZ // 2)])
    signal *= 10 ** (-26 / 20) / np.sqrt(np.mean(burst**2))
    return to_int16(signal)


def _lag_samples(dry: Int16, played: Int16) -> int:
    from scipy.signal import correlate

    found = correlate(to_float(played), to_float(dry), mode="full", method="fft")
    return int(np.argmax(np.abs(found))) - (dry.size - 1)


@pytest.mark.parametrize("name", [*ALL, "telephone+babble10", "room300+street5+quiet10+clip6+telephone-alaw+loss3+jitter15"])
@pytest.mark.parametrize("rate_hz", [16_000, 8_000, 24_000])
def test_no_condition_moves_the_caller_in_time(name: str, rate_hz: int) -> None:
    dry = _turn() if rate_hz == RATE_HZ else _turn()[: 4 * rate_hz]
    played = parse_condition(name).apply(dry, rate_hz, seed=1)
    assert played.size == dry.size
    assert played.dtype == np.int16
    assert abs(_lag_samples(dry, played)) <= rate_hz // 1000


@pytest.mark.parametrize("name", ALL)
def test_a_condition_depends_on_its_seed_alone(name: str) -> None:
    condition = parse_condition(name)
    assert np.array_equal(condition.apply(_turn(), RATE_HZ, 5), parse_condition(name).apply(_turn(), RATE_HZ, 5))
    if name.startswith(("babble", "street", "hiss", "loss", "jitter", "room")):
        assert not np.array_equal(condition.apply(_turn(), RATE_HZ, 5), condition.apply(_turn(), RATE_HZ, 6))


def test_clean_is_the_same_samples_in_another_array() -> None:
    dry = _turn()
    played = parse_condition("clean").apply(dry, RATE_HZ, 1)
    assert np.array_equal(played, dry)
    assert played is not dry


@pytest.mark.parametrize("name", ["babble10", "telephone", "room400", "loss5"])
def test_no_sound_stays_no_sound(name: str) -> None:
    assert parse_condition(name).apply(np.zeros(0, np.int16), RATE_HZ, 1).size == 0


@pytest.mark.parametrize("kind", ["babble", "street", "hum", "hiss"])
@pytest.mark.parametrize("snr_db", [0, 20])
def test_noise_has_the_ratio_that_was_set(kind: str, snr_db: int) -> None:
    dry = _turn()
    added = to_float(parse_condition(f"{kind}{snr_db}").apply(dry, RATE_HZ, 2)) - to_float(dry)
    noise_db = 10 * np.log10(np.mean(added.astype(np.float64) ** 2))
    assert level_db(to_float(dry), RATE_HZ) - noise_db == pytest.approx(snr_db, abs=0.3)


def test_silence_around_a_turn_gets_the_turns_noise() -> None:
    condition = parse_condition("babble10")
    silence = condition.apply(np.zeros(RATE_HZ * 3, dtype=np.int16), RATE_HZ, 4, speech_dbfs=-30.0)
    assert 10 * np.log10(np.mean(to_float(silence).astype(np.float64) ** 2)) == pytest.approx(-40, abs=0.3)


def test_noise_from_a_file_is_used_and_named(tmp_path: Path) -> None:
    path = tmp_path / "cafe.wav"
    soundfile.write(path, np.random.default_rng(0).normal(0, 0.1, (22_050, 2)), 22_050)
    condition = parse_condition(f"file:{path}@5")
    assert condition.name == f"file:{path}@5"
    dry = _turn()
    added = to_float(condition.apply(dry, RATE_HZ, 1)) - to_float(dry)
    noise_db = 10 * np.log10(np.mean(added.astype(np.float64) ** 2))
    assert level_db(to_float(dry), RATE_HZ) - noise_db == pytest.approx(5, abs=0.3)


def test_the_telephone_keeps_its_band_and_no_more() -> None:
    chance = np.random.default_rng(0)
    noise = to_int16(chance.normal(0, 0.05, 4 * RATE_HZ))
    heard = to_float(parse_condition("telephone").apply(noise, RATE_HZ, 1))
    spectrum = np.abs(np.fft.rfft(heard)) ** 2
    hz = np.fft.rfftfreq(heard.size, 1 / RATE_HZ)

    def band_db(low: float, high: float) -> float:
        return float(10 * np.log10(spectrum[(hz >= low) & (hz < high)].mean()))

    inside = band_db(500, 3_000)
    assert inside - band_db(4_200, 8_000) > 30
    assert inside - band_db(20, 150) > 25


def test_quiet_and_clip_do_what_they_say() -> None:
    dry = _turn()
    faint = parse_condition("quiet20").apply(dry, RATE_HZ, 1)
    assert level_db(to_float(faint), RATE_HZ) - level_db(to_float(dry), RATE_HZ) == pytest.approx(-20, abs=0.3)
    clipped = parse_condition("clip20").apply(dry, RATE_HZ, 1)
    ceiling = np.abs(clipped.astype(int)).max()
    assert ceiling < np.abs(dry.astype(int)).max()
    assert (np.abs(clipped.astype(int)) == ceiling).mean() > 0.02


@pytest.mark.parametrize("loss", [0.02, 0.1, 0.3])
def test_losses_have_their_share_and_come_in_bursts(loss: float) -> None:
    lost = gilbert_elliott(200_000, loss, 3.0, np.random.default_rng(1))
    assert lost.mean() == pytest.approx(loss, rel=0.1)
    bursts = np.flatnonzero(np.diff(lost.astype(int), prepend=0) == 1).size
    assert lost.sum() / bursts == pytest.approx(3.0, rel=0.1)


def test_jitter_is_exponential_and_remembers() -> None:
    delays = jitter_delays_ms(100_000, 20.0, np.random.default_rng(1))
    assert delays.mean() == pytest.approx(20, rel=0.05)
    assert (delays > 60).mean() == pytest.approx(np.exp(-3), rel=0.15)
    assert np.corrcoef(delays[:-1], delays[1:])[0, 1] > 0.5


def test_lost_packets_fade_into_silence_and_the_rest_is_untouched() -> None:
    dry = _turn()
    played = parse_condition("loss20").apply(dry, RATE_HZ, 7)
    packets = (dry[: dry.size // 320 * 320] == played[: dry.size // 320 * 320]).reshape(-1, 320).all(axis=1)
    speaking = slice(25, 175)
    assert 0.5 < packets[speaking].mean() < 0.97


def test_a_room_decays_by_sixty_decibels_in_its_time() -> None:
    tail = room_tail(0.5, RATE_HZ, np.random.default_rng(0)).astype(np.float64)
    early = np.mean(tail[800:1600] ** 2)
    late = np.mean(tail[4_800:5_600] ** 2)
    assert 10 * np.log10(early / late) == pytest.approx(60 * 4_000 / 8_000, abs=2)


def test_one_condition_has_one_name() -> None:
    assert parse_condition("babble10+telephone").name == parse_condition("telephone+babble").name == "babble10+telephone"
    assert isinstance(parse_condition("loss2.5"), Condition)
    assert parse_condition("loss2.5").name == "loss2.5"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("telefone", "unknown line condition 'telefone'"),
        ("", "unknown line condition ''"),
        ("babble10+", "unknown line condition ''"),
        ("babble99", "99 is outside -10 to 60"),
        ("telephone8", "takes no figure"),
        ("babble5+babble10+babble5", "the same thing twice"),
        ("file:nowhere.wav@5", "there is no file nowhere.wav"),
        (f"file:{__file__}@5", "not audio that libsndfile reads"),
        ("babbel10", "did you mean babble?"),
        ("file:nowhere.wav", "file:PATH@SNR"),
        ("clean+babble5", "unknown line condition 'clean'"),
    ],
)
def test_what_is_no_condition_is_said_in_one_line(text: str, says: str) -> None:
    with pytest.raises(ConditionError, match=says) as caught:
        parse_condition(text)
    assert "\n" not in str(caught.value)
