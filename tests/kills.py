"""Commands that are ended at random moments by KILL, HUP, TERM and INT, and then run again until they are done.

`python -m tests.kills [COMMAND…] [--kills N]` (or `bash tests/long.sh kills`) counts by signal. Each command plays small
material in a session of its own; after a kill no process of it may live for more than five seconds, what had been finished must
be there once, and the same command again must have the result of one that nobody disturbed.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

from harness.store.run_store import RunStore
from tests.harness.calls.made_calls import short_call, write_call
from tests.harness.conftest import PACK, peer
from tests.marked import Mark

SIGNALS: Final = (signal.SIGKILL, signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
GONE_WITHIN_S: Final = 5.0
DONE_WITHIN_S: Final = 240.0
SERVES_S: Final = 60.0
"""A server on a busy machine imports its libraries in seconds; a minute is ample."""
VOTES: Final = 40
RATERS: Final = 25
Result = dict[str, Any]


class Command(ABC):
    """One command of the harness on small material."""

    def __init__(self, place: Path, base: Path) -> None:
        """`place`: its folder. `base`: a finished run, of which it may take copies."""
        self.place, self.base = place, base
        self.mark = Mark()
        place.mkdir(parents=True)
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Lay the material in `place`."""

    @abstractmethod
    def words(self) -> Sequence[object]:
        """The words of the command as they are to be given next."""

    @abstractmethod
    def finished(self) -> set[str]:
        """All that is finished, each by a name that never changes."""

    def result(self) -> Result:
        """What an undisturbed command and one that was killed must have in common."""
        return {"finished": sorted(self.finished())}

    def start(self) -> "subprocess.Popen[str]":
        """The command as a process in a session of its own."""
        log = (self.place.parent / f"{self.place.name}.log").open("w")
        with log:
            return subprocess.Popen(
                [sys.executable, "-m", "harness", *map(str, self.words())], cwd=self.place, stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, text=True, start_new_session=True,
                env={**os.environ, **self.mark.environment, "TMPDIR": str(_made(self.place.parent / f"{self.place.name}.tmp"))},
            )  # fmt: skip

    def use(self, running: "subprocess.Popen[str]", until_s: float) -> None:
        """Wait until a moment, or until the command ends."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(max(0.0, until_s - time.monotonic()))

    def complete(self) -> None:
        """Run the command to its end."""
        running = self.start()
        assert running.wait(DONE_WITHIN_S) == 0, self.said()

    def said(self) -> str:
        """What the command printed when it ran last."""
        return (self.place.parent / f"{self.place.name}.log").read_text()


class Run(Command):
    """`harness run` of two agents, and `--resume`."""

    out = "run"

    def prepare(self) -> None:
        (self.place / "pack.yaml").write_text(PACK)

    def words(self) -> Sequence[object]:
        run = self.place / self.out
        if (run / "run.sqlite").exists():
            return "run", "--resume", "--out", run
        shutil.rmtree(run, ignore_errors=True)
        agents = [word for name in ("raw-pcm-echo", "raw-pcm-answers") for word in ("--agent", peer(name))]
        return "run", *agents, "--pack", self.place / "pack.yaml", "--out", run, "--concurrency", "2"

    def finished(self) -> set[str]:
        return sessions(self.place / self.out)


class Judge(Command):
    """`harness judge` of a copy of the run, by the judge that ships."""

    def prepare(self) -> None:
        shutil.copytree(self.base, self.place / "run")

    def words(self) -> Sequence[object]:
        return "judge", "run", self.place / "run", "--judge", "embedded", "--seed", "1", "--keep-excluded"

    def finished(self) -> set[str]:
        return rows(self.place / "run") | sessions(self.place / "run")


class Report(Judge):
    """`harness report` of a copy of the run."""

    def words(self) -> Sequence[object]:
        return "report", self.place / "run"

    def result(self) -> Result:
        page = (self.place / "run" / "report.html").read_text()
        return super().result() | {"page_ends": page.rstrip().endswith("</html>")}


class Votes(Judge):
    """`harness add-votes` of a file of a thousand votes."""

    def prepare(self) -> None:
        super().prepare()
        lines = [
            f"{context},regular,raw-pcm-echo,raw-pcm-answers,rater{n},b_much,20,60,"
            for n in range(RATERS * VOTES)
            for context in ("first", "second")
        ]
        (self.place / "votes.csv").write_text(
            "\n".join(["context,subset,system_a,system_b,rater,vote,seconds,words,check", *lines]) + "\n"
        )

    def words(self) -> Sequence[object]:
        return "add-votes", self.place / "run", "--add", self.place / "votes.csv"


class Measure(Command):
    """`harness measure` of six calls, and `--resume`."""

    def prepare(self) -> None:
        for seed in range(6):
            write_call(self.place / "calls" / f"call-{seed}.flac", short_call(seed, 0.4 + 0.05 * seed))

    def words(self) -> Sequence[object]:
        run = self.place / "run"
        more = ["--resume"] if (run / "run.sqlite").exists() else []
        if not more:
            shutil.rmtree(run, ignore_errors=True)
        return "measure", self.place / "calls", "--caller", "left", "--out", run, *more

    def finished(self) -> set[str]:
        return sessions(self.place / "run")


class Merge(Command):
    """`harness merge` of two shards."""

    def prepare(self) -> None:
        for k in (1, 2):
            shutil.copytree(self.base.parent / f"shard-{k}", self.place / f"shard-{k}")

    def words(self) -> Sequence[object]:
        return "merge", self.place / "shard-1", self.place / "shard-2", "--out", self.place / "run"

    def finished(self) -> set[str]:
        return sessions(self.place / "run")


class Load(Command):
    """`harness load` of two steps; one that was killed is played anew in another folder, and its steps stay."""

    def prepare(self) -> None:
        (self.place / "pack.yaml").write_text(PACK)
        self.tries = 0

    def words(self) -> Sequence[object]:
        self.tries += 1
        out = self.place / f"load-{self.tries}"
        agent = peer("raw-pcm-echo")
        return "load", "--agent", agent, "--pack", self.place / "pack.yaml", "--limit", "1", "--callers", "1,2", "--out", out

    def finished(self) -> set[str]:
        found = set()
        for file in self.place.glob("load-*/turns.jsonl"):
            whole = file.read_text().rpartition("\n")[0]
            found |= {f"{file.parent.name} {n} {json.loads(line) and ''}" for n, line in enumerate(whole.splitlines())}
        return found

    def result(self) -> Result:
        load = self.place / f"load-{self.tries}"
        return {"turns": len((load / "turns.jsonl").read_text().splitlines()), "page": (load / "load.html").exists()}


class Server(Command):
    """A server that is asked over HTTP, and what it acknowledged."""

    def prepare(self) -> None:
        self.acknowledged: set[str] = set()
        self.cookie = ""

    def use(self, running: "subprocess.Popen[str]", until_s: float) -> None:
        """Ask until the moment has come; every answer of 200 is an acknowledgement."""
        deadline = time.monotonic() + SERVES_S
        while (found := re.search(r"http://[\w.]+:(\d+)", self.said())) is None:
            if running.poll() is not None or time.monotonic() > min(deadline, until_s):
                return
            time.sleep(0.02)
        with contextlib.suppress(OSError, http.client.HTTPException):
            while time.monotonic() < until_s and running.poll() is None:
                if not self.once(int(found[1])):
                    super().use(running, until_s)
                    return

    @abstractmethod
    def once(self, port: int) -> bool:
        """One more thing acknowledged; False if there is no more to do."""

    def complete(self) -> None:
        """Serve until there is no more to do, and stop as a person does."""
        running = self.start()
        self.use(running, time.monotonic() + 12)
        running.send_signal(signal.SIGINT)
        assert running.wait(DONE_WITHIN_S) in (0, 130), self.said()

    def result(self) -> Result:
        return {"lost": sorted(self.acknowledged - self.finished())}

    def asked(self, port: int, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """An answer, as a browser of this machine would get it."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        raw = isinstance(body, bytes)
        headers = {"Host": f"localhost:{port}", "Content-Type": "application/octet-stream" if raw else "application/json"}
        if self.cookie:
            headers["Cookie"] = self.cookie
        sent = body if raw else None if body is None else json.dumps(body)
        connection.request(method, path, cast(Any, sent), headers)
        answer = connection.getresponse()
        said = answer.read()
        if given := answer.getheader("set-cookie"):
            self.cookie = given.split(";")[0]
        connection.close()
        return answer.status, json.loads(said) if said[:1] in (b"{", b"[") else said


