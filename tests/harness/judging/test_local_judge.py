"""A language model on this machine as judge: a real model under a real llama.cpp server, and every file that is none."""

import json
import math
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness.errors import UserError
from harness.judging import single_token as letters
from harness.judging.cache import VerdictCache, ask_both
from harness.judging.judge import Question
from harness.judging.load_judge import open_judge
from harness.judging.settings import load_judge_settings
from harness.models import resolve
from harness.scenarios.context import Turn
from tests.harness.conftest import Finished
from tests.http_serving import Handler, serving

MODEL = "smollm2-135m"
TURNS = (
    Turn(role="seeker", text="My sister has not answered my calls since the funeral, and I keep thinking it is my fault."),
    Turn(role="supporter", text="That silence must weigh a lot. What happened when you last spoke?"),
    Turn(role="seeker", text="I told her she should have come to the hospital sooner. I wish that I could take it back."),
)
KIND = "You were both hurting that day. What would you want her to know?"
FLAT = "Buy a bicycle."
OTHER = "It sounds as if you miss her."


@pytest.fixture(scope="module")
def model() -> Path:
    return resolve(MODEL)


@pytest.mark.long
async def test_a_real_model_gives_the_same_verdict_whichever_reply_stands_first_and_reads_a_conversation_once(
    model: Path,
) -> None:
    question = Question(TURNS, KIND, FLAT)
    async with open_judge(f"local:{MODEL}", {MODEL: model}) as judge:
        forward, backward = await judge.compare(question), await judge.compare(question.swapped())
        later = await judge.compare(Question(TURNS, OTHER, FLAT))
    assert forward.log_odds is not None
    assert backward.log_odds is not None
    assert math.isfinite(forward.log_odds)
    assert forward.log_odds == -backward.log_odds
    assert forward.winner != backward.winner
    assert {axis: mark.winner for axis, mark in forward.axes.items()} == {
        axis: "second" if mark.winner == "first" else "first" for axis, mark in backward.axes.items()
    }
    assert (forward.strength, backward.strength) == (1, 1), "a strength that nothing has calibrated"
    assert later.tokens_in < forward.tokens_in, "the conversation was read anew for its second pair"
    in_full = len(letters.QUESTIONS) * 2 * len(letters.message(question, letters.OVERALL)) / 4
    assert forward.tokens_in < in_full / 2, "twelve questions cost twelve readings"


def test_letters_are_read_from_probabilities_and_a_model_without_them_is_no_judge() -> None:
    def told(*top: tuple[str, float]) -> dict[str, Any]:
        return {"completion_probabilities": [{"top_logprobs": [{"token": t, "logprob": p} for t, p in top]}]}

    assert letters.log_odds(told(("A", math.log(0.6)), (" A", math.log(0.1)), ("B", math.log(0.1)))) == pytest.approx(
        math.log(7)
    )
    assert letters.log_odds(told(("A", -1.0), ("x", -5.0))) == pytest.approx(4.0), "no more than the least likely listed"
    assert letters.both_orders(1.0, 1.0) == 0.0, "a lean on the place alone"
    with pytest.raises(letters.NoLetter):
        letters.log_odds(told(("The", -0.1)))
    with pytest.raises(letters.NoProbabilities):
        letters.log_odds({"content": "A"})


def _gguf(*entries: tuple[str, str]) -> bytes:
    packed = b"".join(
        struct.pack("<Q", len(k)) + k.encode() + struct.pack("<I", 8) + struct.pack("<Q", len(v)) + v.encode()
        for k, v in entries
    )
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) + packed


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("absent.gguf", None, "there is no such file; give the path"),
        ("model.bin", b"GGUF", "no such model; name one of smollm2-135m"),
        ("text.gguf", b"Hello, I am no model.", "is no GGUF file"),
        ("empty.gguf", b"", "cannot be read"),
        ("base.gguf", _gguf(("general.name", "base")), "is no chat model"),
    ],
)
def test_a_file_that_is_no_chat_model_is_named_before_anything_is_loaded(
    tmp_path: Path, name: str, content: bytes | None, told: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=told) as error:
        load_judge_settings(f"local:{path}")
    assert "\n" not in str(error.value)


