"""A language model as a function from messages to text, asked for JSON of one schema and accepted only after parsing.

Code that needs a model here (rewriting, the second screen) takes such a function, so that a test, an embedded model and a
remote endpoint are the same to it.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from textwrap import shorten
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from harness.errors import AgentError
from harness.foreign_files import FileFault, first_fault, read_json
from harness.printable import printable

MOST_TOKENS = 2_000
"""Most tokens: twelve rewritten turns are some 600; a small model that loops would otherwise write on to its limit."""
_MOST_BYTES: Final = 1 << 20
"""A hundred times a long answer."""
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 30.0

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
    where = f"{model} at {base_url}"

    def complete(messages: Sequence[Message], schema: type[BaseModel]) -> str:
        named = {"name": schema.__name__.strip("_"), "strict": True, "schema": schema.model_json_schema()}
        body = {
            "model": model,
            "messages": list(messages),
            "temperature": 0,
            "max_tokens": most_tokens,
            "response_format": {"type": "json_schema", "json_schema": named},
        }
        for tried in range(retries + 1):
            try:
                return _asked(f"{base_url.rstrip('/')}/chat/completions", api_key, body, timeout_s)
            except _Trouble as trouble:
                if not trouble.may_pass or tried == retries:
                    raise trouble.kind(f"{where}: {trouble}") from None
                time.sleep(min(_LONGEST_WAIT_S, max(trouble.wait_s, _FIRST_WAIT_S * 2**tried)))
        raise AssertionError("the last try returns or raises")

    return complete


class _Trouble(Exception):
    """No answer to one request. `kind`: the error that it is if no other try helps."""

    def __init__(self, why: str, kind: type[LlmError] = LlmError, *, may_pass: bool = False, wait_s: float = 0.0) -> None:
        super().__init__(shorten(printable(why, one_line=True), 200))
        self.kind, self.may_pass, self.wait_s = kind, may_pass, wait_s


def _asked(url: str, api_key: str, body: Mapping[str, Any], timeout_s: float) -> str:
    import httpx2

    headers = {"Authorization": f"Bearer {api_key}"}
    until_s, content = time.monotonic() + timeout_s, b""
    try:
        with httpx2.stream("POST", url, json=body, headers=headers, timeout=timeout_s) as response:
            for piece in response.iter_bytes():
                content += piece
                if len(content) > _MOST_BYTES:
                    raise _Trouble(f"an answer of more than {_MOST_BYTES >> 20} MiB")
                if time.monotonic() > until_s:
                    raise httpx2.ReadTimeout("slow")
    except httpx2.TimeoutException:
        raise _Trouble(f"no answer within {timeout_s:g} s", may_pass=True) from None
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
        raise _Trouble(str(error), LlmUnreachable) from None
    except httpx2.HTTPError as error:
        raise _Trouble(str(error) or type(error).__name__, LlmUnreachable, may_pass=True) from None
    if response.is_success:
        return _text_in(content)
    wait = response.headers.get("retry-after", "")
    raise _Trouble(
        f"HTTP {response.status_code}: {content.decode('utf-8', 'replace')}",
        LlmUnreachable if response.status_code in (401, 403, 404) else LlmError,
        may_pass=response.status_code in (408, 409, 429) or response.status_code >= 500,
        wait_s=float(wait) if wait.isascii() and wait.isdigit() and len(wait) < 6 else 0.0,
    )


def _text_in(content: bytes) -> str:
    try:
        said = read_json(content)["choices"][0]["message"]["content"]
    except (FileFault, KeyError, IndexError, TypeError):
        raise _Trouble("its answer is no chat completion") from None
    if not isinstance(said, str) or not said:
        raise _Trouble("an empty answer")
    return said


def as_json(value: object) -> str:
    """Compact JSON for a prompt, with letters of every script unescaped."""
    return json.dumps(value, ensure_ascii=False)


def _inside_fence(text: str) -> str:
    stripped = text.strip()
    if stripped.startswith("```"):
        stripped = stripped.split("\n", 1)[-1].rsplit("```", 1)[0]
    return stripped.strip()
