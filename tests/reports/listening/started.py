"""A listening test's server as a process of its own, and the address that it prints.

The kernel gives the port: a port of the test's own choice may be in use, by another program or by a connection of one.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.present import present


@contextmanager
def started(*command: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server, and its URL; it is killed at the end. Raises AssertionError with its words where it ends before it serves."""
    unbuffered = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, env=unbuffered, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            before = list[str]()
            for row in present(server.stdout):
                before.append(row)
                if row.startswith("Listening test at "):
                    yield server, row.removeprefix("Listening test at ").split()[0]
                    return
            raise AssertionError("".join(before))
        finally:
            server.kill()
