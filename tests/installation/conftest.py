"""The built wheel, and an environment that holds it as a user's would: not editable, beside the packages that it needs."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("harness", "agents", "audio", "scenarios", "reports")


@dataclass(frozen=True)
class Environment:
    """A virtual environment of its own."""

    folder: Path

    def run(self, *words: object, cwd: Path, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """One command of its Python, in that folder, which no checkout is on the path of."""
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
        line = [str(self.folder / "bin" / "python"), *map(str, words)]
        return subprocess.run(
            line, cwd=cwd, env={**plain, **(more or {})}, capture_output=True, text=True, timeout=300, check=False
        )

    def pip(self, *words: object, cwd: Path) -> None:
        """One pip command, which must succeed."""
        done = self.run("-m", "pip", "-q", "--disable-pip-version-check", *words, cwd=cwd)
        assert done.returncode == 0, done.stderr[-2000:]


def tracked() -> Sequence[str]:
    """The files that git tracks, with `/`, from the top of the repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the files that git tracks, built from a copy, so that no earlier build leaves anything in it."""
    copy, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for name in tracked():
        source, target = ROOT / name, copy / name
        if source.is_symlink() or source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    line = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(out), str(copy)]
    subprocess.run(line, check=True, capture_output=True, timeout=300)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Environment:
    """An environment with the wheel in it. What the wheel needs is read from the tests' environment, behind its own."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True, symlinks=True)
    environment = Environment(folder)
    (site,) = folder.glob("lib/python*/site-packages")
    # Those of an environment that itself borrows from another are on its path, and not in its own folder.
    places = [place for place in sys.path if Path(place).name in ("site-packages", "dist-packages")]
    (site / "needed.pth").write_text("\n".join(places) + "\n", encoding="utf-8")
    environment.pip("install", "--no-deps", "--ignore-installed", wheel, cwd=folder)
    return environment
