"""A language model on this machine as judge: llama.cpp, the probabilities of one letter, in both orders.

Questions are asked one after another, because two questions share a prefix that is read once (`single_token`), and a server
with several slots would spread questions on one context over them. The order of a pair is fixed by the judge itself, whichever
order was given, so that the verdict cannot depend on the order shown.

The log odds of a model say how sure it seems, and not how often it is right. So they are stored in the verdict as they are, the
check against people shows how often it is right at each of them, and no strength is stated: every verdict weighs the same.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2

from harness.agents.llm_server import LlmServer, ServerFailed, ServerOptions
from harness.errors import UserError
from harness.judging import single_token as letters
from harness.judging.judge import JudgeFailure, Place, PlaceMark, Question, Verdict
from harness.judging.settings import JudgeOfSettings, JudgeSettings
from harness.scenarios.context import Turn


class LlamaCpp:
    """A chat model under llama.cpp's own server while it is open: one that is started here, as a cascade starts it, or the
    user's.

    It is asked over the server's own paths, because an OpenAI-compatible API neither applies a chat template alone nor gives
    probabilities. A server that died is started again.
    """

    def __init__(self, settings: JudgeSettings, model: Path | None = None) -> None:
        """`model` is the file to serve; without, the server at `settings.base_url` is asked."""
        self._settings = settings
        self._id = settings.judge_id
        self._model = model
        self._server: LlmServer | None = None
        self._client: httpx2.AsyncClient | None = None

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
        once = httpx2.Limits(max_keepalive_connections=0)
        self._client = httpx2.AsyncClient(base_url=url.removesuffix("/v1"), timeout=self._settings.timeout_s, limits=once)

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
            except httpx2.TimeoutException as error:
                raise JudgeFailure("timeout", f"no answer within {self._settings.timeout_s:g} s", attempts=attempt) from error
            except httpx2.TransportError as error:
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


METHOD: Final = "letters-1"
NO_STRENGTH: Final = 1
"""Strength of every verdict and mark: the least, because nothing has shown what the odds are worth."""
AXIS_IS_CLEAR_FROM: Final = 1.7
"""Averaged log odds from which an axis has a winner: 85 to 15, as in the embedded judge."""
_TRIAL: Final = Question((Turn(role="seeker", text="I lost my keys."),), "That is a nuisance. Where were you last?", "Bananas.")


@dataclass(frozen=True, slots=True)
class _Read:
    """Log odds by question that the first reply is better, and the tokens that had to be read for them."""

    odds: Mapping[str, float]
    tokens: int


class LocalJudge(JudgeOfSettings):
    """A chat model under llama.cpp. The model is loaded while entered."""

    orders_itself = True

    def __init__(self, settings: JudgeSettings, sha256: str = "", model: Path | None = None) -> None:
        """`model` is the file to serve; without, the server at `settings.base_url` is asked."""
        super().__init__(settings)
        self._sha256 = sha256
        self._asked = LlamaCpp(settings, model)
        self._gate = asyncio.Lock()
        self._last: tuple[Question, _Read] | None = None

    @property
    def fingerprint(self) -> str:
        s = self._settings
        facts = [s.id, s.version, s.family, self._sha256 or [s.base_url, s.model], METHOD, letters.prompt_hash()]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]

    async def __aenter__(self) -> "LocalJudge":
        await self._asked.open(lambda: self._log_odds(_TRIAL, letters.OVERALL))
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._asked.close()

    async def compare(self, question: Question) -> Verdict:
        """Ask the whole, and the five axes where they count, in both orders; the averaged log odds decide."""
        as_given = _place(question) <= _place(question.swapped())
        asked = question if as_given else question.swapped()
        async with self._gate:
            if self._last is None or self._last[0] != asked:
                self._last = asked, await self._read(asked)
            read = self._last[1]
        odds = {name: value if as_given else -value for name, value in read.odds.items()}
        whole = odds.pop(letters.OVERALL)
        axes = {a: PlaceMark(_winner(d, as_given), NO_STRENGTH) for a, d in odds.items() if abs(d) >= AXIS_IS_CLEAR_FROM}
        return Verdict(
            _winner(whole, as_given),
            NO_STRENGTH,
            axes,
            tokens_in=read.tokens,
            tokens_out=2 * len(read.odds),
            log_odds=whole,
        )

    async def _read(self, question: Question) -> _Read:
        names = (letters.OVERALL,) if question.whole_alone else letters.QUESTIONS
        tokens, seen = 0, []
        for shown in (question, question.swapped()):
            for name in names:
                odds, read = await self._log_odds(shown, name)
                tokens += read
                seen.append(odds)
        pairs = zip(names, seen[: len(names)], seen[len(names) :], strict=True)
        return _Read({name: letters.both_orders(one, other) for name, one, other in pairs}, tokens)

    async def _log_odds(self, shown: Question, name: str) -> tuple[float, int]:
        return await self._asked.log_odds(await self._asked.prompt([{"role": "user", "content": letters.message(shown, name)}]))


def _place(question: Question) -> tuple[str, list[str], str]:
    return question.first, [turn.text for turn in question.turns], question.second


def _winner(odds: float, as_given: bool) -> Place:
    """The winner; an exact tie goes to the reply that is first in alphabetical order, whichever order was given."""
    return "first" if odds > 0 or (odds == 0 and as_given) else "second"
