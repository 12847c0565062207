"""The doctor on this machine, and on machines that have what it must find."""

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.doctor import LOOKS, examine, installed, processor
from harness.doctor import storage_and_ports as room
from harness.doctor.result import Finding
from harness.models import catalogue
from tests.harness.conftest import Finished


def states(found: list[Finding]) -> dict[str, str]:
    return {f.part: f.state for f in found}


def test_it_tells_of_every_part_and_ends_as_it_found(harness_virtual: Callable[..., Finished]) -> None:
    done = harness_virtual("doctor", "--json")
    told = done.json
    assert told["schema"] == 1
    assert {*LOOKS} - {"disk"} <= {f["part"] for f in told["findings"]}
    trouble = [f for f in told["findings"] if f["state"] in ("disturbs", "broken")]
    assert told["well"] == (not trouble)
    assert done.code == (1 if trouble else 0)
    # Whatever is not fine comes with what mends it.
    assert all(f["mend"] for f in told["findings"] if f["state"] != "fine")
    # This very environment passes the tests, so nothing of it can be called broken.
    assert not [f for f in told["findings"] if f["state"] == "broken"]


def test_a_person_reads_one_line_a_part(harness_virtual: Callable[..., Finished]) -> None:
    done = harness_virtual("doctor")
    assert done.code in (0, 1)
    assert "processor " in done.out
    assert done.out.rstrip().endswith("ready to measure." if done.code == 0 else "to fix before figures are quoted.")


@pytest.mark.alone
def test_other_work_is_named() -> None:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        (found, *_) = processor.pressure()
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert found.state == "disturbs"
    assert "--wait-for-quiet" in found.mend


def test_a_quota_disturbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "cpu.max"
    monkeypatch.setattr(processor, "_CGROUPS", (limit,))
    limit.write_text("50000 100000\n")
    assert states(processor.processor())["processor quota"] == "disturbs"
    limit.write_text("max 100000\n")
    assert "processor quota" not in states(processor.processor())


def test_a_late_clock_disturbs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "MAX_P99_ERROR_MS", -1.0)
    monkeypatch.setattr(processor, "TICKS", 3)
    assert states(processor.clock())["clock"] == "disturbs"


def test_a_damaged_model_is_broken_and_an_absent_one_is_fetched_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEART_HARNESS_CACHE", str(tmp_path))
    (nothing,) = installed.models()
    assert nothing.state == "without"
    weight = catalogue()[0]
    folder = tmp_path / "models" / f"{weight.name}-{weight.version}"
    folder.mkdir(parents=True)
    for file in weight.files:
        (folder / file.name).write_bytes(b"half a model")
    (found,) = installed.models()
    assert found.state == "broken"
    assert found.mend == f"harness models fetch {weight.name}"


def test_packages_of_another_version_and_missing_ones_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "requires", lambda _: ["numpy>=99", "no-such-package", "pytest>=99; extra == 'test'"])
    found = installed.versions()
    assert "numpy" in found[0].seen
    assert "pytest" not in found[0].seen
    assert [f.part for f in found if f.state == "broken"] == ["versions", "packages"]


def test_a_disk_that_is_small_slow_or_closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(room, "LEAST_FREE_BYTES", 2**60)
    assert {f.state for f in room.disk()} == {"disturbs"}
    monkeypatch.setattr(room, "LEAST_FREE_BYTES", 0)
    monkeypatch.setattr(room, "SLOW_FLUSH_MS", -1.0)
    assert all("slow" in f.mend for f in room.disk())
    monkeypatch.chdir("/proc")
    assert room.disk()[0].state == "broken"


def test_a_taken_port_and_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        monkeypatch.setattr(room, "LISTEN_PORT", taken.getsockname()[1])
        found = states(room.ports())
    assert found["port of harness listen"] == "without"
    assert found["proxy"] == "disturbs"
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    assert "proxy" not in states(room.ports())


def test_a_look_that_fails_hides_no_other() -> None:
    def fails() -> list[Finding]:
        raise OSError("no\nsuch counter")

    found = examine({"one": fails, "two": lambda: [Finding("two", "fine", "well")]})
    assert states(found) == {"one": "disturbs", "two": "fine"}
    assert "no such counter" in found[0].seen
