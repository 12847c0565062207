"""docs/conformance.md alone, as a stranger follows it: its lines to the letter, in an empty folder with an empty home."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from websockets.asyncio.client import connect

from harness.known.score import HEAD
from harness.known.wires import WIRES
from tests.harness.known.live import STARTS_S
from tests.tutorial import blocks_of, run_lines

PAGE: Final = (Path(__file__).parents[1] / "docs" / "conformance.md").read_text(encoding="utf-8")
RATE_HZ: Final = 16_000
LISTENS_S: Final = 2.5
LONGEST_S: Final = 600.0
"""What the page promises, on a machine that does nothing else."""


@pytest.fixture
def stranger(tmp_path: Path) -> tuple[Path, Mapping[str, str]]:
    """An empty folder and an environment of someone who has just installed the harness."""
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    kept = {name: os.environ[name] for name in ("LANG", "PYTHONPATH") if name in os.environ}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return folder, {**kept, "HOME": str(home), "PATH": path}


def rows_of(said: str) -> dict[str, list[str]]:
    """The rows of a table of errors by their behaviour and condition, under `HEAD`."""
    cells = [re.split(r" {2,}", line.strip()) for line in said.splitlines()]
    return {row[0]: row for row in cells if len(row) == len(HEAD) and row[0] != HEAD[0]}


def test_a_stranger_scores_a_tool_that_reads_recordings(stranger: tuple[Path, Mapping[str, str]]) -> None:
    folder, environment = stranger
    program = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert program is not None
    (folder / "my_tool.py").write_text(program[1], encoding="utf-8")
    begun_s = time.monotonic()
    done = list(run_lines(blocks_of(PAGE)[0], folder, environment))
    assert [one.code for one in done] == [0, 0, 0], done[-1].complained
    assert time.monotonic() - begun_s < LONGEST_S
    files = list((folder / "calls").glob("*.flac"))
    assert f"has {len(files)} stereo recordings" in PAGE
    assert sum(file.stat().st_size for file in files) < 30e6
    rows = rows_of(done[-1].said)
    clean = {name: row for name, row in rows.items() if name.startswith("fixed-") and name.endswith(", clean")}
    assert clean
    # A threshold is right to a few of its frames about a plain reply, and takes a click for the voice.
    worst = max(float(row[HEAD.index("largest")].replace(",", "")) for row in clean.values())
    clicks = [float(row[HEAD.index("p50")].replace(",", "")) for name, row in rows.items() if name.startswith("click, ")]
    assert 10 * worst < max(clicks)
    assert int(rows["all, noisy"][HEAD.index("missing")]) > int(rows["all, clean"][HEAD.index("missing")])
    assert "Not reported, so not counted: sound, answer, yield, cut and gap." in done[-1].said


async def test_a_stranger_scores_a_tool_that_calls_agents(stranger: tuple[Path, Mapping[str, str]]) -> None:
    folder, environment = stranger
    (serving,), scoring = blocks_of(PAGE)[1:3]
    server = await asyncio.create_subprocess_exec(
        "bash", "-c", serving, cwd=folder, env=dict(environment), stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert server.stdout is not None
    said = (await asyncio.wait_for(server.stdout.readline(), STARTS_S)).decode()
    address = said.split(" ")[0].rstrip("/")
    asked = re.findall(r"/([\w-]+)\?call=(\w)", PAGE)
    assert len(asked) == 2
    rows = [
        "call,turn,figure,ms",
        *[f"{call},1,speech,{await _waited_ms(f'{address}/{name}?call={call}'):.1f}" for name, call in asked],
    ]
    (folder / "theirs.csv").write_text("\n".join(rows), encoding="utf-8")
    os.killpg(server.pid, signal.SIGINT)
    assert await asyncio.wait_for(server.wait(), 20) == 0
    done = await asyncio.to_thread(lambda: list(run_lines(scoring, folder, environment)))
    assert done[-1].code == 0, done[-1].complained
    found = rows_of(done[-1].said)
    clicked, fixed = (float(found[name][HEAD.index("bias")].replace("−", "-")) for name in ("click", "fixed"))
    assert abs(fixed) < abs(clicked) / 3
    assert clicked < 0


def test_the_page_names_every_wire() -> None:
    named = re.search(r"\* `--wire`: (.*)", PAGE)
    assert named is not None
    assert re.findall(r"`([\w-]+)`", named[1]) == list(WIRES)


async def _waited_ms(url: str) -> float:
    """A stranger's own caller: a tone of a second, and the time from its last frame to the first message of sound."""
    tone = (8_000 * np.sign(np.sin(np.arange(RATE_HZ) * 0.3))).astype("<i2")
    async with connect(url) as socket:
        await socket.send(json.dumps({"type": "start", "sample_rate": RATE_HZ}))
        begun_s = time.monotonic()
        for k in range(50):
            await asyncio.sleep(begun_s + (k + 1) / 50 - time.monotonic())
            await socket.send(tone[320 * k : 320 * (k + 1)].tobytes())
        ended_s = time.monotonic()
        first_s = 0.0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LISTENS_S):
                async for message in socket:
                    if isinstance(message, bytes) and np.abs(np.frombuffer(message, "<i2")).max() > 200:
                        first_s = first_s or time.monotonic()
    return (first_s - ended_s) * 1e3
