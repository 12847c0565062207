"""`harness doctor RUN --leaks`: what is planted in a run's files is found and named, and an ordinary run is clean."""

import base64
import gzip
import json
import shutil
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harness.agents import secrets
from harness.doctor.leaks import leaks
from tests.harness.conftest import Finished

Command = Callable[..., Finished]
RUN = Path("tests/harness/store/layout_1/one-condition")
SECRET = "Qz7leak/9+aB4x7"
ISSUED = "ghp_" + "zyxwvutsrqponmlkjihg"
PASSWORD = "MYSQL_PWD=opensesame"


@pytest.fixture(autouse=True)
def nothing_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests of this process planted is no secret here."""
    monkeypatch.setattr(secrets, "_current", secrets.Redactor())


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RUN, tmp_path / "run"))


def in_log(run: Path, words: str) -> str:
    (run / "logs").mkdir(exist_ok=True)
    (run / "logs" / "bot.log").write_text(f"one\ntwo {words}\n")
    return "logs/bot.log, line 2:"


def in_json(run: Path, words: str) -> str:
    (run / "summary.json").write_text(json.dumps({"told": words}))
    return "summary.json, line 1:"


def in_database(run: Path, words: str) -> str:
    with closing(sqlite3.connect(run / "run.sqlite")) as database, database:
        database.execute("UPDATE sessions SET failure_detail = ? WHERE rowid = 1", (words,))
    return "run.sqlite, table sessions, row 1, column failure_detail:"


def in_wave(run: Path, words: str) -> str:
    note = b"ICMT" + struct.pack("<I", len(words.encode())) + words.encode() + b"\0" * (len(words.encode()) % 2)
    chunks = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16) + b"data" + struct.pack("<I", 2) + b"\0\0"
    chunks += b"LIST" + struct.pack("<I", 4 + len(note)) + b"INFO" + note
    (run / "voice.wav").write_bytes(b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks)
    return "voice.wav, its metadata:"


def in_flac(run: Path, words: str) -> str:
    comment = f"COMMENT={words}".encode()
    body = struct.pack("<I", 0) + struct.pack("<I", 1) + struct.pack("<I", len(comment)) + comment
    blocks = b"\x00" + (34).to_bytes(3, "big") + bytes(34) + b"\x84" + len(body).to_bytes(3, "big") + body
    (run / "voice.flac").write_bytes(b"fLaC" + blocks)
    return "voice.flac, its metadata:"


def in_page(run: Path, words: str) -> str:
    (run / "report.html").write_text(f"<html>\n<p>{words}</p>")
    return "report.html, line 2:"


def in_packed_page(run: Path, words: str) -> str:
    packed = base64.b64encode(gzip.compress(words.encode())).decode()
    (run / "report.html").write_text(f"<script>{packed}</script>")
    return "report.html, packed block 1:"


def in_binary(run: Path, words: str) -> str:
    (run / "sound.npz").write_bytes(b"PK\0\0" + words.encode() + b"\0")
    return "sound.npz, its bytes:"


PLACES = [in_log, in_json, in_database, in_wave, in_flac, in_page, in_packed_page, in_binary]


def named(run: Path, **environment: str) -> list[tuple[str, str]]:
    return [(f"{leak.file}, {leak.place}:", leak.what) for leak in leaks(run, environment)]


@pytest.mark.parametrize("plant", PLACES, ids=lambda plant: plant.__name__)
def test_a_planted_secret_is_found_by_its_place(run: Path, plant: Callable[..., str]) -> None:
    where = plant(run, f"the key is {SECRET} and the other {ISSUED}")
    found = named(run, SOME_API_KEY=SECRET)
    assert found == [(where, "the value of SOME_API_KEY"), (where, "a key with the prefix of an issuer")]


@pytest.mark.parametrize("plant", [in_log, in_json, in_database, in_wave, in_flac], ids=lambda plant: plant.__name__)
@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (PASSWORD, "behind the name of a secret"),
        ("GET wss://me:abc@host/ws", "of an address"),
        ("sent aB3xK9mQ7zW2pL5vN8rT", "too random"),
    ],
)
def test_what_nobody_knows_is_found_by_its_place_or_shape(run: Path, plant: Callable[..., str], words: str, kind: str) -> None:
    where = plant(run, words)
    ((place, what),) = named(run)
    assert place == where
    assert kind in what


def test_a_secret_of_a_profile_that_still_lies_there_is_found(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(f'kind = "twilio"\nurl = "ws://h/ws"\nparameters = {{ account = "{SECRET}" }}\n')
    with closing(sqlite3.connect(run / "run.sqlite")) as database, database:
        manifest = json.loads(next(database.execute("SELECT json FROM manifest"))[0])
        manifest["agents"][0]["source"] = str(tmp_path / "mine.toml")
        database.execute("UPDATE manifest SET json = ?", (json.dumps(manifest),))
    where = in_page(run, SECRET)
    assert (where, "a secret of a profile or of a call") in named(run)


def test_an_ordinary_run_is_clean_and_looking_changes_nothing(run: Path) -> None:
    in_log(run, "INFO 2026-11-24T19:46:31.561123 served by OpenAITTSService#0 550e8400-e29b-41d4-a716-446655440000")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert named(run) == []
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_the_command_names_places_and_no_secret(run: Path, harness_virtual: Command) -> None:
    in_log(run, f"the key is {SECRET} and the other {ISSUED}")
    done = harness_virtual("doctor", run, "--leaks", SOME_API_KEY=SECRET)
    assert done.code == 1
    assert done.out.splitlines() == [
        f"{run}/logs/bot.log, line 2: the value of SOME_API_KEY",
        f"{run}/logs/bot.log, line 2: a key with the prefix of an issuer",
        "2 places to check before this run is shared.",
    ]
    assert json.loads(harness_virtual("doctor", run, "--leaks", "--json").out)["clean"] is False


def test_what_is_no_run_and_half_an_order_are_refused(harness_virtual: Command, tmp_path: Path) -> None:
    for words in ((tmp_path, "--leaks"), ("--leaks",)):
        done = harness_virtual("doctor", *words)
        assert done.code == 2
        assert len(done.err.splitlines()) == 1
