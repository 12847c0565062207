"""Ctrl-C at the two ends of a command: while `harness` still loads its parts, and again while it reports the first one."""

import signal
import subprocess
import sys
from typing import Final


def test_ctrl_c_before_a_command_has_begun_is_no_traceback() -> None:
    words = [sys.executable, "-X", "importtime", "-m", "harness", "plan"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as loading:
        assert loading.stderr is not None
        for line in loading.stderr:
            if line.rstrip().endswith(" harness.printable"):  # the first that `harness.cli` imports of its own
                loading.send_signal(signal.SIGINT)
                break
        said = loading.stderr.read()
    assert loading.returncode == 130
    assert said.endswith("harness: stopped\n")
    assert "Traceback" not in said


SECOND: Final = """
from harness import cli
def stopped(*words, **named):
    raise KeyboardInterrupt
cli.app = cli._fail = stopped
cli.main()
"""
"""The first stop ends the command, the second comes while the first is reported."""


def test_a_second_ctrl_c_while_the_first_is_reported_is_no_traceback() -> None:
    stopped = subprocess.run([sys.executable, "-c", SECOND], capture_output=True, text=True, check=False)
    assert (stopped.returncode, stopped.stderr) == (130, "")
