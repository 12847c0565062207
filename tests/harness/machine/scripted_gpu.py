"""A driver's answers in NVML's own structures, units and errors. Every name is one of the real library, or there is none."""

import time
from collections.abc import Callable, Sequence
from typing import Any

Percent = tuple[int, int, int]
"""Process, time in µs, share of the SMs."""


class ScriptedDriver:
    """The module `pynvml` over scripted answers. `answers` replace those of a warm, busy card; each call takes `takes_s`."""

    def __init__(self, nvml: Any, answers: dict[str, Callable[..., Any]] | None = None, takes_s: float = 0.0) -> None:
        self._nvml = nvml
        self._takes_s = takes_s
        self.asked: list[str] = []
        self._answers: dict[str, Callable[..., Any]] = {
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetName": lambda _: "NVIDIA H100 80GB HBM3",
            "nvmlDeviceGetUtilizationRates": lambda _: self._utilisation(87),
            "nvmlDeviceGetMemoryInfo": lambda _: self._memory(3 * 2**30, 80 * 2**30),
            "nvmlDeviceGetClockInfo": lambda _, clock: {nvml.NVML_CLOCK_SM: 1980, nvml.NVML_CLOCK_MEM: 2619}[clock],
            "nvmlDeviceGetPowerUsage": lambda _: 351_240,
            "nvmlDeviceGetCurrentClocksEventReasons": lambda _: nvml.nvmlClocksEventReasonSwPowerCap,
            "nvmlDeviceGetTemperature": lambda *_: 61,
            "nvmlDeviceGetProcessUtilization": lambda *_: self.refuse(nvml.NVML_ERROR_NOT_FOUND),
            "nvmlDeviceGetComputeRunningProcesses": lambda _: [],
            "nvmlDeviceGetMPSComputeRunningProcesses": lambda _: [],
            "nvmlDeviceGetEnforcedPowerLimit": lambda _: 650_000,
            "nvmlDeviceGetPowerManagementDefaultLimit": lambda _: 700_000,
            "nvmlDeviceGetMaxClockInfo": lambda *_: 1980,
            "nvmlDeviceGetApplicationsClock": lambda *_: 1755,
            "nvmlDeviceGetMigMode": lambda _: [0, 0],
            "nvmlDeviceGetComputeMode": lambda _: nvml.NVML_COMPUTEMODE_DEFAULT,
            **(answers or {}),
        }

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._nvml, name)
        if not name.startswith("nvmlDevice"):
            return real
        answer = self._answers[name]

        def ask(*given: Any) -> Any:
            self.asked.append(name)
            time.sleep(self._takes_s)
            return answer(*given)

        return ask

    def refuse(self, code: int) -> Any:
        """Raise NVML's error of this code, as the binding does."""
        raise self._nvml.NVMLError(code)

    def shares(self, samples: Sequence[Percent]) -> Any:
        """What the driver lists of processes."""
        found = (self._nvml.c_nvmlProcessUtilizationSample_t * len(samples))()
        for place, (pid, at_us, percent) in zip(found, samples, strict=True):
            place.pid, place.timeStamp, place.smUtil = pid, at_us, percent
        return found[0 : len(samples)]

    def processes(self, memory: dict[int, int | None]) -> list[Any]:
        """Running processes with their memory in bytes; None where the driver does not know it."""
        found = []
        for pid, used in memory.items():
            entry = self._nvml.c_nvmlProcessInfo_v3_t()
            entry.pid = pid
            friendly = self._nvml.nvmlStructToFriendlyObject(entry)
            friendly.usedGpuMemory = used
            found.append(friendly)
        return found

    def _memory(self, used: int, total: int) -> Any:
        memory = self._nvml.c_nvmlMemory_t()
        memory.used, memory.total = used, total
        return memory

    def _utilisation(self, percent: int) -> Any:
        load = self._nvml.c_nvmlUtilization_t()
        load.gpu = percent
        return load
