"""Pages of help: commands in groups, options in panels, each description whole at any width.

The parser's own page is one flat list, cuts descriptions at the width and writes types as programs do (`<list[Path]>`). These
pages are written from the same commands, so that nothing is said twice.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from rich.text import Text

from harness.commands.screen import screen
from harness.errors import UserError
from harness.nearest import did_you_mean, nearest

GROUPS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "Start": ("try", "run", "view", "report", "check", "init", "doctor"),
        "Measure": ("agents", "scenarios", "measure", "import-replies", "load", "calibrate", "known"),
        "Judge": ("judge", "rank", "label"),
        "People": ("listen", "add-votes", "people"),
        "Fleet": ("merge", "models"),
    }
)
"""Commands by what they are for, in the order of a first day."""
_Panel = tuple[str, tuple[str, ...]]
_WHAT = "mode", "condition", "repeats", "concurrency", "seed", "barge-in", "events", "budget-ttfa", "budget-ttft"
_PLAYS: Final[_Panel] = ("How it plays", (*_WHAT, "wait-for-quiet"))
_MACHINES: Final[_Panel] = ("Many machines", ("plan", "shard", "ray", "write-plan"))
_LINKS = "public", "raters", "contributors", "callers", "supporters", "expires"
_SERVED: Final[_Panel] = ("Where the pages are served", ("address", *_LINKS, "url", "tls", "proxy"))
_VOTES: Final[_Panel] = ("A vote file to send", ("vote-file", "medium", "study", "consent", "post-to"))
_ENDS: Final[_Panel] = ("What is shown at the end", ("open", "verbose", "json"))
PANELS: Final[Mapping[str, tuple[_Panel, ...]]] = MappingProxyType(
    {
        "run": (_ENDS, _PLAYS, _MACHINES),
        "check": (_PLAYS,),
        "load": (_PLAYS,),
        "judge run": (_MACHINES,),
        "report": (_ENDS, _VOTES),
        "listen": (_SERVED,),
        "people record": (_SERVED,),
        "people answer": (_SERVED,),
    }
)
"""Options of long pages that most people do not need, by what they are for."""
_MOST_WIDE: Final = 120
_MOST_LEFT: Final = 24
"""Columns for names at most; a longer name has a row of its own."""
_LEAST_WORDS: Final = 24
_HELP: Final = ("--help", "-h")
_OPTIONS: Final = "Options"


def help_asked(root: Any, words: Sequence[str]) -> Text | None:
    """The page that this command line asks for; None if it is a command to be run.

    Raises:
        UserError: it names no command that there is.
    """
    command, path = root, ["harness"]
    rest = list(words)
    while rest and (children := _children(command)):
        if rest[0] in children:
            command = children[rest[0]]
            path.append(rest.pop(0))
        elif rest[0].startswith("-"):
            break
        else:
            raise UserError(_no_command(command, path, rest[0]))
    if not any(word in _HELP for word in rest) and (rest or not getattr(command, "no_args_is_help", False)):
        return None
    return page(command, path, min(screen_width(), _MOST_WIDE))


def page(command: Any, path: Sequence[str], width: int) -> Text:
    """The help of one command, in at most `width` columns."""
    written = Text()
    pieces = [_called(one) for one in command.params if one.param_type_name == "argument"]
    usage = [*path, *pieces, *(["COMMAND"] if _children(command) else []), "[options]"]
    written.append("Usage: ", "bold").append(" ".join(usage) + "\n\n")
    for paragraph in _paragraphs(command.help or ""):
        written.append("\n".join(_folded(paragraph, width)) + "\n")
    for title, rows in _sections(command, path[1:]):
        written.append(f"\n{title}\n", "bold")
        _write_rows(written, rows, width)
    if len(path) == 1:
        words = "harness help COMMAND says more on one of them; docs/commands.md goes through them by what you want to do."
        written.append("\n" + "\n".join(_folded(words, width)) + "\n")
    return written


def of_wrong_usage(error: Any) -> str:
    """One sentence on a command line that the parser refuses; for an unknown option with the nearest one."""
    if getattr(error, "ctx", None) is None:
        return str(error.format_message())
    if hasattr(error, "param_type") and error.param is not None:
        name = _called(error.param) if error.param.param_type_name == "argument" else _named(error.param)
        line = error.ctx.command_path
        return f"{line.removeprefix('harness ')}: {name} is missing; {line} --help says what it is"
    if not hasattr(error, "possibilities"):
        return str(error.format_message())
    own = [name for one in visible(error.ctx.command) for name in (*one.opts, *one.secondary_opts)]
    line = error.ctx.command_path
    mend = did_you_mean(error.option_name, own) or f"; {line} --help lists all"
    return f"{line.removeprefix('harness ')}: no option {error.option_name}{mend}"


def visible(command: Any) -> list[Any]:
    """The options of a command that its help shows."""
    return [one for one in command.params if one.param_type_name == "option" and not one.hidden]


def first_sentence(text: str) -> str:
    """The first sentence of a description, in one line."""
    return re.split(r"(?<=[.?!])\s", " ".join(text.split()), maxsplit=1)[0]


def screen_width() -> int:
    """The columns of the terminal, or those that the environment states where output is piped."""
    import shutil

    return shutil.get_terminal_size().columns


def _children(command: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = getattr(command, "commands", {})
    return found


def _no_command(group: Any, path: Sequence[str], word: str) -> str:
    """What to type instead: the nearest command of this group, or one within a group of it."""
    known = {name: " ".join((*path, name)) for name, each in _children(group).items() if not each.hidden}
    for name, each in _children(group).items():
        known |= {inner: " ".join((*path, name, inner)) for inner in _children(each) if inner not in known}
    found = nearest(word, known)
    mend = f"did you mean {known[found]}?" if found else f"{' '.join(path)} --help lists all"
    return f"{''.join(f'{name}: ' for name in path[1:])}no command {word}; {mend}"


def _sections(command: Any, path: Sequence[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The titles of a page with their rows: groups of commands, arguments, panels of options."""
    rest = {name: first_sentence(each.help or "") for name, each in _children(command).items() if not each.hidden}
    if not path:
        for title, names in GROUPS.items():
            yield title, [(name, rest.pop(name)) for name in names if name in rest]
    if rest:
        yield "Commands", list(rest.items())
    arguments = [(_called(one), one.help or "") for one in command.params if one.param_type_name == "argument"]
    if arguments:
        yield "Arguments", arguments
    options = {option.opts[0].strip("-"): (_named(option), _explained(option)) for option in visible(command)}
    panels = PANELS.get(" ".join(path), ())
    apart = {name for _, names in panels for name in names}
    main = tuple(name for name in options if name not in apart)
    for title, names in ((_OPTIONS, main), *panels):
        if rows := [options[name] for name in names if name in options]:
            yield title, rows


