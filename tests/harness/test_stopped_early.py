"""Ctrl-C while `harness` still loads its parts, which takes a second on a busy machine."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

PRESSED: Final = """
import os, signal, sys

class CtrlC:
    def find_spec(self, name, *_):
        if name == "harness.printable":  # of the last that `harness.cli` imports
            {pressed}

sys.meta_path.insert(0, CtrlC())
"""
PLAINLY: Final = "os.kill(os.getpid(), signal.SIGINT)"
IN_CODE_THAT_IS_MADE: Final = f"exec({PLAINLY!r})"
"""Dataclasses and named tuples are made so."""
CAUGHT: Final = f"""
            try:
                {PLAINLY}
            except BaseException as error:
                raise ImportError("so say some libraries") from error
"""


@pytest.mark.parametrize("pressed", [PLAINLY, IN_CODE_THAT_IS_MADE, CAUGHT])
def test_ctrl_c_before_a_command_has_begun_is_no_traceback(pressed: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(PRESSED.format(pressed=pressed))
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "harness", "plan"]
    loading = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": path})
    assert (loading.returncode, loading.stdout, loading.stderr) == (130, "", "harness: stopped\n")
