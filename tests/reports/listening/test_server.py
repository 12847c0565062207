"""What the server lets a rater do, know and change, and what a crash costs."""

import base64
import io
import json
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
import soundfile

from harness.errors import UserError
from harness.figures.summary import RunSummary
from harness.reports.invited.address import Address, address_of
from harness.reports.listening.answers import VoteStore
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.people import write_human_completions
from harness.reports.listening.plan import Item
from harness.reports.listening.serve import prepare
from harness.reports.listening.serve import serve as serve_forever
from harness.store.run_store import RunStore
from tests.reports.listening.conftest import invite
from tests.reports.listening.started import started

Serve = Callable[..., Any]
TEXT = {"medium": "text", "practice": 0, "gold": 0, "attention": 0}
VOTE = {"choice": 1, "reason": "warmer"}


def test_an_answer_is_kept_once_however_often_it_is_sent(serve: Serve) -> None:
    served = serve(items=2, **TEXT)
    rater = served.begun()
    for choice in (1, -2):
        sent = rater.post("/answer", json={"position": 0, "answer": VOTE | {"choice": choice}})
        assert sent.status_code == 200, sent.text
        assert sent.json()["position"] == 1
    assert [a.answer["choice"] for a in served.votes.answers()] == [1]


def test_only_the_step_that_is_due_can_be_answered(serve: Serve) -> None:
    served = serve(items=3, **TEXT)
    rater = served.begun()
    for position in (1, 2, 99, -1, True, "0", None, 10**20):
        refused = rater.post("/answer", json={"position": position, "answer": VOTE})
        assert refused.status_code == 409, position
    assert served.votes.answers() == []


NO_ANSWERS: list[dict[str, object]] = [
    {}, {"choice": 3, "reason": "why"}, {"choice": "1", "reason": "why"}, {"choice": True, "reason": "why"},
     {"choice": 1}, {"choice": 1, "reason": "  "}, {"choice": 1, "reason": ["x"]}, {"choice": 1, "reason": "x" * 100_001},
]  # fmt: skip


def test_an_answer_that_is_not_one_is_refused(serve: Serve) -> None:
    served = serve(items=1, **TEXT)
    rater = served.begun()
    for answer in NO_ANSWERS:
        assert rater.post("/answer", json={"position": 0, "answer": answer}).status_code == 409, answer
    assert served.votes.answers() == []


def test_a_reason_of_100_kb_is_kept_whole_and_nothing_else_is_kept(serve: Serve) -> None:
    served = serve(items=1, **TEXT)
    rater = served.begun()
    reason = "<b>\u202e" * 16_000
    rater.post("/answer", json={"position": 0, "answer": {"choice": 0, "reason": reason, "role": "gold", "passed": True}})
    (answer,) = served.votes.answers()
    assert answer.answer == {"choice": 0, "reason": reason}
    assert answer.item.role == "main"


def test_sounds_must_be_fetched_and_have_had_time_to_play(serve: Serve) -> None:
    served = serve(items=1, practice=0, gold=0, attention=0, headphone_trials=0)
    rater = served.begun()
    level = rater.get("/step").json()
    assert rater.post("/answer", json={"position": 0, "answer": {}}).json()["error"] == "Please listen to everything first."
    assert rater.get(level["sounds"][0]).status_code == 200
    assert "to its end" in rater.post("/answer", json={"position": 0, "answer": {}}).json()["error"]
    time.sleep(4)
    assert rater.post("/answer", json={"position": 0, "answer": {}}).status_code == 200


def test_no_rater_reads_or_changes_anothers_answers(serve: Serve) -> None:
    served = serve(items=1, practice=0, gold=0, attention=0, headphone_trials=0)
    one, other = served.begun(), served.begun()
    address = one.get("/step").json()["sounds"][0]
    assert one.get(address).status_code == 200
    assert other.get(address).status_code == 404
    assert served.client().get(address).status_code == 401
    stranger = httpx2.Client(base_url=served.address, cookies={"listener": "guessed"})
    assert stranger.get("/step").json() == {"kind": "welcome"}
    assert stranger.post("/answer", json={"position": 0, "answer": {}}).status_code == 401
    assert stranger.post("/leave", json={}).status_code == 401


