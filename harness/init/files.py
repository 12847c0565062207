"""The files of `harness init`. An existing file is never overwritten."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.init.answers import Answers

BUDGETS: Final = "budgets.yaml"
GITHUB: Final = ".github/workflows/voice-agent.yml"
GITLAB: Final = ".gitlab-ci.yml"
RUN: Final = "gate-run"
CI_MINUTES: Final = 60
_SPOKEN: Final = """\
# Limits for the agent, checked with: harness check --agent {agent} --budgets {file}
# Every figure that a limit can name, and how a verdict is made: docs/gate.md of the harness.
schema: 1
limits:
  # From the caller's last word to the agent's voice, half of the turns within:
  - {{figure: ttfa_ms.p50, at_most: {budget:g}}}
  # The agent must not gain time by talking into its caller's pauses:
  - {{figure: pauses_cut_share, at_most: 0.15}}
  # It must answer. Alone, 44 turns without a miss pass 0.1, and 228 pass 0.02.
  - {{figure: no_reply_rate, at_most: 0.1}}
  # Slow turns too. A p95 needs 90 conversations, so this one waits for a larger pack:
  # - {{figure: ttfa_ms.p95, at_most: {twice:g}}}
  # Kindness, against the plain reference replies, by people's votes (harness listen), or by a judge that people bear out:
  # - {{figure: "elo_over.ref:plain", at_least: -50}}
"""
_WRITTEN: Final = """\
# Limits for the model, checked with: harness check --agent {agent} --budgets {file}
# Every figure that a limit can name, and how a verdict is made: docs/gate.md of the harness.
schema: 1
limits:
  # From the request to the first token of the answer, half of the turns within:
  - {{figure: ttft_ms.p50, at_most: {budget:g}}}
  # A p95 needs 90 conversations, so this one waits for a larger pack:
  # - {{figure: ttft_ms.p95, at_most: {twice:g}}}
  # Kindness, against the plain reference replies, by people's votes (harness listen), or by a judge that people bear out:
  # - {{figure: "elo_over.ref:plain", at_least: -50}}
"""
_GITHUB: Final = """\
# Checks the voice agent against {budgets}: pass, fail, or a warning if the conversations are too few to decide.
name: voice agent
on: [pull_request, workflow_dispatch]
permissions: {{contents: read}}
jobs:
  gate:
    runs-on: ubuntu-latest
    timeout-minutes: {minutes}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {{python-version: "3.11"}}
      - uses: actions/cache@v4
        with: {{path: ~/.cache/heart-voice-harness, key: heart-voice-harness-1}}
      - name: Install (your agent's own packages go here, too)
        run: {install}
      # Keys that the agent needs: add env: {{NAME: "${{{{ secrets.NAME }}}}"}} to this step.
      - name: Gate
        run: |
          code=0
          {check} || code=$?
          if [ -f gate.md ]; then cat gate.md >> "$GITHUB_STEP_SUMMARY"; fi
          if [ "$code" -eq 4 ]; then echo "::warning::The voice agent gate cannot tell yet: see the summary."; exit 0; fi
          exit "$code"
      - uses: actions/upload-artifact@v4
        if: always()
        with: {{name: voice-agent-gate, path: "{run}\\ngate.xml\\ngate.md", if-no-files-found: ignore}}
"""
_GITLAB: Final = """\
# Checks the voice agent against {budgets}: pass, fail, or a warning if the conversations are too few to decide (exit code 4).
voice-agent:
  image: python:3.11
  timeout: {minutes} minutes
  variables: {{HEART_HARNESS_CACHE: $CI_PROJECT_DIR/.cache/heart-voice-harness}}
  cache: {{key: heart-voice-harness-1, paths: [.cache/heart-voice-harness]}}
  script:
    # Your agent's own packages go here, too. Keys that it needs are CI/CD variables.
    - {install}
    - {check}
  allow_failure: {{exit_codes: [4]}}
  artifacts:
    when: always
    paths: [{run}, gate.xml, gate.md]
    reports: {{junit: gate.xml}}
"""


def files_for(answers: Answers) -> Mapping[str, str]:
    """Path → text of every file to write, relative to the project's folder."""
    profile = answers.profile
    found = {} if answers.profile_text is None else {answers.agent: answers.profile_text}
    budgets = _WRITTEN if profile.kind == "text" else _SPOKEN
    found[BUDGETS] = budgets.format(agent=answers.agent, file=BUDGETS, budget=answers.budget_ms, twice=2 * answers.budget_ms)
    words = {
        "budgets": BUDGETS,
        "minutes": CI_MINUTES,
        "install": json.dumps(f"pip install {shlex.quote(answers.install)}"),
        "run": RUN,
    }
    if answers.ci in ("github", "both"):
        found[GITHUB] = _GITHUB.format(**words, check=check_command(answers))
    if answers.ci in ("gitlab", "both"):
        found[GITLAB] = _GITLAB.format(**words, check=json.dumps(check_command(answers)))
    return found


def check_command(answers: Answers) -> str:
    """The command that checks the agent against its limits."""
    mode = () if answers.profile.accepts_a_history else ("--mode", "replay")
    return shlex.join(
        ["harness", "check", "--agent", answers.agent, "--pack", answers.pack, *mode, "--budgets", BUDGETS, "--judge", "none",
         "--out", RUN, "--junit", "gate.xml", "--summary", "gate.md"]
    )  # fmt: skip


def refuse_existing(folder: Path, names: Mapping[str, str]) -> None:
    """Check that no file exists yet, so that none of the user's is overwritten. Raises UserError if one does."""
    for name in names:
        if (folder / name).exists():
            how = "; choose --ci github, or take its job from a new folder" if name == GITLAB else "; move it, or give --name"
            raise UserError(f"{folder / name} is there already{how if name != BUDGETS else '; move it away first'}")


def write_files(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write all files; returns their paths.

    Raises:
        UserError: one exists already (then none is written), or the folder cannot be written.
    """
    refuse_existing(folder, files)
    written = []
    for name, text in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UserError(f"{path}: cannot be written ({error.strerror}); choose another folder") from error
        written.append(path)
    return written
