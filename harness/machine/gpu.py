"""One NVIDIA GPU as its driver describes it (NVML): its facts before a run, and its figures during one.

NVML averages utilisation and power over up to a second; clocks, memory and the reasons for a lower clock are of the moment and
are read fifty times a second, what belongs to processes five times. A figure that a driver refuses is left out, and not asked
for again if the driver will never give it.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar

import psutil

Sample = dict[str, float]
Facts = dict[str, str | int | float]
Owners = Mapping[int, str]
"""Process id → the agent (or our caller) that it belongs to."""

OTHERS: Final = "others"
"""Programs that run here and belong to no agent of the run."""
UNSEEN: Final = "unseen"
"""Processes that are not visible here: a container sees the GPU's processes under the host's numbers."""
_MIB: Final = 1024 * 1024
_MPS: Final = "nvidia-cuda-mps"
_MOST_PERCENT: Final = 100
_Answer = TypeVar("_Answer")


class Gpu:
    """One GPU. `nvml` is the module `pynvml`, initialised."""

    def __init__(self, nvml: Any, index: int) -> None:
        self._nvml = nvml
        self.name: Final = f"gpu{index}"
        self._handle = nvml.nvmlDeviceGetHandleByIndex(index)
        self._refused: set[str] = set()
        self._seen_until_us = 0

    def now(self) -> Sample:
        """The figures of this moment."""
        nvml, card = self._nvml, self._handle
        return self._columns(
            {
                "utilisation_percent": lambda: nvml.nvmlDeviceGetUtilizationRates(card).gpu,
                "memory_mib": lambda: nvml.nvmlDeviceGetMemoryInfo(card).used / _MIB,
                "sm_clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_SM),
                "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(card) / 1000,
                "clock_reasons": lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(card),
            }
        )

    def by_process(self, owners: Owners) -> Sample:
        """The figures that change slowly, and those of processes, summed for each of `owners`, for others and for unseen
        ones."""
        nvml, card = self._nvml, self._handle
        slow = self._columns(
            {
                "memory_clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_MEM),
                "temperature_c": lambda: nvml.nvmlDeviceGetTemperature(card, nvml.NVML_TEMPERATURE_GPU),
            }
        )
        for pid, percent in self._process_percent().items():
            self._add(slow, owner_of(pid, owners), "sm_percent", percent)
        for pid, mib in self._process_mib().items():
            self._add(slow, owner_of(pid, owners), "memory_mib", mib)
        return slow

    def facts(self) -> Facts:
        """The properties of this GPU that timing depends on; no serial number or other id of it."""
        nvml, card = self._nvml, self._handle
        asked: dict[str, Callable[[], str | int | float]] = {
            "memory_mib": lambda: int(nvml.nvmlDeviceGetMemoryInfo(card).total // _MIB),
            "power_cap_w": lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(card) / 1000,
            "usual_power_cap_w": lambda: nvml.nvmlDeviceGetPowerManagementDefaultLimit(card) / 1000,
            "most_sm_clock_mhz": lambda: int(nvml.nvmlDeviceGetMaxClockInfo(card, nvml.NVML_CLOCK_SM)),
            "chosen_sm_clock_mhz": lambda: int(nvml.nvmlDeviceGetApplicationsClock(card, nvml.NVML_CLOCK_SM)),
            "sm_clock_mhz_before": lambda: int(nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_SM)),
            "temperature_c_before": lambda: int(nvml.nvmlDeviceGetTemperature(card, nvml.NVML_TEMPERATURE_GPU)),
            "mig": lambda: "on" if nvml.nvmlDeviceGetMigMode(card)[0] else "off",
            "compute_mode": lambda: _compute_mode(nvml, nvml.nvmlDeviceGetComputeMode(card)),
            "mps_clients_before": lambda: len(nvml.nvmlDeviceGetMPSComputeRunningProcesses(card)),
        }
        read = ((fact, self._asked(fact, how)) for fact, how in asked.items())
        return {f"{self.name}_{fact}": value for fact, value in read if value is not None}

    @property
    def model(self) -> str:
        """`NVIDIA H100 80GB HBM3`; empty if the driver does not give it."""
        return str(self._asked("name", lambda: self._nvml.nvmlDeviceGetName(self._handle)) or "")

    def _columns(self, columns: Mapping[str, Callable[[], float]]) -> Sample:
        read = ((column, self._asked(column, how)) for column, how in columns.items() if column not in self._refused)
        return {f"{self.name}.{column}": round(float(value), 1) for column, value in read if value is not None}

    def _asked(self, what: str, read: Callable[[], _Answer]) -> _Answer | None:
        """The driver's answer; None if it refuses."""
        nvml = self._nvml
        try:
            return read()
        except nvml.NVMLError as error:
            if getattr(error, "value", None) in (nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_FUNCTION_NOT_FOUND):
                self._refused.add(what)
        except nvml.NVMLLibraryMismatchError:
            self._refused.add(what)
        return None

    def _process_percent(self) -> dict[int, float]:
        """Process → its newest share of the SMs since the last question. The driver lists only those that used some."""
        if "processes" in self._refused:
            return {}
        nvml = self._nvml
        read = self._asked("processes", lambda: nvml.nvmlDeviceGetProcessUtilization(self._handle, self._seen_until_us))
        # Drivers return unused places of their buffer too, with values that no share can have.
        samples = [s for s in read or () if s.pid and s.timeStamp > self._seen_until_us and s.smUtil <= _MOST_PERCENT]
        samples.sort(key=lambda sample: sample.timeStamp)
        if samples:
            self._seen_until_us = int(samples[-1].timeStamp)
        return {int(sample.pid): float(sample.smUtil) for sample in samples}

    def _process_mib(self) -> dict[int, float]:
        """Process → its memory on the GPU, where the driver knows it; clients of MPS included."""
        nvml = self._nvml
        found: dict[int, float] = {}
        for what, read in (
            ("compute", lambda: nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)),
            ("mps", lambda: nvml.nvmlDeviceGetMPSComputeRunningProcesses(self._handle)),
        ):
            if what not in self._refused:
                listed = self._asked(what, read) or ()
                found |= {int(p.pid): p.usedGpuMemory / _MIB for p in listed if p.usedGpuMemory is not None}
        return found

    def _add(self, sample: Sample, owner: str, column: str, value: float) -> None:
        name = f"{self.name}.{owner}.{column}"
        sample[name] = round(sample.get(name, 0.0) + value, 1)


