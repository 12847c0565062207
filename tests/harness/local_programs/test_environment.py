"""The environment that the harness makes for the speech models: made once, whole or not at all."""

import threading
import venv
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.files import CACHE_VARIABLE
from harness.local_programs import NAMED_BY, environment, local_python
from harness.local_programs.environment import ABOUT_MB, made_python, make_python, requirements


class Shown:
    """What was shown, in order."""

    def __init__(self) -> None:
        self.phases: list[str] = []

    def phase(self, name: str, total: int | None = None) -> None:
        assert total is None
        self.phases.append(name)

    def count(self, done: int, total: int | None, step: str = "", /) -> None:
        assert (step, total) == ("", ABOUT_MB)
        assert done >= 0


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(NAMED_BY, raising=False)
    return tmp_path / "cache"


def test_what_it_installs_is_what_this_installation_says_it_needs() -> None:
    asked = requirements()
    assert any(one.startswith("hibari-tts") for one in asked)
    assert any(one.startswith("websockets") for one in asked)
    assert not any(";" in one or one.startswith(("pytest", "ray", "aiortc")) for one in asked)


def test_two_at_once_make_one_and_it_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def installer(folder: Path, _log: Path) -> tuple[str, ...]:
        venv.create(folder, symlinks=True)
        return ("/bin/echo",)

    monkeypatch.setattr(environment, "_installer", installer)
    shown, made = Shown(), list[Path]()
    threads = [threading.Thread(target=lambda: made.append(make_python(shown))) for _ in range(2)]
    assert made_python() is None
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(set(made)), len(shown.phases)) == (2, 1, 1)
    assert made_python() == made[0]
    assert local_python("a test", modules=("no_such_module",)) == str(made[0])
    (made[0].parents[1] / "whole").unlink()
    assert made_python() is None, "one that was left half made is not used"


def test_one_that_pip_cannot_fill_is_one_sentence_with_the_way_out_and_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(cache))
    with pytest.raises(UserError, match=rf"hearing needs .*No matching distribution found.*{NAMED_BY}.*pip") as raised:
        local_python("hearing", modules=("no_such_module",))
    assert "\n" not in str(raised.value)
    assert f"about {ABOUT_MB:,} MB, once" in capfd.readouterr().err
    assert made_python() is None
    assert [place for place in (cache / "local").iterdir() if place.is_dir()] == []
