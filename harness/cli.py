"""The command line: errors are one line for a person, a JSON object for a program, and a traceback with `--debug`.

Exit codes: 0 done, 1 a check missed, 2 the user's input is wrong, 3 the agent or a service failed (finished work is saved),
4 a check cannot tell, 130 stopped by Ctrl-C, SIGTERM or a closed terminal. With `--json`, standard output holds one object and
nothing else, errors included.
"""

import json
import os
import sqlite3
import sys
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Annotated, Final, TextIO, cast

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from harness.agents.secrets import RedactedOutput, redact_foreign
from harness.called_as import AsCalled
from harness.commands import (
    add_votes,
    agents,
    calibrate,
    check,
    doctor,
    help,
    import_replies,
    init,
    judge,
    known,
    label,
    listen,
    load,
    measure,
    merge,
    models,
    people,
    play,
    rank,
    report,
    run,
    scenarios,
    try_agent,
    view,
)
from harness.commands.old_words import in_words_of_today
from harness.errors import AgentError, StorageError, UserError
from harness.files import private_by_default
from harness.printable import printable
from harness.run.stopping import stops_as_ctrl_c
from harness.store.disk import storage_cause, storage_fault

HOW_TO_BE_ALLOWED: Final = (
    "change its permissions, or name other folders: --out for the run, HEART_HARNESS_CACHE for files shared by runs"
)

COMPLETING: Final = "_HARNESS_COMPLETE"
"""The variable by which a shell asks for completions."""

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Measures whether a voice agent answers fast enough and kindly enough at the same time.",
)


@app.callback(invoke_without_command=True)
def _root(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if debug:
        os.environ["HEART_HARNESS_DEBUG"] = "1"
    if version:
        from importlib.metadata import version as installed_version

        typer.echo(installed_version("heart-voice-harness"))
        raise typer.Exit(0)


app.command("try")(try_agent.try_agent)
app.command("run")(run.run)
app.command("merge")(merge.merge)
app.add_typer(agents.app, name="agents")
app.add_typer(models.app, name="models")
app.add_typer(scenarios.app, name="scenarios")
app.add_typer(judge.app, name="judge")
app.add_typer(label.app, name="label")
app.command("add-votes")(add_votes.add_votes)
app.command("rank")(rank.rank)
app.command("report")(report.report)
app.command("check")(check.check)
app.command("view")(view.view)
app.command("play", hidden=True)(play.play)
app.command("measure")(measure.measure)
app.command("import-replies")(import_replies.import_replies)
app.command("calibrate")(calibrate.calibrate)
app.add_typer(known.app, name="known")
app.command("load")(load.load)
app.command("listen")(listen.listen)
app.add_typer(people.app, name="people")
app.command("doctor")(doctor.doctor)
app.command("init")(init.init)


def main() -> None:
    """Entry point of the `harness` command."""
    private_by_default()
    # From here on all output passes the mask: progress, results, tracebacks, and what libraries print.
    if "--json" not in sys.argv:  # a program's, and not read at this terminal
        sys.stdout = cast(TextIO, AsCalled(sys.stdout, _words()))
    sys.stdout = cast(TextIO, RedactedOutput(sys.stdout))
    sys.stderr = cast(TextIO, RedactedOutput(cast(TextIO, AsCalled(sys.stderr, _words()))))
    sys.excepthook = _show_defect
    with stops_as_ctrl_c():
        code = _run(sys.argv[1:])
    sys.exit(code)


def _words() -> Iterator[str]:
    """The words that can follow the program's name: commands, groups of commands, and the options that need none."""
    yield from ("--help", "--version")
    yield from (each.name for each in app.registered_commands if each.name)
    yield from (each.name for each in app.registered_groups if each.name)


def _show_defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A defect's traceback on standard error, masked: a library's error repeats what an agent or an endpoint said."""
    sys.stderr.write(redact_foreign("".join(traceback.format_exception(kind, error, trace))))


def _run(arguments: list[str]) -> int:
    # `--debug` is accepted anywhere on the command line: nobody remembers on which side of the command it belongs.
    debug = ["--debug"] if "--debug" in arguments else []
    as_json = "--json" in arguments
    try:
        words = in_words_of_today([word for word in arguments if word != "--debug"])
        command = get_command(app)
        if COMPLETING not in os.environ and (asked := help.help_asked(command, words)) is not None:
            help.show(asked)
            return 0
        outcome = command.main(args=[*debug, *words], prog_name="harness", standalone_mode=False)
        sys.stdout.flush()  # a file that it is led into can be on a full disk too
    except TyperException as error:
        return _fail(2, "input", help.of_wrong_usage(error), as_json)
    except UserError as error:
        _show_traceback_if_asked()
        if storage_cause(error) is not None:
            return _fail(3, "storage", f"{error}; free some space and run the command again", as_json)
        return _fail(2, "input", str(error), as_json)
    except AgentError as error:
        _show_traceback_if_asked()
        return _fail(3, "agent", redact_foreign(str(error)), as_json)
    except (KeyboardInterrupt, typer.Abort):
        return _fail(130, "interrupted", "stopped", as_json)
    except BrokenPipeError:
        # The reader of our output has closed it (`| head`), so no message can reach it.
        _drop_output()
        return 0
    except StorageError as error:
        _show_traceback_if_asked()
        return _fail(3, "storage", str(error), as_json)
    except (OSError, sqlite3.OperationalError) as error:
        fault = storage_fault(error)
        if fault is None and isinstance(error, PermissionError) and error.filename:
            _show_traceback_if_asked()
            return _fail(2, "input", f"{error.filename}: {error.strerror}; {HOW_TO_BE_ALLOWED}", as_json)
        if fault is None:
            raise
        _show_traceback_if_asked()
        _flush_or_drop_output()
        line = f"the disk could not be written ({fault}); finished work is saved; free some space and run the command again"
        return _fail(3, "storage", line, as_json)
    return outcome if isinstance(outcome, int) else 0


def _flush_or_drop_output() -> None:
    """What is still to be printed is printed, or dropped where the disk that it is led into is full."""
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(code: int, kind: str, message: str, as_json: bool) -> int:
    line = " ".join(message.split()) if kind == "input" else message
    if not (as_json and _printed(json.dumps({"error": {"kind": kind, "message": line}}))):
        print(f"harness: {printable(line)}", file=sys.stderr)
    return code


def _printed(text: str) -> bool:
    """Whether standard output took a text; what it does not take is dropped."""
    try:
        print(text)
        sys.stdout.flush()
    except OSError:
        _drop_output()
        return False
    return True


def _show_traceback_if_asked() -> None:
    if os.environ.get("HEART_HARNESS_DEBUG"):
        sys.stderr.write(redact_foreign(traceback.format_exc()))
