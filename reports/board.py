"""The table under the joint chart: every system on the board, best first, with the data behind each figure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from harness.figures.cells import AgentSummary
from harness.figures.latency import backchannel_words
from harness.figures.one_reply import is_one_for_all
from harness.figures.reply_flags import WORDS
from harness.ranking.board import QualityState
from harness.ranking.ranking import LENGTH_WORDS
from harness.reports.view import (
    NOT_JOINT,
    SUBSETS,
    AgentView,
    PageView,
    RatingView,
    ReferenceView,
    SliceView,
    Subset,
    percentile,
)
from harness.reports.wording import elo, elo_interval, latency, latency_interval, system_name
from harness.store.unspoken import OURS
from harness.timing.figures import NO_REPLY_MS
from harness.timing.quantiles import Quantiles
from harness.turns.bounded import Bounded
from harness.wording import UNKNOWN_TEXT, counted, had_it_been_its_own, share

INVALID: Final = "INVALID"


_STATES: Final[Mapping[QualityState, str]] = {
    "people": "people's",
    "borne_out": "a judge's, borne out by people elsewhere",
    "opinion": "a judge's opinion, which has no frontier",
}
"""States of a rating, in words after "it is"."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure: its text, the small text under it, and `good`, `bad`, `opinion` or nothing."""

    text: str
    small: str = ""
    tone: str = ""
    value: float | None = None
    """The value to sort the column by; a cell without one is last."""


@dataclass(frozen=True, slots=True)
class Row:
    """One system."""

    name: str
    note: str
    reference: bool
    cells: tuple[Cell, ...]


def columns(view: PageView) -> tuple[tuple[str, str], ...]:
    """Key and heading of each column but the first. The answer has one where it differs from TTFA for any
    agent, and unspoken turns where any agent left some."""
    answer = (("answer", "Answer p50"),) if _shows_answer(view) else ()
    unspoken = (("unspoken", "Unspoken"),) if _shows_unspoken(view) else ()
    return (
        ("elo", "Elo"), ("win", "Win rate"), ("ttfa", "TTFA p50"), ("ttfa95", "TTFA p95"), *answer, ("ttft", "TTFT p50"),
        ("budget", "In budget"), ("cutins", "Cut-ins"), ("pauses", "Pauses cut"), ("silent", "No reply"), *unspoken,
        ("frontier", "P(frontier)"),
    )  # fmt: skip


def _shows_answer(view: PageView) -> bool:
    return any(part.cell.answer_differs for agent in view.agents for part in agent.slices.values())


def _shows_unspoken(view: PageView) -> bool:
    return any(part.cell.unspoken for agent in view.agents for part in agent.slices.values())


def boards(view: PageView) -> tuple[tuple[tuple[str, str], ...], dict[tuple[str, Subset], tuple[Row, ...]]]:
    """The columns, and the board of each condition and subset; a column in which no system has a figure is left out.

    These are columns of sound in a run of text agents, and of ratings in a run that nobody judged.
    """
    whole = {(condition, subset): board(view, condition, subset) for condition in view.conditions for subset in SUBSETS}
    heads = columns(view)
    known = [k for k in range(len(heads)) if any(row.cells[k].text != UNKNOWN_TEXT for rows in whole.values() for row in rows)]
    kept = {key: tuple(replace(row, cells=tuple(row.cells[k] for k in known)) for row in rows) for key, rows in whole.items()}
    return tuple(heads[k] for k in known), kept


