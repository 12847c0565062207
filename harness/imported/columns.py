"""Which column of a file of replies is which field.

Files of replies come from notebooks, spreadsheets and other benchmarks, so their columns have any names. A column that has a
field's own name is that field; every other is named by `--map COLUMN=FIELD`. Nothing is guessed, because a prompt that was read
as a reply would be judged without a word; what a column's name suggests is only proposed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from harness.errors import UserError
from harness.nearest import nearest, or_one_of

NEEDED: Final = ("context", "system", "text")
FIELDS: Final = (*NEEDED, "audio", "ttft_ms", "ttfa_ms", "family")
_ALSO: Final[Mapping[str, str]] = {"agent": "system"}
"""The field's other name: what competes on a board is a system, and those that are imported are agents."""
_SOUND_LIKE: Final[Mapping[str, tuple[str, ...]]] = {
    "context": ("context_id", "id", "item", "item_id", "conversation", "conversation_id", "dialogue_id", "dialog_id",
                "scenario", "prompt_id", "question_id"),
    "system": ("model", "model_name", "bot", "assistant", "chatbot", "condition", "name"),
    "text": ("reply", "response", "answer", "completion", "output", "generation", "message", "content", "utterance"),
}  # fmt: skip
"""Names under which published files have these fields, the commonest first."""
MOST_NAMED: Final = 12
ALIKE_TO_A_FIELD: Final = 0.7
"""Least likeness of a column that is proposed for a field: nobody typed it for that field, so more than for a typing error."""


def mapped(given: Iterable[str]) -> dict[str, str]:
    """Column → field, as `--map COLUMN=FIELD` names them.

    >>> mapped(["response=text", "model=agent"])
    {'response': 'text', 'model': 'system'}

    Raises:
        UserError: not of that form, an unknown field, or a column or field twice.
    """
    found: dict[str, str] = {}
    for word in given:
        column, equals, name = word.rpartition("=")
        field = _ALSO.get(name.strip(), name.strip())
        if not equals or not column.strip():
            raise UserError(f"--map {word}: write COLUMN=FIELD, as in --map response=text")
        if field not in FIELDS:
            raise UserError(f"--map {word}: {name!r} is no field{or_one_of(name, FIELDS)}")
        if column.strip() in found or field in found.values():
            raise UserError(f"--map {word}: is there already; name each column and each field once")
        found[column.strip()] = field
    return found


def fields_of(columns: Sequence[str], maps: Mapping[str, str], where: str) -> dict[str, str]:
    """Field → column. A file without a column of systems has one agent, unless a column seems to name them.

    Raises:
        UserError: a mapped column is not there, or a needed field has none; with the nearest names.
    """
    found: dict[str, str] = {}
    for column, field in maps.items():
        if column not in columns:
            raise UserError(f"--map {column}={field}: {where} has no column {column!r}; {_named(columns, column)}")
        found[field] = column
    for column in columns:
        name = column.strip().lower()
        field = _ALSO.get(name, name)
        if field in FIELDS and field not in found and column not in maps:
            found[field] = column
    missing = {f: near for f in NEEDED if f not in found and ((near := _near(f, columns, found)) or f != "system")}
    if missing:
        mend = [f"--map {' or '.join(near) or 'COLUMN'}={field}" for field, near in missing.items()]
        what = f"column{'s' if len(missing) > 1 else ''} {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing"
        raise UserError(f"{where}: {what}; {_named(columns)}: add {' '.join(mend)}")
    return found


def _near(field: str, columns: Sequence[str], taken: Mapping[str, str]) -> list[str]:
    """The columns whose names suggest this field, at most two; those that are another field's left out."""
    free = (column for column in columns if column not in taken.values())
    plain = {column.strip().lower().replace(" ", "_").replace("-", "_"): column for column in free}
    known = [plain[name] for name in _SOUND_LIKE[field] if name in plain]
    alike = nearest(field, plain, ALIKE_TO_A_FIELD)
    return list(dict.fromkeys([*known, *([plain[alike]] if alike else [])]))[:2]


def _named(columns: Sequence[str], near: str = "") -> str:
    if close := nearest(near, columns):
        return f"did you mean {close}?"
    more = f" and {len(columns) - MOST_NAMED} more" if len(columns) > MOST_NAMED else ""
    return f"it has {', '.join(column[:40] for column in columns[:MOST_NAMED]) or 'none'}{more}"
