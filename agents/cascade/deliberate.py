"""A language model that drafts a reply, revises it, and speaks only the last version.

The opposite corner from speculation: quality is bought with time, openly. The draft is a request of its own with its own
marks (`purpose: "draft"`), and TTFT is that of the final revision, whose words are the ones that are spoken.
"""

from typing import cast

from openai import AsyncStream
from openai.types.chat import ChatCompletionChunk
from pipecat.processors.aggregators.llm_context import LLMContext, LLMContextMessage

from harness.agents import marks
from harness.agents.cascade.llm import CascadeLLM
from harness.agents.cascade.prompt import revision_request


class DeliberateLLM(CascadeLLM):
    """A language model with one draft and `reply.revisions` revisions before the reply streams."""

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
