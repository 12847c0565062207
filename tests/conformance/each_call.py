"""A driver, each call in a process of its own with imports made once: `python each_call.py DRIVER JOBS LONGEST_S < CALLS`.

Some tools take ten seconds of work to be imported, as much as all else of a call. CALLS: a JSON list of the arguments of each
call, the second of which is its output. Prints the number of calls in which the driver failed.
"""

import json
import os
import runpy
import signal
import sys
import time
from pathlib import Path

DRIVER, JOBS, LONGEST_S = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])


def begin(arguments: list[str]) -> int:
    """The id of a process that makes one call."""
    process = os.fork()
    if process:
        return process
    said = os.open(Path(arguments[1]).with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    signal.alarm(round(LONGEST_S))
    sys.argv = [DRIVER, *arguments]
    code = 0
    try:
        runpy.run_path(DRIVER, run_name="__main__")
    except SystemExit as end:
        code = int(bool(end.code))
    except BaseException:  # as Python itself: the trace in the log, and a code
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    calls = json.load(sys.stdin)
    sys.argv = [DRIVER, *calls[0]]
    runpy.run_path(DRIVER, run_name="imported")
    failed = running = 0
    for arguments in calls:
        if running == JOBS:
            failed += os.wait()[1] != 0
            running -= 1
        begin(arguments)
        running += 1
        time.sleep(0.2)  # so that not all speak at once
    for _ in range(running):
        failed += os.wait()[1] != 0
    print(failed)


if __name__ == "__main__":
    main()
