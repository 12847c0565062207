"""`python -m harness.local_programs FD`: the other end of `harness.local_programs.worker`, on an open socket."""

import importlib
import os
import pickle
import queue
import signal
import sys
import threading
import traceback
from functools import reduce
from multiprocessing.connection import Connection
from typing import Any


def main() -> None:
    """Serve calls until the socket closes."""
    # What a terminal sends to both is the other end's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    connection = Connection(int(sys.argv[1]))
    asked: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    # In a thread of its own, so that the end of the other process ends this one in the midst of its work.
    threading.Thread(target=_receive, args=(connection, asked), daemon=True).start()
    while True:
        connection.send_bytes(_answer(connection, asked.get()))


def _receive(connection: Connection, asked: "queue.SimpleQueue[bytes]") -> None:
    try:
        while True:
            asked.put(connection.recv_bytes())
    except (EOFError, OSError):
        os._exit(0)


def _answer(connection: Connection, asked: bytes) -> bytes:
    def step(*value: Any) -> None:
        connection.send_bytes(pickle.dumps(("step", value)))

    try:
        module, name, arguments, steps = pickle.loads(asked)
        function: Any = reduce(getattr, name.split("."), importlib.import_module(module))
        return pickle.dumps(("done", function(*arguments, *([step] if steps else []))))
    except Exception as error:
        return pickle.dumps(("error", _carried(error)))


def _carried(error: Exception) -> Exception:
    """The error as the other end can have it: ours and Python's own as they are, a library's by its kind and words."""
    where = "".join(traceback.format_exception(error))
    try:
        known = type(error).__module__.partition(".")[0] in ("harness", "builtins")
        carried = error if known and pickle.loads(pickle.dumps(error)) is not None else None
    except Exception:  # one with arguments that it cannot be made of again
        carried = None
    carried = carried or RuntimeError(f"{type(error).__name__}: {error}")
    carried.add_note(where)
    return carried


if __name__ == "__main__":
    main()
