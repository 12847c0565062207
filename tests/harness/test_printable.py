"""Words by others on a terminal: nothing in them moves the cursor, rings the bell or stops the line."""

import io

import pytest

from harness.agents.secrets import RedactedOutput, redact_foreign
from harness.printable import for_terminal, printable

HOSTILE = ["\x1b[2J", "\x07", "\x1b]0;title\x07", "\x9b31m", "\x08\x08", "\x00", "\x7f", "\u202e", "\ud83d", "\x1bc"]


@pytest.mark.parametrize("sequence", HOSTILE, ids=ascii)
def test_no_control_character_of_others_is_passed_on(sequence: str) -> None:
    for made in (printable(f"a{sequence}b"), redact_foreign(f"a{sequence}b")):
        assert made.replace("\n", "").isprintable()
        assert made[0] + made[-1] == "ab"
        made.encode()


def test_ordinary_text_breaks_and_tabs_stay() -> None:
    text = "naïve – “你好” 👋\u00a0x\n\ty"
    assert printable(text) == text
    assert printable("a\nb\tc", one_line=True) == "a·b·c"


def test_our_own_colours_and_progress_pass_and_nothing_else() -> None:
    own = "\x1b[1;31mred\x1b[0m\x1b[2K\x1b[1A\r\n"
    assert for_terminal(own) == own
    assert for_terminal("a\x1b]0;t\x07b\x1b[1mc\x9bd") == "a·]0;t·b\x1b[1mc·d"
    out = io.StringIO()
    RedactedOutput(out).write("an error: \x1b]0;t\x07\n")
    assert out.getvalue() == "an error: ·]0;t·\n"
