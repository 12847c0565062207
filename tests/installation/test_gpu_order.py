"""The order of docs/gpu.md: two packages own the folder `onnxruntime`, and only one order leaves the one for CUDA whole.

What each order leaves is asked of the real wheels, with no GPU: a build for CUDA lists its provider without one.
"""

import json
import re
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.installation.conftest import ROOT, Environment

PAGE = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")
ASK = (
    "import importlib.util as u, json; spec = u.find_spec('onnxruntime');"
    "whole = spec is not None and spec.origin is not None;"
    "runtime = __import__('onnxruntime') if whole else None;"
    "print(json.dumps({'folder': spec is not None, 'providers': runtime.get_available_providers() if whole else None}))"
)


def left(environment: Environment, folder: Path) -> Any:
    """Whether the folder is there, and the providers of what it holds; null where nothing can be imported from it."""
    done = environment.run("-c", ASK, cwd=folder)
    assert done.returncode == 0, done.stderr[-1000:]
    return json.loads(done.stdout)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the build for CUDA has wheels for Linux")
def test_only_the_order_of_the_page_leaves_the_build_for_cuda(tmp_path: Path) -> None:
    (version,) = set(re.findall(r"onnxruntime-gpu\[cuda,cudnn\]==([\d.]+)", PAGE))
    assert PAGE.index("pip uninstall -y onnxruntime ") < PAGE.index(f"onnxruntime-gpu[cuda,cudnn]=={version}")
    venv.create(tmp_path / "box", with_pip=True, symlinks=True)
    box = Environment(tmp_path / "box")

    def pip(*words: str) -> None:
        box.pip(*words, cwd=tmp_path)

    def for_cuda() -> bool:
        return "CUDAExecutionProvider" in (left(box, tmp_path)["providers"] or ())

    pip("install", f"onnxruntime=={version}")
    assert not for_cuda()
    pip("uninstall", "-y", "onnxruntime")
    pip("install", "--no-deps", f"onnxruntime-gpu=={version}")
    assert for_cuda(), "the order of the page"
    pip("install", "--no-deps", f"onnxruntime=={version}")
    assert not for_cuda(), "an upgrade of the harness brings the first back"
    pip("uninstall", "-y", "onnxruntime")
    assert left(box, tmp_path) == {"folder": True, "providers": None}, "the first takes the second's files with it"
    pip("uninstall", "-y", "onnxruntime-gpu")
    pip("install", "--no-deps", f"onnxruntime-gpu=={version}")
    assert for_cuda(), "the page's remedy: both go first"