def board(view: PageView, condition: str | None = None, subset: Subset = "all") -> tuple[Row, ...]:
    """Agents and references of one condition (None: the first) by their Elo on these conversations, best first; those without
    a rating last, by name."""
    condition = view.conditions[0] if condition is None and view.conditions else condition
    rated: list[tuple[float | None, Row]] = [
        (a.slices[subset].rating.elo.value, _agent(a, a.slices[subset], view)) for a in view.agents if a.condition == condition
    ]
    is_opinion = any(a.slices[subset].cell.quality_state == "opinion" for a in view.agents if a.condition == condition)
    unknown = len(columns(view)) - 2
    rated += [
        (r.ratings[subset].elo.value if subset in r.ratings else None, _reference(r, subset, is_opinion, unknown))
        for r in view.references
        if r.condition == condition
    ]
    rated.sort(key=lambda pair: (pair[0] is None, -(pair[0] or 0.0), pair[1].name))
    return tuple(row for _, row in rated)


def method_words(view: PageView) -> str:
    """The method of the ratings and the meaning of intervals, in words."""
    if not view.elo_method:
        if not (view.verdicts or view.votes):
            return "There is no Elo, because nothing was judged."
        not_joint = any(topic == NOT_JOINT for topic, _ in view.differences)
        return "There is no joint Elo." if not_joint else "There is no Elo; the sentence above the answers says why."
    met = dict(view.provenance).get("Replies rated", UNKNOWN_TEXT)
    replies = f"Replies were {met}. " if met != UNKNOWN_TEXT else ""
    lengths = any(a.whole.rating.elo_with_length is not None for a in view.agents)
    states = dict.fromkeys(_STATES[state] for a in view.agents if (state := a.whole.cell.quality_state) in _STATES)
    return (
        f"Elo{' (' + '; '.join(states) + ')' if states else ''}: {view.elo_method}; small figures are 95 % intervals over "
        f"conversations, and none is based on fewer than 8. {replies}{LENGTH_WORDS['without' if lengths else 'unknown']}"
    )


_STATED: Final = "replies in a file, latencies as it states"


def _agent(agent: AgentView, part: SliceView, view: PageView) -> Row:
    ttfa, ttft = part.latency("ttfa"), part.latency("ttft")
    notes = [
        agent.family,
        _STATED if part.cell.from_a_file else "" if agent.spoken else "text agent",
        *_of_the_seat(agent, view),
        counted(part.cell.turns, "turn"),
        backchannel_words(part.cell),
    ]
    if part.rating.elo_with_length is not None and None not in (part.rating.elo.low, part.rating.elo.high):
        notes.append(f"Elo for equal length {elo(part.rating.elo_with_length)}")
    if part.cell.undecided:
        notes.append(f"within the budget or not, this machine cannot tell of {counted(part.cell.undecided, 'turn')}")
    if agent.own_family_judgments:
        notes.append(f"own-family verdicts: {agent.own_family_judgments} of {agent.total_judgments}")
    if agent.common_opening is not None:
        notes.append("{} of {} replies open with the same three words".format(*agent.common_opening))
    if same := is_one_for_all(part.cell.commonest_reply):
        notes.append("{} of {} conversations get nearly the same reply".format(*part.cell.commonest_reply or (0, 0)))
    notes += [f"replies that {WORDS[flag]}: {count}" for flag, count in agent.flags.items() if count]
    cut, marked = part.cell.pauses
    pauses = f"{cut} of {marked}" if marked else UNKNOWN_TEXT
    answer, within = part.latency("answer"), part.cell.within_budget
    first = within.ttfa if agent.spoken else within.ttft
    others = ("answer", within.answer if part.cell.answer_differs else None), ("TTFT", within.ttft if agent.spoken else None)
    ratings = _quality_cells(part.rating, part.cell.quality_state == "opinion")
    cells = (
        _latency_cell(ttfa, "p50", _tone(ttfa, view.budget_ttfa_ms)),
        _latency_cell(ttfa, "p95"),
        *([_latency_cell(answer, "p50", _tone(answer, view.budget_ttfa_ms))] if _shows_answer(view) else []),
        _latency_cell(ttft, "p50", "" if agent.spoken else _tone(ttft, view.budget_ttft_ms)),
        Cell(
            share(first),
            "; ".join(f"{name} {share(value)}" for name, value in others if value is not None),
            value=first,
        ),
        Cell(share(part.cell.cut_in_rate), value=part.cell.cut_in_rate),
        Cell(pauses, value=cut / marked if marked else None),
        Cell(
            str(part.cell.no_reply),
            f"{part.cell.failed} failed" if part.cell.failed else "",
            "bad" if part.cell.no_reply else "",
            part.cell.no_reply,
        ),
        *([_unspoken_cell(part.cell)] if _shows_unspoken(view) else []),
        Cell(share(part.cell.p_frontier), value=part.cell.p_frontier),
    )
    return Row(
        name=agent.name,
        note=", ".join(note for note in notes if note),
        reference=False,
        cells=(
            *_quotable(ratings, part.cell.quality_valid, "one reply for all" if same and part.cell.valid else INVALID),
            *_quotable(cells, agent.valid),
        ),
    )


