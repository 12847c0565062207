"""The name under which this program was called, in every command that it prints to a terminal.

Whoever follows README types `.venv/bin/harness`, and a printed `harness report …` would not be found. Messages are made far
from the terminal, and pages and files have them too, where the plain name is right. So they all say `harness …`, and the
commands in them are renamed where the terminal's output leaves the program.
"""

import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

PLAIN: Final = "harness"
_BEFORE: Final = r"(?<![\w/.-])(?<!\bthe )(?<!\bthis )(?<!-m )"
"""Not in a path, not in "the harness load", and not in a command that has been renamed."""


def called_as(first: str, original: Sequence[str]) -> str:
    """`.venv/bin/harness`, `python -m harness`; `harness` where the shell finds this very program by that name.

    `first`: `sys.argv[0]`; `original`: `sys.orig_argv`.
    """
    called = Path(first)
    if called.name == "__main__.py" and original:
        return f"{shlex.quote(original[0])} -m {PLAIN}"
    found = shutil.which(PLAIN)
    on_path = found is not None and called.exists() and Path(found).resolve() == called.resolve()
    return shlex.quote(first) if called.name == PLAIN and not on_path else PLAIN


class AsCalled:
    """A stream to a terminal or a log, in which this program's commands have the name under which it was called."""

    def __init__(self, stream: TextIO, commands: Iterable[str]) -> None:
        """`commands`: the words that can follow the program's name."""
        self._stream = stream
        self._name = called_as(sys.argv[0], sys.orig_argv)
        words = "|".join(re.escape(word) for word in sorted(commands, key=len, reverse=True))
        self._commands = re.compile(rf"{_BEFORE}{PLAIN}(?= (?:{words})(?![\w-]))")

    def write(self, text: str) -> int:
        """Write the text with the commands in it renamed."""
        if self._name != PLAIN and PLAIN in text:
            self._stream.write(self._commands.sub(lambda _: self._name, text))
        else:
            self._stream.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
