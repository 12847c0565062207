"""Every public function of the room has an example in its docstring, and each example runs and is right."""

import ast
import doctest
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import harness.statistics

MODULES = [module.name for module in pkgutil.iter_modules(harness.statistics.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run_and_are_right(name: str) -> None:
    found = doctest.testmod(import_module(f"harness.statistics.{name}"))
    assert found.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_each_public_function_has_an_example_and_no_other_room_of_ours_is_needed(name: str) -> None:
    file = Path(harness.statistics.__path__[0]) / f"{name}.py"
    tree = ast.parse(file.read_text(encoding="utf-8"))
    public = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    assert [node.name for node in public if ">>>" not in (ast.get_docstring(node) or "")] == []
    imported = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [module for module in imported if module.startswith("harness")]
    assert [module for module in ours if not module.startswith("harness.statistics.")] == []
