"""The ruler of the vendors' tests: the raw-pcm wire, whose server adds nothing of its own."""

from pathlib import Path

import pytest

from tests.vendors.calls import p95_ms, ttfa_errors_ms


@pytest.mark.long
@pytest.mark.alone
async def test_forty_calls_are_within_ten_milliseconds(tmp_path: Path) -> None:
    errors_ms = await ttfa_errors_ms("raw_pcm", 'kind = "raw-pcm"\ngreets = false', tmp_path)
    assert len(errors_ms) == 40
    assert p95_ms(errors_ms) <= 10


@pytest.mark.alone
async def test_a_few_calls_are(tmp_path: Path) -> None:
    errors_ms = await ttfa_errors_ms("raw_pcm", 'kind = "raw-pcm"\ngreets = false', tmp_path, calls=4)
    assert len(errors_ms) == 4
    assert p95_ms(errors_ms) <= 10
