"""A judge that does not answer is asked ten times at most, and says why; one that only adds words of its own is read."""

import json
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.figures.summarise import summarise
from harness.judging import (
    Completion,
    Design,
    JudgingOutcome,
    Verdict,
    VerdictCache,
    check_judge_async,
    endpoint,
    judge_pairs_async,
    load_judge,
    load_judge_settings,
)
from harness.judging.endpoint import EndpointJudge
from harness.judging.hearing import HearingJudge
from harness.judging.sound import Clip, wav
from harness.judging.validation.deliveries import DeliveryPair
from harness.reports.write import write_joint_report
from harness.scenarios.context import Context
from harness.scenarios.pack import load_pack
from harness.store.run_store import RunStore
from harness.verdicts import deliveries
from harness.verdicts.judge import no_judge_left
from tests.harness.judging.conftest import call, make_context, pass_red_lines, told
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
    assert "59 more were not asked" in out
    assert "opinion" not in out, "of a judge that said nothing nothing is known"


def quoting(right: str) -> str:
    return json.dumps({**json.loads(right), "winner": {"A": "B", "B": "A"}[json.loads(right)["winner"]]})


READ: dict[str, Callable[[str], Reply]] = {
    "think": lambda right: chat(f"<think>\nReply A asks me for {quoting(right)}.\n</think>\n\n{right}"),
    "thinking": lambda right: chat(f"<thinking>Hm.</thinking>{right}"),
    "think of which the template wrote the beginning": lambda right: chat(f"Hm. {quoting(right)}\n</think>\n{right}"),
    "chatter": lambda right: chat(f"Here is my verdict:\n{right}"),
    "chatter and a fence": lambda right: chat(f"Sure!\n```json\n{right}\n```\n"),
    "extra key": lambda right: chat(json.dumps({**json.loads(right), "confidence": 0.8})),
    "vLLM, an older one": lambda right: chat(right, reasoning_content=f"Hm. {quoting(right)}", tool_calls=[]),
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


def field(count: int) -> tuple[list[Context], list[Completion]]:
    contexts = [make_context(f"c-{n}") for n in range(count)]
    return contexts, [Completion(c.id, system, f"{system} {c.id}") for c in contexts for system in ("x", "y")]


async def asked_of(server: ModelServer, folder: Path, questions: int = 60, **settings: Any) -> JudgingOutcome:
    judge = EndpointJudge(load_judge_settings(str(judge_file(folder, server.url, **settings))), first_wait_s=0.0)
    return await judge_pairs_async(*field(questions), judge, Design(swapped_share=0, repeat_share=0))


class Together:
    """A wait until so many requests have been in the server at once, as a busy machine brings them one after the other.

    Two seconds at most in all: what is never asked together is not waited for.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._over = threading.Event()

    def wait(self, server: ModelServer) -> None:
        if server.most_at_once >= self._count:
            self._over.set()
        self._over.wait(2)
        self._over.set()


async def test_a_judge_is_first_asked_alone_and_then_at_most_four_at_once(tmp_path: Path) -> None:
    seen: list[int] = []
    beside = Together(2)

    def slow(number: int, _: str) -> Reply:
        if number > 5:
            beside.wait(server)
        seen.append(server.most_at_once)
        return 500, b"{}"

    with ModelServer(slow).serving() as server:
        done = await asked_of(server, tmp_path, concurrency=32)
    assert (server.asked, len(done.missing), done.calls) == (MOST, 60, 5)
    assert seen[:5] == [1] * 5
    assert 1 < server.most_at_once <= 4


async def test_a_server_that_wakes_up_is_asked_everything(tmp_path: Path) -> None:
    more_than_four = Together(5)

    def wakes(number: int, right: str) -> Reply:
        if number <= 6:
            return 503, b"{}"
        if number > 10:
            more_than_four.wait(server)
        return chat(right)

    with ModelServer(wakes).serving() as server:
        done = await asked_of(server, tmp_path)
    assert server.most_at_once > 4
    assert len(done.judgments) + len(done.missing) == 60
    assert len(done.missing) == 1, "the first question had its five tries, and the next the one retry that was left"


@pytest.mark.parametrize(
    ("fault", "most", "kind"),
    [((503, b"{}"), 80, "server_error"), (chat("Hm."), 80, "malformed"), (error(401, "no"), 8, "rejected")],
)
async def test_an_outage_ends_a_batch_with_what_was_answered(fault: Reply, most: int, kind: str, tmp_path: Path) -> None:
    with ModelServer(lambda number, right: chat(right) if number <= 30 else fault).serving() as server:
        done = await asked_of(server, tmp_path, questions=200)
    assert len(done.judgments) == 30
    assert (len(done.missing), {m.kind for m in done.missing}) == (170, {kind})
    assert server.asked - 30 <= most
    assert sum(m.attempts == 0 for m in done.missing) >= 130


async def test_a_model_that_answers_may_refuse_many_questions_in_a_row(tmp_path: Path) -> None:
    def declines(number: int, right: str) -> Reply:
        return chat(None, refusal="No.") if 10 < number <= 60 else chat(right)

    with ModelServer(declines).serving() as server:
        done = await asked_of(server, tmp_path, questions=80)
    assert (len(done.judgments), len(done.missing)) == (30, 50)


async def test_what_a_known_judge_refused_before_does_not_end_it_when_it_is_asked_again(tmp_path: Path) -> None:
    contexts, replies = field(30)
    plain = Design(swapped_share=0, repeat_share=0)
    with VerdictCache() as cache, ModelServer(lambda _, right: chat(right)).serving() as server:
        path = str(judge_file(tmp_path, server.url))
        await check_judge_async(EndpointJudge(load_judge_settings(path), first_wait_s=0.0), cache=cache)
        server.script = lambda number, right: chat(None, refusal="No.") if number <= 120 + 20 else chat(right)
        again = EndpointJudge(load_judge_settings(path), first_wait_s=0.0)
        await check_judge_async(again, cache=cache)
        assert server.asked == 120, "the check was stored"
        done = await judge_pairs_async(contexts, replies, again, plain, cache=cache)
    assert (len(done.missing), len(done.judgments)) == (20, 10)


async def test_a_defect_of_ours_ends_a_judge_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str) -> Verdict:
        raise ZeroDivisionError(text)

    monkeypatch.setattr(endpoint, "parse_answer", broken)
    with ModelServer(lambda _, right: chat(right)).serving() as server:
        done = await asked_of(server, tmp_path)
    assert server.asked <= MOST
    assert {m.kind for m in done.missing} == {"defect"}


def test_a_run_whose_only_judge_is_silent_says_why_at_every_door(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_KEY", KEY)
    why, hostile = "far@1: 1 of 1: HTTP 401: check FAR_KEY", f"<script>alert(1)</script> {KEY}"
    with ModelServer(says(error(401, hostile))).serving() as server:
        path = judge_file(tmp_path, server.url, key_env="FAR_KEY")
        code, found = told(capsys, "judge", "run", played, "--judge", path)
        assert server.asked == 1
        kept, _, _ = call(capsys, "judge", "run", played, "--judge", path, "--keep-excluded")
    assert (code, kept, found["calls"], found["missing_by_kind"]) == (3, 3, 0, {"rejected": 60})
    store = RunStore.open(played)
    assert no_judge_left(store, [str(path)])
    summary = summarise(store)
    page = write_joint_report([(store, summary)], tmp_path / "page").page.read_text(encoding="utf-8")
    store.close()
    assert any(why in caution.text for caution in summary.cautions if caution.code == "silent_judge")
    assert any(why in sentence for sentence in summary.quality)
    assert why in page
    assert "<script>alert(1)" not in page
    assert KEY[8:] not in page + str(found)
    code, _, said = call(capsys, "rank", played)
    assert (code, why in said) == (2, True)


def test_a_check_without_an_answer_leaves_earlier_verdicts_in_the_rating(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(lambda _, right: chat(right)).serving() as server:
        path = judge_file(tmp_path, server.url)
        pass_red_lines(path)
        assert told(capsys, "judge", "run", played, "--judge", path)[0] == 0
        _, before = told(capsys, "rank", played)
        server.script = says(error(401, "no"))
        code, _ = told(capsys, "judge", "check", played, "--judge", path)
        _, after = told(capsys, "rank", played)
    assert code == 3
    assert after == before
    with closing(RunStore.open(played)) as store:
        (check,) = store.judge_checks()
        assert (check.pairs, check.gone_silent, check.excluded) == (60, True, False)
        assert no_judge_left(store, [str(path)])
        assert any(caution.code == "silent_judge" for caution in summarise(store).cautions)


def test_beside_a_judge_that_answers_a_silent_one_is_named_and_the_run_is_done(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(says(error(404, "no"))).serving() as gone, ModelServer(lambda _, right: chat(right)).serving() as here:
        judges = [judge_file(tmp_path, gone.url, id="gone"), judge_file(tmp_path, here.url, id="here")]
        pass_red_lines(judges[1])
        line = [word for path in judges for word in ("--judge", path)]
        code, found = told(capsys, "judge", "run", played, *line)
        checked, table = told(capsys, "judge", "check", *line)
    assert (code, found["missing"], checked) == (0, 0, 3)
    assert ["HTTP 404" in row["why_not"] for row in table["table"]] == [True, False]
    assert found["comparisons"] > 0
    assert [judge["id"] for judge in found["judges"] if "HTTP 404" in judge["why_missing"]] == ["gone@1"]
    with closing(RunStore.open(played)) as store:
        assert not no_judge_left(store, [str(path) for path in judges])
        (silent,) = [caution for caution in summarise(store).cautions if caution.code == "silent_judge"]
    assert "gone@1" in silent.text


def test_a_run_whose_judge_falls_silent_later_says_so_on_its_page(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(lambda number, right: chat(right) if number <= 130 else error(403, "no")).serving() as server:
        path = judge_file(tmp_path, server.url)
        pass_red_lines(path)
        code, found = told(capsys, "judge", "run", played, "--judge", path)
    assert (code, set(found["missing_by_kind"])) == (3, {"rejected"})
    assert "HTTP 403" in found["why_missing"]["far@1"]
    with closing(RunStore.open(played)) as store:
        assert no_judge_left(store, [str(path)])
        (judge,) = summarise(store).judges
    assert "HTTP 403" in judge.why_missing


def test_labelling_stops_and_says_why_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = tmp_path / "texts.jsonl"
    packed = load_pack("heart-mini").contexts[:8]
    texts.write_text("".join(json.dumps({"context": c.id, "system": "s", "text": c.id}) + "\n" for c in packed))
    with ModelServer(says(error(404, "The model `m` does not exist."))).serving() as server:
        code, _, said = call(capsys, "label", "strategies", texts, "--judge", judge_file(tmp_path, server.url))
    assert (code, server.asked) == (3, 1)
    assert "HTTP 404: check model (m)" in said


def test_a_judge_that_hears_says_why_it_is_silent_in_the_same_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_judge, "HearingJudge", partial(HearingJudge, first_wait_s=0.0))
    clip = Clip(0.1, lambda: wav(np.zeros(2_400, np.int16), 24_000))
    pair = DeliveryPair("c-0", make_context("c-0").turns, "flat", clip, clip)
    monkeypatch.setattr(deliveries, "delivery_pairs", lambda: [pair] * 40)
    denied = {"error": {"code": 403, "message": "No.", "status": "PERMISSION_DENIED"}}
    with ModelServer(says((403, json.dumps(denied).encode()))).serving() as server:
        path = judge_file(tmp_path, server.url, api="gemini")
        path.write_text(path.read_text() + "[audio]\n")
        code, out, _ = call(capsys, "judge", "check", "--judge", path)
    assert (code, server.asked) == (3, 1)
    assert "far@1: 1 of 1: HTTP 403: name the key's variable" in out
