"""What the samples of a GPU say of a run: clocks under load, causes, and who else used it."""

import json
from pathlib import Path
from typing import Any

import pynvml as nvml
import pytest

from harness.experiment import Experiment
from harness.figures.machine import clock_sentences, sharing_sentences
from harness.machine.gpu import Gpu
from harness.machine.gpu_sampler import COST
from harness.machine.gpu_use import IDLE, SLOWED, gpu_use_of, use_of_cards
from harness.run.fixed_plan import fleet_of
from harness.run.plan import make_plan, new_manifest
from harness.shards.merged_manifest import merged_manifest
from harness.shards.split import Share
from harness.store.machine_facts import GpuUse
from harness.store.manifest import RunManifest, read_manifest
from tests.harness.machine.scripted_gpu import ScriptedDriver


def sample(k: int, clock_mhz: float = 1980, percent: float = 90, reasons: int = 0, **more: float) -> dict[str, float]:
    columns = {"utilisation_percent": percent, "sm_clock_mhz": clock_mhz, "clock_reasons": reasons, **more}
    return {"at_ns": 1_000 + k * 20_000_000, COST: 0.4, **{f"gpu0.{name}": value for name, value in columns.items()}}


def test_the_bits_are_those_of_the_library() -> None:
    assert nvml.nvmlClocksEventReasonGpuIdle == IDLE
    assert SLOWED["heat"] == nvml.nvmlClocksEventReasonSwThermalSlowdown | nvml.nvmlClocksEventReasonHwThermalSlowdown
    power = nvml.nvmlClocksEventReasonSwPowerCap | nvml.nvmlClocksEventReasonHwPowerBrakeSlowdown
    assert SLOWED["power"] == power | nvml.nvmlClocksThrottleReasonBoardLimit
    assert SLOWED["hardware"] == nvml.nvmlClocksEventReasonHwSlowdown


def test_a_clock_that_falls_under_load_is_said_with_both_ends() -> None:
    use = gpu_use_of("gpu0", [sample(k, 1980 if k < 500 else 1605) for k in range(1_000)])
    assert use.clock_range_mhz == (1980.0, 1605.0)
    (said,) = clock_sentences({"gpu0": use})
    assert said.startswith("gpu0: under load its SM clock fell from 1,980 to 1,605 MHz")
    rising = gpu_use_of("gpu0", [sample(k, 1605 if k < 500 else 1980) for k in range(1_000)])
    assert "rose from 1,605 to 1,980 MHz" in clock_sentences({"gpu0": rising})[0]


def test_a_clock_that_rests_while_nothing_is_computed_is_no_drift() -> None:
    idle = [sample(k, 345, percent=0) for k in range(500)]
    after_load = [sample(k, 345, percent=60, reasons=IDLE) for k in range(500, 700)]
    use = gpu_use_of("gpu0", [*idle, *after_load, *(sample(k) for k in range(700, 1_200))])
    assert (use.samples, use.loaded, use.clock_range_mhz) == (1_200, 500, None)
    assert clock_sentences({"gpu0": use}) == ()


def test_single_low_samples_are_no_drift_either() -> None:
    use = gpu_use_of("gpu0", [sample(k, 1200 if k % 4 == 0 else 1980) for k in range(1_000)])
    assert use.clock_range_mhz is None


def test_too_little_load_says_nothing() -> None:
    use = gpu_use_of("gpu0", [sample(k, 1980 - 10 * k, reasons=0x20) for k in range(60)])
    assert (use.loaded, use.sm_clock_mhz, use.slowed) == (60, (), {})


@pytest.mark.parametrize(
    ("reasons", "cause", "words"),
    [
        (0x20, "heat", "for heat in 30 % of 1,000 samples under load"),
        (0x40 | 0x8, "heat", "for heat in 30 %"),
        (0x4, "power", "by its power cap or supply in 30 %"),
        (0x8, "hardware", "by its hardware, for heat or power in 30 %"),
    ],
)
def test_causes_are_counted_under_load_and_named(reasons: int, cause: str, words: str) -> None:
    low: dict[str, Any] = {"clock_mhz": 1905.0, "reasons": reasons}
    use = gpu_use_of("gpu0", [sample(k, **(low if k % 10 < 3 else {})) for k in range(1_000)])
    assert use.slowed == {cause: 0.3}
    (said,) = clock_sentences({"gpu0": use})
    assert words in said
    assert said.endswith("samples under load, to 1,905 MHz of 1,980 in the median.")


def scripted(clock_mhz: int, chosen_mhz: int) -> GpuUse:
    """The use of a card that computes at this clock all the time, with the bit of the power cap."""
    driver = ScriptedDriver(
        nvml,
        {"nvmlDeviceGetClockInfo": lambda *_: clock_mhz, "nvmlDeviceGetApplicationsClock": lambda *_: chosen_mhz},
    )
    card = Gpu(driver, 0)
    chosen = card.facts()["gpu0_chosen_sm_clock_mhz"]
    assert isinstance(chosen, int)
    return gpu_use_of("gpu0", [{"at_ns": k * 20_000_000, **card.now()} for k in range(200)], chosen)


def test_a_reason_without_a_lower_clock_slows_nothing() -> None:
    for at in (scripted(1980, 1980), scripted(1965, 1980), scripted(1980, 1755)):
        assert (at.loaded, at.slowed, at.slowed_sm_clock_mhz) == (200, {}, None)
        assert clock_sentences({"gpu0": at}) == ()


