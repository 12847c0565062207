"""The command itself, before it does anything."""

import subprocess
import sys


def test_a_command_that_computes_nothing_loads_no_statistics() -> None:
    """They take longer to load than most commands take to answer."""
    show = "import sys, harness.cli; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True).stdout.split()
    assert "harness.commands.run" in loaded
    assert not {"scipy", "numpy", "altair", "pipecat"} & set(loaded)
