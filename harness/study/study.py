"""A study as its owner describes it in a file (`--study FILE`), and the default where nobody describes one.

Whoever asks people is answerable to them and to an ethics board: who asks, to whom one can complain, what is agreed to. None
of it can be guessed, so nothing is invented where the file leaves it out. A question about the person can always be skipped: a
forced answer is no consent. What people see is plain text; only the return link leads anywhere, and only to https.
"""

import hashlib
import re
from typing import Annotated, Final, Literal, Self
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from harness.study.texts import DEFAULT, Texts, languages, texts

LONGEST_CONSENT: Final = 20_000
"""Characters of a consent text: ten pages, more than anybody reads before twenty votes."""
LONGEST_ANSWER: Final = 500
"""Characters of an answer in one's own words: a few sentences."""
_PARAGRAPH: Final = re.compile(r"\n\s*\n")
_CODE_PLACE: Final = "{code}"
Sentence = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]
Answer = str | float


class StudySettings(BaseModel):
    """A table of a study file: closed, so that a misspelt key is an error, and immutable."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Question(StudySettings):
    """A question about the person, who may always skip it. `label`: its words, and the name of its column in exports."""

    label: Sentence
    kind: Literal["choice", "number", "text"] = "text"
    choices: Annotated[tuple[Sentence, ...], Field(max_length=30)] = ()

    @model_validator(mode="after")
    def _choices_belong_to_a_choice(self) -> Self:
        if self.kind == "choice" and (len(self.choices) < 2 or len(set(self.choices)) < len(self.choices)):
            raise ValueError("a question of kind choice needs two or more different choices")
        if self.kind != "choice" and self.choices:
            raise ValueError(f"a question of kind {self.kind} has no choices; make its kind choice, or leave them out")
        return self

    def answered(self, given: object) -> Answer | None:
        """What is stored of an answer; None for a skipped question and for everything that is no answer to it."""
        if self.kind == "number":
            sound = isinstance(given, int | float) and not isinstance(given, bool) and abs(given) < 1e9
            return given if sound else None  # type: ignore[return-value]
        text = given.strip()[:LONGEST_ANSWER] if isinstance(given, str) else ""
        return text if text and (self.kind == "text" or text in self.choices) else None


class Study(StudySettings):
    """What the pages say of the study. Empty: nobody described it, and the pages say what holds for every one."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)] = ""
    who: Annotated[str, StringConstraints(strip_whitespace=True, max_length=1_000)] = ""
    contact: Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)] = ""
    ethics: Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)] = ""
    consent: Annotated[str, StringConstraints(strip_whitespace=True, max_length=LONGEST_CONSENT)] = ""
    """The text that people agree to, in the place of ours; paragraphs are parted by an empty line."""
    language: str = DEFAULT
    demographics: Annotated[tuple[Question, ...], Field(max_length=30)] = ()
    completion_code: Annotated[str, StringConstraints(strip_whitespace=True, max_length=100)] = ""
    return_link: Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000)] = ""
    """An https address to which people go at the end; `{code}` in it becomes the completion code."""
    helplines: Annotated[tuple[Sentence, ...], Field(max_length=20)] = ()
    """Each with its number, in the place of those that the language's file names."""

    @field_validator("language")
    @classmethod
    def _has_a_file(cls, language: str) -> str:
        if language not in languages():
            raise ValueError(f"{language!r} is no language of the pages; choose one of {', '.join(languages())}")
        return language

    @field_validator("return_link")
    @classmethod
    def _leads_to_https(cls, link: str) -> str:
        if not link:
            return link
        try:
            parts = urlsplit(link)
            fit = parts.scheme == "https" and bool(parts.hostname) and not parts.username and not parts.password
        except ValueError:
            fit = False
        if not fit or any(letter.isspace() or letter in "\"'<>\\" for letter in link):
            raise ValueError("must be an https address without a password, such as https://example.org/done?cc={code}")
        return link

    @model_validator(mode="after")
    def _code_for_the_link(self) -> Self:
        if _CODE_PLACE in self.return_link and not self.completion_code:
            raise ValueError("return_link has {code} in it, and there is no completion_code to put there")
        labels = [question.label for question in self.demographics]
        if twice := next((label for label in labels if labels.count(label) > 1), None):
            raise ValueError(f"demographics: two questions have the label {twice!r}; give each words of its own")
        return self

    @property
    def texts(self) -> Texts:
        """The words of its pages."""
        return texts(self.language)

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The consent text's paragraphs; none where the pages' own stands."""
        return tuple(part.strip() for part in _PARAGRAPH.split(self.consent.replace("\r\n", "\n")) if part.strip())

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What it says of itself, each with its label in its language."""
        words = self.texts
        every = ((words("study.who"), self.who), (words("study.contact"), self.contact), (words("study.ethics"), self.ethics))
        return tuple((label, value) for label, value in every if value)

    @property
    def lines_of_help(self) -> tuple[str, ...]:
        """The helplines: its own, or those of its language."""
        return self.helplines or self.texts.several("study.helplines")

    @property
    def way_back(self) -> str:
        """The return link with the code in it; empty without one."""
        return self.return_link.replace(_CODE_PLACE, quote(self.completion_code, safe=""))

    @property
    def version(self) -> str:
        """First digits of the SHA-256 of everything that people see of it: what somebody had agreed to."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]
