"""The end of a run in the terminal: one row per agent, the cautions that change the reading of it, and three sentences last.

Nobody reads thirty lines to find out what was found. So what was found, how sure it is, and where the page is are the last
three lines, in bold; everything else is on the page, and here with `--verbose`.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.commands.screen import print_table, words_table
from harness.figures.cautions import Caution, Level
from harness.figures.cells import Cell
from harness.figures.duplex import duplex_words
from harness.figures.events import HEAD, event_notes, event_rows
from harness.figures.in_a_sentence import found, how_sure
from harness.figures.latency import backchannel_words, filler_words
from harness.figures.quality_state import QUOTED
from harness.figures.reply_flags import WORDS
from harness.figures.seat import beside_words, seat_words
from harness.figures.server_waits import HEAD as WAITS_HEAD
from harness.figures.server_waits import TITLE, waits_notes, waits_rows
from harness.figures.summary import RunSummary
from harness.timing.figures import OVER_LIMIT_TEXT
from harness.timing.quantiles import Quantiles
from harness.wording import OWN, UNDER_A_FIGURE, counted, elo_band, had_it_been_its_own, programs, share_had_it_been_its_own

_DASH = "–"
_NO_ENDS: Final = (None, None)
_NOT_KNOWN: Final[frozenset[str]] = frozenset({"", _DASH, "0/0"})
_Sentence = Callable[[str, Cell], str | None]
_STYLE: Final[Mapping[Level, str]] = {"bad": "bold red", "warn": "yellow", "note": "dim"}
_IN_OWN_WORDS: Final = "contended"
"""The line under the table says it with its figures."""
_UNDER_A_FIGURE: Final[frozenset[str]] = frozenset(
    {"judge", "no_p95", "discarded", "open_turns", "measurement_error", "recorded_calls", "not_calibrated", "no_human_baseline"}
)
_SAID: Final[frozenset[str]] = frozenset({"invalid", "not_judged", "few_conversations", "no_reply"})
"""Said by the sentences at the end, or by a column of the table."""
_MOST_FAILURES: Final = 3
"""Failed sessions that are named without `--verbose`; their number is in a caution."""
_MOST_PREFERENCES: Final = 6
"""Pairs of agents of which the terminal says the preferred one: all of four agents."""
_TTFA = ("TTFA\np50", "\np95", "in\nbudget")
_ANSWER = ("answer\np50", "in\nbudget")
"""Columns of a run in which it differs from TTFA for any agent."""
_OTHERS = (
    "TTFT\np50",
    "cut-\nins",
    "pauses\ncut",
    "no\nreply",
)
_UNSPOKEN = ("un-\nspoken",)
"""Column of a run in which any planned turn was never spoken."""
_RATING = ("\nElo", "95 %\ninterval")


def print_summary(summary: RunSummary, console: Console, *, verbose: bool = False, next_step: str | None = None) -> None:
    """Print the table, what changes its reading, and the three sentences. `next_step`: the command to go on with."""
    if not summary.valid:
        console.print(Text(f"INVALID RUN: {'; '.join(summary.invalid)}", style=_STYLE["bad"]), soft_wrap=True)
    _print_table(summary, console)
    if verbose:
        _print_statistics(summary, console)
    for caution in cautions_for_people(summary, verbose=verbose):
        console.print(Text(f"{caution.topic}: {caution.text}", style=_STYLE[caution.level]), soft_wrap=True)
    _print_failures(summary, console, verbose=verbose)
    then = f" (next: {next_step})" if next_step else ""
    place = f"The page is {summary.report}{then}" if summary.report else f"The run is in {summary.run}{then}"
    console.print()
    for sentence in (found(summary), how_sure(summary), place):
        console.print(Text(sentence, style="bold"), soft_wrap=True)


def _print_table(summary: RunSummary, console: Console) -> None:
    """Print one row for each agent and reference, without the columns of which nothing is known in this run."""
    answers = any(cell.answer_differs for cell in summary.whole)
    left = any(cell.unspoken for cell in summary.whole)
    heads = (*_TTFA, *(_ANSWER if answers else ()), *_OTHERS, *(_UNSPOKEN if left else ()), *_RATING)
    rows: list[tuple[Text, list[str], Text | str]] = []
    for condition in summary.conditions:
        mine = [cell for cell in summary.whole if cell.condition == condition]
        if len(summary.conditions) > 1:
            rows.append((Text(condition, style="italic"), [""] * len(heads), ""))
        mine.sort(key=lambda cell: (cell.elo is None, -(cell.elo or 0), cell.agent))
        rows += [(Text(cell.agent), _figures(cell, answers, left), _may_be_quoted(cell)) for cell in mine]
        board = summary.board(condition)
        references = board.references if board is not None else {}
        for name, reference in sorted(references.items(), key=lambda item: -(item[1].elo or 0)):
            band = elo_band(*reference.elo_interval or _NO_ENDS) or _DASH
            figures = [""] * (len(heads) - len(_RATING)) + [_elo(reference.elo), band]
            rows.append((Text(name, style="dim"), figures, ""))
    known = [k for k in range(len(heads)) if any(figures[k] not in _NOT_KNOWN for _, figures, _ in rows)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("times in ms\nagent", no_wrap=True)
    for k in known:
        table.add_column(heads[k], justify="right", no_wrap=True)
    if any(quoted for _, _, quoted in rows):
        table.add_column("may be\nquoted", no_wrap=True)
    for name_shown, figures, quoted in rows:
        table.add_row(name_shown, *(figures[k] for k in known), quoted)
    print_table(console, table, [name_shown.plain for name_shown, _, _ in rows])


def _print_statistics(summary: RunSummary, console: Console) -> None:
    """Print everything else that is known of the run, one sentence or table each."""
    _print_events(summary, console)
    _print_server_waits(summary, console)
    filler = partial(_filler, budget_ms=summary.budgets_ms["ttfa"])
    for cell in summary.whole:
        if line := _own_machine(summary.name(cell), cell):
            console.print(Text(line))
    sentences: tuple[_Sentence, ...] = (filler, _backchannels, _substance, _flagged, _beside)
    for sentence, cell in product(sentences, summary.whole):
        if line := sentence(summary.name(cell), cell):
            console.print(Text(line), soft_wrap=True)
    for seat in summary.seats:
        console.print(Text(f"{seat_words(seat)}."), soft_wrap=True)
    for preferred in summary.preferred[:_MOST_PREFERENCES]:
        console.print(Text(preferred, style="bold"), soft_wrap=True)
    if (more := len(summary.preferred) - _MOST_PREFERENCES) > 0:
        console.print(Text(f"{counted(more, 'further pair')} of agents: on the page, and in --json."), soft_wrap=True)
    for words_of_state in summary.quality:
        console.print(Text(words_of_state), soft_wrap=True)
    for condition in summary.conditions:
        if (board := summary.board(condition)) is not None and board.rated_on:
            console.print(Text(board.rated_on, style="dim"), soft_wrap=True)
    for machine in summary.machines:
        console.print(Text(f"Local latencies are of {machine.words}.", style="dim"), soft_wrap=True)


def _print_failures(summary: RunSummary, console: Console, *, verbose: bool) -> None:
    shown = summary.failed_sessions if verbose else summary.failed_sessions[:_MOST_FAILURES]
    for failure in shown:
        first, *rest = failure.detail.splitlines() or [""]
        console.print(
            Text(f"failed: {failure.context} · {failure.agent}: {failure.kind}: {first}", style="red"), soft_wrap=True
        )
        for line in rest:
            console.print(Text(f"    {line}", style="dim"), soft_wrap=True)
    if more := len(summary.failed_sessions) - len(shown):
        console.print(
            Text(f"{counted(more, 'further session')} failed: the page and --json name each", style="red"), soft_wrap=True
        )


def _print_events(summary: RunSummary, console: Console) -> None:
    """Print how agents reacted to sounds during their speech; nothing for a run without such sounds."""
    named = [(summary.name(cell), cell.events) for cell in summary.whole if cell.events]
    if not named:
        return
    table = words_table("Sounds during the agent's speech", HEAD, left=4)
    for row in event_rows(named):
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    for note in (UNDER_A_FIGURE, *event_notes(named)):
        console.print(Text(note), soft_wrap=True)


def _print_server_waits(summary: RunSummary, console: Console) -> None:
    """Print what agents' model servers did while callers waited; nothing where no server says anything."""
    named = [(summary.name(cell), cell.servers) for cell in summary.whole if cell.servers]
    if not named:
        return
    table = words_table(TITLE, WAITS_HEAD, left=3)
    for row in waits_rows(named):
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    for note in waits_notes(named):
        console.print(Text(note), soft_wrap=True)


