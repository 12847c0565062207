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
TO_FILL_IN: Final = "ADDRESS-OF-THE-HARNESS"
"""What a job installs until somebody writes an address there: pip names it, and the job fails."""
_OWN_PROJECT: Final = 'name = "heart-voice-harness"'
ACTIONS: Final = {
    "checkout": "actions/checkout@11d5960a326750d5838078e36cf38b85af677262  # v4.4.0",
    "cache": "actions/cache@0057852bfaa89a56745cba8c7296529d2fc39830  # v4.3.0",
    "upload": "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02  # v4.6.2",
    "download": "actions/download-artifact@d3f86a106a0bac45b974a628896c90dbdf5c8093  # v4.3.0",
}
"""By commit, because whoever owns a tag can move it."""
_IMAGE: Final = "python:3.11-bookworm@sha256:b99029c95d3d37fb1e4e76d287f7984373dca77c665885986e31b2c95260c13c"
_GITHUB: Final = """\
# Checks the voice agent against {budgets}: pass, fail, or a warning if the conversations are too few to decide.
name: voice agent
on: [pull_request, workflow_dispatch]
permissions: {{contents: read}}
jobs:
  gate:
    runs-on: ubuntu-latest
    timeout-minutes: {minutes}
    strategy:
      fail-fast: false
      matrix: {{agent: [{agent}]}}   # each agent is a job of its own: add yours
    steps:
      - uses: {checkout}
        with: {{persist-credentials: false}}   # the pull request's own code runs here
      - uses: {cache}
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
      - uses: {upload}
        if: always()
        with: {{name: "voice-agent-summary-${{{{ strategy.job-index }}}}", path: gate.md, if-no-files-found: ignore}}
      - uses: {upload}
        if: always()
        with:
          name: voice-agent-gate-${{{{ strategy.job-index }}}}
          path: |
            {run}
            gate.xml
            gate.md
          if-no-files-found: ignore
  # May write to the pull request, so it runs none of its code: it checks out nothing, and takes summaries as anybody's text,
  # cut to what a comment may have, without controls and mentions. A fork's summary is on the job's page alone.
  comment:
    needs: gate
    if: always() && github.event.pull_request.head.repo.full_name == github.repository
    runs-on: ubuntu-latest
    timeout-minutes: 5
    permissions: {{pull-requests: write}}
    steps:
      - uses: {download}
        with: {{pattern: voice-agent-summary-*, path: summaries}}
      - name: Comment
        run: |
          find summaries -name gate.md -type f | sort | head -n 20 | xargs -r -d '\\n' head -qc 20000 | head -c 60000 \\
            | tr -d '\\000-\\010\\013-\\037\\177' | tr '@' ' ' | iconv -c -f utf-8 -t utf-8 > comment.md || true
          if [ -s comment.md ]; then
            gh pr comment "$PULL" --repo "$GITHUB_REPOSITORY" --edit-last --create-if-none --body-file comment.md \\
              || echo "::notice::The summary could not be added."
          fi
        env: {{GH_TOKEN: "${{{{ github.token }}}}", PULL: "${{{{ github.event.number }}}}"}}
"""
_GITLAB: Final = """\
# Checks the voice agent against {budgets}: pass, fail, or a warning if the conversations are too few to decide (exit code 4).
voice-agent:
  image: {image}
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
        found[GITHUB] = _GITHUB.format(**words, **ACTIONS, install=shlex.quote(answers.install), check=check)
    if answers.ci in ("gitlab", "both"):
        install = json.dumps(f".venv/bin/pip install {shlex.quote(answers.install)}")
        found[GITLAB] = _GITLAB.format(**words, image=_IMAGE, install=install, check=json.dumps(f".venv/bin/{check}"))
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
    again = ("--minutes", str(again_minutes(answers)))
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
