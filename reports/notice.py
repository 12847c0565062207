"""What people read before they vote, and agree to, the same wherever they vote: what they will meet, who asks, where help is.

Whoever asks is answerable for it, so a study may put its own consent in the place of ours; the notice and the helplines stay,
because nobody should meet people in distress unprepared. The version of what was read is stored with every vote, so that later
it can be said what each person had agreed to.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from harness.errors import UserError
from harness.files import own_folder, write_whole
from harness.store.paths import VOTE_FILES
from harness.study.study import LONGEST_CONSENT, Study

_OF_THE_PAGE: Final = "of-the-page.study"
"""No `.json`: those beside it are keys."""


@dataclass(frozen=True, slots=True)
class Notice:
    """The first page of a vote. `stored`: what happens to the answers, by the keys of its sentences; `checks`: some of the
    pairs are attention checks, which is said."""

    study: Study
    stored: tuple[str, ...]
    checks: bool = False

    @property
    def meets(self) -> tuple[str, ...]:
        """What a person will meet, paragraph by paragraph."""
        t = self.study.texts
        checks = (t("study.checks"),) if self.checks else ()
        machines = f"{t('vote.from_machines')} {t('study.no_advice')}"
        return (t("vote.meet"), t("study.notice"), machines, *checks, t("study.not_well"))

    @property
    def consent(self) -> tuple[str, ...]:
        """What a person agrees to: the study's own paragraphs, or ours."""
        return self.study.paragraphs or (" ".join(self.study.texts(key) for key in self.stored),)

    @property
    def text(self) -> str:
        """Everything that is read, as a person sees it."""
        facts = (f"{label}: {value}" for label, value in self.study.facts)
        parts = (self.study.name, *facts, *self.meets, "\n".join(self.study.lines_of_help), *self.consent)
        return "\n\n".join(part for part in parts if part)

    @property
    def version(self) -> str:
        """First digits of the text's SHA-256."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    def for_script(self) -> dict[str, Any]:
        """What a page's script needs of it."""
        return {
            "consent": self.version,
            "invited": bool(self.study.name),
            "questions": [question.model_dump(mode="json") for question in self.study.demographics],
            "helplines": list(self.study.lines_of_help),
            "way_back": self.study.way_back,
        }


def store_study(run: Path, notice: Notice) -> None:
    """Store the study of a run's page, which later pages of the run ask for too, and what people read under its version."""
    folder = own_folder(run / VOTE_FILES)
    write_whole(folder / f"read-first-{notice.version}.txt", f"{notice.text}\n")
    write_whole(folder / _OF_THE_PAGE, notice.study.model_dump_json() + "\n")


def study_of_page(run: Path) -> Study:
    """The study that was last given for a run's page; the default where none was."""
    try:
        return Study.model_validate_json((run / VOTE_FILES / _OF_THE_PAGE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return Study()


def with_own_consent(path: Path) -> Study:
    """A study of which only the consent text is known, from a plain file (`--consent`).

    Raises:
        UserError: unreadable, empty, or longer than anybody reads.
    """
    try:
        text = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n").strip()
    except OSError as error:
        raise UserError(f"--consent {path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"--consent {path}: is not text; save it as plain text in UTF-8") from error
    if not text or len(text) > LONGEST_CONSENT:
        why = f"has {len(text):,} characters, more than {LONGEST_CONSENT:,}" if text else "is empty"
        raise UserError(f"--consent {path}: {why}; give the text that people agree to before they vote")
    return Study(consent=text)