def _figures(agent: Cell, answers: bool, left: bool) -> list[str]:
    return [
        milliseconds(agent.ttfa_ms, "p50"),
        milliseconds(agent.ttfa_ms, "p95"),
        _percent(agent.within_budget.ttft if agent.kind == "text" else agent.within_budget.ttfa),
        *([milliseconds(agent.answer_ms, "p50"), _percent(agent.within_budget.answer)] if answers else []),
        milliseconds(agent.ttft_ms, "p50"),
        _percent(agent.cut_in_rate),
        "/".join(map(str, agent.pauses)),
        f"{agent.no_reply}/{agent.turns}",
        *([_unspoken(agent)] if left else []),
        _elo(agent.elo),
        elo_band(*agent.elo_interval or _NO_ENDS) or _DASH,
    ]


def _unspoken(agent: Cell) -> str:
    return f"{sum(agent.unspoken.values())}/{agent.spoken[1]}" if agent.spoken is not None else _DASH


def _percent(share: float | None) -> str:
    return f"{share:.0%}" if share is not None else _DASH


def _filler(name: str, agent: Cell, budget_ms: float) -> str | None:
    """The answer beside TTFA; None where they differ on at most 5 % of the replies."""
    return f"{name}: {filler_words(agent, budget_ms)}." if agent.answer_differs else None


