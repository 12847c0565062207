"""Ctrl-C while `harness` still loads its parts, which takes a second on a busy machine."""

import signal
import subprocess
import sys


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
