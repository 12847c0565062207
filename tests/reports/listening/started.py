"""A listening test's server as a process of its own, and the address that it prints.

The kernel gives the port: a port of the test's own choice may be in use, by another program or by a connection.
"""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.present import present

STARTS_WITHIN_S: Final = 90


@contextmanager
def started(*command: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server, and its URL; it is killed at the end.

    Raises:
        AssertionError: it ended before it served, or did not serve in time; with its output.
    """
    unbuffered = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, env=unbuffered, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        late = threading.Timer(STARTS_WITHIN_S, server.kill)
        late.start()
        try:
            before = list[str]()
            for row in present(server.stdout):
                before.append(row)
                if row.startswith("Listening test at "):
                    late.cancel()
                    yield server, row.removeprefix("Listening test at ").split()[0]
                    return
            raise AssertionError("".join(before))
        finally:
            late.cancel()
            server.kill()
