"""One question to a model behind an OpenAI-like endpoint, Anthropic's Messages API or Gemini's, and a judge made of it.

Temporary failures (429, 5xx, time-outs, cut connections, an answer that breaks the schema) are tried again after a jittered
wait that honours Retry-After, up to a bound; another 4xx and a refusal are not. Then the question is *missing*: nothing is
guessed. `Patience` decides whether further questions are asked of a model that does not answer.
A malformed answer is asked for again in the same words, because quoting it would give the reply under judgment a
second chance to influence the judge. httpx2 and not a client library, so that one retry policy serves all APIs.
"""

import asyncio
import hashlib
import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import httpx2

from harness.agents.secrets import redactor
from harness.errors import UserError, no_key, not_set
from harness.judging import gemini
from harness.judging.chat_reply import refuse_status, text_of
from harness.judging.judge import FailureKind, Question, Verdict
from harness.judging.patience import Patience
from harness.judging.rubric import rubric_hash, system_prompt, user_prompt
from harness.judging.schema import Malformed, answer_schema, parse_answer
from harness.judging.settings import JudgeOfSettings, JudgeSettings
from harness.judging.sound import content
from harness.judging.trouble import Trouble, malformed

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
        self._client: httpx2.AsyncClient | None = None
        self._jitter = random.Random(settings.id)
        self._gate = asyncio.Semaphore(settings.concurrency)
        self._patience = Patience(settings.concurrency)

    async def __aenter__(self) -> "ChatEndpoint":
        self._patience.enter()
        self._client = httpx2.AsyncClient(
            timeout=self.settings.timeout_s,
            headers=self._headers(),
            limits=httpx2.Limits(max_connections=self.settings.concurrency),
        )
        return self

    def known_to_answer(self) -> None:
        """Take note that this model answered before, so that what it refuses says nothing of other questions."""
        self._patience.known = True

    async def __aexit__(self, *exc: object) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def ask(self, request: Request[_T]) -> Answered[_T]:
        """Ask, with bounded retries.

        Raises:
            JudgeFailure: no usable answer after the last try; its kind is that of the last one.
        """
        patience = self._patience
        async with self._gate, patience.turn():
            if patience.last == "rate_limited":
                await asyncio.sleep(self._wait_s("rate_limited", 1, None))
            return await self._with_retries(request)

    async def _with_retries(self, request: Request[_T]) -> Answered[_T]:
        for attempt in range(1, self.settings.attempts + 1):
            try:
                return await self._once(request)
            except Trouble as trouble:
                self._patience.troubles += 1
                goes_on = trouble.again and attempt < self.settings.attempts and self._patience.may_retry(trouble.kind)
                if not goes_on:
                    raise trouble.failure(self.settings, attempt) from trouble
                await asyncio.sleep(self._wait_s(trouble.kind, attempt, trouble.retry_after_s))
        raise AssertionError("attempts is at least 1")

    def _wait_s(self, kind: FailureKind, attempt: int, retry_after_s: float | None) -> float:
        # A rate limit is lifted after a minute at most, whichever question is then asked.
        steps = max(attempt, self._patience.troubles) if kind == "rate_limited" else attempt
        backoff = self._first_wait_s * 2 ** min(steps - 1, 20) * self._jitter.uniform(0.5, 1.5)
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
                        raise malformed(f"answer over {MAX_ANSWER_BYTES} bytes", "")
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise Trouble("timeout", f"no whole answer within {self.settings.timeout_s:g} s", again=True) from error
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise Trouble("connection", type(error).__name__, again=True) from error
        except httpx2.InvalidURL as error:
            raise Trouble("rejected", f"base_url: {error}", hint="model", final=True) from error
        refuse_status(response.status_code, response.headers.get("retry-after"), bytes(raw))
        found = text_of(bytes(raw), self.settings.api, request.name)
        try:
            return Answered(request.parse(redactor().foreign(found.text)), found.tokens_in, found.tokens_out)
        except Malformed as error:
            raise malformed(str(error), found.text, cut=found.cut) from error

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
        self.known_to_answer = self._endpoint.known_to_answer

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
