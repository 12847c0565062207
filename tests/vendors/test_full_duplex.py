"""A full-duplex agent over a real socket, in real time: its silence costs no figure, and its own figures are found."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.timeline import NS_PER_MS, samples_to_ns
from harness.timing import measure
from tests.vendors.calls import p95_ms, played, server, spec_of

PROFILE = 'kind = "raw-pcm"\ngreets = false\nfull_duplex = true'


async def _errors_ms(behaviour: str, tmp_path: Path, calls: int) -> list[float]:
    found = []
    async with server("full_duplex", behaviour) as running:
        await running.told("prepare")
        recordings = await played(spec_of(PROFILE, running.url), tmp_path, calls)
        truths = await running.told("truth")
    for number, recording in recordings.items():
        sent_ns, onset_ms = truths[number]
        timing = measure(replace(recording, full_duplex=True))
        spoken_end_ns = recording.caller.t0_ns + samples_to_ns(recording.caller.speech_end_sample, recording.caller.rate_hz)
        assert timing.ttfa_ms is not None
        assert timing.first_byte_ms is not None
        assert timing.duplex is not None
        assert (timing.cut_in, timing.backchannels, timing.duplex.where) == (False, 1, ("over_speech",))
        assert timing.duplex.cadence_ms == 80
        assert timing.first_byte_ms == pytest.approx((sent_ns - spoken_end_ns) / NS_PER_MS, abs=100), (
            "or the next unit, at a border"
        )
        # On a busy machine the unit before may come late, and this one is heard after it.
        before = max(a.arrival_ns for a in recording.arrivals if a.arrival_ns < sent_ns)
        heard_ns = max(sent_ns, before + 80 * NS_PER_MS)
        found.append(timing.ttfa_ms - ((heard_ns - spoken_end_ns) / NS_PER_MS + onset_ms))
    return found


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize(("behaviour", "within_ms"), [("answers", 10), ("noisy", 15)])
async def test_forty_calls_are_within_ten_milliseconds(behaviour: str, within_ms: float, tmp_path: Path) -> None:
    """Fifteen over noise, under which the first sound of a word is hidden."""
    errors_ms = await _errors_ms(behaviour, tmp_path, 40)
    assert len(errors_ms) == 40
    assert p95_ms(errors_ms) <= within_ms


@pytest.mark.alone
async def test_a_few_calls_are(tmp_path: Path) -> None:
    assert p95_ms(await _errors_ms("answers", tmp_path, 4)) <= 10
