"""A local model that labels by filling in a form: what it is asked, what counts of its answers, and who cannot do what."""

import hashlib
import json
import math
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness.judging.settings import load_judge_settings
from harness.labelling import form
from harness.labelling.form_labeller import FormLabeller
from harness.labelling.label_replies import every_label
from harness.models import resolve
from harness.ranking.strategies import STRATEGIES, occurs
from tests.harness.judging.conftest import call, told

MODEL = "smollm2-135m"
KIND = "No wonder you're tired."


class _Form(BaseHTTPRequestHandler):
    """llama.cpp's server with a model that sees validation in "no wonder" and quotes it, hopes in words that it makes up, says
    No to information with little conviction, and answers one reply with neither word."""

    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/apply-template":
            answer: dict[str, Any] = {"prompt": "\n".join(m["content"] for m in said["messages"]) + "\n"}
        else:
            type(self).asked.append(said["prompt"])
            answer = self._next(said["prompt"], "n_probs" in said)
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @staticmethod
    def _next(prompt: str, probabilities: bool) -> dict[str, Any]:
        reply = prompt.rpartition("Reply: ")[2]
        line = reply.rpartition("\n")[2]
        if not probabilities:
            return {"content": "you will be fine" if line.startswith("offer hope") else "No wonder"}
        if "?!" in reply:
            return {"completion_probabilities": [{"top_logprobs": [{"token": "The", "logprob": -0.1}]}]}
        sees = {"emotional validation:": 0.9 if "No wonder" in reply else 0.1, "offer hope:": 0.9, "share information:": 0.4}
        yes = sees.get(line, 0.1)
        tops = [{"token": " Yes", "logprob": math.log(yes)}, {"token": " No", "logprob": math.log(1 - yes)}]
        return {"completion_probabilities": [{"top_logprobs": tops}]}

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[Path]:
    """A judge's file for a llama.cpp server that is running."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Form)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _Form.asked.clear()
    path = tmp_path / "mine.toml"
    url = f"http://127.0.0.1:{server.server_port}"
    path.write_text(f'id = "mine"\nfamily = "mine"\nversion = "1"\napi = "local"\nbase_url = "{url}"\n')
    yield path
    server.shutdown()
    server.server_close()


def test_the_forms_that_a_model_is_shown_use_every_strategy_and_quote_their_own_reply() -> None:
    *shown, last = form.messages("Mhm.")[1:]
    assert last["content"] == 'Reply: "Mhm."'
    used = set()
    for asked, filled_in in zip(shown[::2], shown[1::2], strict=True):
        reply = json.loads(asked["content"].removeprefix("Reply: "))
        lines = [line.partition(": ")[::2] for line in filled_in["content"].splitlines()]
        assert tuple(name for name, _ in lines) == STRATEGIES
        quotes = {name: said.removeprefix('Yes, "').removesuffix('"') for name, said in lines if said != "No"}
        assert len(quotes) == 2
        assert all(occurs(quote, reply) for quote in quotes.values())
        used |= set(quotes)
    assert used == set(STRATEGIES)


def test_the_stored_figures_of_local_models_are_of_this_very_form() -> None:
    words = hashlib.sha256(json.dumps(form.messages("")).encode()).hexdigest()[:16]
    assert words == "19d194fcf0bac117", "measure local models anew (benchmarks.strategy_labels), then change this"


def test_a_strategy_is_present_only_if_it_is_probable_and_its_quotation_occurs(
    capsys: pytest.CaptureFixture[str], judge: Path, tmp_path: Path
) -> None:
    replies = tmp_path / "replies.jsonl"
    rows = [("kind", KIND), ("flat", "Buy a bicycle."), ("odd", "Pardon?!")]
    replies.write_text("".join(json.dumps({"context": _context(), "system": s, "text": t}) + "\n" for s, t in rows))
    code, found = told(capsys, "label", "strategies", replies, "--judge", judge)
    assert (code, found["replies"], found["missing"]) == (3, 2, 1), "a model that says neither Yes nor No has labelled nothing"
    labels = {(x.system, x.strategy): x for x in every_label(tmp_path / "replies.labels" / "strategies.mine@1.jsonl")}
    assert labels["kind", "emotional validation"].state == "present"
    assert labels["kind", "emotional validation"].evidence == "No wonder"
    assert labels["flat", "emotional validation"].state == "absent"
    assert labels["kind", "offer hope"].state == "uncertain", "probable, with a quotation that it made up"
    assert labels["kind", "share information"].state == "present", "probable enough for a form, where most lines say No"
    assert any("share information: No\nstress" in asked for asked in _Form.asked), "the form goes on with its own answer"
    assert labels["kind", "chit-chat"].state == "absent"
    asked_once = len(_Form.asked)
    replies.write_text("".join(replies.read_text().splitlines(keepends=True)[:2]))
    assert told(capsys, "label", "strategies", replies, "--judge", judge)[0] == 0
    assert len(_Form.asked) == asked_once, "where every reply is labelled, no model is loaded"
    before = {asked.rpartition("Reply: ")[0] for asked in _Form.asked}
    assert len(before) == 1, "whatever comes before a reply is the same in every question, and read once"


def test_a_local_model_codes_no_reasons_and_the_embedded_judge_names_who_labels(
    capsys: pytest.CaptureFixture[str], judge: Path, played: Path
) -> None:
    code, _, error = call(capsys, "label", "reasons", played, "--judge", judge)
    assert code == 2
    assert "codes no reasons, only strategies" in error
    code, _, error = call(capsys, "label", "strategies", played, "--judge", "embedded")
    assert code == 2
    assert "local:FILE.gguf" in error


@pytest.mark.long
async def test_a_real_model_fills_in_the_whole_form() -> None:
    async with FormLabeller(load_judge_settings(f"local:{MODEL}"), resolve(MODEL)) as labeller:
        first, again = await labeller.marks(KIND), await labeller.marks(KIND)
    assert tuple(first) == STRATEGIES
    assert all(0 <= mark.probability <= 1 for mark in first.values())
    assert len({mark.probability for mark in first.values()}) > 1, "one answer for everything is none"
    assert {s: m.probability for s, m in again.items()} == pytest.approx({s: m.probability for s, m in first.items()}, abs=0.02)


def _context() -> str:
    from harness.scenarios.pack import load_pack

    return load_pack("heart-mini").contexts[0].id
