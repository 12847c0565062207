"""The core, without extras: small, and without what a bot may need in another version."""

import re
import subprocess
import sys
import time
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest
import scripted_sound
import soundfile
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.installation.conftest import ROOT, Environment

MOST_MB = 250
PINNED_BY_BOTS = {
    "aiohttp", "anthropic", "ctranslate2", "fastapi", "faster-whisper", "google-genai", "huggingface-hub", "livekit", "numba",
    "onnx", "onnxruntime", "onnxruntime-gpu", "openai", "opentelemetry-api", "opentelemetry-sdk", "pillow", "pipecat-ai",
    "piper-tts", "starlette", "tokenizers", "torch", "transformers", "uvicorn", "xllamacpp",
}  # fmt: skip
BLOCKED = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""
MODULES = ("pipecat", "onnxruntime", "openai", "faster_whisper", "ctranslate2", "piper", "hibari", "onnx", "torch", "starlette")
"""What the core must do without; each is there in the tests' own environment."""


def closure() -> set[str]:
    """The packages that the core brings, as the installed ones say."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    due, found = [Requirement(each) for each in project["dependencies"]], set[str]()
    while due:
        asked = due.pop()
        name = canonicalize_name(asked.name)
        if name in found:
            continue
        found.add(name)
        due += [r for r in map(Requirement, _requires(name)) if r.marker is None or r.marker.evaluate({"extra": ""})]
    return found


def _requires(name: str) -> list[str]:
    try:
        return distribution(name).requires or []
    except PackageNotFoundError as error:
        raise AssertionError(f"{name} is asked for and not installed") from error


def run(program: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A program in which the packages of extras cannot be imported."""
    line = [sys.executable, "-c", BLOCKED.format(MODULES) + program]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def test_the_core_brings_nothing_that_bots_pin_and_no_model_runtime() -> None:
    assert closure() & PINNED_BY_BOTS == set()
    assert len(closure()) < 50


def test_no_dependency_of_the_core_has_an_upper_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounds = {spec.operator for each in project["dependencies"] for spec in Requirement(each).specifier}
    assert bounds == {">="}


def test_a_recording_is_measured_by_the_core_alone(tmp_path: Path) -> None:
    caller, agent = np.zeros(4 * 16_000), np.zeros(4 * 16_000)
    voice = scripted_sound.voice(1.0, 16_000, 170.0)
    voice = 0.2 * voice / np.abs(voice).max()
    caller[8_000:24_000], agent[32_000:48_000] = voice, voice
    soundfile.write(tmp_path / "call.wav", np.stack([caller, agent], axis=1), 16_000)
    done = run("import harness; print([t.ttfa_ms for t in harness.measure_recording('call.wav')])", tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    (found,) = re.findall(r"[\d.]+", done.stdout)
    assert float(found) == pytest.approx(500, abs=15)


def test_the_wires_of_pipecat_need_no_pipecat(tmp_path: Path) -> None:
    program = (
        "from harness.agents.connections.pipecat_ws import PipecatWire\n"
        "from harness.agents.connections.pipecat_eval import PipecatEvalWire\n"
        "wire = PipecatWire(); print(len(wire.audio(bytes(640), 0)[0]) > 640, len(PipecatEvalWire().hello(())))"
    )
    done = run(program, tmp_path)
    assert (done.stdout, done.stderr) == ("True 2\n", "")


@pytest.mark.parametrize(
    "program",
    [
        "from harness.scenarios.imports.pipecat_eval import Path, import_pipecat_eval as read; read(Path('x.yaml'))",
        "from harness.audio.synthesis_service import PipecatSynthesiser, ServiceVoice\n"
        "PipecatSynthesiser(ServiceVoice(service='pipecat.services.openai.tts.OpenAITTSService'))",
        "from harness.turn_taking.packs import smart_turn; smart_turn()",
    ],
)
def test_what_needs_pipecat_says_how_to_get_it(program: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("name: x\n", encoding="utf-8")
    done = run(program, tmp_path)
    last = done.stderr.splitlines()[-1]
    assert re.match(r"harness\.[\w.]+: ", last), last
    assert "pipecat" in last
    assert "install" in last
    assert "[local]" in last


@pytest.mark.alone
def test_importing_the_library_takes_no_time() -> None:
    line, spent = [sys.executable, "-c", "import harness, sys; print(*sys.modules)"], []
    for _ in range(3):
        began = time.monotonic()
        done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
        spent.append(time.monotonic() - began)
        assert not {"numpy", "pipecat", "scipy"} & set(done.stdout.split())
    assert min(spent) <= 0.5


@pytest.mark.long
def test_the_core_is_small_where_it_is_installed(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "core", with_pip=True, symlinks=True)
    core = Environment(tmp_path / "core")
    core.pip("install", "--no-compile", wheel, cwd=tmp_path)
    listed = core.run("-m", "pip", "--disable-pip-version-check", "list", "--format=freeze", cwd=tmp_path).stdout
    names = {canonicalize_name(each.split("==")[0]) for each in listed.split()}
    assert names & PINNED_BY_BOTS == set()
    assert sum(_bytes_of(core.folder)) <= MOST_MB * 1_000_000


def _bytes_of(folder: Path) -> Iterator[int]:
    """Bytes that each installed file takes of the disk; what made the environment (pip, setuptools) is not counted."""
    (site,) = folder.glob("lib/python*/site-packages")
    for path in site.rglob("*"):
        room = path.relative_to(site).parts[0]
        if path.is_file() and not re.match(r"(pip|setuptools|pkg_resources|_distutils_hack|distutils)\b", room):
            yield path.stat().st_blocks * 512
