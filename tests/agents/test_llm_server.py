"""The language model's server says in one line why it cannot be had."""

import os
from pathlib import Path

import pytest

from harness.agents.llm_server import LlmServer, ServerFailed, ServerOptions


async def test_a_system_without_the_openmp_runtime_is_told_which_package_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = 'raise ImportError("libgomp.so.1: cannot open shared object file: No such file or directory")'
    (tmp_path / "xllamacpp.py").write_text(broken, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{Path(__file__).parents[2]}")
    model = tmp_path / "model.gguf"
    model.write_bytes(b"never read")
    with pytest.raises(ServerFailed, match=r"libgomp\.so\.1.*apt-get install libgomp1"):
        await LlmServer(ServerOptions(model=str(model))).start()