def test_nothing_tells_which_system_is_which(serve: Serve) -> None:
    served = serve(contexts=6, items=4, practice=1, gold=1, attention=1, headphone_trials=1)
    rater = served.begun()
    everything = json.dumps(rater.get("/step").json())
    (known,) = served.votes.raters()
    headers: set[tuple[str, ...]] = set()
    for position, item in enumerate(known.plan):
        step = rater.get("/step").json()
        everything += json.dumps(step)
        assert set(step) <= {
            "kind", "position", "total", "practice", "sounds", "history", "caller", "replies", "choices", "scales",
            "reason_characters", "draft", *(["instruction"] if item.role == "headphones" else []),
        }  # fmt: skip
        assert re.fullmatch(r"[0-9a-f]{40}", step.get("draft", "0" * 40))
        for address in [*step.get("sounds", []), step.get("caller"), *(r["sound"] for r in step.get("replies", []))]:
            if address:
                assert re.fullmatch(r"/sound/[0-9a-f]{40}", address)
                reply = rater.get(address)
                headers.add(tuple(sorted(set(reply.headers) - {"content-length", "date"})))
                sound = soundfile.info(io.BytesIO(reply.content))
                assert sound.samplerate == 24_000
                assert sound.channels == (2 if item.role == "headphones" else 1)
                assert not re.search(rb"quick|slow|talk-\d", reply.content)
                everything += str(dict(reply.headers))
        # Answered behind the page's back: this test is about what is shown, not about how long it takes.
        served.votes.answer(known, position, {}, True if item.role == "headphones" else None, 1.0)
    assert len(headers) == 1
    assert "last-modified" not in str(headers)
    assert "etag" not in str(headers)
    for secret in ("quick", "slow", "talk-", "gold", "attention", "expected", "gap_ms", "degraded"):
        assert secret not in everything


def test_a_check_is_sent_and_answered_as_any_other_item(serve: Serve) -> None:
    served = serve(contexts=8, medium="text", items=4, practice=0, gold=2, attention=1)
    rater = served.begun()
    (known,) = served.votes.raters()
    shapes: dict[str, set[str]] = {"main": set(), "gold": set()}
    for position, item in enumerate(known.plan):
        step = rater.get("/step")
        sent = rater.post("/answer", json={"position": position, "answer": VOTE})
        if item.role in shapes:
            asked, taken = (
                re.sub(r'"(history|text|draft)": ?("[^"]*"|\[\[.*?\]\])', "", json.dumps(r.json())) for r in (step, sent)
            )
            shapes[item.role] |= {re.sub(r"\d+", "N", asked), *(sorted(sent.json()) if position < len(known.plan) - 1 else ())}
            assert sorted(set(step.headers) ^ set(sent.headers)) == []
            assert not re.search("check|atten|gold|correct", asked + taken)
    assert shapes["gold"] == shapes["main"]
    passed = [answer.passed for answer in served.votes.answers() if answer.item.role == "gold"]
    assert len(passed) == 2
    assert None not in passed


def test_a_plan_of_an_older_version_tells_nobody_what_to_choose_any_more(serve: Serve) -> None:
    served = serve(contexts=2, **TEXT)
    slots = [{"context": "talk-0", "system": name} for name in ("quick", "slow")]
    old = [
        {"role": "main", "context": "talk-0", "slots": slots},
        {"role": "attention", "context": "talk-0", "slots": slots, "expected": 2, "instruction": "This one is a check."},
    ]
    served.votes.begin("s" * 30, "rater", served.design.model_dump_json(), [Item.model_validate(item) for item in old])
    rater = httpx2.Client(base_url=served.address, timeout=20, cookies={"listener": "s" * 30})
    assert rater.post("/answer", json={"position": 0, "answer": VOTE}).json()["kind"] == "break"
    assert "check" not in rater.get("/step").text
    assert rater.post("/answer", json={"position": 1, "answer": {}}).json()["kind"] == "done"
    assert [answer.passed for answer in served.votes.answers()] == [None, None]


