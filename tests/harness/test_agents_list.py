"""The list of agents says of each what was found of its replies, and as much in JSON."""

import json

from typer.testing import CliRunner

from harness.agents.profile import load_profile
from harness.commands.agents import app


def test_a_profile_whose_replies_were_read_is_listed_with_what_was_found() -> None:
    found = load_profile("polaris-like").about_replies
    assert "by a program" in found
    listed = CliRunner().invoke(app, [], env={"COLUMNS": "400"})
    assert found in " ".join(listed.output.split())
    rows = json.loads(CliRunner().invoke(app, ["--json"]).output)["agents"]
    assert rows["polaris-like"]["about_replies"] == found
    assert rows["smollm2-text"]["about_replies"] == ""
