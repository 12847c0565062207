"""A chat model under llama.cpp's own server, for questions that are answered by the probabilities of one word.

The server is the one that a cascade starts for itself, as a child that dies with this process; or it is the user's own. It is
asked over its own paths, because an OpenAI-compatible API neither applies a chat template alone nor continues an answer that
has begun. A server that died is started again, and whatever cannot be asked fails in one line that says how to mend it.
"""

import importlib.util
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from harness.agents.llm_server import LlmServer, ServerFailed, ServerOptions
from harness.errors import UserError
from harness.judging import single_token as letters
from harness.judging.judge import JudgeFailure
from harness.judging.settings import JudgeSettings


class LlamaCpp:
    """A model while it is open; questions are to be asked one after another."""

    def __init__(self, settings: JudgeSettings, model: Path | None = None) -> None:
        """`model` is the file to serve; without, the server at `settings.base_url` is asked."""
        self._settings = settings
        self._id = settings.judge_id
        self._model = model
        self._server: LlmServer | None = None
        self._client: httpx.AsyncClient | None = None

    async def open(self, trial: Callable[[], Awaitable[object]]) -> None:
        """Load the model and ask it `trial`, so that a model that cannot be asked is known before the work begins.

        Raises:
            UserError: no llama.cpp, a file that it cannot load, or a trial without an answer.
        """
        await self._start()
        try:
            await trial()
        except JudgeFailure as failure:
            await self.close()
            raise UserError(f"judge {self._id}: {failure.detail}; {self._mend(failure)}") from failure
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the server that was started here. Safe to call twice."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None
        if self._server is not None:
            await self._server.stop()
            self._server = None

    async def prompt(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The model's own prompt for a conversation, up to the answer that it is to give.

        Raises:
            JudgeFailure: no answer, or a server that applies no template.
        """
        # The next token of a model that was taught to think aloud first would be no answer.
        told = {"messages": list(messages), "chat_template_kwargs": {"enable_thinking": False}}
        prompt = (await self._post("/apply-template", told)).get("prompt")
        if not isinstance(prompt, str):
            raise JudgeFailure("malformed", "the server applies no chat template; it must be llama.cpp's own")
        return prompt

    async def log_odds(self, prompt: str) -> tuple[float, int]:
        """ln P(A) − ln P(B) of the next word, and the tokens that had to be read for it.

        Raises:
            JudgeFailure: no answer, or neither is likely.
            UserError: the server gives no probabilities.
        """
        asked = {"prompt": prompt, "temperature": 0, "cache_prompt": True, "n_predict": 1, "n_probs": letters.LISTED}
        answer = await self._post("/completion", asked)
        timings = answer.get("timings")
        try:
            read = int(timings.get("prompt_n") or 0) if isinstance(timings, dict) else 0
            return letters.log_odds(answer), read
        except letters.NoProbabilities as error:
            raise UserError(
                f"judge {self._id}: the server gives no token probabilities; ask llama.cpp's own server "
                '(llama-server), or set api = "openai" in the judge\'s file to have verdicts written out'
            ) from error
        except letters.NoLetter as error:
            raise JudgeFailure("malformed", str(error)) from error

    async def _start(self) -> None:
        url = self._settings.base_url or ""
        if self._model is not None:
            if importlib.util.find_spec("xllamacpp") is None:
                raise UserError(f"judge {self._id}: needs xllamacpp; install it with: pip install 'heart-voice-harness[local]'")
            threads = self._settings.threads or len(os.sched_getaffinity(0))
            self._server = LlmServer(
                ServerOptions(
                    str(self._model), threads, threads, self._settings.context_tokens, gpu_layers=self._settings.gpu_layers
                )
            )
            try:
                await self._server.start()
            except ServerFailed as failed:
                self._server = None
                raise UserError(f"judge {self._id}: {failed}; fetch the file again, or give another one") from failed
            url = self._server.url
        once = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.AsyncClient(base_url=url.removesuffix("/v1"), timeout=self._settings.timeout_s, limits=once)

    def _mend(self, failure: JudgeFailure) -> str:
        if self._model is None and failure.kind in ("connection", "timeout"):
            return f"start a llama.cpp server at {self._settings.base_url}, or correct base_url in the judge's file"
        if self._model is None and failure.kind == "rejected":
            return "base_url must be the root of llama.cpp's own server (llama-server)"
        return "give an instruct model's file (.gguf)"

    async def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        for attempt in range(1, self._settings.attempts + 1):
            if self._client is None:
                raise RuntimeError("a model is asked while it is open")
            try:
                response = await self._client.post(path, json=body)
                break
            except httpx.TimeoutException as error:
                raise JudgeFailure("timeout", f"no answer within {self._settings.timeout_s:g} s", attempts=attempt) from error
            except httpx.TransportError as error:
                if attempt == self._settings.attempts:
                    raise JudgeFailure("connection", type(error).__name__, attempts=attempt) from error
                await self.close()
                await self._start()
        try:
            found = response.json()
        except ValueError as error:
            raise JudgeFailure("malformed", f"HTTP {response.status_code} without JSON") from error
        if response.status_code != 200 or not isinstance(found, dict):
            raise JudgeFailure("rejected", _why(response.status_code, found))
        return found


def _why(status: int, found: object) -> str:
    error = found.get("error") if isinstance(found, dict) else None
    told = error.get("message") if isinstance(error, dict) else None
    if isinstance(error, dict) and error.get("type") == "exceed_context_size_error":
        return f"{told}; set context_tokens in the judge's file"
    return f"HTTP {status}: {told}" if told else f"HTTP {status}"
