"""Requests and answers of Gemini's own API (`generateContent`): text and sound as parts, the answer by its response schema.

Its schema is a part of OpenAPI's: no `additionalProperties`, `nullable` in place of a union with null, and choices for strings
alone, so that a strength is a range. The answer is read strictly here in any case.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from harness.judging.trouble import Text, Trouble, malformed

_DECLINED: Final = frozenset({"SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"})
"""Values of `finishReason` with which the model declines to answer."""


def path(model: str) -> str:
    """The path under the base URL, which ends in the API's version."""
    return f"/models/{quote(model, safe='')}:generateContent"


def body(
    system: str,
    parts: Sequence[str | bytes],
    schema: Mapping[str, Any] | None,
    *,
    temperature: float,
    max_tokens: int,
    extra: Mapping[str, Any],
) -> dict[str, Any]:
    """One request.

    `parts`: the material, bytes are WAV files; `schema`: that of the answer, None: JSON of any kind; `extra`: further fields of
    `generationConfig`.
    """
    config: dict[str, Any] = {"temperature": temperature, "maxOutputTokens": max_tokens, **extra}
    config["responseMimeType"] = "application/json"
    if schema is not None:
        config["responseSchema"] = response_schema(schema)
    return {
        "systemInstruction": {"parts": [{"text": system}]},
        "contents": [{"role": "user", "parts": [_part(part) for part in parts]}],
        "generationConfig": config,
    }


def response_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema as Gemini's `Schema`."""
    if "anyOf" in schema:
        (one,) = (choice for choice in schema["anyOf"] if choice.get("type") != "null")
        return {**response_schema(one), "nullable": True}
    found: dict[str, Any] = {"type": schema["type"].upper()}
    if "properties" in schema:
        found["properties"] = {name: response_schema(inner) for name, inner in schema["properties"].items()}
        found["required"] = list(schema["required"])
        found["propertyOrdering"] = list(schema["properties"])
    if "items" in schema:
        found["items"] = response_schema(schema["items"])
    if (choices := schema.get("enum")) is not None:
        whole = schema["type"] == "integer"
        found |= {"minimum": min(choices), "maximum": max(choices)} if whole else {"enum": list(choices)}
    return found


def text(envelope: Mapping[str, Any]) -> Text:
    """The answer's text without the model's thoughts, and its tokens in and out.

    Raises:
        Trouble: the model declined, or there is no text.
    """
    if blocked := (envelope.get("promptFeedback") or {}).get("blockReason"):
        raise Trouble("refused", "the model declined", said=str(blocked))
    candidate = envelope["candidates"][0]
    ended = candidate.get("finishReason")
    if ended in _DECLINED:
        raise Trouble("refused", "the model declined", said=str(ended))
    parts, cut = (candidate.get("content") or {}).get("parts") or [], ended == "MAX_TOKENS"
    said = "".join(part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought"))
    if not said:
        raise malformed(f"no text in the answer (finishReason {ended})", "", cut=cut)
    usage = envelope.get("usageMetadata") or {}
    out = int(usage.get("candidatesTokenCount") or 0) + int(usage.get("thoughtsTokenCount") or 0)
    return Text(said, int(usage.get("promptTokenCount") or 0), out, cut)


def _part(part: str | bytes) -> dict[str, Any]:
    if isinstance(part, str):
        return {"text": part}
    return {"inlineData": {"mimeType": "audio/wav", "data": base64.b64encode(part).decode()}}
