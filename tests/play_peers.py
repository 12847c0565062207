"""Agents that others wrote, called and timed: `python -m tests.play_peers [WORD …] [--folder DIR] [--write]`.

Claims about agents of others age by the week, because others change them. So each is installed as its users install it
(pinned, from the package index, in an environment of its own), gets the profile that `harness agents new` writes with the
lines that `tests/peers_to_play.toml` names, one call by `harness try`, and twenty turns. Their services are one scripted
server (`tests/peers/scripted_openai.py`), so that no weights are needed. A peer that cannot be had is said, and is no failure;
one that does not work, or has TTFA on fewer than 95 % of its turns, is. A WORD plays only the peers with it in their names;
results stay in the folder, so that the table has those of earlier calls too.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import harness
from harness.agents.profile import profile_kinds

HERE: Final = Path(__file__).parent
PEERS: Final = HERE / "peers"
PAGE: Final = HERE.parent / "docs" / "evidence" / "peers.md"
TABLE: Final = re.compile(r"(?<=<!-- peers -->\n).*?(?=<!-- /peers -->)", re.DOTALL)
HARNESS: Final = (sys.executable, "-m", "harness")
TURNS: Final = 20
ENOUGH: Final = 0.95
LONGEST_S: Final = 1_800


@dataclass(frozen=True, slots=True)
class Environment:
    """The packages of a peer, and the commands that make a bot of them."""

    packages: tuple[str, ...]
    alone: tuple[str, ...] = ()
    """Packages that are installed without their dependencies, of which `packages` has those that are needed."""
    prepare: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def versions(self) -> str:
        """The pinned packages of others, without extras."""
        return ", ".join(re.sub(r"\[.*?\]", "", name).replace("==", " ") for name in self.alone or self.packages)


@dataclass(frozen=True, slots=True)
class Peer:
    """An agent that others wrote; or, with `program`, a client of theirs that calls an agent of this project."""

    name: str
    environment: str = ""
    kind: str = ""
    command: str = ""
    folder: str = "."
    """Folder of the profile, in that of the environment: where its user would write it."""
    edits: Mapping[str, str] = field(default_factory=dict)
    """Lines of the profile that its user changes, by the setting whose line they replace."""
    edited_in_bot: int = 0
    """Lines of the agent's own code that were changed."""
    mode: Literal["replay", "seeded"] = "replay"
    env: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""
    """A program of the system without which it cannot run."""
    program: str = ""
    """A program of `tests/peers` that prints `{"turns", "answered", "versions"}`."""


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one peer."""

    peer: str
    kind: str
    versions: str
    edits: int
    date: str
    outcome: Literal["played", "not had", "does not work"] = "played"
    remark: str = ""
    turns: int = 0
    ttfa: int | None = None
    ttft: int | None = None


class NotHad(Exception):
    """A peer cannot be had here and now."""


class DoesNotWork(Exception):
    """A peer was had, and could not be played."""


def peers_to_play() -> tuple[Mapping[str, Environment], tuple[Peer, ...]]:
    """The environments by name, and the peers, of `peers_to_play.toml`."""
    read = tomllib.loads((HERE / "peers_to_play.toml").read_text(encoding="utf-8"))
    environments = {name: Environment(**_tuples(found)) for name, found in read["environment"].items()}
    return environments, tuple(Peer(**_tuples(found)) for found in read["peer"])


def _tuples(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


@contextmanager
def scripted_server() -> Iterator[str]:
    """The address of the server that stands for all services."""
    with subprocess.Popen([sys.executable, str(PEERS / "scripted_openai.py")], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def installed(name: str, environment: Environment, work: Path) -> Path:
    """The folder of an environment, installed and prepared unless it is there.

    Raises:
        NotHad: a package is not to be had.
    """
    folder = work / name
    done = folder / "installed"
    if done.exists() and done.read_text(encoding="utf-8") == repr(environment):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    pip = "env/bin/pip install --quiet"
    commands = [f"{shlex.quote(sys.executable)} -m venv env"]
    commands += [f"{pip} --no-deps {shlex.join(environment.alone)}"] if environment.alone else []
    commands += [f"{pip} {shlex.join(environment.packages)}"]
    commands += [filled(command, {"{bin}": "env/bin", "{here}": str(PEERS)}) for command in environment.prepare]
    for command in commands:
        ran = subprocess.run(
            shlex.split(command), cwd=folder, env=outside(), capture_output=True, text=True, check=False, timeout=LONGEST_S
        )
        if ran.returncode:
            raise NotHad(_last_line(ran.stderr or ran.stdout))
    done.write_text(repr(environment), encoding="utf-8")
    return folder


def refuse_without(program: str) -> None:
    """Raises `NotHad` if this system does not have the program."""
    if shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None:
        raise NotHad(f"needs {program}, which this system does not have")


def play(peer: Peer, environments: Mapping[str, Environment], work: Path, server: str) -> Row:
    """The row of one peer, whatever happens to it."""
    environment = environments.get(peer.environment, Environment(()))
    row = Row(peer.name, peer.kind, environment.versions, len(peer.edits) + peer.edited_in_bot, str(datetime.now(UTC).date()))
    try:
        if peer.program:
            return _called(peer, row)
        if peer.kind not in profile_kinds():
            raise NotHad(f'kind "{peer.kind}" is not known to this version')
        if peer.needs:
            refuse_without(peer.needs)
        folder = installed(peer.environment, environment, work)
        services = {"OPENAI_BASE_URL": server, "OPENAI_API_KEY": "scripted"}
        places = {"{bin}": str(folder / "env" / "bin"), "{here}": str(PEERS), "{server}": server, "{folder}": str(folder)}
        env = {name: filled(value, places) for name, value in {**services, **environment.env, **peer.env}.items()}
        return _played(peer, row, folder, {**os.environ, **env}, filled(peer.command, places))
    except NotHad as missing:
        return replace(row, outcome="not had", remark=str(missing))
    except (DoesNotWork, subprocess.TimeoutExpired) as broken:
        return replace(row, outcome="does not work", remark=str(broken))


def filled(text: str, places: Mapping[str, str]) -> str:
    """The text with each placeholder replaced; `{port}` stays for the harness."""
    for placeholder, value in places.items():
        text = text.replace(placeholder, value)
    return text


def _played(peer: Peer, row: Row, folder: Path, env: Mapping[str, str], command: str) -> Row:
    slug = re.sub(r"[^a-z0-9]+", "-", peer.name.lower()).strip("-")[:50].rstrip("-")
    profile, run = folder / peer.folder / f"{slug}.toml", folder / f"run-{slug}"
    profile.unlink(missing_ok=True)
    shutil.rmtree(run, ignore_errors=True)
    _harness("agents", "new", peer.kind, "--command", command, "--out", str(profile), env=env)
    profile.write_text(edited(profile.read_text(encoding="utf-8"), peer.edits), encoding="utf-8")
    print(_harness("try", str(profile), env=env), end="", flush=True)
    pack = ("--pack", str(PEERS / "twenty-turns.yaml"), "--mode", peer.mode)
    repeats = ("--repeats", "4") if peer.mode == "seeded" else ()
    quick = ("--judge", "none", "--wait-for-quiet", "0")
    _harness("run", "--agent", str(profile), *pack, *repeats, *quick, "--out", str(run), env=env, may_end_with=3)
    return counted(run, row)


def _harness(*words: str, env: Mapping[str, str], may_end_with: int = 0) -> str:
    ran = subprocess.run([*HARNESS, *words], env=dict(env), capture_output=True, text=True, check=False, timeout=LONGEST_S)
    if ran.returncode not in (0, may_end_with):
        print(ran.stdout, ran.stderr, sep="\n", flush=True)
        failed = [" ".join(line.split()) for line in ran.stdout.splitlines() if line.startswith("failed ")]
        raise DoesNotWork(f"{' '.join(words[:2])}: {'; '.join(failed) or _last_line(ran.stderr or ran.stdout)}")
    return ran.stdout


def edited(profile: str, edits: Mapping[str, str]) -> str:
    """The text of a profile with each edited line in the place of that of its setting.

    Raises:
        DoesNotWork: the profile has no line for a setting.
    """
    lines = profile.splitlines()
    for setting, line in edits.items():
        places = [k for k, old in enumerate(lines) if re.match(rf"(# ?)?{re.escape(setting)}\s*=", old)]
        if not places:
            raise DoesNotWork(f"the profile that `agents new` writes has no line for {setting}")
        lines[places[0]] = line
    return "\n".join([*lines, ""])


def counted(run: Path, row: Row) -> Row:
    """The row with the turns of a run, and with their TTFA and TTFT."""
    with harness.load_run(run) as played:
        turns = [turn for session in played.sessions for turn in session.turn_timings]
        failures = played.summary.failures
    sources = sorted({turn.stages_from for turn in turns if turn.ttft_ms is not None and turn.stages_from})
    timed, early = (sum(getattr(turn, name) is not None for turn in turns) for name in ("ttfa_ms", "signed_ms"))
    remarks = [f"TTFT {' and '.join(sources)}"] if sources else []
    remarks += [f"{early} turns answered before their end"] if early else []
    remarks += [f"{len(failures)} calls failed, the first with {failures[0].kind}: {failures[0].detail}"] if failures else []
    return replace(
        row,
        outcome="played" if len(turns) >= TURNS and timed >= ENOUGH * len(turns) else "does not work",
        turns=len(turns),
        ttfa=timed,
        ttft=sum(turn.ttft_ms is not None for turn in turns),
        remark="; ".join(remarks),
    )


def _called(peer: Peer, row: Row) -> Row:
    program = [sys.executable, str(PEERS / peer.program)]
    ran = subprocess.run(program, capture_output=True, text=True, check=False, timeout=LONGEST_S)
    if ran.returncode:
        raise DoesNotWork(_last_line(ran.stderr))
    found = json.loads(ran.stdout.splitlines()[-1])
    enough = found["turns"] >= TURNS and found["answered"] >= ENOUGH * found["turns"]
    return replace(
        row,
        outcome="played" if enough else "does not work",
        versions=found["versions"],
        turns=found["turns"],
        remark=f"{found['answered']} of {found['turns']} turns answered, by its own events",
    )


def outside() -> dict[str, str]:
    """The environment variables without those of this project's Python."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")}


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if "is ignored" not in line]
    return " ".join(lines[-1].split())[:200] if lines else "ended without a word"


