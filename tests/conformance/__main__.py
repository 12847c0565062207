"""Tools of others, held against agents and recordings of known behaviour: `python -m tests.conformance [PEER …]`.

What a tool reports is only worth a number beside the truth, so each is installed as its users install it (pinned, in an
environment of its own), calls the same agents of `harness known serve` or reads the same recordings of `harness known calls`,
and is scored by `harness known score` on its own output as it wrote it. It runs at its default and at its best setting
(`peers.toml`), and a figure that it does not claim is not counted. A peer that cannot be had is said, and is no failure.
Results stay in `--folder`, so that the table has those of earlier calls too.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import soundfile

from harness.audio.pcm import resample
from harness.errors import UserError
from harness.known.calls import RATE_HZ, known_calls, write_calls
from harness.known.formats import read_theirs
from harness.known.score import ALL, ONSETS, Errors, Theirs, score
from harness.known.truth import Figure, TurnTruth, read_truth
from tests.play_peers import Environment, NotHad, installed, outside, refuse_without

HERE: Final = Path(__file__).parent
PAGE: Final = HERE.parent.parent / "docs" / "conformance.md"
TABLE: Final = re.compile(r"(?<=<!-- conformance -->\n).*?(?=<!-- /conformance -->)", re.DOTALL)
CALLS: Final = 6
"""Of each behaviour, for a 95th percentile over them, which takes 60 turns. Each is one turn: a reply that comes late would
fall into the next, and a tool that has gone on would be wrong about both."""
RECORDINGS: Final = "recordings"
BEHAVIOURS: Final = (
    "fixed-300", "fixed-800", "fixed-2000", "leading-silence", "click", "filler", "murmur", "comfort-noise", "cut-over",
    "at-once", "two-replies", "no-reply",
)  # fmt: skip
"""What a caller of whole turns meets: to interrupt, or to pause, each tool needs a script of its own kind."""
LONGEST_S: Final = 150.0
Call = tuple[Any, ...]
"""Where it is, what is written, and the sound file of the caller's turn."""
HEAD: Final = (
    "peer", "version", "wire", "setting", "figure", "turns", "reported", "bias", "p50", "p95", "missing", "invented", "date",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool that reports the latency of a voice agent."""

    name: str
    environment: str = ""
    wire: str = RECORDINGS
    program: str = ""
    """Its driver in this folder: `PROGRAM URL OUT SETTINGS WAV …`, or `PROGRAM CALL OUT SETTINGS` for a recording."""
    claims: Figure = "sound"
    """The figure that it says it reports, where it reports none at all."""
    rate_hz: int = 24_000
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What is set, by name of the setting: `default` and `best`. A `wire` in it is that of this setting alone."""
    env: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    """Programs that no package brings."""
    not_had: str = ""
    """Why it cannot be measured at all."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of a peer at one setting, or why there is none."""

    peer: str
    version: str
    wire: str
    setting: str
    date: str
    remark: str = ""
    figure: str = ""
    turns: int = 0
    reported: int = 0
    bias_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    missing: int = 0
    invented: int = 0
    behaviours: Mapping[str, float | None] = field(default_factory=dict)
    """The bias in each behaviour of live calls."""


def peers() -> tuple[Mapping[str, Environment], tuple[Peer, ...]]:
    """The environments by name, and the peers, of `peers.toml`."""
    read = tomllib.loads((HERE / "peers.toml").read_text(encoding="utf-8"))
    environments = {name: Environment(**_tuples(found)) for name, found in read["environment"].items()}
    return environments, tuple(Peer(**_tuples(found)) for found in read["peer"])


def _tuples(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def callers(folder: Path, rate_hz: int) -> Sequence[Path]:
    """The sound files of callers' turns, each cut at its spoken end."""
    folder.mkdir(exist_ok=True)
    files: list[Path] = []
    for seed in range(1, 1 + CALLS // 2):  # a call has two turns
        call = next(known_calls(seed, [("fixed-800", "clean")]))
        caller, begin = call.samples[:, 0], 0
        for truth in call.truths:
            end = round(truth.spoken_end_s * RATE_HZ)
            begin += int(np.flatnonzero(caller[begin:end])[0])
            files.append(folder / f"{len(files) + 1}-{rate_hz}.wav")
            soundfile.write(files[-1], resample(caller[begin:end], RATE_HZ, rate_hz), rate_hz, subtype="PCM_16")
            begin = end
    return files


@contextmanager
def served(wire: str, truth: Path) -> Iterator[str]:
    """The address of known agents on a wire, whose truth is written as calls end."""
    command = [sys.executable, "-m", "harness", "known", "serve", "--wire", wire, "--truth", str(truth), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        said = server.stdout.readline()
        if not said:
            raise NotHad(f"known agents do not take calls on {wire} here")
        with ThreadPoolExecutor(1) as reading:
            reading.submit(server.stdout.read)
            try:
                yield str(json.loads(said)["url"])
            finally:
                server.terminate()


def measured(peer: Peer, environment: Environment, work: Path, behaviours: Sequence[str], jobs: int) -> list[Row]:
    """The rows of one peer, at each of its settings."""
    versions = environment.versions or f"heart-voice-harness {version('heart-voice-harness')}" * bool(peer.program)
    row = Row(peer.name, versions, peer.wire, "–", str(datetime.now(UTC).date()))
    if peer.not_had:
        return [replace(row, wire="–", remark=peer.not_had)]
    rows = []
    for setting, values in peer.settings.items():
        folder = work / "results" / peer.name / setting
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        wire = str(values.get("wire", peer.wire))
        at = replace(row, setting=setting, wire=wire)
        try:
            for program in peer.needs:
                refuse_without(program)
            folder_of_peer = installed(peer.environment, environment, work) if peer.environment else None
            python = folder_of_peer / "env" / "bin" / "python" if folder_of_peer else Path(sys.executable)
            if wire == RECORDINGS:
                calls = _recordings(folder, work)
                failed = _driven(peer, python, calls, json.dumps(values), jobs)
            else:
                with served(wire, folder / "truth.csv") as url:
                    calls = _calls(peer, url, folder, work, behaviours)
                    failed = _driven(peer, python, calls, json.dumps(values), jobs)
            rows += scored(at, folder, failed, peer.claims)
        except NotHad as missing:
            rows.append(replace(at, remark=str(missing)))
    return rows


def _calls(peer: Peer, url: str, folder: Path, work: Path, behaviours: Sequence[str]) -> Sequence[Call]:
    """The calls to the known agents."""
    files = callers(work / "sounds", peer.rate_hz)
    return [
        # pipecat appends its query to the whole address, so the call's name is not the last value.
        (f"{url.rstrip('/')}/{name}?call={name}.{k}&of=known", folder / f"{name}.{k}.json", str(file))
        for k, file in enumerate(files, start=1)
        for name in behaviours
    ]


def _recordings(folder: Path, work: Path) -> Sequence[Call]:
    """A reading of each known recording, whose truth is put beside the results."""
    calls = work / "calls"
    if not (calls / "truth.csv").exists():
        write_calls(calls)
    (folder / "truth.csv").write_bytes((calls / "truth.csv").read_bytes())
    return [(str(file), folder / f"{file.stem}.json") for file in sorted(calls.glob("*.flac"))]


def _driven(peer: Peer, python: Path, calls: Sequence[Call], settings: str, jobs: int) -> int:
    """Have a tool make its calls; returns the number of those in which it failed. What it said is beside what it wrote."""
    command = [str(python), str(HERE / "each_call.py"), str(HERE / peer.program), str(jobs), str(LONGEST_S)]
    given = [[at, str(out), settings, *sounds] for at, out, *sounds in calls]
    env = {**outside(), **peer.env}
    ran = subprocess.run(
        command, env=env, input=json.dumps(given), capture_output=True, text=True, check=False, cwd=calls[0][1].parent
    )
    if ran.returncode:
        raise NotHad(" ".join(ran.stderr.split())[-200:])
    return int(ran.stdout.split()[-1])


def scored(row: Row, folder: Path, failed: int, claims: Figure) -> list[Row]:
    """A row for each figure that the tool reports."""
    truths = read_truth(folder / "truth.csv") if (folder / "truth.csv").exists() else []
    theirs: list[Theirs] = []
    for file in sorted(folder.glob("*.json")):
        try:
            theirs += read_theirs(file)
        except UserError:
            continue  # a call without a figure
    remark = f"{failed} calls ended with an error" if failed else ""
    if not truths:
        return [replace(row, remark=remark or "made no call")]
    if not theirs:
        missing = sum(truth.ms(claims) is not None for truth in truths)
        return [replace(row, figure=claims, turns=len(truths), missing=missing, remark=remark)]
    found = score([_as_called(truth) for truth in truths], theirs)
    (folder / "score.txt").write_text("\n".join(" ".join(each.cells) for each in found.rows), encoding="utf-8")
    whole = [
        each
        for each in found.rows
        if each.behaviour == each.condition == ALL and len(each.errors_ms) + each.missing + each.invented
    ]
    return [
        _row(row, each, [part for part in found.rows if part.figure == each.figure and part is not each], remark)
        for each in whole
    ]


def _as_called(truth: TurnTruth) -> TurnTruth:
    """The truth of a live call, under the name of its behaviour with its delay, which is the call's."""
    return truth if truth.condition != "live" else replace(truth, behaviour=truth.call.rpartition(".")[0])


def _row(row: Row, errors: Errors, parts: Sequence[Errors], remark: str) -> Row:
    found = errors.statistics
    return replace(
        row, figure=errors.figure, turns=errors.turns, reported=len(errors.errors_ms) + errors.invented,
        bias_ms=found["bias_ms"], p50_ms=found["p50_ms"], p95_ms=found["p95_ms"], missing=errors.missing,
        invented=errors.invented, remark=remark,
        behaviours={part.behaviour: part.statistics["bias_ms"] for part in parts if part.condition == ALL},
    )  # fmt: skip


def by_behaviour(rows: Sequence[Row]) -> str:
    """Markdown: the bias of each peer in each behaviour of live calls, in the order in which they are played."""
    # Of a peer with several, the last of the figures: its words rather than any sound.
    shown = list({(row.peer, row.setting): row for row in rows if row.behaviours and row.figure in ONSETS}.values())
    found = {name for row in shown for name, ms in row.behaviours.items() if ms is not None}
    lines = [("behaviour", *(f"{row.peer}, {row.setting}" for row in shown)), ("---",) * (len(shown) + 1)]
    lines += [(name, *(_ms(row.behaviours.get(name)) for row in shown)) for name in BEHAVIOURS if name in found]
    return _markdown(lines)


def _ms(ms: float | None) -> str:
    return "–" if ms is None else f"{ms:,.0f}".replace("-0", "0").replace("-", "−")


def table(rows: Sequence[Row]) -> str:
    """Markdown: a line for each figure of a peer at a setting."""
    lines: list[tuple[str, ...]] = [(*HEAD, "remark"), ("---",) * (len(HEAD) + 1)]
    for row in rows:
        times = (_ms(row.bias_ms), _ms(row.p50_ms), _ms(row.p95_ms))
        counts = (str(row.turns), str(row.reported), *times, str(row.missing), str(row.invented)) if row.figure else ("–",) * 7
        lines.append((row.peer, row.version or "–", row.wire, row.setting, row.figure or "–", *counts, row.date, row.remark))
    return _markdown(lines)


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    return "".join("|".join(("", *(cell.replace("|", "/").replace("<", "&lt;") for cell in line), "")) + "\n" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Tools of others, held against agents and recordings of known behaviour.")
    parser.add_argument("names", nargs="*", metavar="PEER", help="measure these; default: all")
    parser.add_argument("--folder", type=Path, help="keep environments and results here; default: a temporary one")
    parser.add_argument("--behaviours", nargs="+", default=BEHAVIOURS, metavar="NAME", help="play only these")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/conformance.md")
    parser.add_argument("--jobs", type=int, default=1, help="calls at a time; more than one on an idle machine only")
    given = parser.parse_args()
    environments, all_peers = peers()
    unknown = set(given.names) - {peer.name for peer in all_peers}
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: no such peer; there are {', '.join(peer.name for peer in all_peers)}")
    with tempfile.TemporaryDirectory(prefix="conformance-") as scratch:
        work = (given.folder or Path(scratch)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        results = work / "results.json"
        rows = [Row(**found) for found in json.loads(results.read_text(encoding="utf-8"))] if results.exists() else []
        for peer in all_peers:
            if given.names and peer.name not in given.names:
                continue
            print(f"== {peer.name}", flush=True)
            new = measured(peer, environments.get(peer.environment, Environment(())), work, given.behaviours, given.jobs)
            print(table(new), flush=True)
            rows = [row for row in rows if row.peer != peer.name] + new
            rows.sort(key=lambda row: [each.name for each in all_peers].index(row.peer))
            results.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")
    tables = f"\n{table(rows)}\nBias by behaviour of live calls, in ms:\n\n{by_behaviour(rows)}\n"
    print(tables)
    if given.write:
        PAGE.write_text(TABLE.sub(lambda _: tables, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0 if any(row.figure for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