def test_a_clock_that_never_reached_the_chosen_one_is_said_though_it_does_not_drift() -> None:
    use = scripted(1425, 1980)
    assert use.clock_range_mhz is None
    assert clock_sentences({"gpu0": use}) == (
        "gpu0: the driver lowered its clock by its power cap or supply in 100 % of 200 samples under load, to 1,425 MHz of "
        "1,980 in the median.",
    )


def test_a_manifest_of_an_older_harness_says_no_clock() -> None:
    assert clock_sentences({"gpu0": GpuUse(samples=200, loaded=200, slowed={"heat": 0.3})}) == (
        "gpu0: the driver lowered its clock for heat in 30 % of 200 samples under load.",
    )


def test_a_chosen_clock_is_no_cause() -> None:
    chosen = nvml.nvmlClocksEventReasonApplicationsClocksSetting
    half = [sample(k, clock_mhz=1200 if k % 2 else 1980, reasons=chosen if k % 2 else 0) for k in range(1_000)]
    assert gpu_use_of("gpu0", half).slowed == {}


def test_programs_of_no_agent_are_said_and_a_desktop_is_not() -> None:
    def shares(percent: float) -> list[dict[str, float]]:
        quiet: dict[str, Any] = {"others.sm_percent": percent}
        return [sample(k, **(quiet if k % 2 else {"fast.sm_percent": 40.0})) for k in range(1_000)]

    assert "used it in 50 %" in sharing_sentences({"gpu0": gpu_use_of("gpu0", shares(25))})[0]
    assert sharing_sentences({"gpu0": gpu_use_of("gpu0", shares(3))}) == ()
    nothing = gpu_use_of("gpu0", [sample(k) for k in range(1_000)])
    assert (nothing.others_share, sharing_sentences({"gpu0": nothing})) == (None, ())


def test_a_file_gives_each_gpu_its_rate_and_cost_and_a_torn_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for k in range(200):
            out.write(json.dumps({"at_ns": 500 + k, "cpu_percent": 3.0}) + "\n")
            out.write(json.dumps(sample(k, temperature_c=40 + k / 10) | {"gpu1.power_w": 30.0}) + "\n")
        out.write('{"at_ns": 12, "gpu0.sm_cl')
    found = use_of_cards(path)
    assert found.keys() == {"gpu0", "gpu1"}
    assert (found["gpu0"].rate_hz, found["gpu0"].sampling_ms) == (50.0, (0.4, 0.4))
    assert found["gpu0"].most_temperature_c == pytest.approx(59.9)
    of_power_alone = GpuUse(samples=200, rate_hz=50.0, sampling_ms=(0.4, 0.4), most_power_w=30.0)
    assert found["gpu1"] == of_power_alone


def test_an_agent_whose_name_begins_as_a_gpu_is_none(tmp_path: Path) -> None:
    lines = [{"at_ns": 5, "cpu_percent": 3.0, "gpu-box.memory_mib": 812.0, "gpu0.cpu_percent": 4.0}, sample(1)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = use_of_cards(tmp_path / "t.jsonl")
    assert {name: use.samples for name, use in found.items()} == {"gpu0": 1}


def test_the_share_of_others_is_of_all_looks_at_processes_and_of_this_gpu_alone() -> None:
    """The driver lists the processes that used a GPU since the last look: of an idle one it lists none."""
    busy: dict[str, Any] = {"others.sm_percent": 40.0}
    looks = [sample(k, temperature_c=40.0, **(busy if k % 10 == 0 else {})) for k in range(1_000)]
    assert gpu_use_of("gpu0", looks).others_share == 0.1
    of_another = [sample(k) | {"gpu1.fast.sm_percent": 40.0} for k in range(1_000)]
    assert gpu_use_of("gpu0", of_another).others_share is None


def test_a_run_without_a_gpu_has_no_cards(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"at_ns": 5, "cpu_percent": 3.0}\n', encoding="utf-8")
    assert use_of_cards(tmp_path / "t.jsonl") == use_of_cards(tmp_path / "absent.jsonl") == {}


def shard_manifest(number: int, cards: dict[str, GpuUse]) -> RunManifest:
    plan = make_plan(Experiment(agents=("baseline",), limit=2), Share((number, 2)))
    return new_manifest(plan).model_copy(update={"fleet": fleet_of(plan), "cards": cards})


def test_the_manifest_stores_it_and_reads_it_back() -> None:
    use = gpu_use_of("gpu0", [sample(k, 1980 if k < 500 else 1605, reasons=0x20) for k in range(1_000)])
    manifest = shard_manifest(1, {"gpu0": use})
    again = read_manifest(manifest.model_dump_json(), Path("run"))
    assert again.cards == {"gpu0": use}
    # A run of an older harness has none.
    assert read_manifest(manifest.model_dump_json(exclude={"cards"}), Path("run")).cards == {}
    assert clock_sentences(again.cards) == clock_sentences({"gpu0": use})


def test_shards_of_two_machines_both_have_a_first_gpu() -> None:
    use = gpu_use_of("gpu0", [sample(k) for k in range(1_000)])
    shards = [shard_manifest(number, {"gpu0": use}) for number in (1, 2)]
    merged = merged_manifest(shards, None, pool_machines=False)
    assert set(merged.cards) == {"gpu0 of shard 1", "gpu0 of shard 2"}
    assert merged_manifest([shards[0]], merged, pool_machines=False).cards == merged.cards