class People(Server):
    """`harness people record` with an automatic caller whose parts are acknowledged."""

    tab = "tabtabtab1"

    def prepare(self) -> None:
        super().prepare()
        self.take = ""
        self.parts = 0

    def words(self) -> Sequence[object]:
        return "people", "record", "--out", self.place / "people", "--turns", "100", "--address", "0", "--rehearsal"

    def once(self, port: int) -> bool:
        if not self.cookie:
            asked = {"consent": "consent-1", "adult": True, "tab": self.tab, "automatic": True}
            assert self.asked(port, "POST", "/begin", asked)[0] == 200
        if not self.take:
            step = self.asked(port, "GET", "/next")[1]
            asked = {"tab": self.tab, "kind": "turn", "of": step.get("of", ""), "rate_hz": 48_000, "settings": {}}
            status, told = self.asked(port, "POST", "/take", asked)
            if status != 200:
                return False
            self.take = str(told["take"])
        pcm = (b"\x01\x00" * 48_000) if self.parts % 2 else (b"\x00\x01" * 48_000)
        if self.asked(port, "POST", f"/take/{self.take}/part/{self.parts}?first={self.parts * 48_000}", pcm)[0] != 200:
            return False
        self.acknowledged.add(f"{self.take} part {self.parts}")
        self.parts += 1
        return self.parts < VOTES

    def finished(self) -> set[str]:
        found = set()
        for file in (self.place / "people").rglob("*"):
            if (number := re.search(r"(\d+)", file.stem)) and file.is_file() and self.take and self.take in str(file):
                found.add(f"{self.take} part {int(number[1])}")
        return found


