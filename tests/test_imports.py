"""Modules import each other in no circle, and an import that only a type checker needs counts like any other.

The layers of `lint-imports` part rooms from each other and do not look into a room, so a circle between two modules of one room
passes them; and an import under `TYPE_CHECKING` hides a circle from Python alone, never from a reader.
"""

import grimp
import pytest


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    graph = grimp.build_graph("harness", exclude_type_checking_imports=False, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_no_modules_import_each_other_in_a_circle(imports: dict[str, set[str]]) -> None:
    assert in_circles(imports) == []


def test_a_circle_is_found_behind_what_leads_into_it_and_out_of_it() -> None:
    assert in_circles({"cli": {"a"}, "a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == ["a", "b", "c"]


def in_circles(imports: dict[str, set[str]]) -> list[str]:
    """The modules of circles, and those between two circles: what is left when modules that import nothing, or that nothing
    imports, are taken away until there are none."""
    left = {name: set(others) for name, others in imports.items()}
    while ends := {name for name, others in left.items() if not others} | (left.keys() - set().union(*left.values())):
        left = {name: others - ends for name, others in left.items() if name not in ends}
    return sorted(left)