def _called(argument: Any) -> str:
    """An argument in the line of usage: `RUN`, `RUN...`, `[PACK]`."""
    name = (argument.metavar or argument.name.upper()).strip("[]{}").removesuffix("...")
    name += "..." if argument.nargs == -1 else ""
    return name if argument.required else f"[{name}]"


def _named(option: Any) -> str:
    """An option with a word for its value, of the kind that a person would write."""
    names = " / ".join([*option.opts, *option.secondary_opts])
    if option.is_flag:
        return names
    kind = option.type_descriptor.annotation
    plain = "N" if kind in (int, float) else "PATH" if option.type_descriptor.is_path else option.opts[0].strip("-").upper()
    return f"{names} {option.metavar or plain}"


def _explained(option: Any) -> str:
    said = option.help or ""
    if option.required:
        return f"{said} (required)"
    if "default:" in said:
        return said
    if isinstance(option.show_default, str):
        return f"{said} (default: {option.show_default})"
    if option.is_flag or option.default in (None, "", (), []):
        return said
    return f"{said} (default: {option.default})"


def _write_rows(written: Text, rows: Sequence[tuple[str, str]], width: int) -> None:
    left = min(max(len(name) for name, _ in rows), _MOST_LEFT)
    for name, words in rows:
        lines = _folded(words, max(width - left - 4, _LEAST_WORDS))
        written.append("  ").append(name, "cyan")
        written.append("\n" + " " * (left + 4) if len(name) > left else " " * (left - len(name) + 2))
        written.append(("\n" + " " * (left + 4)).join(lines) + "\n")


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def _folded(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def show(text: Text) -> None:
    """Print a page, in colour at a terminal alone."""
    screen().print(text, soft_wrap=True, end="")
