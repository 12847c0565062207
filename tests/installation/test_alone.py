"""No test looks outside the checkout: a stranger's clone lies alone, so what lies beside ours must decide nothing."""

import ast
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.installation.conftest import ROOT

TESTS = ROOT / "tests"
TOPS = {"ROOT": 0, "TOP": 0}
"""Names of the checkout's own folder, in whatever file they are."""
SHELL = re.compile(r"""(\$0"?\)?/\.\./\.\.)|(\$\{?top\}?"?/\.\.)""")


def above(path: Path, source: str) -> Iterator[str]:
    """Each place in a Python file that names a folder above the checkout, counted from the file itself."""
    tree = ast.parse(source)
    levels = dict(TOPS)
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            level = _level(node.value, len(path.relative_to(ROOT).parts), levels)
            names = node.targets if isinstance(node, ast.Assign) else [node.target]
            levels |= {name.id: level for name in names if isinstance(name, ast.Name) and level is not None}
    for place in ast.walk(tree):
        level = _level(place, len(path.relative_to(ROOT).parts), levels)
        if isinstance(place, ast.expr) and level is not None and level < 0:
            yield f"{path.name}:{place.lineno}: {ast.unparse(place)}"


def _level(node: ast.AST, depth: int, levels: Mapping[str, int]) -> int | None:
    """How deep below the checkout's folder a path is (negative: above it); None where this file does not say."""
    match node:
        case ast.Name(id="__file__"):
            return depth
        case ast.Name(id=name):
            return levels.get(name)
        case ast.Subscript(value=ast.Attribute(value=inner, attr="parents"), slice=ast.Constant(value=int(steps))):
            base = _level(inner, depth, levels)
            return None if base is None else base - steps - 1
        case ast.Attribute(value=inner, attr="parent"):
            base = _level(inner, depth, levels)
            return None if base is None else base - 1
        case ast.Call(func=ast.Attribute(value=inner, attr="resolve" | "absolute")):
            return _level(inner, depth, levels)
        case ast.Call(func=ast.Name(id="Path"), args=[inner, *_]):
            return _level(inner, depth, levels)
        case ast.BinOp(left=inner, op=ast.Div(), right=ast.Constant(value=str(words))):
            base = _level(inner, depth, levels)
            return None if base is None else base + sum(-1 if part == ".." else 1 for part in Path(words).parts)
    return None


def test_no_test_names_a_place_beside_the_checkout() -> None:
    found = [place for path in TESTS.rglob("*.py") for place in above(path, path.read_text(encoding="utf-8"))]
    shell = [path for path in TESTS.glob("*.sh") if SHELL.search(path.read_text(encoding="utf-8"))]
    assert (found, shell) == ([], [])


@pytest.mark.parametrize(
    ("lines", "places"),
    [
        ("Path(__file__).resolve().parents[2]", 0),
        ("Path(__file__).parents[3]", 1),
        ("Path(__file__).parent.parent.parent.parent / 'data'", 1),
        ("HERE = Path(__file__).parent\nHERE.parent.parent.parent", 1),
        ("ROOT.parent", 1),
        ("ROOT / '..'", 1),
        ("ROOT / 'docs' / '..'", 0),
        ("tmp_path.parent.parent", 0),
    ],
)
def test_a_parent_too_many_is_found(lines: str, places: int) -> None:
    assert len(list(above(TESTS / "installation" / "test_alone.py", lines))) == places


def test_ci_runs_both_commands_in_a_clone_with_a_home_of_its_own(tmp_path: Path) -> None:
    """`.ci/run` of a checkout whose two commands say where they are: alone, without its caller's home, and nothing is left."""
    checkout = tmp_path / "beside" / "checkout"
    (checkout / ".ci").mkdir(parents=True)
    (checkout / "tests").mkdir()
    (checkout / ".ci" / "run").write_text((ROOT / ".ci" / "run").read_text(encoding="utf-8"), encoding="utf-8")
    said = (
        'echo "{0}: $(ls -A .. | wc -l) beside, $(ls -A "$HOME" | wc -l) at home, ${{HEART_HARNESS_CACHE:-no cache}}, $PWD"\n'
    )
    (checkout / "tests" / "first_run.sh").write_text(said.format("first"), encoding="utf-8")
    (checkout / "tests" / "run.sh").write_text(said.format("second") + "exit 7\n", encoding="utf-8")
    as_nobody = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    for command in (["init", "--quiet"], ["add", "."], [*as_nobody, "commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", *command], cwd=checkout, check=True)
    (checkout / "beside.txt").write_text("not committed", encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir()
    (home / "token").write_text("mine", encoding="utf-8")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    ran = subprocess.run(
        ["bash", str(checkout / ".ci" / "run")], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(temporary), "HEART_HARNESS_CACHE": str(home)},
    )  # fmt: skip
    first, second = ran.stdout.splitlines()
    assert first.startswith("first: 1 beside, 0 at home, no cache, ")
    assert second.startswith("second: 1 beside, 0 at home, no cache, ")
    assert str(checkout) not in ran.stdout
    assert ran.returncode == 7
    assert list(temporary.iterdir()) == []
