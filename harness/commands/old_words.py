"""Command lines of version 0.3 in the words of this version: what left the help keeps working."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.errors import UserError

_COMMANDS: Final = {
    ("agents", "try"): ("try",),
    ("votes",): ("add-votes",),
    ("retime",): ("measure",),
    ("remeasure",): ("measure",),
    ("scenarios", "list"): ("scenarios", "show"),
}
_OF_A_WORKER: Final = {"--ray-shards": "parts", "--ray-cpus": "cpus", "--ray-gpus": "gpus", "--ray-memory-gib": "memory"}

_OF_PEOPLE: Final[dict[tuple[str, ...], str]] = {("people", "record"): "people", ("people", "answer"): ""}
"""Commands that serve a seat, and the folder that each uses if none is named."""
_SWITCHES: Final = frozenset(("--public", "--links", "--take-in", "--make-pack", "--rehearsal", "--help"))


def in_words_of_today(words: Sequence[str]) -> list[str]:
    """The command line with today's commands and options.

    >>> in_words_of_today(["plan", "--limit", "2", "--out", "plan.json"])
    ['run', '--limit', '2', '--write-plan', 'plan.json']
    >>> in_words_of_today(["run", "--ray", "auto", "--ray-cpus=2"])
    ['run', '--ray', 'auto', '--ray-worker', 'cpus=2']
    >>> in_words_of_today(["listen", "--revoke", "all", "runs/one"])
    ['people', 'list', 'runs/one', '--end-link', 'all']
    >>> in_words_of_today(["people", "record", "--turns", "3", "--make-pack"])
    ['people', 'take-in', 'people']

    Raises:
        UserError: `plan` says neither what it was for.
    """
    if words[:1] == ["help"]:
        return in_words_of_today([*words[1:], "--help"])
    if words[:1] == ["version"]:
        return ["--version", *words[1:]]
    for old, new in _COMMANDS.items():
        if tuple(words[: len(old)]) == old:
            return [*new, *words[len(old) :]]
    if words[:1] in (["export-traces"], ["spans"]):
        return ["report", *_renamed(words[1:], "--out", "--to")]
    if tuple(words[:2]) in (("scenarios", "hear"), ("scenarios", "listen")):
        named = any(word.partition("=")[0] in ("--out", "--help") for word in words)
        return ["scenarios", "show", *words[2:], *([] if named else ["--out", "callers.html"])]
    if tuple(words[:2]) == ("scenarios", "pauses"):
        return ["scenarios", "build", "pack", *_renamed(words[2:], "--law", "--pauses")]
    if words[:1] == ["endpointing"]:
        return ["report", *words[1:], *([] if "--help" in words else ["--endpointing"])]
    if tuple(words[:2]) == ("models", "add"):
        return ["models", "fetch", *words[2:3], *(["--from", *words[3:]] if len(words) > 3 else [])]
    if words and words[0] == "plan":
        return _plan(words[1:])
    if words[:1] == ["listen"] or tuple(words[:2]) in _OF_PEOPLE:
        return _of_people(words)
    if words[:1] == ["judge"]:
        words = ["judge", *_of_judging(words[1:])]
    return list(_with_workers(words)) if words and words[0] in ("run", "judge") else list(words)


def _of_judging(words: Sequence[str]) -> Sequence[str]:
    """`judge RUN …`, `judge --completions FILE` and `judge --check` without a command of their own."""
    first = words[0] if words else ""
    # A run's folder may be called `run`, and was named without a command.
    bare = first == "run" and (not words[1:] or words[1].startswith("-")) and Path("run").is_dir()
    if not bare and (
        first in ("", "run", "check", "--help", "-h") or not (first.startswith("-") or "/" in first or Path(first).exists())
    ):
        return words
    rest = [word.removeprefix("--completions=") for word in words if word not in ("--check", "--completions")]
    return ["check" if "--check" in words and "--dry-run" not in words else "run", *rest]


def _of_people(words: Sequence[str]) -> list[str]:
    """`--links`, `--revoke`, `--take-in` and `--make-pack` of the commands that serve pages are commands of their own."""
    folder = _OF_PEOPLE.get(tuple(words[:2]), "")
    given: dict[str, str] = {}
    rest = iter(words[1:] if words[0] == "listen" else words[2:])
    for word in rest:
        option, equals, value = word.partition("=")
        if not option.startswith("--"):
            folder = word
        elif option in _SWITCHES:
            given[option] = ""
        else:
            given[option] = value if equals else next(rest, "")
    folder = given.get("--out", folder)
    if "--revoke" in given:
        return ["people", "list", folder, "--end-link", given["--revoke"]]
    if "--links" in given:
        return ["people", "list", folder]
    if given.keys() & {"--take-in", "--make-pack"}:
        return ["people", "take-in", folder]
    return list(words)


def _plan(words: Sequence[str]) -> list[str]:
    named = {word.partition("=")[0] for word in words}
    if ("--out" in named) == ("--estimate" in named) and "--help" not in named:
        raise UserError("plan: give either --out FILE, for the plan, or --estimate, for the time and money that it would take")
    return ["run", *_renamed(words, "--out", "--write-plan")]


def _renamed(words: Sequence[str], old: str, new: str) -> list[str]:
    """The words with an option under its new name."""
    return [word.replace(old, new, 1) if word.partition("=")[0] == old else word for word in words]


def _with_workers(words: Sequence[str]) -> list[str]:
    found, waiting = [], ""
    for word in words:
        option, equals, value = word.partition("=")
        if waiting:
            found.append(f"{waiting}={word}")
            waiting = ""
        elif option in _OF_A_WORKER:
            found.append("--ray-worker")
            if equals:
                found.append(f"{_OF_A_WORKER[option]}={value}")
            else:
                waiting = _OF_A_WORKER[option]
        else:
            found.append(word)
    return found
