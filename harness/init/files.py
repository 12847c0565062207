"""The files of `harness init`. An existing file is never overwritten."""

import json
import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.errors import UserError
from harness.files import folder_for_others, for_others, write_whole
from harness.init.answers import DEMO, Answers, demo_files
from harness.scenarios.pack import load_pack

BUDGETS: Final = "budgets.yaml"
GITHUB: Final = ".github/workflows/voice-agent.yml"
GITLAB: Final = ".gitlab-ci.yml"
RUN: Final = "gate-run"
_SETUP_MINUTES: Final = 20
_AGAIN: Final = 0.5
_AGAIN_MINUTES: Final = 5
"""A CI runner is a machine that others use too. Sessions that they disturb are played again for half the time of the calls, at
least five minutes; the job may last the calls, that time, and an installation, and is then stopped."""
_OWN_PROJECT: Final = 'name = "heart-voice-harness"'
_GITHUB: Final = """\
# Checks the voice agent against {budgets}: pass, fail, or a warning if the conversations are too few to decide.
name: voice agent
on: [pull_request, workflow_dispatch]
permissions: {{contents: read, pull-requests: write}}   # the second only for the comment
jobs:
  gate:
    runs-on: ubuntu-latest
    timeout-minutes: {minutes}
    strategy:
      fail-fast: false
      matrix: {{agent: [{agent}]}}   # each agent is a job of its own: add yours
    steps:
      - uses: actions/checkout@v4
      - uses: actions/cache@v4
        with: {{path: ~/.cache/heart-voice-harness, key: heart-voice-harness-1}}
      - name: Install (your agent's own packages go here, too)
        run: |
          python3 -m venv .venv
          .venv/bin/pip install {install}
      # Keys that the agent needs: add env: {{NAME: "${{{{ secrets.NAME }}}}"}} to this step.
      - name: Gate
        run: |
          code=0
          .venv/bin/{check} || code=$?
          if [ -f gate.md ]; then cat gate.md >> "$GITHUB_STEP_SUMMARY"; fi
          if [ "$code" -eq 4 ]; then echo "::warning::The voice agent gate cannot tell yet: see the summary."; exit 0; fi
          exit "$code"
        env: {{AGENT: "${{{{ matrix.agent }}}}"}}
      - name: Comment
        if: always() && github.event_name == 'pull_request' && hashFiles('gate.md') != ''
        run: >-
          gh pr comment "$PULL" --edit-last --create-if-none --body-file gate.md
          || echo "::notice::The summary could not be added."
        env: {{GH_TOKEN: "${{{{ github.token }}}}", PULL: "${{{{ github.event.number }}}}"}}
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: voice-agent-gate-${{{{ strategy.job-index }}}}
          path: |
            {run}
            gate.xml
            gate.md
          if-no-files-found: ignore
"""
_GITLAB: Final = """\
# Checks the voice agent against {budgets}: pass, fail, or a warning if the conversations are too few to decide (exit code 4).
voice-agent:
  image: python:3.11
  timeout: {minutes} minutes
  parallel: {{matrix: [{{AGENT: [{agent}]}}]}}   # each agent is a job of its own: add yours
  variables: {{HEART_HARNESS_CACHE: $CI_PROJECT_DIR/.cache/heart-voice-harness}}
  cache: {{key: heart-voice-harness-1, paths: [.cache/heart-voice-harness]}}
  script:
    # Your agent's own packages go here, too. Keys that it needs are CI/CD variables.
    - python3 -m venv .venv
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
    from harness.init.limits import limits_text

    profile, pack = answers.profile, load_pack(answers.pack)
    found = dict(demo_files()) if answers.kind == DEMO else {}
    if answers.profile_text is not None:
        found[answers.agent] = answers.profile_text
    found[BUDGETS] = limits_text(
        answers.agent, BUDGETS, pack, answers.mode, answers.budget_ms, spoken=profile.kind != "text", at_once=answers.at_once
    )
    words = {
        "budgets": BUDGETS,
        "agent": json.dumps(answers.agent),
        "minutes": _job_minutes(answers),
        "run": RUN,
    }
    check = check_command(answers)
    if answers.ci in ("github", "both"):
        found[GITHUB] = _GITHUB.format(**words, install=shlex.quote(answers.install), check=check)
    if answers.ci in ("gitlab", "both"):
        install = json.dumps(f".venv/bin/pip install {shlex.quote(answers.install)}")
        found[GITLAB] = _GITLAB.format(**words, install=install, check=json.dumps(f".venv/bin/{check}"))
    return found


def check_command(answers: Answers) -> str:
    """The command with which CI checks the agent in `$AGENT` against its limits."""
    words = shlex.join(
        ["--pack", answers.pack, *gate_options(answers), "--budgets", BUDGETS, "--judge", "none",
         "--out", RUN, "--junit", "gate.xml", "--summary", "gate.md"]
    )  # fmt: skip
    return f'harness check --agent "$AGENT" {words}'


def gate_options(answers: Answers) -> tuple[str, ...]:
    """The options of a check that depend on the agent: its mode, calls at once, and the time for playing again."""
    mode = () if answers.mode == "seeded" else ("--mode", answers.mode)
    again = ("--until-clear", "--minutes", str(again_minutes(answers)))
    return (*mode, *(("--concurrency", str(answers.at_once)) if answers.at_once > 1 else ()), *again)


def again_minutes(answers: Answers) -> int:
    """The minutes for sessions that are played again."""
    return max(_AGAIN_MINUTES, math.ceil(_AGAIN * _calls_minutes(answers)))


def _job_minutes(answers: Answers) -> int:
    """The time-out of a CI job, in whole tens of minutes."""
    return 10 * math.ceil((_SETUP_MINUTES + _calls_minutes(answers) + again_minutes(answers)) / 10)


def _calls_minutes(answers: Answers) -> float:
    from harness.run.plan import lasting_s

    pack = load_pack(answers.pack)
    return sum(lasting_s(context, pack, answers.mode) for context in pack.contexts) / answers.at_once / 60


def refuse_own_checkout(folder: Path) -> None:
    """Refuse to write a user's files into the harness's own source. Raises UserError."""
    project = folder / "pyproject.toml"
    if project.is_file() and _OWN_PROJECT in project.read_text(encoding="utf-8", errors="replace"):
        raise UserError(
            f"{folder.resolve()}: is the harness's own source; name your project's folder, as in harness init ../my-agent"
        )


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
            folder_for_others(path.parent)
            write_whole(path, text)
            for_others(path)
        except OSError as error:
            raise UserError(f"{path}: cannot be written ({error.strerror}); choose another folder") from error
        written.append(path)
    return written
