"""Our own functions, called in a process of the Python that has the programs they need.

One process serves all calls, because a model is loaded once in it. Both ends of its socket are ours, so arguments and results
go as pickles, and what libraries print goes to standard error. It ends with the socket, however this process ends. A call that
is broken off ends it too, because half an answer would be in the way of the next.
"""

import atexit
import os
import pickle
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Any, Final, TypeVar

from harness.errors import UserError
from harness.installation import missing_modules
from harness.local_programs.interpreter import MODULES, NAMED_BY, launch_environment, local_python

Result = TypeVar("Result")
_END_S: Final = 5.0


def call(
    function: Callable[..., Result],
    *arguments: Any,
    why: str,
    modules: Sequence[str] = MODULES,
    step: Callable[..., None] | None = None,
) -> Result:
    """The result of one of our functions of a module, run in this process if it has the modules, else where they are.

    `step`: given to the function as its last argument, and called in this process. Its own errors come back as they are.

    Raises:
        UserError: no Python has the modules (`why` says what needs them), or the process with them ended.
    """
    if are_here(modules):
        return function(*arguments) if step is None else function(*arguments, step)
    result: Result = _worker(local_python(why, modules=modules)).call(function, arguments, step)
    return result


def are_here(modules: Sequence[str] = MODULES) -> bool:
    """True if what needs these modules runs in this process."""
    return not os.environ.get(NAMED_BY) and not missing_modules(modules)


@lru_cache(maxsize=2)
def _worker(python: str) -> "_Worker":
    worker = _Worker(python)
    atexit.register(worker.close)
    return worker


class _Worker:
    """The process, started by its first call, and again after one that was broken off."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._gate = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: Connection | None = None

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...], step: Callable[..., None] | None) -> Any:
        asked = pickle.dumps((function.__module__, function.__qualname__, arguments, step is not None))
        with self._gate:
            try:
                connection = self._connected()
                connection.send_bytes(asked)
                while True:
                    kind, value = pickle.loads(connection.recv_bytes())
                    if kind != "step":
                        break
                    assert step is not None
                    step(*value)
            except (EOFError, OSError) as error:
                code = self._process.wait() if self._process is not None else None
                self.close()
                raise UserError(
                    f"the process with the speech models ended by itself (exit code {code}; {self._python}): free some memory, "
                    "then run the same command again"
                ) from error
            except BaseException:
                self.close()
                raise
        if kind == "error":
            raise value
        return value

    def close(self) -> None:
        """End the process."""
        if self._socket is not None:
            self._socket.close()
        if self._process is not None:
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = self._socket = None

    def _connected(self) -> Connection:
        if self._socket is None:
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(
                    [self._python, "-m", "harness.local_programs", str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=2,
                    pass_fds=(theirs.fileno(),),
                    env=launch_environment(self._python),
                )
            self._socket = Connection(ours.detach())
        return self._socket
