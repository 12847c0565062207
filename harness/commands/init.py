"""`harness init`: a first profile, budgets file and CI job, written from a few answers."""

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from harness import wording
from harness.errors import UserError
from harness.init import Answers, files_for, refuse_existing, refuse_own_checkout, write_files
from harness.init.answers import CIS, DEMO, DEMO_BUDGET_MS, Ci
from harness.init.files import BUDGETS, GITHUB, GITLAB, TO_FILL_IN, gate_options
from harness.init.install_address import install_address
from harness.progress import in_ci


def init(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Folder for the files.")] = Path("."),
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            show_default="asked",
            help="Protocol of your agent (see `harness agents new`), a shipped agent, or demo: bots of your own to try.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default="asked, or my-agent", help="Name of your agent; default: my-agent."),
    ] = None,
    url: Annotated[str | None, typer.Option(metavar="URL", show_default="asked", help="Address of a running agent.")] = None,
    command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", show_default="asked", help='Command that starts the agent, as in "python bot.py --port {port}".'
        ),
    ] = None,
    budget_ttfa: Annotated[
        float | None,
        typer.Option(
            metavar="MS", help="Limit for the median TTFA in ms (TTFT for a text model); default: 500, for the demo 1,500."
        ),
    ] = None,
    pack: Annotated[str | None, typer.Option(help="Pack that CI plays; default: heart-open.")] = None,
    ci: Annotated[
        str | None,
        typer.Option(
            metavar="github|gitlab|both|none",
            show_default="asked, or both",
            help=f"CI to write a job for: {', '.join(CIS)}; default: both.",
        ),
    ] = None,
    install: Annotated[
        str | None,
        typer.Option(
            show_default="the address that this harness came from",
            help="Package that CI installs with pip: a requirement, a path or a URL.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Ask nothing; print one JSON object.")] = False,
) -> None:
    """Write a profile, a budgets file and CI jobs from a few answers. An option answers its question in advance."""
    asks = _somebody_is_there() and not as_json
    refuse_own_checkout(folder)
    if kind is None:
        if not asks:
            raise UserError("init: name your agent's protocol, as in --kind pipecat-eval (docs/agents.md has all kinds)")
        kind = _ask_kind()
    _known_ci(ci)  # a mistake in either is reported before the next question
    known = Answers(kind, ci="none")
    if asks and not known.ships and kind != DEMO:
        name = name if name is not None else _ask("Name of your agent?", "my-agent")
        if url is None and command is None:
            url = _ask("Address of the running agent (ws://…)? Leave empty to let the harness start it", "") or None
            command = None if url else _ask("Command that starts it? {port} becomes a free port", "python bot.py --port {port}")
    usual_ms = DEMO_BUDGET_MS if kind == DEMO else 500.0
    if asks:
        budget_ttfa = budget_ttfa if budget_ttfa is not None else _ask_ms("Limit for the median TTFA, in ms?", usual_ms)
        ci = ci if ci is not None else _ask(f"CI to write a job for ({', '.join(CIS)})", "both")
    budget_ms = usual_ms if budget_ttfa is None else budget_ttfa
    answers = Answers(kind, name or "my-agent", url, _words(command), budget_ms, pack or "heart-open", ci="none")
    _ = answers.profile  # a mistake in it is reported before the question about CI
    if _known_ci(ci) != "none":
        answers = replace(answers, ci=_known_ci(ci), install=install or _address(kind, asks=asks))
    files = files_for(answers)
    refuse_existing(folder, files)
    written = write_files(folder, files)
    jobs = [str(folder / name) for name in (GITHUB, GITLAB) if name in files and answers.install == TO_FILL_IN]
    if as_json:
        said = {"schema": 1, "files": [str(path) for path in written], "agent": answers.agent, "to_fill_in": jobs}
        print(json.dumps(said, indent=2))
        return
    for path in written:
        print(f"written  {path}")
    if jobs:
        print("\nFill in: CI cannot reach the folder that this harness was installed from. Write another address in place of")
        print(f"{TO_FILL_IN} in {' and '.join(jobs)}, such as git+https://HOST/REPOSITORY@TAG.")
    agent = answers.agent if answers.ships else folder / answers.agent
    options = [*gate_options(answers), "--budgets", folder / BUDGETS, "--judge", "none"]
    print(f"\nTest the profile:   {wording.command('try', agent)}")
    print(f"Check the limits: {wording.command('check', '--agent', agent, '--pack', answers.pack, *options)}")


def _address(kind: str, *, asks: bool) -> str:
    """The package that CI installs if none is named; `TO_FILL_IN` where it came from a folder that CI cannot reach."""
    found = install_address("local" if kind == DEMO else "")  # one of the demo's bots is of pipecat
    if found is None and asks:
        found = _ask("Address from which CI installs the harness (git+https://HOST/REPOSITORY@TAG, or a wheel's)?", "")
    return found or TO_FILL_IN


def _somebody_is_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty() and not in_ci()


def _ask(question: str, default: str) -> str:
    answer: str = typer.prompt(question, default=default, err=True, show_default=bool(default))
    return answer.strip()


def _ask_ms(question: str, default: float) -> float:
    answer: float = typer.prompt(question, default=default, type=float, err=True)
    return answer


def _ask_kind() -> str:
    from harness.agents.profile import profile_kinds

    typer.echo(
        f"Kinds of agent: {', '.join(profile_kinds())}; demo, with bots to try; or polaris-like, a shipped agent.", err=True
    )
    return _ask("Protocol of your agent?", "pipecat-eval")


def _words(command: str | None) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command or ""))
    except ValueError as error:
        raise UserError(f"--command: {error}; write it as in a shell") from error


def _known_ci(ci: str | None) -> Ci:
    for known in CIS:
        if ci in (known, None) and known in (ci, "both"):
            return known
    raise UserError(f"--ci {ci}: unknown; choose one of {', '.join(CIS)}")
