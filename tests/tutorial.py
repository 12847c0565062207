"""docs/tutorial.md, run to the letter: `python -m tests.tutorial [--write]`.

Each line of its `sh` blocks is run in a folder that was empty, with an empty home, and must exit with the code that its
comment names (0 without one; `0 or 1` where it depends on the machine). Afterwards each gate's verdict is compared with its
page. `--write` puts the outputs into the page, and the seconds into docs/evidence/first-run.md, so that they never say more
than was seen. pip's own cache is shared, and weights are fetched.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.gate.stored import FILE, stored_check
from harness.store.manifest import machine_facts
from tests.present import present

TOP: Final = Path(__file__).parents[1]
PAGE: Final = TOP / "docs" / "tutorial.md"
SECONDS_PAGE: Final = TOP / "docs" / "evidence" / "first-run.md"
BLOCK: Final = re.compile(r"```sh\n(?P<lines>.*?)```\n(?P<shown>```text\n.*?```\n)?", re.DOTALL)
EXITS: Final = re.compile(r"\s+# exits with ([\d or]+)$")
SECONDS: Final = re.compile(r"(?<=<!-- seconds -->\n).*?(?=<!-- /seconds -->)", re.DOTALL)
MOST_LINES: Final = 30
LONGEST_S: Final = 1_800.0
ANSWERS: Final[Mapping[str, tuple[int, Mapping[str, Sequence[str]]]]] = {
    "ttfa_ms.p50": (0, {"pass": ("yes",), "fail": ("no",), "cannot tell": ("unclear",)}),
    "pauses_cut_share": (2, {"pass": ("few", "unclear"), "fail": ("many",), "cannot tell": ("unclear",)}),
}
"""Figure of a limit → the column of the page's answers, and those that agree with each verdict. A share may pass in doubt."""


@dataclass(frozen=True, slots=True)
class Done:
    """One line of the page, as it was run."""

    line: str
    expected: tuple[int, ...]
    code: int
    seconds: float
    said: str
    complained: str


def blocks_of(page: str) -> list[list[str]]:
    """The command lines of each `sh` block."""
    return [found["lines"].splitlines() for found in BLOCK.finditer(page)]


def run_lines(lines: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Iterator[Done]:
    """Each line, run in `folder`; after one that did not exit as expected, no more."""
    for line in lines:
        found = EXITS.search(line)
        command = line[: found.start()] if found else line
        expected = tuple(map(int, found[1].split(" or "))) if found else (0,)
        begun_s = time.monotonic()
        ran = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=dict(environment), capture_output=True, text=True, timeout=LONGEST_S,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        yield Done(command, expected, ran.returncode, time.monotonic() - begun_s, ran.stdout, ran.stderr)
        if ran.returncode not in expected:
            return


def written(page: str, done: Sequence[Sequence[Done]]) -> str:
    """The page with these outputs and seconds."""
    each = iter(done)

    def with_output(found: re.Match[str]) -> str:
        ran = next(each)
        if found["shown"] is None:
            return found[0]
        said = "\n".join("\n".join(one.said for one in ran).strip().splitlines()[-MOST_LINES:])
        return f"```sh\n{found['lines']}```\n```text\n{said}\n```\n"

    facts = machine_facts()
    rows = [f"| `{one.line}` | {one.seconds:.0f} |" for ran in done for one in ran]
    total = f"| all | {sum(one.seconds for ran in done for one in ran):.0f} |"
    machine = (
        f"On {facts['processor']}, {facts['cores']} cores ({facts.get('instruction_sets', 'instruction sets not known')}):\n"
    )
    table = "\n".join([machine, "| line | seconds |", "|---|---|", *rows, total, ""])
    return SECONDS.sub(lambda _: table, BLOCK.sub(with_output, page))


def disagreements(folder: Path) -> Iterator[str]:
    """The sentences on each run below `folder` whose page does not begin with its gate's verdict, or answers another."""
    for file in sorted(folder.glob(f"runs/*/{FILE}")):
        page = (file.parent / "report.html").read_text(encoding="utf-8")
        check = present(stored_check(file.parent))
        first = page.find("<section")
        if not page.startswith('<section id="gate"', first) or f">{check.verdict}</b></h2>" not in page[first : first + 400]:
            yield f"{file.parent.name}: the page does not begin with {check.verdict}"
        answers = re.findall(r'<td role="cell"[^>]*><b>([^<]*)</b>', page)
        for limit in check.limits:
            place, words = ANSWERS[limit.figure]
            if answers[place] not in words[limit.verdict]:
                yield f"{file.parent.name}: {limit.words} is {limit.verdict}, and the page says {answers[place]}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Run docs/tutorial.md to the letter.")
    parser.add_argument("--write", action="store_true", help="write the outputs and seconds into their pages")
    given = parser.parse_args()
    page, done = PAGE.read_text(encoding="utf-8"), []
    with tempfile.TemporaryDirectory(prefix="tutorial-") as scratch:
        folder, home = Path(scratch) / "work", Path(scratch) / "home"
        folder.mkdir()
        home.mkdir()
        shared = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name in ("PATH", "LANG")}
        cache = os.environ.get("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip"))
        environment = {**shared, "HOME": str(home), "PIP_CACHE_DIR": cache, "VOICE_HARNESS": str(TOP)}
        for lines in blocks_of(page):
            ran = []
            for one in run_lines(lines, folder, environment):
                print(f"{one.seconds:7.1f} s  exit {one.code}  {one.line}", flush=True)
                ran.append(one)
            done.append(ran)
            if ran[-1].code not in ran[-1].expected:
                wanted = " or ".join(map(str, ran[-1].expected))
                print(ran[-1].said, ran[-1].complained, f"expected exit {wanted}", sep="\n", file=sys.stderr)
                return 1
        wrong = list(disagreements(folder))
        print(*wrong, sep="\n", file=sys.stderr)
        if wrong:
            return 1
    if given.write:
        for path in (PAGE, SECONDS_PAGE):
            path.write_text(written(path.read_text(encoding="utf-8"), done), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
