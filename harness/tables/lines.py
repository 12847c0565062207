"""Lines of a user's text file, whatever the path leads to.

A path may name a folder, a pipe that nobody writes to, `/dev/zero`, or a file of one endless line; so only regular files are
read, a line at a time, each of bounded length. UTF-8 is read with or without its mark, UTF-16 by its mark, which spreadsheets
write as "Unicode text". Anything else would have to be guessed, and a wrong guess changes names without a word.
"""

import codecs
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from harness.errors import UserError

MOST_OF_A_LINE: Final = 8 * 2**20
"""Characters: a conversation of three hours in one line of JSON has 200,000."""
MOST_BYTES: Final = 64 * 2**20
"""Of a file that is read whole: the published set that is one file has 1.2 MB."""
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def lines_of(path: Path, named: str | None = None, end: Literal["", "\n"] = "") -> Iterator[str]:
    """The lines with their ends; `named`: what errors call the file; `end`: "\n" where nothing else ends a line.

    Raises UserError: no regular file, not readable, not text, or a line that is too long; with the number of the line.
    """
    named = named or str(path)
    try:
        _must_be_regular(path, named)
        with path.open("rb") as start:
            mark = start.read(3)
        encoding = "utf-16" if mark[:2] in _UTF_16 else "utf-8-sig"
        # Bytes that are no UTF-8 become lone surrogates, so that the error can name their line.
        with path.open(encoding=encoding, errors="surrogateescape", newline=end) as handle:
            number = 0
            while line := handle.readline(MOST_OF_A_LINE + 1):
                number += 1
                yield _checked(line, f"{named}:{number}")
    except UnicodeError as error:
        raise UserError(f"{named}: cannot be read as UTF-8, nor as UTF-16 ({getattr(error, 'reason', error)})") from None
    except FileNotFoundError:
        raise UserError(f"{named}: no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        raise UserError(f"{named}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def content_of(path: Path, named: str | None = None) -> bytes:
    """The whole content of a file that is no table of lines. Raises UserError: no regular file, too large, not readable."""
    named = named or str(path)
    try:
        _must_be_regular(path, named)
        if path.stat().st_size > MOST_BYTES:
            raise UserError(f"{named}: is larger than {MOST_BYTES // 2**20} MiB")
        return path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{named}: no such file") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{named}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def _must_be_regular(path: Path, named: str) -> None:
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise UserError(f"{named}: is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise UserError(f"{named}: is no regular file (a pipe or a device); write its content to a file and name that")


def _checked(line: str, where: str) -> str:
    if len(line) > MOST_OF_A_LINE:
        raise UserError(f"{where}: a line of over {MOST_OF_A_LINE:,} characters; write each row on a line of its own")
    if "\0" in line:
        raise UserError(f"{where}: a NUL byte, so this is no text file; export it as CSV or JSON Lines in UTF-8")
    if not line.isascii() and (wrong := _not_utf8(line)):
        raise UserError(f"{where}: cannot be read as UTF-8 (the byte {wrong}); in a spreadsheet save the file as “CSV UTF-8”")
    return line


def _not_utf8(line: str) -> str:
    try:
        line.encode()
    except UnicodeEncodeError as error:
        return f"0x{ord(line[error.start]) & 0xFF:02X}"
    return ""