def test_addresses_of_one_rater_are_not_those_of_another(serve: Serve) -> None:
    served = serve(items=1, practice=0, gold=0, attention=0, headphone_trials=0)
    assert served.begun().get("/step").json()["sounds"] != served.begun().get("/step").json()["sounds"]


def test_another_site_can_neither_send_an_answer_nor_read_one(serve: Serve) -> None:
    served = serve(items=1, **TEXT)
    rater = served.begun()
    as_form = rater.post("/answer", content=json.dumps({"position": 0, "answer": VOTE}), headers={"content-type": "text/plain"})
    assert as_form.status_code == 400
    cookie = served.client().post("/begin", json={"consent": True}).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    headers = rater.get("/").headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "server" not in headers


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b"[" * 100_000, b"\xff\xfe", b'{"position": 0, "answer": []}', b"x" * 500_000]
)
def test_garbage_is_refused_and_breaks_nothing(serve: Serve, body: bytes) -> None:
    served = serve(items=1, **TEXT)
    rater = served.begun()
    assert rater.post("/answer", content=body, headers={"content-type": "application/json"}).status_code == 400
    assert rater.get("/step").json()["kind"] == "pair"


def test_nobody_begins_without_agreeing(serve: Serve) -> None:
    served = serve(items=1, **TEXT)
    assert served.client().post("/begin", json={"consent": "yes"}).status_code == 400
    assert served.votes.raters() == []


def test_a_public_test_lets_in_tokens_alone_and_each_finds_its_session_again(serve: Serve) -> None:
    served = serve(items=2, public=True, **TEXT)
    stranger = served.client()
    assert stranger.get("/").status_code == 403
    assert stranger.post("/begin", json={"consent": True}).status_code == 403
    assert stranger.get("/invitation/wrong").status_code == 403
    (link,) = invite(served.votes, 1)
    first, second = served.client(), served.client()
    assert first.get(link.path).status_code == 303
    assert first.post("/begin", json={"consent": True}).status_code == 200
    first.post("/answer", json={"position": 0, "answer": VOTE})
    second.get(link.path)
    assert second.get("/step").json()["position"] == 1
    assert first.get("/collect/next").status_code == 403


def test_a_contributor_gives_each_conversation_one_reply_of_their_own(serve: Serve) -> None:
    served = serve(contexts=2)
    person = served.begun("collect")
    due = person.get("/collect/next").json()
    reply = {"context": due["context"], "text": "That sounds lonely. Who was there?", "no_help": True}
    assert person.post("/collect/reply", json=reply | {"no_help": False}).status_code == 409
    assert person.post("/collect/reply", json=reply | {"text": "word " * 200}).status_code == 409
    assert person.post("/collect/reply", json=reply | {"context": "talk-1", "text": "x"}).status_code == 409
    assert person.post("/collect/reply", json=reply | {"audio": "not base64!"}).status_code == 409
    assert person.post("/collect/reply", json=reply).json()["context"] != due["context"]
    assert person.post("/collect/reply", json=reply).status_code == 409
    assert [row["context"] for row in served.votes.completions()] == [due["context"]]


def test_three_people_cover_a_conversation_and_no_silence_is_a_reply(serve: Serve) -> None:
    served = serve(contexts=1)
    out = io.BytesIO()
    soundfile.write(out, np.zeros(48_000, np.float32), 24_000, format="WAV")
    silent = base64.b64encode(out.getvalue()).decode()
    for number in range(4):
        person = served.begun("collect")
        due = person.get("/collect/next").json()
        if number == 3:
            assert due["kind"] == "done"
            break
        reply = {"context": due["context"], "no_help": True}
        assert "silent" in person.post("/collect/reply", json=reply | {"audio": silent}).json()["error"]
        assert person.post("/collect/reply", json=reply | {"text": "I am here, go on."}).json()["kind"] == "done"
    assert len(served.votes.completions()) == 3


def test_who_rates_is_never_asked_to_answer_the_same_conversation(serve: Serve) -> None:
    served = serve(contexts=3, items=3, **TEXT)
    rater = served.begun()
    assert rater.get("/collect/next").json()["kind"] == "done"


