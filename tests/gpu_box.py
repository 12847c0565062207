"""Checks that only a machine with an NVIDIA GPU can make: `PYTHONPATH=. python3.12 tests/gpu_box.py [SECONDS]` prints one JSON.

It needs torch, nvidia-ml-py, psutil and numpy, and nothing else of the project's packages. A load that computes and rests in
turn runs in a process of its own while the harness's sampler reads the GPU: rate, cost of a sample and of each question,
columns, processes, reasons for the clock, and what utilisation shows of a burst of 50 ms. Nothing of the GPU is changed:
clocks, MIG and limits are only read. Each check says `ok` true or false, and the reason; a check that broke says so and the
others go on.
"""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

LOAD = """
import sys, time
import torch

size, until = 6144, time.monotonic() + float(sys.argv[1])
a = torch.randn(size, size, device="cuda", dtype=torch.float16)
b = torch.randn(size, size, device="cuda", dtype=torch.float16)
print("computing", flush=True)
burst, rest = float(sys.argv[2]), float(sys.argv[3])
while time.monotonic() < until:
    began = time.monotonic()
    while time.monotonic() - began < burst:
        c = a @ b
        torch.cuda.synchronize()
    time.sleep(rest)
"""
"""A process that multiplies matrices for `burst` seconds and rests for `rest`."""
FAST = ("utilisation_percent", "memory_mib", "sm_clock_mhz", "power_w", "clock_reasons")
SLOW = ("memory_clock_mhz", "temperature_c")


def main() -> None:
    import harness

    # `harness/agents` is a link, which a copy of this folder may lack.
    harness.__path__.append(str(Path(__file__).parents[1]))
    lasting_s = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    found: dict[str, Any] = {"python": sys.version.split()[0]}
    for name, check in (
        ("facts", facts),
        ("cuda", cuda),
        ("questions", questions),
        ("idle", lambda: sampled(3.0, None)),
        ("steady_load", lambda: sampled(lasting_s, (1.0, 0.0))),
        ("bursts_of_50_ms", lambda: sampled(min(lasting_s, 10.0), (0.05, 0.45))),
        ("caller_is_not_delayed", lambda: paced(5.0)),
        ("nvtx", nvtx),
    ):
        found[name] = answered(check)
    found["ok"] = all(part.get("ok", True) for part in found.values() if isinstance(part, dict))
    print(json.dumps(found, indent=1))


def answered(check: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    began_s = time.monotonic()
    try:
        found = check()
    except Exception as error:
        found = {"ok": False, "error": repr(error)[:500]}
    return {**found, "took_s": round(time.monotonic() - began_s, 2)}


def facts() -> dict[str, Any]:
    """The manifest's facts, and the kind of machine that they make."""
    from harness.machine.gpu import gpu_facts

    found = gpu_facts()
    return {"ok": bool(found.get("gpus")) and "gpu_driver" in found and "gpu0_power_cap_w" in found, **found}


def cuda() -> dict[str, Any]:
    """What an agent's process would be given: the driver, and the folders of NVIDIA's wheels."""
    from harness.agents.cuda import library_folders, why_no_cuda

    folders = library_folders()
    names = sorted({path.name for folder in folders for path in Path(folder).glob("lib*.so.*")})
    wanted = [name for name in names if name.startswith(("libcublas.", "libcudnn.", "libcudart."))]
    return {"ok": why_no_cuda() is None, "why_no_cuda": why_no_cuda(), "folders": len(folders), "libraries": wanted}


def questions() -> dict[str, Any]:
    """The time of each question to the driver, in ms: median and 99th percentile of 200."""
    import pynvml

    from harness.machine.gpu import cards

    card = cards()[0]
    handle = card._handle
    asked: dict[str, Callable[[], object]] = {
        "utilisation": lambda: pynvml.nvmlDeviceGetUtilizationRates(handle),
        "memory": lambda: pynvml.nvmlDeviceGetMemoryInfo(handle),
        "sm_clock": lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
        "power": lambda: pynvml.nvmlDeviceGetPowerUsage(handle),
        "clock_reasons": lambda: pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle),
        "temperature": lambda: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
        "process_shares": lambda: pynvml.nvmlDeviceGetProcessUtilization(handle, 0),
        "processes": lambda: pynvml.nvmlDeviceGetComputeRunningProcesses(handle),
        "now": card.now,
        "by_process": lambda: card.by_process({}),
    }
    with loaded(20.0, (1.0, 0.0)):
        found = {name: timed(question) for name, question in asked.items()}
    return {"ok": found["now"]["median_ms"] < 4.0, **found}


def timed(question: Callable[[], object]) -> dict[str, Any]:
    took_ms, refused = [], ""
    for _ in range(200):
        began_s = time.perf_counter()
        try:
            question()
        except Exception as error:  # a refusal is an answer too, and takes its time
            refused = str(error)
        took_ms.append(1000 * (time.perf_counter() - began_s))
    took_ms.sort()
    found: dict[str, Any] = {"median_ms": round(median(took_ms), 4), "p99_ms": round(took_ms[197], 4)}
    return {**found, **({"refused": refused} if refused else {})}


