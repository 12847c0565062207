"""Weights, speech and running cascades for the tests that use real models."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

Agent = Callable[[str], AbstractContextManager[tuple[str, "subprocess.Popen[str]"]]]
SHIPPED = Path(__file__).parents[3] / "agents" / "profiles"


@pytest.fixture(scope="session")
def weights() -> dict[str, str]:
    """The weights of the shipped cascade profiles, from the model store."""
    from harness.models.store import resolve

    return {name: str(resolve(name)) for name in ("moonshine-tiny.en", "whisper-tiny.en", "piper-joe", "smollm2-135m")}


@pytest.fixture(scope="session")
def speech(weights: dict[str, str]) -> NDArray[np.int16]:
    """A finished sentence, then after 400 ms of true silence another: 16 kHz, ending on its last loud sample."""
    import soxr
    from piper import PiperVoice

    voice = PiperVoice.load(weights["piper-joe"])
    parts: list[NDArray[np.int16]] = []
    for text in ("I lost my job last week.", "I haven't told my wife yet."):
        spoken = np.concatenate([chunk.audio_float_array for chunk in voice.synthesize(text)])
        wide = soxr.resample(spoken, voice.config.sample_rate, 16_000)
        loud = np.flatnonzero(np.abs(wide) > 0.01)
        parts += [(wide[loud[0] : loud[-1]] * 32767 * 0.6).astype(np.int16), np.zeros(6_400, np.int16)]
    return np.concatenate(parts[:-1])


@pytest.fixture
def run_agent(weights: dict[str, str], tmp_path: Path) -> Agent:
    """Runs a cascade by the name of a shipped profile or by TOML text, and ends it with SIGTERM."""

    @contextmanager
    def run(profile: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
        path = SHIPPED / f"{profile}.toml"
        if not path.is_file():
            path = tmp_path / "made-up.toml"
            path.write_text(profile)
        command = [sys.executable, "-m", "harness.agents.cascade", "--profile", str(path), "--weights", json.dumps(weights)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, "the agent ended before it was ready"
            yield json.loads(line)["url"], process
        finally:
            if process.poll() is None:
                os.kill(process.pid, signal.SIGTERM)
            process.wait(20)

    return run
