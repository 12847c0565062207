"""Text systems, asked over real HTTP: what is sent, and that TTFT is the first *answer* token's."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import psutil
import pytest

from harness import models
from harness.agents.message import Message
from harness.agents.process import AgentProcess
from harness.agents.profile import TextProfile, load_profile, parse_profile
from harness.agents.text import TextFailed, ask, complete
from tests.http_serving import Handler, serving

HISTORY = (Message("assistant", "Hello, I am here."), Message("user", "I had a terrible day."))
Piece = tuple[float, dict[str, Any]]


class Endpoint(Handler):
    """An OpenAI-compatible endpoint that streams what the test lays out, with known waits."""

    requests: ClassVar[list[dict[str, Any]]] = []
    keys: ClassVar[list[str | None]] = []
    pieces: ClassVar[list[Piece]] = []
    failures: ClassVar[list[int]] = []
    retry_after: ClassVar[str] = ""
    words: ClassVar[str] = "slow down"

    def do_POST(self) -> None:
        self.requests.append(self.asked())
        self.keys.append(self.headers["Authorization"])
        if self.failures:
            later = {"Retry_After": self.retry_after} if self.retry_after else {}
            self.answer(self.failures.pop(0), {"error": {"message": self.words}}, **later)
            return
        self.begin()
        for wait_s, delta in self.pieces:
            time.sleep(wait_s)
            choice = {"index": 0, "delta": delta, "finish_reason": None}
            whole = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
            self.wfile.write(f"data: {json.dumps(whole)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")


@pytest.fixture
def endpoint() -> Iterator[str]:
    Endpoint.requests, Endpoint.keys, Endpoint.failures = [], [], []
    Endpoint.retry_after, Endpoint.words = "", "slow down"
    with serving(Endpoint) as url:
        yield f"{url}/v1"


@pytest.fixture
def profile(endpoint: str) -> Callable[[str], TextProfile]:
    def make(extra: str = "") -> TextProfile:
        made = parse_profile(f'kind = "text"\nmodel = "m"\nbase_url = "{endpoint}"\n{extra}', Path("writer.toml"))
        assert isinstance(made, TextProfile)
        return made

    return make


def test_it_is_asked_as_the_paper_asks(profile: Callable[[str], TextProfile], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    Endpoint.pieces = [
        (0.0, {"role": "assistant", "content": ""}),
        (0.15, {"content": "That"}),
        (0.1, {"content": " hurts."}),
    ]
    reply = complete(profile(""), HISTORY)
    assert (reply.text, reply.model) == ("That hurts.", "m")
    (asked,) = Endpoint.requests
    assert (asked["temperature"], asked["top_p"], asked["stream"], asked["max_tokens"]) == (0, 1, True, 120)
    assert asked["messages"][0]["role"] == "system"
    assert asked["messages"][1:] == [{"role": turn.role, "content": turn.text} for turn in HISTORY]
    assert 150 <= reply.ttft_ms < reply.total_ms
    assert reply.total_ms - reply.ttft_ms >= 90


def asked_of(profile: TextProfile) -> dict[str, Any]:
    Endpoint.pieces = [(0.0, {"content": "Yes."})]
    complete(profile, HISTORY)
    return Endpoint.requests[-1]


@pytest.mark.parametrize("model", ["gpt-5", "openai/gpt-5-mini", "o3", "o4-mini"])
def test_models_that_refuse_to_be_told_how_to_sample_are_not_told(model: str, profile: Callable[[str], TextProfile]) -> None:
    asked = asked_of(profile("").model_copy(update={"model": model}))
    assert {"temperature", "top_p", "max_tokens", "reasoning_effort"}.isdisjoint(asked)
    assert asked["max_completion_tokens"] == 4_096


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5-chat-latest", "oasis-7b", "m"])
def test_all_others_are_asked_as_the_paper_asks(model: str, profile: Callable[[str], TextProfile]) -> None:
    asked = asked_of(profile("").model_copy(update={"model": model}))
    assert (asked["temperature"], asked["top_p"], asked["max_tokens"]) == (0, 1, 120)


def test_the_profile_decides_where_it_says_so(profile: Callable[[str], TextProfile]) -> None:
    asked = asked_of(profile('temperature = 0.7\ntop_p = "model"\nreasoning_effort = "low"\nmax_tokens = 900\n'))
    assert (asked["temperature"], asked["reasoning_effort"], asked["max_completion_tokens"]) == (0.7, "low", 900)
    assert "top_p" not in asked
    forced = profile("temperature = 0.0\n").model_copy(update={"model": "gpt-5"})
    assert asked_of(forced)["temperature"] == 0


def test_the_paper_s_own_instruction_is_shorter_than_the_rules_for_speech(profile: Callable[[str], TextProfile]) -> None:
    spoken, heart = (asked_of(profile(text))["messages"][0]["content"] for text in ("", 'prompt = "heart"\n'))
    assert len(heart) < len(spoken)
    assert "one to three sentences" in heart
    assert asked_of(profile('prompt = "heart"\nsystem_prompt = "Mine."\n'))["messages"][0]["content"] == "Mine."


@pytest.mark.parametrize(
    "thoughts",
    [
        [(0.0, {"reasoning_content": "hm"}), (0.2, {"reasoning_content": "so"})],
        [(0.0, {"content": "<thi"}), (0.1, {"content": "nk>hm"}), (0.1, {"content": "so</think>\n"})],
    ],
)
def test_thinking_is_waiting(profile: Callable[[str], TextProfile], thoughts: list[Piece]) -> None:
    Endpoint.pieces = [*thoughts, (0.0, {"content": "I hear you."})]
    reply = complete(profile(""), HISTORY)
    assert reply.text == "I hear you."
    assert reply.ttft_ms >= 195


def test_a_busy_endpoint_is_asked_again_and_only_the_last_try_is_timed(profile: Callable[[str], TextProfile]) -> None:
    Endpoint.pieces = [(0.0, {"content": "Yes."})]
    Endpoint.failures = [429]
    began = time.monotonic()
    reply = complete(profile(""), HISTORY)
    assert len(Endpoint.requests) == 2
    assert reply.total_ms < (time.monotonic() - began) * 1e3 - 500


def test_an_endpoint_that_asks_for_time_is_given_it(profile: Callable[[str], TextProfile]) -> None:
    Endpoint.pieces = [(0.0, {"content": "Yes."})]
    Endpoint.failures, Endpoint.retry_after = [429], "2"
    began = time.monotonic()
    complete(profile(""), HISTORY)
    assert time.monotonic() - began >= 2
    Endpoint.failures = [503] * 2
    with pytest.raises(TextFailed, match="HTTP 503"):
        complete(profile("tries = 1\n"), HISTORY)
    assert len(Endpoint.requests) == 3
    # Who asks for longer than the reply may take is not waited for.
    Endpoint.failures, Endpoint.retry_after = [429], "3600"
    with pytest.raises(TextFailed, match="HTTP 429"):
        complete(profile(""), HISTORY)


def test_a_setting_that_is_refused_is_named_with_what_to_write(profile: Callable[[str], TextProfile]) -> None:
    Endpoint.failures, Endpoint.words = [400], "Unsupported value: 'temperature' does not support 0 with this model."
    with pytest.raises(TextFailed, match='temperature = "model" in the profile'):
        complete(profile(""), HISTORY)


def test_what_will_not_mend_is_not_tried_again(profile: Callable[[str], TextProfile]) -> None:
    Endpoint.failures = [400, 400]
    with pytest.raises(TextFailed, match="HTTP 400") as caught:
        complete(profile(""), HISTORY)
    assert "\n" not in str(caught.value)
    assert len(Endpoint.requests) == 1


def test_no_answer_is_a_failure_and_not_an_empty_reply(profile: Callable[[str], TextProfile]) -> None:
    Endpoint.pieces = [(0.0, {"content": "<think>for ever"})]
    with pytest.raises(TextFailed, match="answered nothing"):
        complete(profile(""), HISTORY)


@pytest.mark.parametrize("thought", [{"content": "<think>for ever"}, {"reasoning_content": "hm"}, {"reasoning": "hm"}])
def test_a_thinker_under_an_unknown_name_is_told_what_to_write(
    profile: Callable[[str], TextProfile], thought: dict[str, str]
) -> None:
    Endpoint.pieces = [(0.0, thought)]
    advice = r'reasoning_effort = "low" in the profile gives it 4,096 tokens in place of 120'
    with pytest.raises(TextFailed, match=advice):
        complete(profile(""), HISTORY)
    with pytest.raises(TextFailed) as caught:
        complete(profile('reasoning_effort = "low"\n'), HISTORY)
    assert "reasoning_effort" not in str(caught.value)
    Endpoint.pieces = [(0.0, {"content": ""})]
    with pytest.raises(TextFailed) as caught:
        complete(profile(""), HISTORY)
    assert "reasons" not in str(caught.value), "nothing shows that it thought"
    Endpoint.failures = [400]
    Endpoint.words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    with pytest.raises(TextFailed, match=advice):
        complete(profile(""), HISTORY)


@pytest.mark.parametrize("thought", [{"content": "<think>hm</think>"}, {"reasoning_content": "hm"}, {}])
def test_a_reply_says_if_it_was_thought_over(profile: Callable[[str], TextProfile], thought: dict[str, str]) -> None:
    Endpoint.pieces = [(0.0, thought), (0.0, {"content": "I hear you."})]
    assert complete(profile(""), HISTORY).thought is bool(thought)


def test_keys_come_from_the_environment(profile: Callable[[str], TextProfile], monkeypatch: pytest.MonkeyPatch) -> None:
    keyed = profile('api_key_env = "MY_KEY"\n')
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(TextFailed, match="MY_KEY"):
        complete(keyed, HISTORY)
    monkeypatch.setenv("MY_KEY", "s3cret")
    Endpoint.failures = [401]
    with pytest.raises(TextFailed) as caught:
        complete(keyed, HISTORY)
    assert Endpoint.keys == ["Bearer s3cret"]
    assert "s3cret" not in str(caught.value)


def test_an_endpoint_that_is_not_there_is_one_line() -> None:
    made = parse_profile('kind = "text"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n', Path("writer.toml"))
    assert isinstance(made, TextProfile)
    with pytest.raises(TextFailed, match=r"127\.0\.0\.1:9") as caught:
        complete(made, HISTORY)
    assert "\n" not in str(caught.value)


@pytest.mark.models
@pytest.mark.long
async def test_a_model_without_an_endpoint_is_served_and_ended(tmp_path: Path) -> None:
    profile = load_profile("smollm2-text").model_copy(update={"max_tokens": 12})
    assert isinstance(profile, TextProfile)
    agent = AgentProcess(profile, {name: models.resolve(name) for name in profile.weights}, tmp_path / "agent.log")
    await agent.start()
    assert agent.pid is not None
    family = [psutil.Process(agent.pid), *psutil.Process(agent.pid).children(recursive=True)]
    assert len(family) > 1
    history = [Message("user", "My dog died today and I cannot stop crying.")]
    first, second = [await ask(profile, history, agent.url) for _ in range(2)]
    await agent.stop()
    assert len(first.text.split()) > 3
    assert 0 < first.ttft_ms < first.total_ms
    assert second.text == first.text
    assert psutil.wait_procs(family, timeout=10)[1] == []
