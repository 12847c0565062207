"""Who slows whom, in words and as a table: the terminal and the page use these, so that a figure reads the same in both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.figures.interference import STAGES, Interference, Ratio, Slowing
from harness.figures.load_knee import calls_a_second
from harness.load.result import LoadResult
from harness.statistics.interval import FEWEST_CLUSTERS, TURNS_FOR_P95
from harness.turns.table import STRETCH_S
from harness.wording import UNKNOWN_TEXT, counted, milliseconds

IS: Final = {"asr": "transcription begun to words", "llm": "request to first token", "tts": "text to first audio"}
"""The time that is compared, of each stage."""
SHADES: Final = (1.1, 1.25, 1.5, 2.0)
"""Ratios from which a cell is a shade darker. A shade repeats the number in the cell and says nothing else."""
CHANGED: Final = 1.5
"""Ratio of a stage's two plays from which the reader is warned: then the machine differs as much as what is looked for."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the matrix: its figure, smaller text below it, and its shade from 0 (none)."""

    text: str
    small: tuple[str, ...] = ()
    shade: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A stage, and what each company does to it."""

    stage: str
    means: str
    cells: tuple[Cell, ...]


def heads() -> tuple[str, ...]:
    """The heads of the columns behind the stage's name."""
    return ("alone", *(f"with {stage}" for stage in STAGES), "all together")


def rows(result: LoadResult) -> tuple[Row, ...]:
    """The matrix: a row for the stage that is slowed, a column for what computes beside it."""
    matrix = result.matrix
    return tuple(Row(stage, IS[stage], tuple(_cells(matrix, stage))) for stage in STAGES) if matrix is not None else ()


def _cells(matrix: Interference, stage: str) -> Iterator[Cell]:
    alone = matrix.alone(stage)
    if alone is None or alone.p50_ms is None:
        yield Cell(UNKNOWN_TEXT)
    else:
        p95 = (f"p95 {milliseconds(alone.p95_ms)}",) if alone.p95_ms is not None else ()
        yield Cell(milliseconds(alone.p50_ms), (*p95, counted(alone.turns, "turn")))
    for other in STAGES:
        yield Cell("itself") if other == stage else _cell(matrix.slowing(stage, (other,)))
    yield _cell(matrix.slowing(stage, [other for other in STAGES if other != stage]))


def _cell(found: Slowing | None) -> Cell:
    if found is None or found.p50 is None:
        return Cell(UNKNOWN_TEXT)
    p95 = (f"p95 {_ratio(found.p95)}",) if found.p95 is not None else ()
    clear = found.p50.is_clear
    small = (_ends(found.p50), milliseconds(found.p50.beside_ms), *p95)
    unsure = ("no clear change",) if found.p50.interval is not None and not clear else ()
    return Cell(_times(found.p50.value), tuple(filter(None, (*small, *unsure))), _shade(found.p50) if clear else 0)


def _shade(ratio: Ratio) -> int:
    return sum(ratio.value >= from_ for from_ in SHADES)


def sentences(result: LoadResult) -> Iterator[str]:
    """What the matrix says, one sentence each; what clearly slows most comes first. None where stages were not isolated."""
    part, matrix = result.part, result.matrix
    if matrix is None or part.isolated_at is None:
        return
    at = calls_a_second(part.isolated_at) if result.is_open else f"{part.isolated_at:g} at once"
    yield f"Each stage alone and with the others, at {at}: {part.isolated_why}. Stand-ins answered for the rest."
    known = [(one, one.p50) for one in matrix.slowings if one.p50 is not None]
    unclear = [one for one, ratio in known if ratio.interval is not None and not ratio.is_clear]
    for one, ratio in sorted(known, key=lambda pair: (not pair[1].is_clear, -pair[1].value)):
        if one not in unclear:
            yield _sentence(one, ratio)
    if unclear:
        yield f"No clear change: {'; '.join(f'{one.stage} beside {_names(one.by)}' for one in unclear)}."
    yield from _cautions(result, matrix)


def _sentence(one: Slowing, ratio: Ratio) -> str:
    who, change = _names(one.by), f"{milliseconds(ratio.alone_ms)} → {milliseconds(ratio.beside_ms)} in the median"
    tail = f"; at p95 {_ratio(one.p95)}" if one.p95 is not None else ""
    figure = f"{change}, {_ratio(ratio)}{tail}."
    if ratio.interval is None:
        return f"{one.stage} beside {who}: {figure}"
    if ratio.value < 1:
        return f"{one.stage} is faster beside {who}: {figure}"
    return f"{who} {'slows' if len(one.by) == 1 else 'slow'} {one.stage}: {figure}"


def _names(stages: Sequence[str]) -> str:
    return " and ".join(stages)


def _cautions(result: LoadResult, matrix: Interference) -> Iterator[str]:
    plays = result.part.plays
    if result.missing:
        yield f"{counted(result.missing, 'play')} of {result.missing + len(plays)} missing: the test was interrupted."
    for play in plays:
        if why := play.why_nothing:
            yield f"One play of {_names(play.computing or ())} is left out: {why}."
    failed = sum(play.failed for play in plays)
    if failed:
        yield f"{failed} of {counted(sum(play.sessions for play in plays), 'call')} failed; they have no times."
    for time in matrix.times:
        if time.without:
            of = counted(time.turns + time.without, "turn")
            yield f"{time.without} of {of} stamped no {time.stage} where {_names(time.computing)} computed."
    both = [(max(time.plays_ms) / max(min(time.plays_ms), 1e-3), time) for time in matrix.times if len(time.plays_ms) > 1]
    differ, worst = max(both, key=lambda pair: pair[0], default=(1.0, None))
    if worst is not None and differ >= CHANGED:
        first, second = map(milliseconds, worst.plays_ms)
        yield (
            f"{worst.stage} took {first} in the first and {second} in the second play of {_names(worst.computing)}: the "
            "machine, or who else uses it, changed meanwhile, and the ratios may show that."
        )
    more = "a longer --for" if result.is_open else "more --rounds"
    if matrix.stretches < FEWEST_CLUSTERS:
        few = counted(matrix.stretches, "stretch", "stretches")
        yield (
            f"{few} of {STRETCH_S:.0f} s in the shortest configuration: an interval needs {FEWEST_CLUSTERS}, so a ratio "
            f"without one may be chance; {more} gives intervals."
        )
    turns = min((time.turns for time in matrix.times if time.turns), default=TURNS_FOR_P95)
    if turns < TURNS_FOR_P95:
        yield f"{counted(turns, 'turn')} of the stage that has fewest: a p95 needs {TURNS_FOR_P95}; {more} gives it."


def _ratio(ratio: Ratio) -> str:
    return " ".join(filter(None, (_times(ratio.value), _ends(ratio))))


def _times(value: float) -> str:
    return f"× {value:.2f}"


def _ends(ratio: Ratio) -> str:
    return f"[{ratio.interval[0]:.2f}, {ratio.interval[1]:.2f}]" if ratio.interval is not None else ""


def as_text(cells: Sequence[Cell]) -> list[str]:
    """Cells for a terminal."""
    return ["\n".join((cell.text, *cell.small)) for cell in cells]
