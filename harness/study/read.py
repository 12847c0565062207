"""A study from a TOML file, with one sentence for the first fault: where it is, what it is, and the nearest known word."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from pydantic import ValidationError

from harness.errors import UserError
from harness.foreign_files import FileFault, read_text
from harness.foreign_toml import line_of, parse_toml
from harness.study.study import Question, Study


def read_study(path: Path | None) -> Study:
    """The study of a file; the default where there is none.

    Raises:
        UserError: the file cannot be read, or something in it is wrong; names file, line and setting.
    """
    if path is None:
        return Study()
    try:
        text = read_text(path)
        data = parse_toml(text)
    except FileFault as fault:
        raise UserError(f"--study {fault.at(path, ', line ')}") from None
    try:
        study = Study.model_validate(data)
    except ValidationError as error:
        raise UserError(f"--study {path}, {_first(error, text)}") from None
    if not study.name:
        raise UserError(f"--study {path}: name: missing; give the study's name, which the first page shows")
    return study


def _first(error: ValidationError, text: str) -> str:
    problems = error.errors(include_url=False, include_input=False)
    # A misspelt key is also one that is missing: its own name says more.
    first = next((problem for problem in problems if problem["type"] == "extra_forbidden"), problems[0])
    place = first["loc"]
    where = ".".join(str(part + 1) if isinstance(part, int) else part for part in place)
    words = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        words = _unknown(place)
    elif first["type"] == "missing":
        words = "missing; give the words of the question"
    return f"line {line_of(text, place)}: {f'{where}: ' if where else ''}{words}".replace("\n", " ")


def _unknown(place: Sequence[str | int]) -> str:
    known = list(Question.model_fields if place[0] == "demographics" else Study.model_fields)
    near = get_close_matches(str(place[-1]), known, n=1, cutoff=0.5)
    return f"no such setting; {f'did you mean {near[0]}?' if near else 'the settings are ' + ', '.join(known)}"
