"""A text system asked for the next supporter turn, as the paper asks its models.

Temperature 0, top-p 1, one completion, no tools, streamed so that its time to first token is measured and not read off
somebody's index; the rules of the task are those that the cascade gets. TTFT counts from the request to the first
*answer* token: what a reasoning model thinks first, in a field of its own or between `<think>` tags, is waiting time to
the person. The line to the endpoint is opened before the clock starts, because a conversation pays for that once and not
on every turn.
"""

import contextlib
import os
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agents.cascade.prompt import system_instruction
from agents.cascade.settings import ReplySettings
from agents.loopback import is_loopback
from agents.message import Message
from agents.profile import TextProfile

if TYPE_CHECKING:
    from openai import OpenAI

_TRIES: Final = 3
_BACKOFF_S: Final = 1.0
_THOUGHT = re.compile(r"<think>.*?(</think>|$)", re.DOTALL)


class TextFailed(Exception):
    """The endpoint gave no answer. The message is one line for people, without any key."""


@dataclass(frozen=True, slots=True)
class TextReply:
    """One completion. `ttft_ms` is the time from the request to the first answer token, `total_ms` to the last."""

    text: str
    ttft_ms: float
    total_ms: float
    model: str


def complete(profile: TextProfile, history: Sequence[Message], base_url: str | None = None) -> TextReply:
    """The system's next turn after `history`, which ends on the seeker's.

    `base_url` is where an embedded model was started (`AgentProcess.url`); a profile with its own needs none. Rate limits,
    server errors and time-outs are tried again; the times are those of the try that succeeded.

    Raises:
        TextFailed: no key where one is needed, or the endpoint cannot be reached, refuses, or answers nothing.
    """
    from openai import APIConnectionError, APIStatusError, DefaultHttpxClient, OpenAI, OpenAIError

    where = profile.base_url or base_url
    if where is None:
        raise TextFailed(f'agent "{profile.name}": neither base_url nor a started model')
    line = DefaultHttpxClient(trust_env=not is_loopback(where))
    client = OpenAI(base_url=where, api_key=_key(profile), timeout=profile.timeout_s, max_retries=0, http_client=line)
    with client:
        _open_line(client)
        for tried in range(1, _TRIES + 1):
            try:
                return _ask(client, profile, history)
            except APIStatusError as error:
                if tried == _TRIES or (error.status_code != 429 and error.status_code < 500):
                    raise TextFailed(f"{where}: HTTP {error.status_code}: {_brief(error.message)}") from error
            except APIConnectionError as error:
                if tried == _TRIES:
                    raise TextFailed(f"{where}: {_brief(str(error))}") from error
            except OpenAIError as error:
                raise TextFailed(f"{where}: {_brief(str(error))}") from error
            time.sleep(_BACKOFF_S * 2 ** (tried - 1))
    raise AssertionError("the last try returns or raises")


def _ask(client: "OpenAI", profile: TextProfile, history: Sequence[Message]) -> TextReply:
    messages: list[Any] = [{"role": "system", "content": profile.system_prompt or system_instruction(ReplySettings())}]
    messages += [{"role": turn.role, "content": turn.text} for turn in history]
    limit = "max_completion_tokens" if client.base_url.host == "api.openai.com" else "max_tokens"
    began = time.monotonic()
    stream = client.chat.completions.create(
        model=profile.model,
        messages=messages,
        temperature=0,
        top_p=1,
        stream=True,
        extra_body={limit: profile.max_tokens},
    )
    first, text = _read(piece.choices[0].delta.content or "" for piece in stream if piece.choices)
    ended = time.monotonic()
    if first is None:
        raise TextFailed(f"{client.base_url}: {profile.model} answered nothing (max_tokens = {profile.max_tokens})")
    return TextReply(text=text, ttft_ms=(first - began) * 1e3, total_ms=(ended - began) * 1e3, model=profile.model)


def _read(pieces: Iterable[str]) -> tuple[float | None, str]:
    """When the first answer token came (monotonic seconds), and the whole answer without its thoughts."""
    first: float | None = None
    whole = ""
    for piece in pieces:
        whole += piece
        if first is None and _answer(whole):
            first = time.monotonic()
    return first, _answer(whole)


def _answer(so_far: str) -> str:
    return _THOUGHT.sub("", so_far).strip() if not "<think>".startswith(so_far.strip()) else ""


def _open_line(client: "OpenAI") -> None:
    """Connect (and encrypt) before the clock starts; whether the endpoint lists models does not matter."""
    from openai import OpenAIError

    with contextlib.suppress(OpenAIError):
        client.models.list()


def _key(profile: TextProfile) -> str:
    if profile.api_key_env is None:
        return "none"
    key = os.environ.get(profile.api_key_env)
    if not key:
        raise TextFailed(f'agent "{profile.name}": set the environment variable {profile.api_key_env} to its key')
    return key


def _brief(words: str) -> str:
    return " ".join(words.split())[:200]