def _backchannels(name: str, agent: Cell) -> str | None:
    """Their number, or how a full-duplex agent talks; None where there is nothing to say."""
    return f"{name}: {words}." if (words := duplex_words(agent.duplex) or backchannel_words(agent)) else None


def _substance(name: str, agent: Cell) -> str | None:
    """The delay until the first word of substance, since stock words can buy a good TTFA; None if nothing was heard."""
    if agent.common_opening is None or agent.kind == "text":
        return None
    alike, replies = agent.common_opening
    return (
        f"{name}: first word of substance {_with_unit(agent.first_substance_ms, 'p50')} (p50); "
        f"the commonest three-word opening begins {alike} of {replies} replies."
    )


def _flagged(name: str, agent: Cell) -> str | None:
    """The replies that show a fault by themselves; None if no reply does."""
    shown = [f"replies that {WORDS[flag]}: {count}" for flag, count in agent.flags.items() if count]
    return f"{name}: {'; '.join(shown)}." if shown else None


def _own_machine(name: str, agent: Cell) -> str | None:
    """The medians, and the share within the budget, had the machine been its own; None where others had no part in them."""
    figures = {"TTFA": agent.ttfa_ms, **({"answer": agent.answer_ms} if agent.answer_differs else {}), "TTFT": agent.ttft_ms}
    parts = [
        f"{figure} p50 {_with_unit(found, 'p50')}; {words}"
        for figure, found in figures.items()
        if (words := had_it_been_its_own(found.p50_range))
    ]
    if within := share_had_it_been_its_own(agent.within_budget.ttfa_range):
        parts.append(f"in budget {within}")
    if not parts:
        return None
    # Said once, for every figure.
    first, *more = (part.removesuffix(OWN) for part in parts)
    by = f" (others: {names})" if (names := programs(agent.others)) else ""
    return f"{name}: {'; '.join([first + OWN + by, *more])}."


def _may_be_quoted(cell: Cell) -> Text | str:
    if cell.valid:
        return Text("not its rating", style=_STYLE["bad"]) if cell.elo is not None and not cell.quality_valid else ""
    return Text("rating alone" if cell.quality_valid and cell.elo is not None else "INVALID", style=_STYLE["bad"])


def _beside(name: str, agent: Cell) -> str | None:
    """The agent beside people who answered the same callers; None where nobody did."""
    if agent.beside_seat is None or not agent.valid:
        return None
    return f"{name}: {beside_words(agent.beside_seat, quoted=agent.quality_state in QUOTED)}."


def milliseconds(figures: Quantiles, which: str) -> str:
    """A percentile as text: "512", "> 15 s" if it falls on a turn without reply, a dash if it is unknown."""
    if getattr(figures, f"{which}_over_limit"):
        return OVER_LIMIT_TEXT
    value = getattr(figures, which)
    return f"{value:,.0f}" if value is not None else _DASH


def _with_unit(figures: Quantiles, which: str) -> str:
    """A percentile as text with its unit; "> 15 s" has its own."""
    text = milliseconds(figures, which)
    return f"{text} ms" if getattr(figures, which) is not None else text


def _elo(elo: float | None) -> str:
    return f"{elo:.0f}" if elo is not None else _DASH


def cautions_for_people(summary: RunSummary, *, verbose: bool) -> Iterator[Caution]:
    """The cautions to print below the table: those that change its reading and are not said elsewhere; with `verbose` all but
    those that are true of every run."""
    if verbose:
        shown = (caution for caution in summary.cautions if caution.code != _IN_OWN_WORDS)
        return (caution for caution in shown if caution.level != "note" or caution.code in _UNDER_A_FIGURE)
    return (caution for caution in summary.cautions if caution.level != "note" and caution.code not in _SAID)
