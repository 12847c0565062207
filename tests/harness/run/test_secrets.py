"""Keys are planted in every door of a run, and looked for in all that it leaves behind and says. Found: none."""

import base64
import gzip
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import pytest

from harness.agents.profile_plain import hidden
from harness.store.run_store import RunStore
from tests.harness.conftest import PEERS, Finished
from tests.harness.judging.model_server import chat, verdict
from tests.http_serving import Handler, serving

Command = Callable[..., Finished]

DOORS = (
    "command", "flag", "env", "bearer", "environment", "password", "query", "parameter", "comment", "named", "judge", "extra",
    "voice", "header", "otlp",
)  # fmt: skip
WORDS = {"password flag": "opensesamea", "user": "opensesameb", "DB_PASS": "opensesamec", "MYSQL_PWD": "opensesamed",
    "GITHUB_PAT": "opensesamee", "profile": "opensesamef", "pin": "opensesameg"}  # fmt: skip
"""Passwords that are words: nothing but their place shows what they are."""
MET = "ghp_" + "zyxwvutsrqponmlkjihg"
"""In the hands of the agent alone; nothing but its shape shows what it is."""


class Telltale(Handler):
    """An endpoint that repeats the key it was given: in errors to who asks for a reply, in its reasons to who asks to judge."""

    keys: ClassVar[set[str]] = set()

    def do_POST(self) -> None:
        asked = self.asked()
        key = (self.headers["Authorization"] or "").removeprefix("Bearer ")
        self.keys.add(key)
        if asked["model"] == "writer":
            self.answer(401, {"error": {"message": f"Incorrect API key provided: {key}. Authorization: Bearer {key}"}})
        elif asked["model"] == "broken":
            self.answer(*chat(json.dumps({"winner": key, "strength": 3})))
        else:
            self.answer(*chat(verdict(asked, f"I used {key}.")))


@pytest.fixture
def telltale() -> Iterator[str]:
    with serving(Telltale) as url:
        yield f"{url}/v1"


def key(door: str) -> str:
    """Something to find: no prefix that anybody knows, and characters that addresses and JSON write differently."""
    return f"Qz7{door}/9+aB4x{len(door)}"


def forms(secret: str) -> set[str]:
    found = {secret, quote(secret), quote(secret, safe=""), json.dumps(secret)[1:-1]}
    return found | {base64.b64encode(secret.encode()).decode().rstrip("="), secret[: len(secret) - 3]}


def all_that_is_left(folder: Path) -> dict[str, str]:
    """Every file of a run as text, with databases row by row (a page's end cuts a value) and the page's blocks unpacked."""
    found = {}
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        raw = path.read_bytes()
        found[str(path)] = raw.decode("utf-8", "replace")
        if path.suffix == ".sqlite":
            with closing(sqlite3.connect(path)) as database:
                found[f"{path} dumped"] = "\n".join(database.iterdump())
        for n, packed in enumerate(re.findall(rb"H4sI[A-Za-z0-9+/=]{20,}", raw)):
            found[f"{path} block {n}"] = gzip.decompress(base64.b64decode(packed)).decode("utf-8", "replace")
    return found


def hits(texts: dict[str, str], secrets: dict[str, str]) -> list[str]:
    return [
        f"{door} in {where}: …{text[max(0, text.index(form) - 40) : text.index(form) + 40]}…"
        for where, text in texts.items()
        for door, secret in secrets.items()
        for form in forms(secret)
        if form in text
    ]


