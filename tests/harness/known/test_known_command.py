"""`harness known`: what it prints, writes and refuses, each refusal in one sentence."""

import asyncio
import contextlib
import csv
import json
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import connect

from harness.known.truth import COLUMNS, TurnTruth, read_truth, write_truth
from tests.harness.conftest import Finished

TRUTHS = (
    TurnTruth("a", "fixed", "live", 1, 2.0, 300.0, 300.0, 300.0),
    TurnTruth("b", "click", "live", 1, 2.0, 150.0, 800.0, 800.0),
    TurnTruth("c", "no-reply", "live", 1, 2.0),
)


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    write_truth(tmp_path / "truth.csv", TRUTHS)
    (tmp_path / "theirs.csv").write_text("call,turn,figure,ms\na,1,speech,310\nb,1,speech,150\nc,1,speech,90\n")
    return tmp_path / "truth.csv"


def test_a_score_is_a_table_by_behaviour_and_one_object(
    truth: Path, harness_here: Callable[..., Finished], tmp_path: Path
) -> None:
    asked = ("known", "score", tmp_path / "theirs.csv", "--truth", truth)
    shown = harness_here(*asked, "--picture", tmp_path / "errors.svg")
    rows = {cells[0]: cells[1:] for line in shown.out.splitlines() if len(cells := line.split()) == 8}
    assert rows["fixed"] == ["1", "10.0", "10.0", "—", "10.0", "0", "0"]
    assert rows["click"] == ["1", "−650.0", "650.0", "—", "650.0", "0", "0"]
    assert rows["no-reply"][-2:] == ["0", "1"]
    assert "Not reported, so not counted: sound, answer" in shown.out
    assert (tmp_path / "errors.svg").read_text().startswith("<svg")
    of_all = harness_here(*asked, "--json").json["rows"][0]
    assert (of_all["figure"], of_all["turns"], of_all["invented"]) == ("speech", 3, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("serve --wire raw-pcn", "--wire raw-pcn: is none; did you mean raw-pcm?"),
        ("serve --behaviour clik", "--behaviour clik: is no behaviour; did you mean click?"),
        ("serve --at nowhere", "--at nowhere: is no address; write HOST:PORT"),
        ("serve --at 127.0.0.1:{taken}", "cannot be listened at (Address already in use); name another, or port 0"),
        ("serve --truth none/truth.csv", "--truth none/truth.csv: cannot be written; name a file in a folder that exists"),
        ("serve --at no.such.host.invalid:0", "--at no.such.host.invalid:0: cannot be listened at ("),
        ("score theirs.csv --truth theirs.csv", "theirs.csv: is no table of true figures"),
        ("calls --out .", "--out .: has files already; name a new folder"),
        ("calls --out x --seed -1", "--seed -1: must be 0 or more"),
        ("score truth.csv --picture errors.gif", "--picture errors.gif: give a name that ends in .svg or .png"),
    ],
)
def test_a_refusal_is_one_sentence(
    words: str, said: str, truth: Path, harness_here: Callable[..., Finished], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(truth.parent)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = harness_here("known", *words.format(taken=taken.getsockname()[1]).split())
    assert done.code == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_every_behaviour_is_defined_in_a_sentence(harness_here: Callable[..., Finished]) -> None:
    shown = harness_here("known", "serve", "--behaviour", "list").out.splitlines()
    assert len(shown) > 20
    assert all(line.endswith(".") and len(line) < 128 for line in shown)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
async def test_ctrl_c_writes_the_truth_of_calls_that_are_open(stop: signal.Signals, tmp_path: Path) -> None:
    truth = tmp_path / "truth.csv"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "harness", "known", "serve", "--truth", str(truth), "--json", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    url = json.loads(await process.stdout.readline())["url"]
    async with connect(f"{url}fixed-100?call=seven") as socket_:
        await socket_.send(json.dumps({"type": "start", "sample_rate": 16_000}))
        await socket_.send((b"\x00\x10" * 320 + b"\x00\xf0" * 320) * 5)
        async for line in process.stdout:
            if json.loads(line)["event"] == "answer":
                break
        process.send_signal(stop)
        with contextlib.suppress(Exception):
            await asyncio.wait_for(socket_.wait_closed(), 10)
    assert await asyncio.wait_for(process.wait(), 10) == 0
    with truth.open(newline="") as file:
        head, *rows = list(csv.reader(file))
    assert (tuple(head), [row[:2] for row in rows]) == (COLUMNS, [["seven", "fixed"]])


async def test_a_server_in_writing_is_stopped_in_mid_reply_without_a_word(tmp_path: Path) -> None:
    truth = tmp_path / "truth.csv"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "harness", "known", "serve", "--wire", "text", "--truth", str(truth), "--json",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    url = urlsplit(json.loads(await process.stdout.readline())["url"])
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    writer.write(b"POST /fixed-100/v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
    await asyncio.wait_for(reader.readuntil(b'"content"'), 60)
    process.send_signal(signal.SIGINT)
    _, said = await asyncio.wait_for(process.communicate(), 60)
    writer.close()
    assert (process.returncode, said) == (0, b"")
    assert [turn.behaviour for turn in read_truth(truth)] == ["fixed"]


async def test_a_server_without_calls_leaves_no_truth_of_others(truth: Path, harness_here: Callable[..., Finished]) -> None:
    command = (sys.executable, "-m", "harness", "known", "serve", "--truth", str(truth), "--json")
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    assert json.loads(await process.stdout.readline())["event"] == "ready"
    process.send_signal(signal.SIGINT)
    assert await asyncio.wait_for(process.wait(), 60) == 0
    assert read_truth(truth) == []
    theirs = truth.with_name("theirs.csv")
    theirs.write_text("call,turn,figure,ms\na,1,speech,300\n")
    said = harness_here("known", "score", theirs, "--truth", truth)
    assert said.code == 2
    assert "the truth has no calls: call an agent" in said.err
