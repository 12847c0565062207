"""People's judgements in the layouts in which others published them, so that nobody has to convert a file.

Kumar et al. 2025: the folder's `lend_an_ear` has experts' ratings of whole conversations; those on one prompt are pairs, the
supporter's turns joined. iEval (Svikhnushina et al. 2022, CC BY 4.0): each of 240 people talked with four chatbots about two
events and ranked them, so two chats of one person on one event are a comparison, and intervals resample persons. A whole chat
is shown as the person's opening, the same for all bots, and the bot's turns joined, because that is what the person judged.
Spaces before punctuation are taken out, or "that ' s" would count as three words.
"""

import hashlib
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from harness.errors import UserError
from harness.judging.validation.peoples_labels import PeoplesLabels, Preference, Rating, conversation
from harness.tables.csv_rows import CsvRows, number
from harness.tables.json_rows import first_fault
from harness.tables.lines import content_of

EXPERTS: Final = "expert"
"""Files of people with training begin so in the published folder; files of crowd raters and models are beside them and are not
read."""
LEND_AN_EAR: Final = Path("annotations") / "lend_an_ear"
LEND_AN_EAR_SCALE: Final = (1.0, 5.0)
_NO_SCORES: Final = frozenset({"", "Unnamed: 0", "conversation_id", "full_conversation"})
"""Columns beside the dimensions."""
_KEYS: Final = {"conversation_id", "full_conversation"}
IEVAL: Final = "ieval_data.json"
DEVELOPMENT: Final[frozenset[str]] = frozenset(
    {
        "7b60779f049c542d4acc02459b6df7a0ed7e4b01354b1212b414c270863afc36",  # lend_an_ear
        "bdc977804ffc526398d3fdc220d64ca580cdb1941f09a60ba09e1f72739a083a",  # iEval
    }
)
"""SHA-256 of the published sets that were in view while the embedded judge was developed: they can take trust from it, and give
it none."""


_SPACED_OUT: Final = re.compile(r" ?(['’]) ?(?=(?:s|m|re|ve|ll|d|t)\b)|(?<! ) ++(?=[.,!?;](?:\s|$))")


class _Chat(BaseModel):
    chat_log: str
    Rating: Annotated[int, Field(ge=1, le=3)]


class _Event(BaseModel):
    Pink: _Chat
    Purple: _Chat
    Yellow: _Chat
    Green: _Chat

    def chats(self) -> tuple[_Chat, ...]:
        return self.Pink, self.Purple, self.Yellow, self.Green


class _Task(BaseModel):
    part: int
    positive: _Event
    negative: _Event


_TASKS: Final = TypeAdapter(list[_Task])


def read_published(path: Path) -> PeoplesLabels | None:
    """The labels of a published folder or file; None for any other file.

    Raises:
        UserError: a folder, or a file of JSON, whose layout is not known here.
    """
    if path.is_dir():
        return _ieval(path / IEVAL) if (path / IEVAL).is_file() else _lend_an_ear(path)
    return _ieval(path) if path.suffix == ".json" else None


def _ieval(path: Path) -> PeoplesLabels:
    try:
        content = content_of(path, f"--against {path}")
        tasks = _TASKS.validate_json(content)
    except ValidationError as error:
        wrong = first_fault(error, "file")
        raise UserError(
            f"--against {path}: is not iEval's list of tasks, the one file of JSON that is known here ({wrong}); write CSV or "
            "JSON Lines (.jsonl) instead"
        ) from error
    votes = tuple(_compared(tasks))
    ratings = tuple(rating for vote in votes for rating in vote.as_ratings())
    return PeoplesLabels(path.name, hashlib.sha256(content).hexdigest(), ratings, (0.0, 1.0), votes, bunches="rater")


def _compared(tasks: list[_Task]) -> Iterator[Preference]:
    for task in tasks:
        for event in (task.positive, task.negative):
            chats = [(*_opening_and_replies(chat.chat_log), chat.Rating) for chat in event.chats()]
            for (opening, said, rating), (other_opening, other_said, other_rating) in combinations(chats, 2):
                for_first = 0.5 + 0.5 * ((rating > other_rating) - (rating < other_rating))
                if said and other_said and said != other_said and opening == other_opening:
                    yield Preference(opening, said, other_said, f"person {task.part}", for_first)


def _opening_and_replies(chat_log: str) -> tuple[str, str]:
    """The person's first turn, and the bot's turns joined; the person speaks first, and each turn begins with a dash."""
    turns = re.split(r"^- ?", chat_log, flags=re.MULTILINE)[1:]
    said = [_SPACED_OUT.sub(r"\1", " ".join(turn.split())) for turn in turns]
    return f"Seeker: {said[0]}" if said else "", " ".join(said[1::2])


def _lend_an_ear(folder: Path) -> PeoplesLabels:
    place = folder / LEND_AN_EAR
    ratings = tuple(_rated(folder, place))
    content = b"".join(file.read_bytes() for file in sorted(place.glob("*.csv")))
    return PeoplesLabels(folder.name, hashlib.sha256(content).hexdigest(), ratings, LEND_AN_EAR_SCALE)


def _rated(folder: Path, place: Path) -> Iterator[Rating]:
    texts = {}
    for file in sorted(place.glob("*.csv")):
        rows = (row.cells for row in CsvRows(file, _KEYS, f"--against {file}"))
        texts.update(
            {r["conversation_id"]: r["full_conversation"] for r in rows if r.keys() >= _KEYS and r["full_conversation"]}
        )
    experts = sorted(place.glob(f"{EXPERTS}*_ratings.csv"))
    if not texts or not experts:
        raise UserError(
            f"--against {folder}: is no folder of published ratings that is known here ({LEND_AN_EAR} with expert*_ratings.csv "
            f"and the conversations' texts, or {IEVAL}); write a CSV of context, reply, rater, dimension, score instead"
        )
    for file in experts:
        for row in CsvRows(file, _KEYS, f"--against {file}"):
            if row.cells.get("conversation_id") not in texts:
                raise UserError(f"{row.where}: a row has no known conversation_id; fetch the file again")
            turns = conversation(texts[row.cells["conversation_id"]])
            given = {name: cell for name, cell in row.cells.items() if name not in _NO_SCORES and cell}
            scores = {name: number(cell, f"{row.where}: {name}") for name, cell in given.items()}
            said = " ".join(turn.text for turn in turns if turn.role == "supporter")
            if said:
                yield from (Rating(turns[0].text, said, file.stem.partition("_")[0], *score) for score in scores.items())
