"""A message that asks for an extra names a command that works here: where this installation came from, and its own pip."""

import sys
from pathlib import Path

import pytest

from harness import installation
from harness.installation import install_command

GIT = {"url": "https://me:key@host.example/h.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        (None, "'heart-voice-harness[pictures]'"),
        (GIT, "'heart-voice-harness[pictures] @ git+https://host.example/h.git@abc'"),
        (
            {"url": "https://host.example/h.whl", "archive_info": {}},
            "'heart-voice-harness[pictures] @ https://host.example/h.whl'",
        ),
        ({"url": "file:///nowhere/clone", "dir_info": {}}, "'/nowhere/clone[pictures]'"),
        ({"url": "file:///nowhere/h.whl", "archive_info": {}}, "'/nowhere/h.whl[pictures]'"),
    ],
)
def test_what_is_installed_is_named_by_where_it_came_from(
    recorded: dict[str, object] | None, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "recorded_source", lambda: recorded)
    assert install_command("pictures").endswith(f" install {asked}")


def test_in_a_clone_the_command_is_as_it_is_typed_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path.resolve()
    bin_folder = here / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "pip").touch()
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "executable", str(bin_folder / "python"))
    monkeypatch.setattr(installation, "recorded_source", lambda: {"url": here.as_uri(), "dir_info": {}})
    assert install_command("pictures") == ".venv/bin/pip install '.[pictures]'"
    monkeypatch.setattr(installation, "recorded_source", lambda: {"url": here.as_uri(), "dir_info": {"editable": True}})
    assert install_command("pictures") == ".venv/bin/pip install -e '.[pictures]'"
    (bin_folder / "pip").unlink()
    assert install_command("local").startswith(".venv/bin/python -m pip install ")


def test_no_message_names_a_package_that_no_index_has() -> None:
    top = Path(installation.__file__).resolve().parent.parent
    folders = [top / name for name in ("harness", "agents", "audio", "scenarios", "reports")]
    every = {path.resolve() for folder in folders for path in folder.rglob("*.py")}
    assert len(every) > 500
    assert [path for path in sorted(every) if "install 'heart-voice-harness" in path.read_text(encoding="utf-8")] == []
