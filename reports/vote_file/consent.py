"""What a person reads before the first pair, and agrees to.

Whoever asks is answerable for it, so they may put their own text in its place. Its version is stored with every vote, so that
later it can be said what each person had agreed to.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.errors import UserError

LONGEST: Final = 20_000
"""Characters of a text of one's own: ten pages, more than anybody reads before twenty votes."""
_DEFAULT: Final = """\
You will read what people say who are going through something hard, and {meet} two replies to each of them. You say which \
reply is better for this person, in this moment. There are no right answers.

The conversations are about distress: loss, anger, shame, loneliness. Some people in them are hostile. If it becomes too much, \
stop: you can do so at any moment, without a reason.

The replies come from machines, some perhaps from people. None is advice for you. If you are not well yourself, please talk to \
somebody you trust, or to a crisis line in your country: taking part can wait.

What is stored: your choices, how long each took, what you write, and the id with which you came here, or else a random \
one. It stays in this browser until {sent}. To have it \
removed later, tell whoever asked you that id: the last page shows it."""


@dataclass(frozen=True, slots=True)
class Consent:
    """A text in plain words."""

    text: str

    @property
    def version(self) -> str:
        """First digits of its SHA-256."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


def default_consent(*, heard: bool, posted: bool) -> Consent:
    """The text where whoever asks gives none of their own. `posted`: the page itself sends the votes."""
    return Consent(
        _DEFAULT.format(
            meet="hear" if heard else "read",
            sent="you finish or stop: then the page sends it" if posted else "you send it yourself",
        )
    )


def read_consent(path: Path) -> Consent:
    """The text of a file.

    Raises:
        UserError: unreadable, empty, or longer than anybody reads.
    """
    try:
        text = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n").strip()
    except OSError as error:
        raise UserError(f"--consent {path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"--consent {path}: is not text; save it as plain text in UTF-8") from error
    if not text or len(text) > LONGEST:
        why = f"has {len(text):,} characters, more than {LONGEST:,}" if text else "is empty"
        raise UserError(f"--consent {path}: {why}; give the text that people agree to before they vote")
    return Consent(text)
