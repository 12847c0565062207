"""What a chat endpoint sent back: a status that says why nothing came, or the text of an answer and its tokens.

Servers of one API differ in what they say of a fault: a spent quota has the status of a rate limit (OpenAI) or 400 (Anthropic),
a wrong key may be 400 (Gemini), and any of them may come inside a 200 (OpenRouter). Reasoning arrives beside the answer, as
`reasoning_content` (llama.cpp, older vLLM) or `reasoning` (Ollama, vLLM), or in front of it as `<think>`. It is never read
as the answer: it may quote a verdict that the model then rejects.
"""

import json
import re
from functools import partial
from typing import Any, Final

from harness.judging import gemini
from harness.judging.trouble import MOST_SAID, Text, Trouble, malformed

_NO_CREDIT: Final = re.compile(r"insufficient.quota|credit balance|insufficient (balance|credit|funds)|exceeded_quota", re.I)
_NO_KEY: Final = re.compile(r"api.?key (is )?(not valid|invalid|missing|expired)|invalid.{0,12}api.?key|api_key_invalid", re.I)
_NO_MODEL: Final = re.compile(
    r"model.{0,80}?(not found|not exist|not supported|unknown|invalid)|(unknown|invalid|no such).{0,10}model", re.I | re.S
)


def refuse_status(status: int, retry_after: str | None, body: bytes) -> None:
    """Raise `Trouble` for a response that is no answer."""
    error = _error_in(body)
    if status == 200:
        code = error.get("code") if error else None
        if not isinstance(code, int) or not 400 <= code < 600:
            return
        status = code
    words = json.dumps(error) if error else ""
    said = str(error.get("message") or error.get("detail") or "") if error else ""
    refused = partial(Trouble, detail=f"HTTP {status}", said=said, status=status)
    if status == 402 or (status in (400, 403, 429) and _NO_CREDIT.search(words)):
        raise refused("quota", final=True)
    if status in (401, 403) or (status == 400 and _NO_KEY.search(words)):
        raise refused("rejected", hint="key", final=True)
    if status == 404 or (status == 400 and _NO_MODEL.search(words)):
        raise refused("rejected", hint="model", final=True)
    if status == 429:
        raise refused("rate_limited", again=True, retry_after_s=_seconds(retry_after))
    if status >= 500 or status == 408:
        raise refused("server_error", again=True, retry_after_s=_seconds(retry_after))
    raise refused("rejected")


def _seconds(value: str | None) -> float | None:
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None


def _error_in(body: bytes) -> dict[str, Any] | None:
    """The error that a body states, as OpenAI, Anthropic, Gemini (in a list), FastAPI and Ollama write it; None without."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, list) and found:
        found = found[0]
    if not isinstance(found, dict) or found.keys() & {"choices", "content", "candidates"}:
        return None
    error = found.get("error", found)
    return error if isinstance(error, dict) else {"message": error}


def text_of(body: bytes, api: str, tool: str) -> Text:
    """The answer in a body. `tool`: the name of the forced call of Anthropic's API.

    Raises:
        Trouble: no answer in it, or the model declined.
    """
    try:
        envelope = json.loads(body)
        match api:
            case "anthropic":
                return _of_anthropic(envelope, tool)
            case "gemini":
                return gemini.text(envelope)
            case _:
                return _of_openai(envelope)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        why = f"not a chat completion ({type(error).__name__})"
        raise malformed(why, body[: MOST_SAID * 100].decode("utf-8", "replace"), hint="address") from error


def _of_openai(envelope: dict[str, Any]) -> Text:
    choice = envelope["choices"][0]
    message, ended = choice["message"], choice.get("finish_reason")
    if message.get("refusal") or ended == "content_filter":
        raise Trouble("refused", "the model declined", said=str(message.get("refusal") or ended))
    text, cut = message["content"], ended == "length"
    if not isinstance(text, str) or not text.strip():
        reasoning = next((message[field] for field in ("reasoning_content", "reasoning") if message.get(field)), None)
        raise malformed("only reasoning and no answer" if reasoning else "no text in the answer", str(reasoning or ""), cut=cut)
    usage = envelope.get("usage") or {}
    return Text(text, int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0), cut)


def _of_anthropic(envelope: dict[str, Any], tool: str) -> Text:
    cut = envelope.get("stop_reason") == "max_tokens"
    if envelope.get("stop_reason") == "refusal":
        raise Trouble("refused", "the model declined")
    calls = [block for block in envelope["content"] if block.get("type") == "tool_use" and block.get("name") == tool]
    if len(calls) != 1:
        raise malformed(f"{len(calls)} answers in one", "", cut=cut)
    usage = envelope.get("usage") or {}
    text = json.dumps(calls[0]["input"])
    return Text(text, int(usage.get("input_tokens") or 0), int(usage.get("output_tokens") or 0), cut)
