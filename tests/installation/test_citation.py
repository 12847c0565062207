"""The citation names the version that is installed, and its licence."""

import tomllib

import yaml

from tests.installation.conftest import ROOT


def test_the_citation_is_of_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])
    assert cited["cff-version"] == "1.2.0"
    assert all(cited[needed] for needed in ("title", "message", "authors"))
