"""What others publish is taken by its content: actions by commit, images by digest. Whoever owns a tag can move it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from harness.init import Answers, files_for
from harness.init.answers import DEMO
from harness.init.files import GITHUB, GITLAB
from tests.installation.conftest import ROOT

COMMIT = re.compile(r"^\s*(?:- )?uses: [\w.-]+/[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+$")
DIGEST = re.compile(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """What `harness init` writes."""
    return dict(files_for(Answers(DEMO, pack="heart-mini", install=".")))


def uses(node: Any) -> Iterator[str]:
    """Every `uses` of a workflow, in jobs and in steps."""
    if isinstance(node, dict):
        yield from (str(value) for key, value in node.items() if key == "uses")
        yield from (found for value in node.values() for found in uses(value))
    elif isinstance(node, list):
        yield from (found for value in node for found in uses(value))


def test_every_action_is_a_commit_with_its_version_beside_it(written: dict[str, str]) -> None:
    workflows = [path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").iterdir()]
    for text in (*workflows, written[GITHUB]):
        lines = [line for line in text.splitlines() if "uses:" in line]
        assert len(lines) == len(list(uses(yaml.safe_load(text)))) > 0
        assert [line for line in lines if not COMMIT.match(line)] == []


def test_every_image_has_a_digest(written: dict[str, str]) -> None:
    froms = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    images = [*froms, yaml.safe_load(written[GITLAB])["voice-agent"]["image"]]
    assert len(images) >= 2
    assert [image for image in images if not DIGEST.fullmatch(image)] == []


def test_whatever_runs_a_pull_requests_code_may_write_nothing(written: dict[str, str]) -> None:
    workflow = yaml.safe_load(written[GITHUB])
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        checkouts = [step for step in job["steps"] if "actions/checkout@" in step.get("uses", "")]
        if "write" in {**workflow["permissions"], **job.get("permissions", {})}.values():
            assert checkouts == []
            assert "head.repo.full_name == github.repository" in job["if"]
        else:
            assert [step["with"]["persist-credentials"] for step in checkouts] == [False]
        for step in job["steps"]:
            assert "${{" not in step.get("run", ""), "a value that somebody wrote would be run as a command"
