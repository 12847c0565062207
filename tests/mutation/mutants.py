"""Small faults in a module, by the operators of cosmic-ray, and a draw among them.

A draw takes places, not mutants: cosmic-ray knows eleven ways to spoil one plus sign, most of which raise a TypeError at once
and would flatter the tests. So every place counts once, with one fault drawn for it, and arithmetic is only spoiled as a person
would (plus for minus, times for divided by). Annotations and switches of dataclasses are left out.
"""

from __future__ import annotations

import ast
import random
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

PLAUSIBLE_ARITHMETIC = (
    ("Add", "Sub"),
    ("Sub", "Add"),
    ("Mul", "Div"),
    ("Div", "Mul"),
    ("FloorDiv", "Mul"),
    ("Mod", "Mul"),
    ("Pow", "Mul"),
    ("BitOr", "BitAnd"),
    ("BitAnd", "BitOr"),
)
COMPARISONS = ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE", "Is", "IsNot")


@dataclass(frozen=True)
class Mutant:
    """One fault in one file: ``name`` says it in words, ``lines`` are the lines of the file as it is that it touches."""

    path: str
    name: str
    lines: tuple[int, int]
    source: str


@dataclass(frozen=True)
class _Place:
    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    operator: str
    occurrence: int


def drawn(root: Path, paths: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """``count`` mutants of the files ``paths`` under ``root``, one fault at each place drawn; all if there are fewer."""
    chance = random.Random(seed)
    places: dict[tuple[str, tuple[int, int], tuple[int, int], str], list[_Place]] = {}
    for path in paths:
        for place in _places(root, path):
            places.setdefault((place.path, place.start, place.end, _family(place.operator)), []).append(place)
    order = sorted(places)
    chance.shuffle(order)
    mutants: list[Mutant] = []
    for where in order:
        if len(mutants) == count:
            break
        mutant = _made(root, chance.choice(places[where]))
        if mutant is not None:
            mutants.append(mutant)
    return mutants


def named(root: Path, listed: Path) -> list[Mutant]:
    """The faults written down in ``listed``.

    Raises:
        ValueError: if the text of one is not in its file exactly once: the fault must be written anew for the code as it is.
    """
    mutants = []
    for fault in tomllib.loads(listed.read_text(encoding="utf-8")).get("fault", []):
        source = (root / fault["path"]).read_text(encoding="utf-8")
        if (times := source.count(fault["code"])) != 1:
            raise ValueError(f"{listed.name}: {fault['name']!r}: its code is {times} times in {fault['path']}")
        first = source[: source.index(fault["code"])].count("\n") + 1
        lines = (first, first + fault["code"].rstrip("\n").count("\n"))
        mutants.append(Mutant(fault["path"], fault["name"], lines, source.replace(fault["code"], fault["spoilt"])))
    return mutants


def _family(operator: str) -> str:
    return operator.split("_")[0]


def _operators() -> Iterator[str]:
    yield from (f"core/ReplaceBinaryOperator_{one}_{other}" for one, other in PLAUSIBLE_ARITHMETIC)
    yield from (f"core/ReplaceComparisonOperator_{one}_{other}" for one in COMPARISONS for other in COMPARISONS if one != other)
    yield from (f"core/{name}" for name in ("AddNot", "NumberReplacer", "ReplaceAndWithOr", "ReplaceOrWithAnd"))
    yield from (f"core/{name}" for name in ("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ZeroIterationForLoop"))
    yield from (f"core/{name}" for name in ("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ExceptionReplacer"))
    yield from (f"core/ReplaceUnaryOperator_{name}" for name in ("USub_UAdd", "Delete_USub", "Delete_Not"))


class _Places(Visitor):  # type: ignore[misc]
    def __init__(self, path: str, operator: str) -> None:
        self.found: list[_Place] = []
        self._path, self._name = path, operator
        self._operator = get_operator(operator)()

    def visit(self, node: object) -> object:
        for start, end in self._operator.mutation_positions(node):
            self.found.append(_Place(self._path, start, end, self._name, len(self.found)))
        return node


def _places(root: Path, path: str) -> Iterator[_Place]:
    tree = get_ast((root / path).read_text(encoding="utf-8"))
    for operator in _operators():
        visitor = _Places(path, operator)
        visitor.walk(tree)
        yield from visitor.found


def _made(root: Path, place: _Place) -> Mutant | None:
    """The mutant at ``place``; None where nothing that runs would differ (annotations, above all)."""
    before = (root / place.path).read_text(encoding="utf-8")
    after = mutate_code(before, get_operator(place.operator)(), place.occurrence)
    if after is None:
        return None
    try:
        if _runs(after) == _runs(before):
            return None
    except SyntaxError:
        return None
    line = before.splitlines()[place.start[0] - 1].strip()
    changed = after.splitlines()[min(place.start[0], len(after.splitlines())) - 1].strip()
    return Mutant(place.path, f"{line}  →  {changed}", (place.start[0], place.end[0]), after)


def _runs(source: str) -> str:
    return ast.dump(_WithoutAnnotations().visit(ast.parse(source)))


class _WithoutAnnotations(ast.NodeTransformer):
    """Annotations, the switches of a dataclass, and the marks between parameters: nothing that a figure is made of."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        node.args, node.posonlyargs, node.kwonlyargs = [*node.posonlyargs, *node.args, *node.kwonlyargs], [], []
        node.defaults, node.kw_defaults = [*node.defaults, *(each for each in node.kw_defaults if each)], []
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = [each for each in node.decorator_list if "dataclass(" not in ast.unparse(each)]
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)
