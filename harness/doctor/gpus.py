"""Checks of this machine's GPUs, and of what the agents that ship need to compute on one: CUDA's libraries, and packages built
for it.
"""

import ctypes
import importlib.util
import os
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from harness.agents.cuda import PATH_VARIABLE, library_folders, why_no_cuda
from harness.doctor.result import Finding
from harness.installation import install_command, pip_command
from harness.machine.gpu import Facts, cards, gpu_facts

BUSY_GPU_PERCENT: Final = 10
"""Load of an idle GPU: a display takes a few percent. A choice."""
WHISPER_NEEDS: Final = "libcublas.so.12"
"""The library that CTranslate2 4.8 loads at its first use of a GPU; this name is in its own library."""
VOICES_NEED: Final = ("libcublas.so.{}", "libcudart.so.{}", "libcurand.so.10", "libcudnn.so.9")
"""What onnxruntime-gpu 1.31 loads at its first use of a GPU, with the number of its CUDA. Without them it lists its provider
too."""
Part = tuple[str, str]
"""The observation on one part, and its remedy (empty if it is fine)."""


def gpus() -> list[Finding]:
    """Findings on GPUs: names, memory, load, driver. Agents may use them; the measurement does not."""
    if importlib.util.find_spec("pynvml") is None:
        why = why_no_cuda()
        if why is not None:
            return [Finding("GPU", "without", f"none ({why})", "nothing: shipped agents need none but gpu-box")]
        mend = f"to sample it during turns: {install_command('gpu')}"
        return [Finding("GPU", "without", "there is one; its figures are not checked (nvidia-ml-py is not installed)", mend)]
    found = cards()
    if not found:
        return [Finding("GPU", "without", f"none ({why_no_cuda() or 'NVML shows none'})", "nothing: shipped agents need none")]
    facts, now = gpu_facts(), {name: value for card in found for name, value in card.now().items()}
    each = [_card_words(card.name, card.model, facts, now.get(f"{card.name}.utilisation_percent")) for card in found]
    driver = f"driver {facts.get('gpu_driver', 'not known')}, CUDA up to {facts.get('cuda_of_driver', 'not known')}"
    seen = f"{'; '.join(each)}; {driver}, MPS {facts.get('mps')}"
    busy = [value for name, value in now.items() if name.endswith(".utilisation_percent")]
    if any(percent > BUSY_GPU_PERCENT for percent in busy):
        return [Finding("GPU", "disturbs", seen, "end other programs that use it, if agents under test run on it")]
    return [Finding("GPU", "fine", seen)]


def cuda() -> list[Finding]:
    """The finding on the packages and libraries with which the shipped agents compute on a GPU."""
    if (why := why_no_cuda()) is not None:
        return [Finding("CUDA", "without", f"none ({why})", "nothing, without a GPU")]
    return [together([_whisper(), _voices()])]


def together(parts: Iterable[Part]) -> Finding:
    """One finding on both: fine if neither has a remedy."""
    seen, mends = zip(*parts, strict=True)
    mend = "; ".join(filter(None, mends))
    return Finding("CUDA", "without" if mend else "fine", "; ".join(seen), f"{mend} (docs/gpu.md)" if mend else "")


def _card_words(name: str, model: str, facts: Facts, percent: float | None) -> str:
    parts = [f"{name} {model}".strip(), f"{facts[f'{name}_memory_mib']} MiB" if f"{name}_memory_mib" in facts else ""]
    parts += [f"at {percent:.0f} %" if percent is not None else ""]
    parts += [f"power cap {cap:g} W" if isinstance(cap := facts.get(f"{name}_power_cap_w"), int | float) else ""]
    parts += [f"MIG {facts[f'{name}_mig']}" if f"{name}_mig" in facts else ""]
    return ", ".join(filter(None, parts))


def _whisper() -> Part:
    if importlib.util.find_spec("ctranslate2") is None:
        return "Whisper: ctranslate2 is not installed", install_command("local")
    if not can_be_loaded(WHISPER_NEEDS):
        return f"Whisper: {WHISPER_NEEDS} is not found", f"{pip_command('install')} nvidia-cublas-cu12"
    return f"Whisper: ctranslate2 {version('ctranslate2')} finds {WHISPER_NEEDS}", ""


def _build_again() -> str:
    away = f"{pip_command('uninstall')} -y onnxruntime onnxruntime-gpu"
    return f"{away}, then {pip_command('install')} onnxruntime-gpu"


def _voices() -> Part:
    if (spec := importlib.util.find_spec("onnxruntime")) is None:
        return "voices: onnxruntime is not installed", install_command("local")
    if spec.origin is None:
        # Uninstalling one of two packages that own a folder leaves what the other alone had: a folder that imports as nothing.
        return "voices: the folder of onnxruntime has lost its files", _build_again()
    import onnxruntime

    build, cuda_version = _build_of(onnxruntime)
    needed = [name.format(cuda_version.partition(".")[0]) for name in VOICES_NEED] if cuda_version else []
    missing = [name for name in needed if not can_be_loaded(name)]
    return voices_part(build, onnxruntime.get_available_providers(), both=installed_both(), missing=missing)


def voices_part(build: str, providers: Iterable[str], *, both: bool, missing: Sequence[str] = ()) -> Part:
    """What a build of onnxruntime means for voices. `both`: two packages claim its folder, of which the later one has replaced
    the other's files; `missing`: the libraries of its CUDA that are not found."""
    if "CUDAExecutionProvider" in providers and missing:
        mend = f"{pip_command('install')} 'onnxruntime-gpu[cuda,cudnn]' nvidia-cublas"
        return f"voices: {build}; not found: {', '.join(missing)}", mend
    if "CUDAExecutionProvider" in providers:
        return f"voices: {build}", ""
    why = "it has replaced the files of onnxruntime-gpu" if both else "it has no CUDA"
    return f"voices: {build}, {why}", _build_again()


def installed_both() -> bool:
    """True if both packages that own the folder `onnxruntime` are installed."""
    try:
        return bool(version("onnxruntime") and version("onnxruntime-gpu"))
    except PackageNotFoundError:
        return False


def can_be_loaded(library: str) -> bool:
    """True if the process of an agent would find a library: in a folder of NVIDIA's wheels, or as the system's loader does."""
    given = os.environ.get(PATH_VARIABLE, "").split(os.pathsep)
    if any(Path(folder, library).exists() for folder in (*library_folders(), *filter(None, given))):
        return True
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _build_of(onnxruntime: Any) -> tuple[str, str]:
    """`onnxruntime-gpu 1.31.1 for CUDA 13.0`, and the version of its CUDA; empty without."""
    from onnxruntime.capi import build_and_package_info as build

    for_cuda = getattr(build, "cuda_version", "")
    name = getattr(build, "package_name", "onnxruntime")
    return f"{name} {onnxruntime.__version__}" + (f" for CUDA {for_cuda}" if for_cuda else ""), for_cuda
