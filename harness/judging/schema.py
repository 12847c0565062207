"""The strict form of a judge's answer, and its only reader.

A judge's reply is untrusted: the texts that it read may contain instructions. So exactly one JSON object is accepted, whose
verdict is exactly of this shape. Duplicate keys are refused, because two readers may each take a different one; so are trailing
words, which may take the verdict back, and other types for numbers. What models add of themselves changes no verdict and is
passed over: reasoning in front, up to the end of its block, whatever objects it quotes; words before the object; a code fence
around it; keys that were not asked for.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError

from harness.agents.secrets import beginning
from harness.foreign_files import read_json
from harness.judging.judge import PlaceMark, Verdict
from harness.store.judgment import AXES
from harness.tables.json_rows import first_fault

_PLACES: dict[str, Literal["first", "second"]] = {"A": "first", "B": "second"}
_REASONING = re.compile(r"<think(?:ing)?>", re.I)
_REASONED = re.compile(r"</think(?:ing)?>", re.I)
Strength = Annotated[StrictInt, Field(ge=1, le=5)]


class Strict(BaseModel):
    """A record that is exactly what its fields say."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AxisAnswer(Strict):
    """The winner on one axis."""

    model_config = ConfigDict(extra="ignore")

    winner: Literal["A", "B"]
    strength: Strength


class AxesAnswer(Strict):
    """Null where neither reply has a clear advantage."""

    H: AxisAnswer | None = None
    E: AxisAnswer | None = None
    A: AxisAnswer | None = None
    R: AxisAnswer | None = None
    T: AxisAnswer | None = None


class Answer(Strict):
    """One judge's answer on one pair. The rationale comes first, so that the verdict follows from it."""

    model_config = ConfigDict(extra="ignore")

    rationale: Annotated[str, Field(max_length=2_000)] = ""
    winner: Literal["A", "B"]
    strength: Strength
    axes: AxesAnswer = AxesAnswer()


class Malformed(ValueError):
    """The text is not a valid answer; the message is one line."""


def strict_object(text: str) -> dict[str, Any]:
    """The one JSON object that `text` is, or ends on after reasoning, words or a code fence.

    Raises:
        Malformed: anything else, duplicate keys and non-finite numbers included.
    """
    body = text.strip()
    try:
        return _read(body if body.startswith("{") else _after_words(body))
    except ValueError as error:
        raise Malformed(beginning(f"not one JSON object ({error})", 200)) from error


def _after_words(body: str) -> str:
    """The text after the reasoning, whose opening tag many chat templates leave out, and after words. The end of the last block
    counts: a model may quote one."""
    *_, body = _REASONED.split(body)
    words, brace, rest = body.partition("{")
    if _REASONING.search(words):
        raise ValueError("reasoning without an end: max_tokens may be too low")
    if not brace:
        raise ValueError("there is none")
    return (brace + rest).rstrip().removesuffix("```")


def _read(text: str) -> dict[str, Any]:
    value: dict[str, Any] = read_json(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    return value


def parse_answer(text: str) -> Verdict:
    """A validated verdict by place.

    Raises:
        Malformed: the text breaks the schema in any way.
    """
    try:
        answer = Answer.model_validate(strict_object(text))
    except ValidationError as error:
        raise Malformed(beginning(first_fault(error), 200)) from error
    marks = {letter: getattr(answer.axes, letter) for letter in AXES}
    return Verdict(
        winner=_PLACES[answer.winner],
        strength=answer.strength,
        axes={k: PlaceMark(_PLACES[m.winner], m.strength) for k, m in marks.items() if m is not None},
        rationale=answer.rationale,
    )


def answer_schema() -> dict[str, Any]:
    """The JSON schema given to servers with structured output: every key is required, no other is allowed."""
    mark = {
        "anyOf": [
            {"type": "null"},
            {
                "type": "object",
                "properties": {
                    "winner": {"type": "string", "enum": ["A", "B"]},
                    "strength": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
                },
                "required": ["winner", "strength"],
                "additionalProperties": False,
            },
        ]
    }
    return {
        "type": "object",
        "properties": {
            "rationale": {"type": "string"},
            "winner": {"type": "string", "enum": ["A", "B"]},
            "strength": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
            "axes": {
                "type": "object",
                "properties": dict.fromkeys(AXES, mark),
                "required": list(AXES),
                "additionalProperties": False,
            },
        },
        "required": ["rationale", "winner", "strength", "axes"],
        "additionalProperties": False,
    }


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key is there twice")
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
