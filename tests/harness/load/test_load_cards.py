"""A load test on a machine with a GPU: sampled from the first call to the last, and said of the whole test."""

import json
from dataclasses import asdict
from pathlib import Path

import pynvml as nvml
import pytest

from harness.experiment import Experiment
from harness.load.agent import LoadRequest, load_agent
from harness.load.result import LoadResult, made_of
from harness.machine import gpu, telemetry
from harness.machine.gpu import Gpu
from harness.progress import RunProgress
from harness.reports.load_words import cautions
from harness.store.machine_facts import GpuUse
from harness.store.run_store import RunStore
from tests.harness.conftest import peer
from tests.harness.machine.scripted_gpu import ScriptedDriver


@pytest.mark.long
@pytest.mark.models
async def test_a_card_below_its_chosen_clock_is_in_the_files_and_among_the_cautions(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = ScriptedDriver(nvml, {"nvmlDeviceGetClockInfo": lambda *_: 1425})
    for module in (gpu, telemetry):
        monkeypatch.setattr(module, "cards", lambda: [Gpu(driver, 0)])
    folder = tmp_path / "load"
    folder.mkdir()
    (folder / "telemetry.jsonl").write_text('{"at_ns": 1, "gpu0.power_w": 9999}\n', encoding="utf-8")
    seen: list[dict[str, GpuUse]] = []

    def finished(run: RunStore, result: LoadResult) -> None:
        del result
        seen.append(run.manifest.cards)

    asked = Experiment().with_named({"agents": [str(peer("raw-pcm-echo"))], "pack": str(pack)})
    run, _ = await load_agent(LoadRequest(asked, folder, callers=(1,)), RunProgress(quiet=True), finished)
    made = made_of(run.manifest)
    assert made["gpus"]["gpus"] == "NVIDIA H100 80GB HBM3"
    assert made["gpus"]["gpu0_chosen_sm_clock_mhz"] == 1755
    use = run.manifest.cards["gpu0"]
    assert use.loaded == use.samples > 100
    assert use.most_power_w == 351.2, "a folder that is used again has no samples of an earlier test"
    assert use.slowed_sm_clock_mhz == (1425.0, 1755.0)
    (clock,) = cautions(run.manifest)
    assert "to 1,425 MHz of 1,755 in the median" in clock.text
    assert seen[0]["gpu0"].slowed == {"power": 1.0}
    assert json.loads(json.dumps(made)) == json.loads(json.dumps(made | {"cards": {"gpu0": asdict(use)}}))
