"""The sizes of the project beside its budget: printed by CI, and written into docs/evidence/sizes.md by `--write`.

Nobody can hold more things than these in mind, and every one of them grows by itself: so each has a number, and whoever
passes it says what left for it (CONTRIBUTING.md).
"""

from __future__ import annotations

import argparse
import subprocess
import tomllib
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any, Final

import grimp
import typer.main

from harness.cli import app

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "evidence" / "sizes.md"
PRODUCT: Final = ("harness", "agents", "audio", "reports", "scenarios")
BUDGET: Final = {
    "lines of product": 72_000,
    "lines of benchmarks": 5_500,
    "lines of tests": 48_000,
    "words of docs": 35_000,
    "commands": 36,
    "options": 230,
    "seconds of the tests": 900,
}
"""Sizes that version 0.4.0 set itself to reach."""


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def lines(*patterns: str) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in tracked(*patterns))


def words(*patterns: str) -> int:
    return sum(len(path.read_text(encoding="utf-8").split()) for path in tracked(*patterns))


def lines_by_room() -> dict[str, int]:
    """Lines of product Python by room: the folders of `harness`, its single files together, and its four sisters."""
    by_room: Counter[str] = Counter()
    for path in tracked(*(f"{top}/*.py" for top in PRODUCT)):
        top, *below = path.relative_to(ROOT).parts
        room = f"harness/{below[0]}" if top == "harness" and len(below) > 1 else top
        by_room[room] += len(path.read_text(encoding="utf-8").splitlines())
    return dict(by_room.most_common())


def arrows() -> int:
    """Pairs of rooms of which one imports the other, at any depth of either."""
    graph = grimp.build_graph("harness", cache_dir=None)

    def room(module: str) -> str:
        return ".".join(module.split(".")[:2])

    pairs = (
        (room(module), room(other)) for module in graph.modules for other in graph.find_modules_directly_imported_by(module)
    )
    return len({(one, other) for one, other in pairs if one != other})


def commands_and_options() -> tuple[int, int]:
    """Commands, and options of all of them, that `--help` shows."""
    commands = options = 0
    waiting: list[Any] = [typer.main.get_command(app)]
    while waiting:
        command = waiting.pop()
        if hasattr(command, "commands"):
            waiting += [each for each in command.commands.values() if not each.hidden]
            continue
        commands += 1
        options += sum(each.param_type_name == "option" and not each.hidden for each in command.params)
    return commands, options


def measured(suite_s: float | None) -> dict[str, int]:
    commands, options = commands_and_options()
    sizes = {
        "lines of product": lines(*(f"{top}/*.py" for top in PRODUCT)),
        "lines of benchmarks": lines("benchmarks/*.py"),
        "lines of tests": lines("tests/*.py"),
        "words of docs": words("docs/*.md", ":!docs/evidence", "README.md", "CONTRIBUTING.md", "SECURITY.md"),
        "words of evidence": words("docs/evidence/*.md"),
        "commands": commands,
        "options": options,
        "arrows between rooms": arrows(),
    }
    return sizes if suite_s is None else sizes | {"seconds of the tests": round(suite_s)}


def table(sizes: dict[str, int]) -> str:
    rows = [f"| {name} | {size:,} | {f'{BUDGET[name]:,}' if name in BUDGET else '–'} |" for name, size in sizes.items()]
    rooms = [f"| {room} | {size:,} |" for room, size in lines_by_room().items()]
    return "\n".join(["| | size | budget |", "|---|---:|---:|", *rows, "", "| room | lines |", "|---|---:|", *rooms])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite-s", type=float, help="seconds that the tests took")
    parser.add_argument("--write", action="store_true", help=f"write them into {PAGE.relative_to(ROOT)}")
    asked = parser.parse_args()
    shown = table(measured(asked.suite_s))
    print(shown)
    if asked.write:
        version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
        heading = f"# Sizes\n\nVersion {version}, {date.today().isoformat()}, by `python -m tests.sizes --write`.\n\n"
        PAGE.write_text(f"{heading}{shown}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
