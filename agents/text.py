"""A text model that writes the next supporter turn, as the models in the paper.

Temperature 0, top-p 1 (unless the profile says otherwise, or the model is known to refuse both), one completion, no tools,
streamed so that its time to first token is measured and not taken from a published index; the rules of the task are those that
the cascade gets, or HEART's own. TTFT counts from the request to the first *answer* token: what a reasoning model thinks first,
in a field of its own or between `<think>` tags, is waiting time to the person. The line to the endpoint is opened before the
clock starts, because a conversation pays for that once and not on every turn.

An endpoint may answer anything, or without end: every fault is a named failure of the one question, within the
profile's `timeout_s` for all tries together and a bound on bytes.
"""

import asyncio
import contextlib
import json
import os
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from harness.agents.cascade.answer_text import AnswerFilter
from harness.agents.cascade.prompt import system_instruction
from harness.agents.cascade.settings import ReplySettings
from harness.agents.message import Message
from harness.agents.model_family import refuses_sampling
from harness.agents.profile import TextProfile
from harness.agents.secrets import beginning, learn, learn_settings, redact_foreign
from harness.agents.this_machine import is_loopback
from harness.errors import no_key, not_set

if TYPE_CHECKING:
    import httpx2


HEART_PROMPT: Final = (
    "You are a supportive listener in a conversation with someone who is going through a hard time. "
    "Answer what they said last in one to three sentences, and acknowledge how they feel."
)
"""HEART's instructions to text models: their content (section 9.4), in this project's own words.

The paper names three things and no more: be a supportive listener, answer in one to three sentences, acknowledge feelings. It
gives no length in words and no rules of safety, so a figure to compare with the paper's is made with this and not with
the rules that spoken agents get."""

TextFailure = Literal[
    "no_key",  # the key is not in the environment, or is none
    "unreachable",  # nothing answers there
    "refused",  # a 4xx: asking again is useless
    "rate_limited",  # 429, to the last try
    "server_error",  # 5xx, to the last try, or an error in the stream
    "timeout",  # no whole answer within the profile's `timeout_s`
    "flood",  # more bytes than any answer has
    "garbage",  # not a stream of chat completions, or text that no file can hold
    "cut",  # the line broke inside the answer
    "nothing",  # a whole answer without a word in it
]
_MAY_PASS: Final = ("unreachable", "rate_limited", "server_error")
MOST_BYTES: Final = 8 * 1024 * 1024
"""Most bytes of one answer: thirty thousand tokens, each in a separate message with all its wrapping."""
ANSWER_TOKENS: Final = 120
"""Three times the forty words of a reply."""
THINKING_TOKENS: Final = 4_096
"""A limit counts what a model thinks; with 120 it would think and say nothing."""
IT_THINKS: Final = (
    f'it reasons before it answers, and by its name that is not known: reasoning_effort = "low" in the profile gives it '
    f"{THINKING_TOKENS:,} tokens in place of {ANSWER_TOKENS}"
)
"""Advice for a profile of a reasoning model under a name that does not tell."""
_BACKOFF_S: Final = 1.0
_LEAST_TRY_S: Final = 0.5
_LINE_S: Final = 5.0
"""For opening the line: an endpoint that is slow to list its models is not held up for it."""


class TextFailed(Exception):
    """The endpoint gave no answer. The message is one line for people, without any key and without the agent's name, which its
    reader puts before it."""

    def __init__(self, message: str, kind: TextFailure, wait_s: float = 0.0) -> None:
        super().__init__(" ".join(redact_foreign(message).split()))
        self.kind: TextFailure = kind
        self.wait_s = wait_s
        """The time that the endpoint asks to wait."""


@dataclass(frozen=True, slots=True)
class TextReply:
    """One completion. `ttft_ms` is the time from the request to the first answer token, `total_ms` to the last."""

    text: str
    ttft_ms: float
    total_ms: float
    model: str
    thought: bool = False
    """True if it reasoned first, as far as its stream shows."""


def complete(profile: TextProfile, history: Sequence[Message], base_url: str | None = None) -> TextReply:
    """The same as `ask`, for programs without an event loop."""
    return asyncio.run(ask(profile, history, base_url))