def test_a_test_open_to_others_must_be_called_public(played: Callable[..., tuple[RunStore, RunSummary]]) -> None:
    store, _ = played()
    with pytest.raises(UserError, match="add --public"):
        serve_forever(store, ListeningDesign(), address_of(host="0.0.0.0"))


def test_replies_to_different_conversations_are_not_compared(
    played: Callable[..., tuple[RunStore, RunSummary]],
) -> None:
    store, _ = played()
    store.set_manifest(store.manifest.model_copy(update={"mode": "replay"}))
    with pytest.raises(UserError, match="--mode seeded"):
        serve_forever(store, ListeningDesign(), Address())


def test_a_run_with_one_agent_is_offered_what_it_can_be_asked(played: Callable[..., tuple[RunStore, RunSummary]]) -> None:
    store, _ = played()
    for session in store.sessions():
        if session.key.agent == "slow":
            (session.folder / "agent.flac").unlink()
    with pytest.raises(UserError, match=r"only one agent answered.*--design acr.*--medium text"):
        prepare(store, ListeningDesign())
    for design in (ListeningDesign(kind="acr"), ListeningDesign(medium="text")):
        votes, material = prepare(store, design)
        votes.close()
        assert material.conversations


SERVER = """
import sys
from pathlib import Path
from harness.store.run_store import RunStore
from harness.reports.listening.design import ListeningDesign
from harness.reports.invited.address import Address, address_of
from harness.reports.listening.serve import serve
design = ListeningDesign(medium="text", practice=0, gold=0, attention=0)
serve(RunStore.open(Path(sys.argv[1])), design, address_of(port=int(sys.argv[2])))
"""


def test_kill_nine_loses_no_answer_that_was_acknowledged(
    played: Callable[..., tuple[RunStore, RunSummary]],
) -> None:
    store, _ = played(contexts=6)
    command = (sys.executable, "-c", SERVER, str(store.folder))
    with started(*command, "0") as (server, url):
        rater = httpx2.Client(base_url=url, timeout=20)
        rater.post("/begin", json={"consent": True})
        for position in range(3):
            assert rater.post("/answer", json={"position": position, "answer": VOTE}).status_code == 200
        server.send_signal(signal.SIGKILL)
        server.wait()
        with pytest.raises(httpx2.TransportError):
            rater.post("/answer", json={"position": 3, "answer": VOTE})
    with started(*command, url.rsplit(":", 1)[1].strip("/")) as (_, again):
        assert again == url, "people go on at the address that they have"
        rater = httpx2.Client(base_url=url, timeout=20, cookies=rater.cookies)
        assert rater.get("/step").json()["position"] == 3
        assert rater.post("/answer", json={"position": 3, "answer": VOTE}).json()["position"] == 4
    votes = VoteStore(store.folder / "listening" / "ab-text-without")
    assert [a.position for a in votes.answers()] == [0, 1, 2, 3]
    votes.close()


def test_peoples_replies_become_completions_on_file(serve: Serve, tmp_path: Path) -> None:
    served = serve(contexts=2)
    person = served.begun("collect")
    due = person.get("/collect/next").json()
    out = io.BytesIO()
    soundfile.write(out, np.random.default_rng(1).normal(0, 0.1, 48_000).astype(np.float32), 24_000, format="WAV")
    spoken = {"context": due["context"], "no_help": True, "audio": base64.b64encode(out.getvalue()).decode()}
    due = person.post("/collect/reply", json=spoken).json()
    person.post("/collect/reply", json={"context": due["context"], "no_help": True, "text": "I am here, go on."})
    path = write_human_completions(served.store, tmp_path)
    assert path is not None
    first, second = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    assert first["system"] == second["system"]
    assert re.fullmatch("human:p[0-9a-f]{6}", first["system"])
    assert soundfile.info(served.store.folder / first["audio"]).duration == pytest.approx(2.0, abs=0.01)
    assert second == {"context": due["context"], "system": first["system"], "text": "I am here, go on."}