def _unspoken_cell(cell: AgentSummary) -> Cell:
    if cell.spoken is None:
        return Cell(UNKNOWN_TEXT)
    number, of = sum(cell.unspoken.values()), cell.spoken[1]
    reasons = ", ".join(f"{'not its fault' if why == OURS else why}: {count}" for why, count in cell.unspoken.items())
    return Cell(f"{number} of {of}", reasons, "bad" if number else "", cell.unspoken_share)


def _tone(latency: Quantiles, budget_ms: float) -> str:
    """Nothing where this machine cannot tell whether the median is within the budget."""
    if latency.p50_over_limit:
        return "bad"
    if latency.p50 is None:
        return ""
    ends = Bounded(*(latency.p50_range or (latency.p50, latency.p50)))
    return {"fast": "good", "slow": "bad", "cannot tell": ""}[ends.within(budget_ms)]


def _of_the_seat(agent: AgentView, view: PageView) -> Iterator[str]:
    """The number of persons behind a row of people; a rehearsal's row says that it is none of theirs."""
    for seat in view.seats:
        if seat.agent == agent.name:
            yield counted(seat.persons, "person") if seat.is_people else "a rehearsal, no people"


def _quality_cells(rating: RatingView, is_opinion: bool) -> tuple[Cell, Cell]:
    small = "; ".join(words for words in (elo_interval(rating.elo), "opinion" if is_opinion else "") if words)
    tone = "opinion" if is_opinion else ""
    shown = rating.elo.value is not None
    return (
        Cell(elo(rating.elo.value), small if shown else "", tone, rating.elo.value),
        Cell(share(rating.win_rate), "", tone, rating.win_rate),
    )


def _quotable(cells: Sequence[Cell], valid: bool, why_not: str = INVALID) -> Iterator[Cell]:
    """The cells, each marked where it is invalid, because such a figure may be copied alone."""
    for cell in cells:
        as_it_is = valid or cell.text == UNKNOWN_TEXT
        yield cell if as_it_is else replace(cell, small=f"{why_not} {cell.small}".strip(), tone="bad")


def _latency_cell(figure: Quantiles, which: Literal["p50", "p95"], tone: str = "") -> Cell:
    estimate, over = percentile(figure, which), getattr(figure, f"{which}_over_limit")
    small = (latency_interval(estimate), had_it_been_its_own(getattr(figure, f"{which}_range")))
    words = "; ".join(part for part in small if part)
    return Cell(latency(figure, which), words, tone, NO_REPLY_MS if over else estimate.value)


def _reference(reference: ReferenceView, subset: Subset, is_opinion: bool, unknown_figures: int) -> Row:
    rating = reference.ratings.get(subset)
    unknown = Cell(UNKNOWN_TEXT)
    return Row(
        name=system_name(reference.system),
        note=f"{reference.author}, no latency",
        reference=True,
        cells=(
            *(_quality_cells(rating, is_opinion) if rating else (unknown, unknown)),
            *([unknown] * unknown_figures),
        ),
    )
