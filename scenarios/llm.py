"""A language model as a function from messages to text, asked for JSON of one schema and accepted only after parsing.

Code that needs a model here (rewriting, the second screen) takes such a function, so that a test, an embedded model and a
remote endpoint are the same to it.
"""

import json
from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from harness.errors import AgentError
from harness.foreign_files import first_fault

MOST_TOKENS = 2_000
"""Most tokens: twelve rewritten turns are some 600; a small model that loops would otherwise write on to its limit."""

Message = dict[str, str]
Complete = Callable[[Sequence[Message], type[BaseModel]], str]
"""Called with messages (`role`, `content`) and the schema of the answer; returns the answer's text."""

Answer = TypeVar("Answer", bound=BaseModel)


class LlmError(AgentError):
    """The model gave no usable answer; the message is one line."""


class LlmUnreachable(LlmError):
    """The endpoint cannot be used at all (no connection, no such model, key refused): asking again changes nothing."""


def ask(complete: Complete, messages: Sequence[Message], schema: type[Answer]) -> Answer:
    """One answer, parsed strictly. Raises `LlmError` if it is not JSON of the schema."""
    text = complete(messages, schema)
    try:
        return schema.model_validate_json(_inside_fence(text))
    except ValidationError as error:
        where, wrong = first_fault(error)
        raise LlmError(f"{where or 'the answer'}: {wrong}") from None


def endpoint(
    base_url: str,
    model: str,
    *,
    api_key: str = "none",
    timeout_s: float = 60.0,
    retries: int = 3,
    most_tokens: int = MOST_TOKENS,
) -> Complete:
    """Any OpenAI-compatible endpoint as a `Complete`: temperature 0, strict JSON schema, retries on 429 and 5xx.

    Raises `LlmError` if the endpoint refuses, times out, or gives an empty answer; `LlmUnreachable` if it cannot be used.
    """
    import openai

    client = openai.OpenAI(base_url=base_url, api_key=api_key, timeout=timeout_s, max_retries=retries)

    def complete(messages: Sequence[Message], schema: type[BaseModel]) -> str:
        wanted: Any = {
            "type": "json_schema",
            "json_schema": {"name": schema.__name__.strip("_"), "strict": True, "schema": schema.model_json_schema()},
        }
        said: Any = list(messages)
        try:
            reply = client.chat.completions.create(
                model=model, messages=said, temperature=0, max_tokens=most_tokens, response_format=wanted
            )
        except openai.APITimeoutError:
            raise LlmError(f"{model} at {base_url}: no answer within {timeout_s:g} s") from None
        except (
            openai.APIConnectionError,
            openai.AuthenticationError,
            openai.PermissionDeniedError,
            openai.NotFoundError,
        ) as error:
            raise LlmUnreachable(f"{model} at {base_url}: {shorten(str(error), 200)}") from None
        except openai.OpenAIError as error:
            raise LlmError(f"{model} at {base_url}: {shorten(str(error), 200)}") from None
        if not reply.choices or not reply.choices[0].message.content:
            raise LlmError(f"{model} at {base_url}: an empty answer")
        return str(reply.choices[0].message.content)

    return complete


def as_json(value: object) -> str:
    """Compact JSON for a prompt, with letters of every script unescaped."""
    return json.dumps(value, ensure_ascii=False)


def _inside_fence(text: str) -> str:
    stripped = text.strip()
    if stripped.startswith("```"):
        stripped = stripped.split("\n", 1)[-1].rsplit("```", 1)[0]
    return stripped.strip()
