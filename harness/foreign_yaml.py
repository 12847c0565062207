"""A reader of YAML as plain data with the line number of every value, which refuses dangerous or misleading constructs.

Packs are untrusted, so the text is first read as parser events: aliases (used in YAML bombs), tags, deep
nesting and floods of nodes are refused before anything is built. The rest is composed with libyaml's safe loader,
and each value has its line, because "turns[3].text: too long" without a line does not help in a file of sixty items.
"""

from collections.abc import Hashable, Iterator
from typing import Any

import yaml

from harness.foreign_files import FileFault

Place = tuple[str | int, ...]

MOST_NODES = 400_000
MOST_DEPTH = 16
"""Deepest nesting; a pack has six levels (file, contexts, item, turns, turn, speech)."""


class Marked:
    """Plain data (`.data`) and, for every path into it, its line number."""

    def __init__(self, data: Any, lines: dict[Place, int]) -> None:
        self.data = data
        self._lines = lines

    def line(self, place: Place) -> int:
        """The line (from 1) of the value at `place`, or of the nearest existing value around it."""
        while place and place not in self._lines:
            place = place[:-1]
        return self._lines.get(place, 1)


def parse_yaml(text: str) -> Marked:
    """The text as plain data with lines. Raises `FileFault`; never builds aliases, tagged objects, or an unlimited tree."""
    try:
        _refuse_dangers(text)
        loader = yaml.CSafeLoader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                raise FileFault("the file is empty")
            lines: dict[Place, int] = {}
            return Marked(_build(loader, node, (), lines), lines)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = " ".join(part for part in (error.context, error.problem) if part)
        raise FileFault(f"not YAML: {said}", mark.line + 1 if mark else None) from None
    except yaml.YAMLError as error:
        raise FileFault(f"not YAML: {' '.join(str(error).split())}") from None


def refuse_floods(text: str) -> None:
    """Raise `FileFault` for a text that another reader of YAML must not be given: too deep, too many values, or no YAML."""
    try:
        for _ in _bounded(text):
            pass
    except yaml.YAMLError as error:
        raise FileFault(f"not YAML: {' '.join(str(error).split())[:200]}") from None


def _bounded(text: str) -> Iterator[yaml.Event]:
    """The events of a text, as long as their depth and number are within bounds."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if count > MOST_NODES:
            raise FileFault(f"more than {MOST_NODES} values", line)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEPTH:
            raise FileFault(f"nested more than {MOST_DEPTH} deep", line)
        yield event


def _refuse_dangers(text: str) -> None:
    for event in _bounded(text):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            raise FileFault("aliases (*name) are not accepted; write the value out", line)
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            raise FileFault("anchors (&name) are not accepted; write the value out", line)
        if getattr(event, "tag", None) is not None:
            raise FileFault("tags (!name) are not accepted", line)


def _build(loader: yaml.CSafeLoader, node: yaml.Node, place: Place, lines: dict[Place, int]) -> Any:
    line = node.start_mark.line + 1
    lines[place] = line
    if isinstance(node, yaml.SequenceNode):
        return [_build(loader, child, (*place, k), lines) for k, child in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        built: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise FileFault("keys must be plain words", key_node.start_mark.line + 1)
            key = str(key_node.value)
            if key in built:
                raise FileFault(f"key {key!r} is there twice", key_node.start_mark.line + 1)
            built[key] = _build(loader, value_node, (*place, key), lines)
            lines[(*place, key)] = key_node.start_mark.line + 1
        return built
    try:
        return loader.construct_object(node)
    except ValueError:
        raise FileFault(f"cannot read the value {str(node.value)[:40]!r}", line) from None