def test_no_key_of_any_door_is_left_or_shown(harness_virtual: Command, pack: Path, tmp_path: Path, telltale: str) -> None:
    secrets = {door: key(door) for door in DOORS} | WORDS | {"met": MET}
    process = (
        f'[process]\nready_timeout_s = 60\nenv = {{ AUTH = "Bearer {key("bearer")}", DB_PASS = "{WORDS["profile"]}",'
        f' MODE = "test", PIN = "{WORDS["pin"]}" }}\n'
    )
    command = (
        '["sh", "-c", "exec {python} %s --ending %s --api-key \'%s\' --met %s --password=%s -u me:%s --pin %s # X-Api-Key: %s"]'
    )
    for ending in ("answers", "crashes"):
        words = command % (
            PEERS / "leaks.py", ending, key("command"), MET, WORDS["password flag"], WORDS["user"], WORDS["pin"], key("flag"),
        )  # fmt: skip
        (tmp_path / f"{ending}.toml").write_text(
            f'# api_key = "{key("comment")}"\nkind = "raw-pcm"\naccepts_history = true\ngreets = false\n'
            f"{process}command = {words}\n"
        )
    (tmp_path / "away.toml").write_text(
        'kind = "twilio"\n'
        f'url = "ws://caller:{quote(key("password"), safe="")}@127.0.0.1:9/media?token={quote(key("query"), safe="")}"\n'
        f'parameters = {{ language = "en", account = "{key("parameter")}" }}\n'
    )
    (tmp_path / "writer.toml").write_text(
        f'kind = "text"\nmodel = "writer"\nbase_url = "{telltale}"\napi_key_env = "WRITERS"\ntimeout_s = 20\n'
    )
    judge = f'family = "none"\nversion = "1"\nbase_url = "{telltale}"\nkey_env = "JUDGES"\nattempts = 1\n'
    for name in ("fair", "broken"):
        extra = f'id = "{name}"\nmodel = "{name}"\n{judge}\n[extra]\nsession_token = "{key("extra")}"\n'
        (tmp_path / f"{name}-judge.toml").write_text(extra)
    (tmp_path / "voices.toml").write_text(
        '[anna]\nservice = "pipecat.services.openai.tts.OpenAITTSService"\n'
        f'arguments = {{ api_key = "{key("voice")}", headers = {{ X-Account = "{key("header")}" }} }}\n'
    )
    environment = {
        "PLANTED_API_KEY": key("environment"),
        "WRITERS": key("named"),
        "JUDGES": key("judge"),
        "HEART_VOICES": str(tmp_path / "voices.toml"),
        "MYSQL_PWD": WORDS["MYSQL_PWD"],
        "GITHUB_PAT": WORDS["GITHUB_PAT"],
        "OTHER_DB_PASS": WORDS["DB_PASS"],
        "OTEL_EXPORTER_OTLP_HEADERS": f"x-tenant=a,x-api-key={quote(key('otlp'), safe='')}",
        "TRACKER": f"https://me:{quote(key('env'), safe='')}@tracker.example.org/1",
    }

    def run(out: str, *arguments: object) -> Finished:
        done = harness_virtual("run", "--pack", pack, "--limit", 1, "--out", tmp_path / out, *arguments, **environment)
        said = {f"{out}: standard output": done.out, f"{out}: standard error": done.err}
        assert hits({**all_that_is_left(tmp_path / out), **said}, secrets) == []
        return done

    seeded = [word for name in ("answers", "crashes", "writer") for word in ("--agent", tmp_path / f"{name}.toml")]
    judges = [word for name in ("fair", "broken") for word in ("--judge", tmp_path / f"{name}-judge.toml")]
    first = run("seeded", *seeded, *judges, "--debug")
    assert first.code == 3, first.err
    store = RunStore.open(tmp_path / "seeded")
    kinds = {s.key.agent: s.failure_kind for s in store.sessions()}
    assert kinds == {"answers": None, "crashes": "closed_early", "writer": "endpoint_refused"}
    # The doors were used: each of these would have held a key.
    assert {key("named"), key("judge")} <= Telltale.keys
    assert "My key is ***" in next(s.written_text or "" for s in store.sessions() if s.key.agent == "answers")
    assert any("I used ***" in row.rationale for row in store.judgments())
    assert "Incorrect API key provided: ***" in next(s.failure_detail for s in store.sessions() if s.key.agent == "writer")
    log = (tmp_path / "seeded" / "logs" / "crashes.log").read_text()
    assert "'PLANTED_API_KEY': '***'" in log
    assert "the service refused ***" in log
    assert "'MODE': 'test'" in log, "what is no secret stays readable"
    assert f'MODE = "{hidden("test")}"' in store.manifest.agents[0].profile_text
    store.close()

    asked = harness_virtual(
        "judge", tmp_path / "seeded", "--judge", tmp_path / "broken-judge.toml", "--keep-excluded", **environment
    )
    left = {**all_that_is_left(tmp_path / "seeded"), "judge": asked.out + asked.err}
    assert hits(left, secrets) == []
    assert any('"kind": "malformed"' in text and "***" in text for where, text in left.items() if "broken@1" in where)

    again = run("seeded", *seeded, *judges, "--resume")
    assert "has changed" not in again.err
    assert "1 finished session(s) found" in again.err

    replayed = run("replayed", "--agent", tmp_path / "away.toml", "--mode", "replay", "--judge", "none", "--debug")
    assert replayed.code == 3, replayed.err
    assert "127.0.0.1:9/media?token=***" in replayed.err
    shown = harness_virtual("agents", "show", tmp_path / "away.toml")
    assert hits({"agents show": shown.out}, secrets) == []
    assert f'language = "{hidden("en")}"' in shown.out
