"""The `harness` command as `python -m harness`. In a checkout, unlike in an installed package, Python can be too old."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 the one file that an older Python reads
    version = ".".join(map(str, sys.version_info[:2]))
    print(f"harness: Python 3.11 or newer is needed, this is {version}: python3.11 -m venv .venv", file=sys.stderr)
    sys.exit(2)


def main() -> None:
    """Entry point of the `harness` command: Ctrl-C while it loads its parts is a stop too, and no traceback."""
    try:
        from harness.cli import main as command
    except KeyboardInterrupt:
        print("harness: stopped", file=sys.stderr)
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