@contextlib.contextmanager
def loaded(lasting_s: float, bursts: tuple[float, float] | None) -> Any:
    """The process id of a load that computes; None without one."""
    if bursts is None:
        yield None
        return
    command = [sys.executable, "-c", LOAD, str(lasting_s + 5), *map(str, bursts)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        if running.stdout.readline().strip() != "computing":
            raise RuntimeError("torch cannot compute on this GPU")
        time.sleep(1.0)
        try:
            yield running.pid
        finally:
            running.kill()


def sampled(lasting_s: float, bursts: tuple[float, float] | None) -> dict[str, Any]:
    """The harness's own telemetry for some seconds: its rate, cost and columns, and what it says of the clock."""
    from harness.figures.machine import clock_sentences, sharing_sentences
    from harness.machine.gpu import gpu_facts
    from harness.machine.gpu_use import use_of_cards
    from harness.machine.telemetry import Telemetry

    with loaded(lasting_s, bursts) as pid, tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "telemetry.jsonl")
        before_s = time.process_time()
        with Telemetry(path, {"load": pid} if pid else {}):
            time.sleep(lasting_s)
        spent_s = time.process_time() - before_s
        samples = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        use = use_of_cards(path, gpu_facts())
    gpu = [sample for sample in samples if "gpu.sampling_ms" in sample]
    gaps_ms = sorted((b["at_ns"] - a["at_ns"]) / 1e6 for a, b in pairwise(gpu))
    columns = sorted({name for sample in gpu for name in sample if name.startswith("gpu0.")})
    missing = [name for name in (*FAST, *SLOW) if f"gpu0.{name}" not in columns]
    shares = {name: [s[name] for s in gpu if name in s] for name in columns if name.count(".") == 2}
    card = use.get("gpu0")
    ok = not missing and len(gpu) > 40 * lasting_s
    if bursts is not None:
        ok = ok and any("load" in name or "unseen" in name for name in shares)
    return {
        "ok": ok,
        "rate_hz": round(len(gpu) / lasting_s, 2),
        "gap_ms": {"median": round(median(gaps_ms), 2), "p99": round(gaps_ms[int(0.99 * (len(gaps_ms) - 1))], 2)},
        "sampling_ms": card.sampling_ms if card else None,
        "core_percent_of_all_sampling": round(100 * spent_s / lasting_s, 2),
        "bytes_per_s": round(sum(len(json.dumps(s)) + 1 for s in gpu) / lasting_s),
        "columns": columns,
        "missing": missing,
        "range": {f"gpu0.{name}": values_of(gpu, f"gpu0.{name}") for name in (*FAST, *SLOW)},
        "by_process": {name: {"highest": max(values), "samples": len(values)} for name, values in shares.items()},
        "use": asdict(card) if card else None,
        "said": [*clock_sentences(use), *sharing_sentences(use)],
    }


def values_of(samples: list[dict[str, float]], name: str) -> dict[str, Any] | None:
    """Lowest, median, highest, and how many different values came in how many samples."""
    values = [sample[name] for sample in samples if name in sample]
    if not values:
        return None
    changes = sum(a != b for a, b in pairwise(values))
    return {"low": min(values), "median": median(values), "high": max(values), "changes": changes, "samples": len(values)}


def paced(lasting_s: float) -> dict[str, Any]:
    """How late 20 ms frames leave in a process beside the sampler, with it and without, while the GPU computes."""
    from harness.machine.telemetry import Telemetry

    def lateness() -> list[float]:
        code = (
            "import json, select, time\n"
            f"due, late, n = time.monotonic(), [], {int(lasting_s / 0.02)}\n"
            "for _ in range(n):\n"
            "    due += 0.02\n"
            "    select.select([], [], [], max(0.0, due - time.monotonic()))\n"
            "    late.append(1000 * (time.monotonic() - due))\n"
            "print(json.dumps(late))\n"
        )
        return sorted(json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout))

    def figures(late: list[float]) -> dict[str, float]:
        p99_ms = late[int(0.99 * len(late))]
        return {"median_ms": round(median(late), 3), "p99_ms": round(p99_ms, 3), "most_ms": round(late[-1], 3)}

    with loaded(3 * lasting_s, (1.0, 0.0)), tempfile.TemporaryDirectory() as folder:
        without = lateness()
        with Telemetry(Path(folder, "t.jsonl")):
            beside = lateness()
    return {"ok": figures(beside)["p99_ms"] < 5.0, "without": figures(without), "beside": figures(beside)}


def nvtx() -> dict[str, Any]:
    """Names of stages: with the package if it is here, and without a word if it is not."""
    from harness.agents import marks
    from harness.agents.cascade.session_marks import stage_ranges

    ranges = stage_ranges("c-1__mine__seeded__clean__r1")
    here = importlib.util.find_spec("nvtx") is not None
    if ranges is not None:
        for mark in (marks.SPEECH_STARTED, marks.ASR_STARTED, marks.ASR_DONE, marks.TURN_DECIDED):
            ranges.follow(mark, {})
        ranges.close()
    import torch

    torch.cuda.nvtx.range_push("heart")
    torch.cuda.nvtx.range_pop()
    tools = {name: os.environ[name] for name in ("NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH") if name in os.environ}
    return {"ok": (ranges is not None) == here, "package": here, "torch_has_it": True, "profiler": tools or None}


if __name__ == "__main__":
    main()
