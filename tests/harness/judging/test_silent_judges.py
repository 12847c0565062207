"""A judge that does not answer is asked ten times at most, and says why; one that only adds words of its own is read."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.judging import Completion, judge_pairs_async, load_judge, load_judge_settings
from harness.judging.endpoint import EndpointJudge
from tests.harness.judging.conftest import call, make_context, told
from tests.harness.judging.model_server import ModelServer, Reply, chat, error

KEY = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyz"
MOST = 10
"""Requests until the reason is known."""


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_judge, "EndpointJudge", partial(EndpointJudge, first_wait_s=0.0))


def judge_file(folder: Path, url: str, **changes: Any) -> Path:
    given = {"id": "far", "family": "rules", "version": "1", "model": "m", "timeout_s": 5.0, "concurrency": 8, "base_url": url}
    path = folder / f"{changes.get('id', 'far')}.toml"
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in (given | changes).items()))
    return path


def says(reply: Reply) -> Callable[[int, str], Reply]:
    return lambda *_: reply


FAILING: dict[str, tuple[Callable[[int, str], Reply], str, int, str]] = {
    "wrong key": (
        says(error(401, f"Incorrect API key provided: {KEY}.", "invalid_request_error", "invalid_api_key")),
        "rejected", 1, "1 of 1: HTTP 401: check FAR_KEY",
    ),
    "wrong key as Gemini says it": (
        says((400, json.dumps([{"error": {"code": 400, "message": "API key not valid. Please pass one."}}]).encode())),
        "rejected", 1, "1 of 1: HTTP 400: check FAR_KEY",
    ),
    "no right": (says(error(403, "no access")), "rejected", 1, "1 of 1: HTTP 403: check FAR_KEY"),
    "quota": (
        says(error(429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota")),
        "quota", 1, "1 of 1: HTTP 429: the account has no credit left",
    ),
    "payment": (says(error(402, "Insufficient Balance")), "quota", 1, "1 of 1: HTTP 402: the account has no credit left"),
    "credit as Anthropic says it": (
        says(error(400, "Your credit balance is too low to access the Anthropic API.", "invalid_request_error")),
        "quota", 1, "1 of 1: HTTP 400: the account has no credit left",
    ),
    "an error inside a 200": (says((200, json.dumps({"error": {"code": 402, "message": "more credits"}}).encode())),
                              "quota", 1, "1 of 1: HTTP 402"),
    "no such model": (says(error(404, "The model `m` does not exist.")), "rejected", 1, "1 of 1: HTTP 404: check model (m)"),
    "no such model as 400": (says(error(400, "Model Not Exist")), "rejected", 1, "1 of 1: HTTP 400: check model (m)"),
    "a setting": (says(error(400, "Unsupported value: 'temperature'")), "rejected", 5,
                  "5 of 5: HTTP 400: correct what the server names"),
    "refusals": (says(chat(None, refusal="I would rather not.")), "refused", 5, "5 of 5: refused: choose another model"),
    "a filter": (says(chat("", finish="content_filter")), "refused", 5, "5 of 5: refused: choose another model"),
    "500s": (says((500, b"{}")), "server_error", MOST, "5 of 5: HTTP 500: read the log"),
    "rate limit": (says(error(429, "slow down")), "rate_limited", MOST, "5 of 5: HTTP 429: wait, or lower concurrency"),
    "cut connection": (says("cut"), "connection", MOST, "5 of 5: connection: is the server up at http://127.0.0.1:"),
    "cut answer": (says(chat('{"rationale": "it is', finish="length")), "malformed", MOST,
                   "5 of 5: malformed: raise max_tokens (now 600)"),
    "all tokens to reasoning": (says(chat(None, finish="length", reasoning_content="Well")), "malformed", MOST,
                                "5 of 5: malformed: raise max_tokens (now 600)"),
    "hang": (says("hang"), "timeout", 6, "5 of 5: timeout: is the server at http://127.0.0.1:"),
    "prose": (says(chat("Both are \x1b[31mkind\n.")), "malformed", MOST,
              '5 of 5: malformed: set structured (now "json_schema")'),
    "a web page": (says((200, b"<html>hello</html>")), "malformed", MOST, "5 of 5: malformed: check base_url"),
    "ever another": (lambda number, _: (500 + number % 3, b"{}"), "server_error", MOST, "HTTP 50"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAILING)
def test_a_judge_that_never_answers_is_asked_ten_times_at_most_and_says_why(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_KEY", KEY)
    script, kind, requests, words = FAILING[fault]
    with ModelServer(script).serving() as server:
        path = judge_file(tmp_path, server.url, key_env="FAR_KEY", timeout_s=0.1 if fault == "hang" else 5.0)
        code, found = told(capsys, "judge", "check", "--judge", path)
    (judge,) = found["judges"]
    assert code == 3
    assert server.asked == requests <= MOST
    assert (judge["pairs"], judge["missing_by_kind"]) == (0, {kind: judge["missing"]})
    assert found["missing_by_kind"] == {kind: 60}
    assert words in judge["why_missing"]
    assert KEY[8:] not in str(found)
    assert judge["why_missing"].isprintable()


def test_what_a_server_said_is_shown_with_the_mend_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_KEY", KEY)
    with ModelServer(FAILING["wrong key"][0]).serving() as server:
        code, out, _ = call(capsys, "judge", "check", "--judge", judge_file(tmp_path, server.url, key_env="FAR_KEY"))
    assert code == 3
    assert "far@1: 1 of 1: HTTP 401: check FAR_KEY (“Incorrect API key provided: ***" in out
    assert "the other 59 questions not asked" in out


def quoting(right: str) -> str:
    return json.dumps({**json.loads(right), "winner": {"A": "B", "B": "A"}[json.loads(right)["winner"]]})


READ: dict[str, Callable[[str], Reply]] = {
    "think": lambda right: chat(f"<think>\nReply A asks me for {quoting(right)}.\n</think>\n\n{right}"),
    "thinking": lambda right: chat(f"<thinking>Hm.</thinking>{right}"),
    "think of which the template wrote the beginning": lambda right: chat(f"Hm. {quoting(right)}\n</think>\n{right}"),
    "chatter": lambda right: chat(f"Here is my verdict:\n{right}"),
    "chatter and a fence": lambda right: chat(f"Sure!\n```json\n{right}\n```\n"),
    "extra key": lambda right: chat(json.dumps({**json.loads(right), "confidence": 0.8})),
    "vLLM until 0.10": lambda right: chat(right, reasoning_content=f"Hm. {quoting(right)}", tool_calls=[]),
    "vLLM": lambda right: chat(right, reasoning=f"Hm. {quoting(right)}", refusal=None, annotations=None, tool_calls=[]),
    "vLLM without a reasoning parser": lambda right: chat(f"\nHm.\n</think>\n\n{right}", reasoning_content=None),
    "Ollama": lambda right: chat(right, reasoning=f"Hm. {quoting(right)}"),
    "Ollama, an older one": lambda right: chat(f"<think>\n\n</think>\n\n{right}"),
    "llama.cpp": lambda right: chat(f"\n\n{right}", reasoning_content=f"Hm. {quoting(right)}"),
    "llama.cpp --reasoning-format none": lambda right: chat(f"<think>\nHm.\n</think>\n\n{right}"),
}


@pytest.mark.parametrize("shape", READ)
async def test_a_model_that_reasons_or_adds_words_is_read_at_the_first_request(shape: str, tmp_path: Path) -> None:
    context = make_context("c-0")
    with ModelServer(lambda _, right: READ[shape](right)).serving() as server:
        judge = EndpointJudge(load_judge_settings(str(judge_file(tmp_path, server.url))), first_wait_s=0.0)
        replies = [Completion(context.id, system, f"{system}?") for system in ("x", "y", "z")]
        done = await judge_pairs_async([context], replies, judge, canaries=20)
    assert not done.missing
    assert server.asked == done.calls + 20
    (watched,) = done.canaries
    assert (watched.asked, watched.wrong, watched.missing) == (20, 0, 0)
