"""One question to a model behind an OpenAI-like endpoint, Anthropic's Messages API or Gemini's, and a judge made of it.

Temporary failures (429, 5xx, time-outs, cut connections, an answer that breaks the schema) are tried again after a jittered
wait that honours Retry-After, up to a bound; another 4xx and a refusal are not. Then the question is *missing*: nothing is
guessed. A malformed answer is asked for again in the same words, because quoting it would give the reply under judgment a
second chance to influence the judge. httpx and not a client library, so that one retry policy serves all APIs.
"""

import asyncio
import hashlib
import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import httpx

from harness.agents.secrets import redactor
from harness.errors import UserError, no_key, not_set
from harness.judging import gemini
from harness.judging.judge import FailureKind, JudgeFailure, Question, Verdict
from harness.judging.rubric import rubric_hash, system_prompt, user_prompt
from harness.judging.schema import Malformed, answer_schema, parse_answer
from harness.judging.settings import JudgeOfSettings, JudgeSettings
from harness.judging.sound import content

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
"""A server that asks for a longer wait than this is recorded as missing, because it would delay the whole batch."""
MAX_ANSWER_BYTES = 1_000_000
"""A verdict is a few hundred bytes; a server that floods is cut off."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Answered(Generic[_T]):
    """A validated answer and its cost."""

    value: _T
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class Request(Generic[_T]):
    """One question: general instructions, material, the schema of the answer, and its strict reader."""

    name: str
    system: str
    user: str
    schema: dict[str, Any]
    parse: Callable[[str], _T]
    """Raises `Malformed`."""
    heard: tuple[str | bytes, ...] = ()
    """Parts that follow `user` in the same message: text, and WAV files."""


class ChatEndpoint:
    """A model over HTTP. Its connections are open while entered."""

    def __init__(self, settings: JudgeSettings, *, first_wait_s: float = FIRST_WAIT_S) -> None:
        self.settings = settings
        self._first_wait_s = first_wait_s
        self._client: httpx.AsyncClient | None = None
        self._jitter = random.Random(settings.id)
        self._gate = asyncio.Semaphore(settings.concurrency)

    async def __aenter__(self) -> "ChatEndpoint":
        self._client = httpx.AsyncClient(
            timeout=self.settings.timeout_s,
            headers=self._headers(),
            limits=httpx.Limits(max_connections=self.settings.concurrency),
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def ask(self, request: Request[_T]) -> Answered[_T]:
        """Ask, with bounded retries.

        Raises:
            JudgeFailure: no usable answer after the last try; its kind is that of the last one.
        """
        async with self._gate:
            for attempt in range(1, self.settings.attempts + 1):
                try:
                    return await self._once(request)
                except _Retry as trouble:
                    if attempt == self.settings.attempts:
                        raise JudgeFailure(trouble.kind, trouble.detail, attempts=attempt) from trouble
                    await asyncio.sleep(self._wait_s(attempt, trouble.retry_after_s))
        raise AssertionError("attempts is at least 1")

    def _wait_s(self, attempt: int, retry_after_s: float | None) -> float:
        backoff = self._first_wait_s * 2 ** (attempt - 1) * self._jitter.uniform(0.5, 1.5)
        return float(min(max(backoff, retry_after_s or 0.0), LONGEST_WAIT_S))

    def _headers(self) -> dict[str, str]:
        name = self.settings.key_env
        key = os.environ.get(name, "") if name else ""
        if name and not key:
            raise UserError(f"judge {self.settings.id}: {not_set(name)}")
        if not (key.isascii() and key.isprintable()):
            raise UserError(f"judge {self.settings.id}: {no_key(name or '')}")
        if self.settings.api == "anthropic":
            return {"x-api-key": key, "anthropic-version": "2023-06-01"}
        if self.settings.api == "gemini":
            return {"x-goog-api-key": key} if key else {}
        return {"Authorization": f"Bearer {key}"} if key else {}

    async def _once(self, request: Request[_T]) -> Answered[_T]:
        if self._client is None:
            raise RuntimeError("an endpoint is used as `async with endpoint:`")
        path, body = self._body(request)
        url = (self.settings.base_url or "").rstrip("/") + path
        try:
            async with (
                asyncio.timeout(self.settings.timeout_s),
                self._client.stream("POST", url, json=body) as response,
            ):
                raw = bytearray()
                async for chunk in response.aiter_bytes():
                    raw += chunk
                    if len(raw) > MAX_ANSWER_BYTES:
                        raise _Retry("malformed", f"answer over {MAX_ANSWER_BYTES} bytes")
        except (TimeoutError, httpx.TimeoutException) as error:
            raise _Retry("timeout", f"no whole answer within {self.settings.timeout_s:g} s") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise _Retry("connection", type(error).__name__) from error
        except httpx.InvalidURL as error:
            raise JudgeFailure("rejected", f"base_url: {error}") from error
        _check_status(response)
        try:
            envelope = json.loads(bytes(raw))
            text, tokens_in, tokens_out = self._text(envelope, request.name)
            return Answered(request.parse(redactor().foreign(text)), tokens_in, tokens_out)
        except Malformed as error:
            raise _Retry("malformed", str(error)) from error
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            raise _Retry("malformed", f"not a chat completion ({type(error).__name__})") from error

    def _text(self, envelope: dict[str, Any], tool: str) -> tuple[str, int, int]:
        match self.settings.api:
            case "anthropic":
                return _anthropic_text(envelope, tool)
            case "gemini":
                return gemini.text(envelope)
            case _:
                return _openai_text(envelope)

    def _body(self, request: Request[_T]) -> tuple[str, dict[str, Any]]:
        s = self.settings
        if s.api == "gemini":
            schema = request.schema if s.structured == "json_schema" else None
            return gemini.path(s.model), gemini.body(
                request.system,
                (request.user, *request.heard),
                schema,
                temperature=s.temperature,
                max_tokens=s.max_tokens,
                extra=s.extra,
            )
        user = {"role": "user", "content": content(request.user, request.heard, s.audio.part if s.audio else None)}
        if s.api == "anthropic":
            tool = {"name": request.name, "description": "Record the answer.", "input_schema": request.schema}
            return "/v1/messages", {
                "model": s.model, "max_tokens": s.max_tokens, "temperature": s.temperature, "system": request.system,
                "messages": [user], "tools": [tool], "tool_choice": {"type": "tool", "name": request.name}, **s.extra,
            }  # fmt: skip
        body: dict[str, Any] = {
            "model": s.model,
            s.max_tokens_field: s.max_tokens,
            "temperature": s.temperature,
            "messages": [{"role": "system", "content": request.system}, user],
            **s.extra,
        }
        if s.structured == "json_schema":
            named = {"name": request.name, "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif s.structured == "json_object":
            body["response_format"] = {"type": "json_object"}
        return "/chat/completions", body


class EndpointJudge(JudgeOfSettings):
    """A judge behind an endpoint: the rubric as instructions, the pair as data, the verdict by strict schema."""

    orders_itself = False

    def __init__(self, settings: JudgeSettings, *, first_wait_s: float = FIRST_WAIT_S) -> None:
        super().__init__(settings, settings.concurrency)
        self._endpoint = ChatEndpoint(settings, first_wait_s=first_wait_s)

    @property
    def fingerprint(self) -> str:
        s = self._settings
        facts = [
            s.id,
            s.version,
            s.family,
            s.api,
            s.base_url,
            s.model,
            s.structured,
            s.temperature,
            s.max_tokens,
            s.extra,
        ]
        return hashlib.sha256(json.dumps([*facts, rubric_hash()], sort_keys=True).encode()).hexdigest()[:32]

    async def __aenter__(self) -> "EndpointJudge":
        await self._endpoint.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._endpoint.__aexit__(*exc)

    async def compare(self, question: Question) -> Verdict:
        """Ask which reply is better.

        Raises:
            JudgeFailure: no usable answer after the last try.
        """
        answered = await self._endpoint.ask(self.request(question))
        return replace(answered.value, tokens_in=answered.tokens_in, tokens_out=answered.tokens_out)

    def request(self, question: Question) -> Request[Verdict]:
        """The question as it is sent."""
        return Request("record_verdict", system_prompt(), user_prompt(question), answer_schema(), parse_answer)


class _Retry(Exception):
    """A temporary failure, which is tried again."""

    def __init__(self, kind: FailureKind, detail: str, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.kind: FailureKind = kind
        self.detail = detail
        self.retry_after_s = retry_after_s


def _check_status(response: httpx.Response) -> None:
    status = response.status_code
    if status == 429:
        raise _Retry("rate_limited", "HTTP 429", _retry_after_s(response.headers.get("retry-after")))
    if status >= 500 or status == 408:
        raise _Retry("server_error", f"HTTP {status}", _retry_after_s(response.headers.get("retry-after")))
    if status != 200:
        raise JudgeFailure("rejected", f"HTTP {status}")


def _retry_after_s(value: str | None) -> float | None:
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None


def _openai_text(envelope: dict[str, Any]) -> tuple[str, int, int]:
    choice = envelope["choices"][0]
    message = choice["message"]
    if message.get("refusal") or choice.get("finish_reason") == "content_filter":
        raise JudgeFailure("refused", "the model declined")
    text = message["content"]
    if not isinstance(text, str):
        raise Malformed("no text in the answer")
    usage = envelope.get("usage") or {}
    return text, int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)


def _anthropic_text(envelope: dict[str, Any], tool: str) -> tuple[str, int, int]:
    if envelope.get("stop_reason") == "refusal":
        raise JudgeFailure("refused", "the model declined")
    calls = [block for block in envelope["content"] if block.get("type") == "tool_use" and block.get("name") == tool]
    if len(calls) != 1:
        raise Malformed(f"{len(calls)} answers in one")
    usage = envelope.get("usage") or {}
    return json.dumps(calls[0]["input"]), int(usage.get("input_tokens") or 0), int(usage.get("output_tokens") or 0)