def table(rows: Sequence[Row]) -> str:
    """Markdown: a line for each peer."""
    lines = ["| peer | version | kind | turns | TTFA | TTFT | lines edited | date | |", "|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        said = {"played": "", "not had": "not had: ", "does not work": "**does not work**; "}[row.outcome] + row.remark
        cells = (
            row.peer, row.versions or "–", f"`{row.kind}`" if row.kind else "–", str(row.turns or "–"),
            _share(row.ttfa, row.turns), _share(row.ttft, row.turns), str(row.edits) if row.kind and row.turns else "–",
            row.date, said,
        )  # fmt: skip
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells) + " |")
    return "\n".join([*lines, ""])


def _share(count: int | None, turns: int) -> str:
    return "–" if count is None or not turns else f"{count} of {turns}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Agents that others wrote, called and timed.")
    parser.add_argument("words", nargs="*", metavar="WORD", help="play the peers with this word in their names; default: all")
    parser.add_argument("--folder", type=Path, help="keep environments, runs and results here; default: a temporary one")
    parser.add_argument("--write", action="store_true", help="write the table into docs/evidence/peers.md")
    given = parser.parse_args()
    environments, peers = peers_to_play()
    with tempfile.TemporaryDirectory(prefix="peers-") as scratch, scripted_server() as server:
        work = (given.folder or Path(scratch)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        results = work / "results.json"
        found = {row["peer"]: Row(**row) for row in json.loads(results.read_text())} if results.exists() else {}
        for peer in peers:
            if given.words and not any(word.lower() in peer.name.lower() for word in given.words):
                continue
            print(f"== {peer.name}", flush=True)
            row = found[peer.name] = play(peer, environments, work, server)
            print(f"   {row.outcome}: {row.ttfa} of {row.turns} with TTFA, {row.ttft} with TTFT; {row.remark}", flush=True)
            results.write_text(json.dumps([asdict(found[p.name]) for p in peers if p.name in found]), encoding="utf-8")
        rows = [found[peer.name] for peer in peers if peer.name in found]
    print(table(rows))
    if given.write:
        PAGE.write_text(TABLE.sub(lambda _: table(rows), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0 if any(row.turns for row in rows) and all(row.outcome != "does not work" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