async def ask(profile: TextProfile, history: Sequence[Message], base_url: str | None = None) -> TextReply:
    """The model's next turn after `history`, which ends on the seeker's.

    `base_url` is where an embedded model was started (`AgentProcess.url`); a profile with its own needs none. Rate limits,
    server errors and lines that do not come up are tried again; the times are those of the try that succeeded.

    Raises:
        TextFailed: no key where one is needed, or the endpoint cannot be reached, refuses, or answers nothing that can be used.
    """
    where = profile.base_url or base_url
    if where is None:
        raise TextFailed("neither base_url nor a started model", "unreachable")
    learn_settings({"base_url": where})
    endpoint = _Endpoint(where.rstrip("/"), profile)
    try:
        async with asyncio.timeout(profile.timeout_s), endpoint.client(_key(profile)) as client:
            await endpoint.open_line(client)
            return await endpoint.ask_again(client, history)
    except TimeoutError as error:
        raise TextFailed(f"{where}: no whole answer within {profile.timeout_s:g} s", "timeout") from error


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """One endpoint and its requests, by httpx2 instead of a vendor's client, because every answer is bounded here."""

    where: str
    profile: TextProfile

    def client(self, key: str | None) -> "httpx2.AsyncClient":
        import httpx2

        # Packed, a few bytes could become more than this machine holds.
        headers = {"Accept-Encoding": "identity", **({"Authorization": f"Bearer {key}"} if key else {})}
        patience = httpx2.Timeout(None, connect=self.profile.timeout_s / (self.profile.tries + 1))
        return httpx2.AsyncClient(
            headers=headers, timeout=patience, trust_env=not is_loopback(self.where), follow_redirects=True
        )

    async def open_line(self, client: "httpx2.AsyncClient") -> None:
        """Connect (and encrypt) before the clock starts; whether the endpoint lists models, and how, does not matter."""
        import httpx2

        with contextlib.suppress(httpx2.HTTPError, httpx2.InvalidURL, TextFailed, TimeoutError):
            async with asyncio.timeout(_LINE_S), client.stream("GET", f"{self.where}/models") as response:
                async for _ in _bounded(response.aiter_raw()):
                    pass

    async def ask_again(self, client: "httpx2.AsyncClient", history: Sequence[Message]) -> TextReply:
        last_s = time.monotonic() + self.profile.timeout_s
        for tried in range(1, self.profile.tries + 1):
            try:
                return await self._ask(client, history)
            except TextFailed as failed:
                wait_s = max(_BACKOFF_S * 2 ** (tried - 1), failed.wait_s)
                # No try after the end: what was wrong is worth more than that time ran out.
                last = tried == self.profile.tries
                if failed.kind not in _MAY_PASS or last or time.monotonic() + wait_s >= last_s - _LEAST_TRY_S:
                    raise TextFailed(f"{self.where}: {failed}", failed.kind) from failed
            await asyncio.sleep(wait_s)
        raise AssertionError("the last try returns or raises")

    async def _ask(self, client: "httpx2.AsyncClient", history: Sequence[Message]) -> TextReply:
        import httpx2

        answer, answering = _Answer(), False
        began = time.monotonic()
        try:
            async with client.stream("POST", f"{self.where}/chat/completions", json=self._body(history)) as response:
                answering = True
                await _refuse(response)
                async for event in _events(_bounded(response.aiter_raw())):
                    if event == "[DONE]":
                        break
                    said, thought = _words_of(event)
                    answer.add(said, thought=thought)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.TooManyRedirects) as error:
            raise TextFailed(_brief(str(error)), "refused") from error
        except httpx2.HTTPError as error:
            if answering:
                raise TextFailed(f"the line broke inside the answer ({_brief(str(error))})", "cut") from error
            raise TextFailed(_brief(str(error)) or type(error).__name__, "unreachable") from error
        ended = time.monotonic()
        text = answer.ended()
        if answer.first_s is None or not text:
            advice = f"; {IT_THINKS}" if answer.thought and not self.profile.thinks else ""
            raise TextFailed(f"{self.profile.model} answered nothing (max_tokens = {self._most_tokens()}){advice}", "nothing")
        return TextReply(
            text=text,
            ttft_ms=(answer.first_s - began) * 1e3,
            total_ms=(ended - began) * 1e3,
            model=self.profile.model,
            thought=answer.thought,
        )

    def _body(self, history: Sequence[Message]) -> dict[str, Any]:
        p = self.profile
        rules = p.system_prompt or (HEART_PROMPT if p.prompt == "heart" else system_instruction(ReplySettings()))
        newer = urlsplit(self.where).hostname == "api.openai.com" or p.thinks
        refuses = refuses_sampling(p.model)
        sampling: dict[str, float | str] = {
            "temperature": p.temperature if p.temperature is not None else "model" if refuses else 0,
            "top_p": p.top_p if p.top_p is not None else "model" if refuses else 1,
        }
        return {
            "model": p.model,
            "messages": [
                {"role": "system", "content": rules},
                *({"role": turn.role, "content": turn.text} for turn in history),
            ],
            **{name: value for name, value in sampling.items() if value != "model"},
            **({"reasoning_effort": p.reasoning_effort} if p.reasoning_effort else {}),
            "stream": True,
            "max_completion_tokens" if newer else "max_tokens": self._most_tokens(),
        }

    def _most_tokens(self) -> int:
        return self.profile.max_tokens or (THINKING_TOKENS if self.profile.thinks else ANSWER_TOKENS)


