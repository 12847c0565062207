"""`harness report --endpointing`: how well a run's agents distinguish the end of a turn from a pause inside it."""

import json
from pathlib import Path

from rich.text import Text

from harness.commands.screen import screen, words_table


def print_endpointing(run: Path, *, as_json: bool) -> None:
    """Print, for each agent, the caller's pauses that it cut and the silence that it left after true ends of turns."""
    from harness.figures.endpointing import (
        ENDS_HEAD,
        LAWS_HEAD,
        LAWS_TITLE,
        PAUSES_HEAD,
        endpointing_of,
        ends_rows,
        laws_rows,
        pauses_rows,
        talked_over,
        untimed,
    )
    from harness.store.run_store import RunStore
    from harness.store.selection import Selection
    from harness.turn_taking.detectors import CAVEAT, DETECTORS, SOURCE
    from harness.wording import UNDER_A_FIGURE

    selection = Selection(RunStore.open(run))
    contexts = {context.id for context in selection.contexts}
    found = [
        (agent.name, condition, endpointing_of(selection, agent.name, condition, contexts))
        for condition in selection.conditions
        for agent in selection.manifest.agents
        if agent.kind != "text"
    ]
    if as_json:
        cells = [{"agent": name, "condition": condition, **figures.model_dump()} for name, condition, figures in found]
        published = [{"name": d.name, "points": [list(point) for point in d.points]} for d in DETECTORS]
        detectors = {"source": SOURCE, "caveat": CAVEAT, "curves": published}
        print(json.dumps({"schema": 1, "run": str(run), "cells": cells, "detectors": detectors}, indent=2))
        return
    several = len(selection.conditions) > 1
    named = [(f"{name} ({condition})" if several else name, figures) for name, condition, figures in found]
    console = screen()
    ends = words_table("After the true ends", ENDS_HEAD)
    for row in ends_rows(named):
        ends.add_row(*(Text(cell) for cell in row))
    pauses = words_table("Inner pauses of the caller that were cut", PAUSES_HEAD[1:])
    agent = ""
    for name, *words in pauses_rows(named):
        if name != agent:
            pauses.add_row(Text(name, style="bold"))
        agent = name
        pauses.add_row(*(Text(cell) for cell in words))
    laws = words_table(LAWS_TITLE, LAWS_HEAD)
    for row in laws_rows(named):
        laws.add_row(*(Text(cell) for cell in row))
    for table in (ends, pauses, *((laws,) if laws.row_count else ())):
        console.print(table)
        console.print()
    for line in (UNDER_A_FIGURE, *talked_over(named), *untimed(named)):
        console.print(Text(line), soft_wrap=True)
