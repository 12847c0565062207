"""The locked requirements: those of the extra `local`, at the versions that were tested together, each file with its hash."""

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.installation.conftest import ROOT

PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)")


def pins(name: str) -> dict[str, str]:
    """Versions by package."""
    found = (PIN.match(line) for line in (ROOT / name).read_text(encoding="utf-8").splitlines())
    return {canonicalize_name(pin[1]): pin[2] for pin in found if pin}


def test_the_lock_has_the_constraints_versions() -> None:
    tested = pins("constraints.txt")
    other = {name: (version, tested.get(name)) for name, version in pins("requirements-locked.txt").items()}
    assert {name: pair for name, pair in other.items() if pair[1] not in (None, pair[0])} == {}


def test_the_lock_has_all_that_is_asked_for_and_fits() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    locked = pins("requirements-locked.txt")
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    for asked in map(Requirement, [*build, *project["dependencies"], *project["optional-dependencies"]["local"]]):
        assert asked.specifier.contains(locked[canonicalize_name(asked.name)]), str(asked)


def test_every_locked_package_has_hashes_and_no_address_stands_there() -> None:
    text = (ROOT / "requirements-locked.txt").read_text(encoding="utf-8")
    entries = [entry for entry in re.split(r"\n(?=\S)", text) if not entry.startswith("#")]
    assert len(entries) > 80
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in text


def test_strangers_install_nothing_whose_hash_is_not_checked() -> None:
    for name in ("README.md", "Dockerfile"):
        text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
        installs = re.findall(r"pip install ([^&\n]+)", text)
        assert installs
        assert all(
            "--require-hashes" in each or {"--no-deps", "--no-build-isolation"} <= set(each.split()) for each in installs
        ), name
