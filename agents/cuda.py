"""CUDA for an agent's process: whether this machine has it, and where its libraries are.

The wheels of CTranslate2 and onnxruntime hold no CUDA. Its libraries come as wheels of their own (`nvidia-cublas-cu12`, …),
whose folders the system's loader does not know, and each user had to put them on `LD_LIBRARY_PATH` by hand. The loader reads
that variable once, when a process starts, so they are put into the environment of the agent's process by the one that starts
it. Programs that the agent starts in turn (a model server in its own environment) get it as it was.

The driver is asked through its own library and not through a framework, because none has to be installed here.
"""

import ctypes
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PATH_VARIABLE: Final = "LD_LIBRARY_PATH"
_DRIVER: Final = "libcuda.so.1"


def library_folders(python: str = sys.executable) -> tuple[str, ...]:
    """The folders with libraries of NVIDIA's wheels in an interpreter's packages, sorted; empty if none is installed."""
    if python == sys.executable:
        spec = importlib.util.find_spec("nvidia")
        places = list(spec.submodule_search_locations or ()) if spec is not None else []
    else:
        places = [str(place) for place in Path(python).parent.parent.glob("lib/python*/site-packages/nvidia")]
    found = {folder for place in places for folder in Path(place).glob("*/lib") if any(folder.glob("lib*.so*"))}
    return tuple(sorted(map(str, found)))


def with_libraries(environment: Mapping[str, str], python: str = sys.executable) -> dict[str, str]:
    """The environment of a process that finds them; what the user has set comes first."""
    given = environment.get(PATH_VARIABLE, "")
    path = os.pathsep.join(filter(None, (given, *library_folders(python))))
    return {**environment, PATH_VARIABLE: path} if path else dict(environment)


def without_libraries(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment as it was before `with_libraries`."""
    ours = set(library_folders())
    left = [folder for folder in environment.get(PATH_VARIABLE, "").split(os.pathsep) if folder and folder not in ours]
    rest = {name: value for name, value in environment.items() if name != PATH_VARIABLE}
    return {**rest, PATH_VARIABLE: os.pathsep.join(left)} if left else rest


def why_no_cuda(driver: str = _DRIVER) -> str | None:
    """The reason why nothing can be computed on a GPU here, in words; None if the driver shows one."""
    try:
        cuda = ctypes.CDLL(driver)
    except OSError:
        return f"there is no NVIDIA driver here ({driver})"
    count = ctypes.c_int(0)
    if error := cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return f"the NVIDIA driver shows no GPU (CUDA error {error})"
    return None if count.value else "the NVIDIA driver shows no GPU"
