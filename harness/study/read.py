"""A study from a TOML file, with one sentence for each fault."""

from pathlib import Path

from pydantic import ValidationError

from harness.errors import UserError
from harness.foreign_files import FileFault, read_text
from harness.foreign_problems import in_sentences, problems
from harness.foreign_toml import line_of, parse_toml
from harness.study.study import Study


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
        found = problems(error, Study, data, "a study")
        raise UserError(f"--study {in_sentences(path, found, lambda place: line_of(text, place))}") from None
    if not study.name:
        raise UserError(f"--study {path}: name: missing; give the study's name, which the first page shows")
    return study