async def _refuse(response: "httpx2.Response") -> None:
    status = response.status_code
    if status >= 400:
        body = b"".join([piece async for piece in _bounded(response.aiter_raw())])
        kind: TextFailure = "rate_limited" if status == 429 else "server_error" if status >= 500 else "refused"
        words = _brief(_error_in(body.decode("utf-8", "replace")))
        wait_s = _seconds(response.headers.get("retry-after")) if kind != "refused" else 0.0
        raise TextFailed(f"HTTP {status}: {words}{_mend(status, words)}", kind, wait_s)
    packed = response.headers.get("content-encoding", "identity")
    if packed.lower() != "identity":
        raise TextFailed(f"sent its answer packed ({beginning(packed, 40)!r}), which was not asked for", "garbage")


def _mend(status: int, words: str) -> str:
    """The change of the profile that would help, if the endpoint refuses a setting by name; otherwise empty."""
    if status == 400:
        for name in ("temperature", "top_p"):
            if name in words:
                return f' (leave it to the model: {name} = "model" in the profile)'
        if "reasoning_effort" in words or "reasoning.effort" in words:
            return " (remove reasoning_effort from the profile, or give one that this model has)"
        if "max_completion_tokens" in words:
            return f" ({IT_THINKS})"
    return ""


def _seconds(header: str | None) -> float:
    """A `Retry-After` in seconds (RFC 9110, section 10.2.3); a date, or anything else, counts as none."""
    text = (header or "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0.0


async def _bounded(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    came = 0
    async for piece in pieces:
        came += len(piece)
        if came > MOST_BYTES:
            raise TextFailed(f"sent more than {MOST_BYTES // 1024**2} MiB", "flood")
        yield piece


async def _events(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The data of server-sent events; everything else in the stream is ignored, as in the standard."""
    rest = bytearray()
    async for piece in pieces:
        rest += piece
        if b"\n" not in piece:
            continue
        *lines, rest = rest.split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                yield _decoded(bytes(line[5:]))
    if rest.startswith(b"data:"):
        yield _decoded(bytes(rest[5:]))


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise TextFailed("its stream is not UTF-8", "garbage") from error


def _words_of(event: str) -> tuple[str, bool]:
    """The piece of the answer in one chunk of a completion, and if the chunk has a thought in a field of its own."""
    try:
        chunk = json.loads(event)
        if chunk.get("error"):
            raise TextFailed(f"an error in its stream: {_brief(_error_in(event))}", "server_error")
        delta = chunk["choices"][0]["delta"] if chunk.get("choices") else {}
        words = "" if delta.get("content") is None else delta["content"]
        thought = bool(delta.get("reasoning_content") or delta.get("reasoning"))
        words.encode()  # JSON can contain half a character, but no file can store it
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise TextFailed(f"not a stream of chat completions ({type(error).__name__}: {_brief(event)})", "garbage") from error
    return str(words), thought


def _error_in(body: str) -> str:
    """The message in an error's body, or the body."""
    try:
        said = json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return body
    return said if isinstance(said, str) else body


@dataclass(slots=True)
class _Answer:
    """A reply as it comes: when its first answer token came (monotonic seconds), and the whole without its thoughts."""

    first_s: float | None = None
    thought: bool = False
    _pieces: list[str] = field(default_factory=list)
    _thoughts: AnswerFilter = field(default_factory=AnswerFilter)

    def add(self, piece: str, *, thought: bool = False) -> None:
        said = self._thoughts.push(piece)
        self.thought = self.thought or thought or self._thoughts.thought
        self._pieces.append(said)
        if self.first_s is None and said.strip():
            self.first_s = time.monotonic()

    def ended(self) -> str:
        """The whole reply, once nothing more will come."""
        return "".join([*self._pieces, self._thoughts.flush()]).strip()


def _key(profile: TextProfile) -> str | None:
    if profile.api_key_env is None:
        return None
    key = os.environ.get(profile.api_key_env)
    if not key:
        raise TextFailed(not_set(profile.api_key_env), "no_key")
    learn([key])
    if not (key.isascii() and key.isprintable()):
        raise TextFailed(no_key(profile.api_key_env), "no_key")
    return key


def _brief(words: str) -> str:
    """The beginning of an endpoint's message."""
    return beginning(words, 200)
