"""One GPU as its driver describes it: columns, processes and facts, and nothing in the place of what it does not give."""

import os
from typing import Any

import pynvml as nvml

from harness.machine.gpu import Gpu
from tests.harness.machine.scripted_gpu import ScriptedDriver

NOBODY = 2**22 - 1
"""A process number that Linux gives to nobody."""


def test_the_figures_of_a_moment_are_columns_in_their_units() -> None:
    assert Gpu(ScriptedDriver(nvml), 0).now() == {
        "gpu0.utilisation_percent": 87.0,
        "gpu0.memory_mib": 3 * 1024.0,
        "gpu0.sm_clock_mhz": 1980.0,
        "gpu0.power_w": 351.2,
        "gpu0.clock_reasons": float(nvml.nvmlClocksEventReasonSwPowerCap),
    }


def test_what_the_driver_refuses_is_absent_and_never_zero() -> None:
    driver = ScriptedDriver(nvml)
    driver._answers["nvmlDeviceGetPowerUsage"] = lambda _: driver.refuse(nvml.NVML_ERROR_NOT_SUPPORTED)
    driver._answers["nvmlDeviceGetUtilizationRates"] = lambda _: driver.refuse(nvml.NVML_ERROR_GPU_IS_LOST)
    card = Gpu(driver, 1)
    assert card.now().keys() == {"gpu1.memory_mib", "gpu1.sm_clock_mhz", "gpu1.clock_reasons"}
    card.now()
    # What a GPU can never give is asked for once; what failed may work the next time.
    assert driver.asked.count("nvmlDeviceGetPowerUsage") == 1
    assert driver.asked.count("nvmlDeviceGetUtilizationRates") == 2


def test_an_old_driver_without_a_function_costs_its_column_alone() -> None:
    def old(_: Any) -> Any:
        raise nvml.NVMLLibraryMismatchError

    driver = ScriptedDriver(nvml, {"nvmlDeviceGetComputeRunningProcesses": old})
    assert Gpu(driver, 0).by_process({}) == {"gpu0.memory_clock_mhz": 2619.0, "gpu0.temperature_c": 61.0}


def test_processes_are_summed_for_their_agent_and_others_apart() -> None:
    driver = ScriptedDriver(nvml)
    own, child = 41, 42
    times = [(own, 10, 20), (child, 11, 30), (own, 20, 25), (os.getpid(), 12, 7), (NOBODY, 12, 4), (0, 0, 0), (own, 30, 4711)]
    driver._answers["nvmlDeviceGetProcessUtilization"] = lambda *_: driver.shares(times)
    memory = {own: 2**30, child: 2**29, os.getpid(): None, NOBODY: 2**20}
    driver._answers["nvmlDeviceGetComputeRunningProcesses"] = lambda _: driver.processes(memory)
    found = Gpu(driver, 0).by_process({own: "fast", child: "fast"})
    # Each process once with its newest share; a share over 100 % is an unused place of the driver's list.
    assert {name: value for name, value in found.items() if name.count(".") == 2} == {
        "gpu0.fast.sm_percent": 55.0,
        "gpu0.others.sm_percent": 7.0,
        "gpu0.unseen.sm_percent": 4.0,
        "gpu0.fast.memory_mib": 1536.0,
        "gpu0.unseen.memory_mib": 1.0,
    }


def test_shares_that_were_seen_are_not_counted_again() -> None:
    driver = ScriptedDriver(nvml)
    asked_from: list[int] = []

    def shares(_: int, since_us: int) -> Any:
        asked_from.append(since_us)
        return driver.shares([(41, 10, 20), (42, 12, 30)])

    driver._answers["nvmlDeviceGetProcessUtilization"] = shares
    card = Gpu(driver, 0)
    assert "gpu0.others.sm_percent" in card.by_process({}) or "gpu0.unseen.sm_percent" in card.by_process({})
    assert not any(name.endswith("sm_percent") for name in card.by_process({}))
    assert asked_from[:2] == [0, 12]


def test_facts_are_for_the_manifest_and_hold_no_number_of_the_card() -> None:
    driver = ScriptedDriver(nvml, {"nvmlDeviceGetMigMode": lambda _: [1, 1]})
    driver._answers["nvmlDeviceGetApplicationsClock"] = lambda *_: driver.refuse(nvml.NVML_ERROR_NOT_SUPPORTED)
    card = Gpu(driver, 0)
    assert card.model == "NVIDIA H100 80GB HBM3"
    assert card.facts() == {
        "gpu0_memory_mib": 80 * 1024,
        "gpu0_power_cap_w": 650.0,
        "gpu0_usual_power_cap_w": 700.0,
        "gpu0_most_sm_clock_mhz": 1980,
        "gpu0_sm_clock_mhz_before": 1980,
        "gpu0_temperature_c_before": 61,
        "gpu0_mig": "on",
        "gpu0_compute_mode": "shared",
        "gpu0_mps_clients_before": 0,
    }
