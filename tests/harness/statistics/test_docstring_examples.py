"""Every example in the docstrings of statistics and ranking runs and is right; statistics can be used alone."""

import ast
import doctest
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import harness.ranking
import harness.statistics

STATISTICS = [module.name for module in pkgutil.iter_modules(harness.statistics.__path__, "harness.statistics.")]
RANKING = [module.name for module in pkgutil.iter_modules(harness.ranking.__path__, "harness.ranking.")]


def public_functions(name: str) -> list[ast.FunctionDef]:
    tree = ast.parse(Path(import_module(name).__file__ or "").read_text(encoding="utf-8"))
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]


@pytest.mark.parametrize("name", [*STATISTICS, *RANKING])
def test_examples_run_and_are_right(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0


@pytest.mark.parametrize("name", STATISTICS)
def test_each_function_of_statistics_has_an_example_and_needs_no_other_room(name: str) -> None:
    assert [node.name for node in public_functions(name) if ">>>" not in (ast.get_docstring(node) or "")] == []
    tree = ast.parse(Path(import_module(name).__file__ or "").read_text(encoding="utf-8"))
    imported = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert [
        module for module in imported if module.startswith("harness") and not module.startswith("harness.statistics.")
    ] == []


@pytest.mark.parametrize("name", harness.ranking.__all__)
def test_each_name_that_ranking_gives_out_is_in_an_example(name: str) -> None:
    found = [test for module in RANKING for test in doctest.DocTestFinder().find(import_module(module))]
    examples = "".join(example.source for test in found for example in test.examples)
    made_by = {"Board": "leaderboard", "SystemRating": ".systems", "Difference": ".difference(", "HeadToHead": "head_to_head("}
    made_by |= {"JointFigure": "joint_figure", "JointPoint": ".points"}
    assert made_by.get(name, name) in examples