def owner_of(pid: int, owners: Owners) -> str:
    """The name that the work of a process on the GPU is counted under."""
    if pid in owners:
        return owners[pid]
    return OTHERS if psutil.pid_exists(pid) else UNSEEN


def cards() -> list[Gpu]:
    """The GPUs of this machine; empty without an NVIDIA driver or without `nvidia-ml-py` (extra `gpu`)."""
    try:
        import pynvml
    except ModuleNotFoundError:
        return []
    try:
        pynvml.nvmlInit()
        return [Gpu(pynvml, k) for k in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError:
        return []


def gpu_facts() -> Facts:
    """The GPUs of this machine for the manifest, with driver, CUDA version and MPS; empty without any."""
    found = cards()
    if not found:
        return {}
    import pynvml

    facts: Facts = {"gpus": ", ".join(card.model or "a GPU without a name" for card in found)}
    with suppress(pynvml.NVMLError):
        facts["gpu_driver"] = str(pynvml.nvmlSystemGetDriverVersion())
    with suppress(pynvml.NVMLError):
        newest = int(pynvml.nvmlSystemGetCudaDriverVersion_v2())
        facts["cuda_of_driver"] = f"{newest // 1000}.{newest % 1000 // 10}"
    facts["mps"] = "running" if _mps_runs() else "not seen"
    return facts | {name: value for card in found for name, value in card.facts().items()}


def _compute_mode(nvml: Any, mode: int) -> str:
    known = {
        nvml.NVML_COMPUTEMODE_DEFAULT: "shared",
        nvml.NVML_COMPUTEMODE_PROHIBITED: "prohibited",
        nvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS: "one process alone",
    }
    return known.get(mode, f"mode {mode}")


def _mps_runs() -> bool:
    """True if a control daemon or server of MPS is visible here."""
    return any((process.info["name"] or "").startswith(_MPS) for process in psutil.process_iter(("name",)))
