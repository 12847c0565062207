"""CUDA for an agent's process: where its libraries are, how they reach the process, and one sentence where there is none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.agents import cuda
from harness.agents.process import AgentFailed, AgentProcess
from harness.agents.profile import load_profile, parse_profile, shipped_profiles

WITHOUT_CUDA = cuda.why_no_cuda() is not None


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders of NVIDIA's wheels as pip lays them out, for CUDA 12 and 13, in packages of this interpreter."""
    folders = []
    for part, library in (("cublas", "libcublas.so.12"), ("cu13", "libcublas.so.13"), ("cudnn", "libcudnn.so.9")):
        folder = tmp_path / "site" / "nvidia" / part / "lib"
        folder.mkdir(parents=True)
        (folder / library).touch()
        folders.append(str(folder))
    (tmp_path / "site" / "nvidia" / "empty" / "lib").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    return sorted(folders)


def test_the_wheels_folders_are_found_whatever_their_cuda(wheels: list[str]) -> None:
    assert cuda.library_folders() == tuple(wheels)


def test_a_process_gets_them_behind_the_users_own_and_its_programs_do_not(wheels: list[str]) -> None:
    given = {"LD_LIBRARY_PATH": "/mine:/too", "HOME": "/h"}
    found = cuda.with_libraries(given)
    assert found["LD_LIBRARY_PATH"].split(os.pathsep) == ["/mine", "/too", *wheels]
    assert cuda.without_libraries(found) == given
    assert cuda.without_libraries(cuda.with_libraries({"HOME": "/h"})) == {"HOME": "/h"}


def test_without_wheels_the_environment_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "library_folders", lambda *_: ())
    assert cuda.with_libraries({"HOME": "/h"}) == {"HOME": "/h"}
    assert cuda.with_libraries({"LD_LIBRARY_PATH": "/mine"}) == {"LD_LIBRARY_PATH": "/mine"}


def test_the_loader_finds_a_library_of_a_wheel_in_the_process_that_is_started(
    wheels: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, library = tmp_path / "one.c", Path(wheels[0]) / "libheartprobe.so.1"
    source.write_text("int heart_probe(void) { return 41; }\n")
    built = subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=False, capture_output=True)
    if built.returncode:
        pytest.skip("no C compiler")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    code = "import ctypes; print(ctypes.CDLL('libheartprobe.so.1').heart_probe())"
    alone = subprocess.run([sys.executable, "-c", code], env=dict(os.environ), check=False, capture_output=True, text=True)
    assert "cannot open shared object" in alone.stderr
    env = cuda.with_libraries(os.environ)
    assert subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True).stdout == "41\n"


def test_a_driver_that_is_not_there_is_named() -> None:
    assert cuda.why_no_cuda("libheart-no-such-driver.so.1") == ("there is no NVIDIA driver here (libheart-no-such-driver.so.1)")


@pytest.mark.skipif(not WITHOUT_CUDA, reason="there is CUDA here")
@pytest.mark.parametrize("name", [name for name in shipped_profiles() if name.startswith("gpu-box")])
async def test_a_box_profile_without_a_gpu_is_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    profile = load_profile(name)
    for attempt in (AgentProcess.start, AgentProcess.dial):
        with pytest.raises(AgentFailed) as refused:
            await attempt(AgentProcess(profile, {}, tmp_path / "log"))
        said = str(refused.value)
        assert said.startswith(f'agent "{name}" needs CUDA (cascade.stt.device = "cuda", cascade.tts.use_cuda), and ')
        assert "\n" not in said
    # Nothing was started for it, and no model server.
    assert not (tmp_path / "log").exists()


def test_a_profile_that_asks_for_no_gpu_needs_none() -> None:
    assert load_profile("baseline").cuda_settings == ()
    assert parse_profile('kind = "cascade"\n[cascade.tts]\nuse_cuda = true\n', Path("x.toml")).cuda_settings == (
        "cascade.tts.use_cuda",
    )


@pytest.mark.parametrize(
    ("init", "count", "why"),
    [(0, 2, None), (0, 0, "the NVIDIA driver shows no GPU"), (100, 2, "the NVIDIA driver shows no GPU (CUDA error 100)")],
)
def test_a_driver_is_believed_only_with_a_gpu(init: int, count: int, why: str | None, tmp_path: Path) -> None:
    source, library = tmp_path / "driver.c", tmp_path / f"libheartdriver{init}{count}.so"
    source.write_text(
        f"int cuInit(unsigned f) {{ return {init}; }}\nint cuDeviceGetCount(int *n) {{ *n = {count}; return 0; }}\n"
    )
    if subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=False, capture_output=True).returncode:
        pytest.skip("no C compiler")
    assert cuda.why_no_cuda(str(library)) == why
