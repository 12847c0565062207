"""What the doctor says of GPUs and of CUDA, with a driver and without."""

import importlib.util
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import pynvml as nvml
import pytest

from harness import installation
from harness.agents.cuda import why_no_cuda
from harness.doctor import gpus
from harness.doctor.gpus import can_be_loaded, together, voices_part
from harness.installation import pip_command
from harness.machine import gpu
from harness.machine.gpu import Gpu
from tests.harness.machine.scripted_gpu import ScriptedDriver

WITHOUT_CUDA = why_no_cuda() is not None


@pytest.mark.skipif(not WITHOUT_CUDA, reason="there is CUDA here")
def test_without_a_gpu_both_say_so_and_nothing_is_wrong() -> None:
    (card_found,), (cuda_found,) = gpus.gpus(), gpus.cuda()
    assert (card_found.state, cuda_found.state) == ("without", "without")
    assert "there is no NVIDIA driver here" in cuda_found.seen


@pytest.mark.parametrize(("percent", "state"), [(2, "fine"), (10, "fine"), (11, "disturbs"), (87, "disturbs")])
def test_a_box_is_described_and_a_busy_one_disturbs(percent: int, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = ScriptedDriver(nvml)
    driver._answers["nvmlDeviceGetUtilizationRates"] = lambda _: driver._utilisation(percent)
    found = Gpu(driver, 0)
    monkeypatch.setattr(gpus, "cards", lambda: [found])
    facts = {"gpu_driver": "570.1", "cuda_of_driver": "12.8", "mps": "not seen", **found.facts()}
    monkeypatch.setattr(gpus, "gpu_facts", lambda: facts)
    (said,) = gpus.gpus()
    assert (said.part, said.state) == ("GPU", state)
    assert said.seen == (
        f"gpu0 NVIDIA H100 80GB HBM3, 81920 MiB, at {percent} %, power cap 650 W, MIG off; "
        "driver 570.1, CUDA up to 12.8, MPS not seen"
    )


def test_a_driver_that_gives_nothing_gets_no_invented_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(ScriptedDriver):
        def __getattr__(self, name: str) -> object:
            if name.startswith("nvmlDevice") and name != "nvmlDeviceGetHandleByIndex":
                return lambda *_: self.refuse(nvml.NVML_ERROR_NOT_SUPPORTED)
            return super().__getattr__(name)

    found = Gpu(Refusing(nvml), 0)
    monkeypatch.setattr(gpus, "cards", lambda: [found])
    monkeypatch.setattr(gpus, "gpu_facts", lambda: {"mps": "not seen", **found.facts()})
    (said,) = gpus.gpus()
    assert said.seen == "gpu0; driver not known, CUDA up to not known, MPS not seen"


def test_facts_name_every_gpu_and_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    two = [Gpu(ScriptedDriver(nvml), k) for k in range(2)]
    monkeypatch.setattr(gpu, "cards", lambda: two)
    monkeypatch.setattr(nvml, "nvmlSystemGetDriverVersion", lambda: "570.1")
    monkeypatch.setattr(nvml, "nvmlSystemGetCudaDriverVersion_v2", lambda: 12_080)
    facts = gpu.gpu_facts()
    assert facts["gpus"] == "NVIDIA H100 80GB HBM3, NVIDIA H100 80GB HBM3"
    assert (facts["gpu_driver"], facts["cuda_of_driver"], facts["gpu1_power_cap_w"]) == ("570.1", "12.8", 650.0)


def test_the_build_that_was_installed_last_is_named_and_how_to_mend_it() -> None:
    assert voices_part("onnxruntime-gpu 1.31.1 for CUDA 13.0", ["CUDAExecutionProvider"], both=False)[1] == ""
    seen, mend = voices_part("onnxruntime 1.31.1", ["CPUExecutionProvider"], both=True)
    assert "has replaced the files of onnxruntime-gpu" in seen
    away, again = pip_command("uninstall"), pip_command("install")
    assert mend == f"{away} -y onnxruntime onnxruntime-gpu, then {again} onnxruntime-gpu"
    whole = together([("Whisper: fine", ""), (seen, mend)])
    assert (whole.state, whole.seen) == ("without", f"Whisper: fine; {seen}")
    assert together([("one", ""), ("other", "")]).state == "fine"


def test_a_build_for_cuda_without_its_libraries_is_not_fine() -> None:
    missing = ["libcublas.so.13", "libcudnn.so.9"]
    seen, mend = voices_part("onnxruntime-gpu 1.31.1 for CUDA 13.0", ["CUDAExecutionProvider"], both=False, missing=missing)
    assert seen == "voices: onnxruntime-gpu 1.31.1 for CUDA 13.0; not found: libcublas.so.13, libcudnn.so.9"
    assert "[cuda,cudnn]" in mend


def test_a_folder_that_lost_its_files_is_said_and_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    left_behind = ModuleSpec("onnxruntime", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: left_behind if name == "onnxruntime" else find_spec(name))
    monkeypatch.setattr(gpus, "why_no_cuda", lambda: None)
    (said,) = gpus.cuda()
    assert said.state == "without"
    assert "voices: the folder of onnxruntime has lost its files" in said.seen
    assert f"{pip_command('uninstall')} -y onnxruntime onnxruntime-gpu, then " in said.mend
    monkeypatch.setattr(installation, "find_spec", importlib.util.find_spec)
    assert installation.missing_modules(("onnxruntime", "numpy")) == ("onnxruntime",)


def test_a_library_is_found_where_an_agent_would_find_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not can_be_loaded("libheartnowhere.so.1")
    (tmp_path / "libheartnowhere.so.1").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert can_be_loaded("libheartnowhere.so.1")
    assert can_be_loaded("libc.so.6")


def test_one_busy_gpu_of_two_disturbs(monkeypatch: pytest.MonkeyPatch) -> None:
    two = [ScriptedDriver(nvml), ScriptedDriver(nvml)]
    two[0]._answers["nvmlDeviceGetUtilizationRates"] = lambda _: two[0]._utilisation(0)
    monkeypatch.setattr(gpus, "cards", lambda: [Gpu(driver, k) for k, driver in enumerate(two)])
    monkeypatch.setattr(gpus, "gpu_facts", dict)
    assert gpus.gpus()[0].state == "disturbs"


@pytest.mark.parametrize(
    ("why", "seen"),
    [
        ("there is no NVIDIA driver here", "none (there is no NVIDIA driver here)"),
        (None, "there is one; its figures are not checked"),
    ],
)
def test_without_its_package_the_driver_itself_is_asked(why: str | None, seen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pynvml" else found(name))
    monkeypatch.setattr(gpus, "why_no_cuda", lambda: why)
    (said,) = gpus.gpus()
    assert said.seen.startswith(seen)
    assert said.mend


def test_whisper_without_its_library_names_the_package_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "why_no_cuda", lambda: None)
    monkeypatch.setattr(gpus, "can_be_loaded", lambda _: False)
    (said,) = gpus.cuda()
    assert "Whisper: libcublas.so.12 is not found" in said.seen
    assert "pip install nvidia-cublas-cu12" in said.mend