class Listen(Server):
    """`harness listen` of texts with one rater whose answers are acknowledged."""

    def prepare(self) -> None:
        super().prepare()
        shutil.copytree(self.base, self.place / "run")
        self.position = 0

    def words(self) -> Sequence[object]:
        return "listen", self.place / "run", "--medium", "text", "--items", "2", "--address", "0"

    def once(self, port: int) -> bool:
        if not self.cookie:
            assert self.asked(port, "POST", "/begin", {"consent": True, "purpose": "listen"})[0] == 200
        answer = {"choice": 1, "reason": "warmer"}
        status, told = self.asked(port, "POST", "/answer", {"position": self.position, "answer": answer})
        if status == 200:
            self.acknowledged.add(str(self.position))
            self.position = int(told["position"]) if "position" in told else self.position + 1
        return status == 200

    def finished(self) -> set[str]:
        found: list[str] = []
        for file in (self.place / "run").rglob("votes.sqlite"):
            with contextlib.closing(sqlite3.connect(file)) as votes:
                found += [str(position) for (position,) in votes.execute("select position from answers")]
        assert len(found) == len(set(found)), "an answer is there twice"
        return set(found)


COMMANDS: Final[dict[str, type[Command]]] = {
    "run": Run, "judge": Judge, "merge": Merge, "votes": Votes, "listen": Listen, "people": People, "measure": Measure,
    "load": Load, "report": Report,
}  # fmt: skip


def sessions(run: Path) -> set[str]:
    """The finished sessions of a run, with when they were played; empty where there is no run yet."""
    if not (run / "run.sqlite").exists():
        return set()
    store = RunStore.open(run, to_resume=True)
    with contextlib.closing(store):
        return {session.id for session in store.sessions() if session.status == "finished"}


