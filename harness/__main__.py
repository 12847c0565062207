"""The `harness` command as `python -m harness`. In a checkout, unlike in an installed package, Python can be too old."""

import os
import signal
import sys

if sys.version_info < (3, 11):  # noqa: UP036 the one file that an older Python reads
    version = ".".join(map(str, sys.version_info[:2]))
    print(f"harness: Python 3.11 or newer is needed, this is {version}: python3.11 -m venv .venv", file=sys.stderr)
    sys.exit(2)


def _stopped(*_: object) -> None:
    os.write(2, b"harness: stopped\n")
    os._exit(130)


def main() -> None:
    """Entry point of the `harness` command: Ctrl-C while it loads its parts is a stop too, and no traceback.

    Libraries catch a KeyboardInterrupt that comes while they load, and Python ends by the signal itself if one passes through
    `exec`; so the signal ends the process at once. There is nothing to lose yet.
    """
    loads = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where a shell has it ignored
    if loads:
        signal.signal(signal.SIGINT, _stopped)
    from harness.cli import main as command

    if loads:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command()


if __name__ == "__main__":
    main()
