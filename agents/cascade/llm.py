"""pipecat's OpenAI service with marks on every request, limits on the reply, and a known delay for tests.

TTFT is stamped at the first *answer* token as the client receives it. A request has a number, and the frame that opens a
response carries that number (`metadata["request"]`), so that later stages can say which request their work belongs to.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from openai import AsyncOpenAI, AsyncStream, DefaultAsyncHttpxClient
from openai.types.chat import ChatCompletionChunk
from pipecat.frames.frames import EagerEndOfTurnCancelFrame, Frame, LLMContextFrame, LLMFullResponseStartFrame
from pipecat.processors.aggregators.llm_context import LLMContext, LLMContextMessage
from pipecat.processors.frame_processor import FrameDirection
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.utils.http import connection_limits

from harness.agents import marks
from harness.agents.cascade.answer_text import AnswerFilter, ReplyLimiter
from harness.agents.cascade.held_audio import SPECULATIVE, OpenGate
from harness.agents.cascade.prompt import revision_request
from harness.agents.cascade.reply_loops import LoopStop
from harness.agents.cascade.server_words import ASKED_OF_LLAMA, ServerWords, Stops
from harness.agents.cascade.session_marks import SessionMarks
from harness.agents.cascade.settings import CascadeSettings

REQUEST = "request"
"""Metadata key of a frame with the number of its request."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of the language model. `native_url` is set for our own llama.cpp server, whose extras may be used."""

    base_url: str
    model: str
    api_key: str = "none"
    native_url: str | None = None


class _Until:
    """A stream of chunks that ends early, and closes its connection, once `enough` is true; without those not to be `heard`."""

    def __init__(
        self,
        stream: AsyncStream[ChatCompletionChunk],
        heard: Callable[[ChatCompletionChunk], bool],
        enough: Callable[[], bool],
    ) -> None:
        self._stream = stream
        self._heard = heard
        self._enough = enough

    async def __aiter__(self) -> AsyncIterator[ChatCompletionChunk]:
        async for chunk in self._stream:
            if not self._heard(chunk):
                continue
            yield chunk
            if self._enough():
                return

    async def close(self) -> None:
        await self._stream.close()