def test_a_model_that_was_cut_off_is_one_line_at_the_terminal(
    tmp_path: Path, model: Path, harness_here: Callable[..., Finished]
) -> None:
    cut = tmp_path / "cut.gguf"
    with model.open("rb") as whole:
        cut.write_bytes(whole.read(model.stat().st_size // 2))
    done = harness_here("judge", "check", "--judge", f"local:{cut}")
    assert done.code == 2
    assert "cannot be loaded: damaged" in done.err
    assert "fetch the file again" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (("--judge", "local"), "needs --model"),
        (("--model", "x.gguf"), "is for --judge local"),
        (("--judge", "local", "--model", "x.gguf"), "there is no such file"),
    ],
)
def test_a_line_that_cannot_be_is_refused(harness_here: Callable[..., Finished], line: tuple[str, ...], told: str) -> None:
    done = harness_here("judge", "check", *line)
    assert (done.code, "Traceback" in done.err) == (2, False)
    assert told in done.err


class _NoProbabilities(Handler):
    def do_POST(self) -> None:
        self.asked()
        self.answer(200, {"prompt": "p"} if self.path == "/apply-template" else {"content": "A"})


@pytest.fixture
def server_without_probabilities() -> Iterator[str]:
    with serving(_NoProbabilities) as url:
        yield url


class _Letters(Handler):
    """A server that prefers the reply in place A where that is the kind one, and counts what it is asked."""

    prompts: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        said = self.asked()
        if self.path == "/apply-template":
            answer: dict[str, Any] = {"prompt": said["messages"][0]["content"]}
        else:
            self.prompts.append(said["prompt"])
            of_a = 0.9 if f"reply_A: {json.dumps(KIND)}" in said["prompt"] else 0.4
            tops = [{"token": "A", "logprob": math.log(of_a)}, {"token": "B", "logprob": math.log(1 - of_a)}]
            answer = {"completion_probabilities": [{"top_logprobs": tops}]}
        self.answer(200, answer)


async def test_where_only_the_whole_counts_the_axes_are_not_paid_for(tmp_path: Path) -> None:
    with serving(_Letters) as url, VerdictCache() as cache:
        async with open_judge(_toml(tmp_path / "a.toml", url)) as judge:
            _Letters.prompts.clear()
            (forward, _), (backward, _) = await ask_both(judge, Question(TURNS, KIND, FLAT), cache)
            checked = len(_Letters.prompts)
            full = await judge.compare(Question(TURNS, KIND, FLAT))
    assert checked == 2, "a check asks for the whole alone, once in either order"
    assert len(_Letters.prompts) == checked + 2 * len(letters.QUESTIONS)
    assert (forward.winner, backward.winner, forward.axes) == ("first", "second", {})
    assert (full.winner, full.log_odds, len(full.axes)) == (forward.winner, forward.log_odds, 0)


def _toml(path: Path, url: str) -> str:
    path.write_text(f'id = "mine"\nfamily = "mine"\nversion = "1"\napi = "local"\nbase_url = "{url}"\nattempts = 1\n')
    return str(path)


async def test_a_server_without_token_probabilities_is_named_and_one_that_is_not_there_too(
    tmp_path: Path, server_without_probabilities: str
) -> None:
    with pytest.raises(UserError, match=r"gives no token probabilities; ask llama\.cpp's own server"):
        async with open_judge(_toml(tmp_path / "a.toml", server_without_probabilities)):
            pass
    with pytest.raises(UserError, match=r"start a llama\.cpp server at http://127\.0\.0\.1:9"):
        async with open_judge(_toml(tmp_path / "b.toml", "http://127.0.0.1:9")):
            pass