def rows(run: Path) -> set[str]:
    """The verdicts and votes of a run."""
    with contextlib.closing(RunStore.open(run)) as store:
        found = [json.dumps(row.model_dump(mode="json"), sort_keys=True) for row in store.judgments()]
    assert len(found) == len(set(found)), "a row is there twice"
    return set(found)


def sound(place: Path) -> None:
    """Check every database below a folder, and that no temporary file is left."""
    for file in place.rglob("*.sqlite"):
        with contextlib.closing(sqlite3.connect(file)) as database:
            assert database.execute("pragma integrity_check").fetchone() == ("ok",), file
    stray = [str(path) for path in place.rglob("*") if path.name.endswith((".part", ".tmp"))]
    assert not stray, f"left behind: {stray}"


def base_of(place: Path) -> Path:
    """A finished run and its two shards."""
    (place / "pack.yaml").write_text(PACK)
    agents = [word for name in ("raw-pcm-echo", "raw-pcm-answers") for word in ("--agent", peer(name))]
    for name, more in (("run", ()), ("shard-1", ("--shard", "1/2")), ("shard-2", ("--shard", "2/2"))):
        words = ["run", *agents, "--pack", place / "pack.yaml", "--out", place / name, "--concurrency", "2", *more]
        subprocess.run([sys.executable, "-m", "harness", *map(str, words)], cwd=place, check=True, capture_output=True)
    return place / "run"


def killed(kind: type[Command], place: Path, base: Path, kills: int, dice: random.Random) -> Counter[str]:
    """Kills of one command, by signal. Every kill begins with fresh material, and ends with a completed command.

    Raises:
        AssertionError: something was lost, was there twice, or lived on.
    """
    whole = kind(place / "undisturbed", base)
    began = time.monotonic()
    whole.complete()
    lasts_s = time.monotonic() - began
    expected, done = whole.result(), Counter[str]()
    of_libraries = {path.name for path in (place / "undisturbed.tmp").iterdir()}
    for k in range(kills):
        one, number = kind(place / str(k), base), SIGNALS[k % len(SIGNALS)]
        at_s = dice.uniform(0.05, lasts_s)
        where = f"{kind.__name__} {k}, {number.name} after {at_s:.2f} s of {lasts_s:.1f}"
        running, end = one.start(), time.monotonic() + at_s
        one.use(running, end)
        before = one.finished() if number == signal.SIGKILL or running.poll() is not None else set()
        running.send_signal(number)
        left = one.mark.left_after(GONE_WITHIN_S)
        running.kill()
        code = running.wait()
        assert not left, f"{where}: lives on: {left}"
        assert "Traceback" not in one.said() or code == -signal.SIGKILL, f"{where}: {one.said()}"
        temporary = set[str]()
        if number != signal.SIGKILL:
            temporary = {path.name for path in (place / f"{k}.tmp").iterdir()} - of_libraries
        assert not temporary, f"{where}: left behind {temporary}"
        kept = one.finished()
        assert before <= kept, f"{where}: lost {before - kept}"
        one.complete()
        assert kept <= one.finished(), f"{where}: lost {kept - one.finished()}"
        assert one.result() == expected, f"{where}: {one.result()} instead of {expected}"
        sound(one.place)
        shutil.rmtree(one.place)
        done[number.name] += 1
        print(f"{where}: exit {code}, {len(kept)} finished", flush=True)
    return done


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def main() -> None:
    """Kill the commands that are named, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("commands", nargs="*")
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    asked = parser.parse_args()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell; commands would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    print(f"--seed {asked.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        base = base_of(Path(folder))
        fell = False
        for name in asked.commands or COMMANDS:
            try:
                done = killed(
                    COMMANDS[name], _made(Path(folder) / f"kills-{name}"), base, asked.kills, random.Random(asked.seed)
                )
                print(name, dict(done), flush=True)
            except AssertionError as error:
                fell = True
                print(f"{name} FELL SHORT: {error}", flush=True)
        sys.exit(int(fell))


if __name__ == "__main__":
    main()