class CascadeLLM(OpenAILLMService):
    """An OpenAI-compatible language model that stamps marks and enforces the reply's limits."""

    def __init__(
        self,
        endpoint: Endpoint,
        settings: CascadeSettings,
        session: SessionMarks,
        system: str,
        stops: Stops | None = None,
        **kwargs: Any,
    ) -> None:
        """`stops`: when the model was stopped, for our own server."""
        llm = settings.llm
        self._endpoint = endpoint
        self._cascade = settings
        self._session = session
        self._request = 0
        self._unsent: int | None = None
        self._words = ServerWords(session, stops)
        chosen: dict[str, Any] = {"model": endpoint.model, "system_instruction": system}
        if llm.temperature is not None:
            chosen["temperature"] = llm.temperature
        if llm.max_tokens is not None:
            chosen["max_tokens"] = llm.max_tokens
        if endpoint.native_url is not None:
            penalty = {"repeat_penalty": llm.repeat_penalty} if llm.repeat_penalty is not None else {}
            chosen["extra"] = {"extra_body": {**ASKED_OF_LLAMA, **penalty}}
        super().__init__(base_url=endpoint.base_url, api_key=endpoint.api_key, settings=self.Settings(**chosen), **kwargs)
        if settings.speculate:
            self._speculation_gate = OpenGate(name=f"{self}::OpenGate")
        self._filter = AnswerFilter()
        self._limiter: ReplyLimiter | None = None
        self._loops: LoopStop | None = None
        self._token_times: list[float] = []

    def create_client(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        organization: str | None = None,
        project: str | None = None,
        default_headers: Mapping[str, str] | None = None,
        **_kwargs: Any,
    ) -> AsyncOpenAI:
        """pipecat's client with a stamp on each request that leaves; a llama.cpp server gets a new connection for each.

        That server closes a connection after each streamed response without saying so; the client then stumbles over
        the dead connection and retries half a second later (25 of 120 requests when it was tried).
        """
        kept = 100 if self._endpoint.native_url is None else 0
        limits = connection_limits(max_keepalive_connections=kept, max_connections=1_000, keepalive_expiry=None)
        http_client = DefaultAsyncHttpxClient(limits=limits, event_hooks={"request": [self._note_sending]})
        return AsyncOpenAI(
            api_key=api_key,
            base_url=base_url,
            organization=organization,
            project=project,
            default_headers=default_headers,
            http_client=http_client,
        )

    async def _note_sending(self, _request: object) -> None:
        """Stamp the request as it leaves: the client's own work takes 5–10 ms on a busy machine and is not the model's time."""
        if self._unsent is not None:
            self._session.stamp(marks.LLM_REQUESTED, request=self._unsent)
            self._unsent = None
            await asyncio.sleep(self._cascade.delays.llm_ms / 1000)

    @property
    def request(self) -> int:
        """Number of the request in progress; the first of a session is 1."""
        return self._request

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        if isinstance(frame, LLMContextFrame):
            self._request += 1
        await super().process_frame(frame, direction)

    async def push_frame(self, frame: Frame, direction: FrameDirection = FrameDirection.DOWNSTREAM) -> None:
        if isinstance(frame, LLMFullResponseStartFrame):
            frame.metadata[REQUEST] = self._request
            frame.metadata[SPECULATIVE] = self._speculation_gate.is_speculating
        await super().push_frame(frame, direction)

    async def _handle_eager_end_of_turn_cancel(self, frame: EagerEndOfTurnCancelFrame) -> None:
        if self._speculation_gate.is_speculating:
            self._session.stamp(marks.SPECULATION_DROPPED, request=self._request)
        await super()._handle_eager_end_of_turn_cancel(frame)

    async def _process_context(self, context: LLMContext) -> None:
        reply = self._cascade.reply
        self._filter = AnswerFilter()
        self._limiter = ReplyLimiter(reply.max_words, reply.max_sentences) if reply.enforce else None
        self._loops = LoopStop() if reply.end_loops else None
        self._token_times = []
        self._words.request()
        await super()._process_context(context)
        await self._speak(self._filter.flush(), last=True)
        self._words.pass_on(self._request)
        self._stamp_done()

    async def get_chat_completions(self, context: LLMContext) -> AsyncStream[ChatCompletionChunk]:
        self._session.stamp(marks.LLM_CALLED, request=self._request)
        self._unsent = self._request
        stream = await super().get_chat_completions(context)
        request = self._request

        def heard(chunk: ChatCompletionChunk) -> bool:
            return self._words.hear(chunk, request)

        def enough() -> bool:
            return (self._limiter is not None and self._limiter.done) or (self._loops is not None and self._loops.looped)

        return cast(AsyncStream[ChatCompletionChunk], _Until(stream, heard, enough))

    async def _push_llm_text(self, text: str) -> None:
        answer = self._filter.push(text)
        if not answer:
            return
        self._token_times.append(time.monotonic())
        if len(self._token_times) == 1:
            self._session.stamp(marks.LLM_FIRST_TOKEN, request=self._request)
            self._words.pass_on(self._request)
        await self._speak(answer)

    async def _speak(self, answer: str, last: bool = False) -> None:
        if self._loops is not None:
            answer = self._loops.push(answer) + (self._loops.flush() if last else "")
        if self._limiter is not None:
            answer = self._limiter.push(answer) + (self._limiter.flush() if last else "")
        if answer:
            await super()._push_llm_text(answer)

    def _stamp_done(self) -> None:
        times = np.array(self._token_times)
        gaps_ms = np.diff(times) * 1000
        self._session.stamp(
            marks.LLM_DONE,
            request=self._request,
            tokens=len(times),
            tokens_per_s=float(len(gaps_ms) / (times[-1] - times[0])) if len(gaps_ms) else None,
            inter_token_gap_p95_ms=float(np.percentile(gaps_ms, 95)) if len(gaps_ms) else None,
            looped=True if self._loops is not None and self._loops.looped else None,
        )


class DeliberateLLM(CascadeLLM):
    """A language model with one draft and `reply.revisions` revisions before the reply streams.

    The opposite corner from speculation: quality is bought with time, openly. The draft is a request of its own with its own
    marks (`purpose: "draft"`), and TTFT is that of the final revision, whose words are the ones that are spoken.
    """

    async def get_chat_completions(self, context: LLMContext) -> AsyncStream[ChatCompletionChunk]:
        reply = self._cascade.reply
        messages = list(context.messages)
        for round_number in range(1, reply.revisions + 1):
            request = f"{self.request}-draft-{round_number}"
            self._session.stamp(marks.LLM_REQUESTED, request=request, purpose="draft")
            draft = await self.run_inference(LLMContext(messages=messages)) or ""
            self._session.stamp(marks.LLM_DONE, request=request, purpose="draft", text=draft)
            messages = [
                *context.messages,
                cast(LLMContextMessage, {"role": "assistant", "content": draft}),
                cast(LLMContextMessage, {"role": "user", "content": revision_request(reply)}),
            ]
        return await super().get_chat_completions(LLMContext(messages=messages))
