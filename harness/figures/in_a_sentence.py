"""What a run found, in one plain sentence, and how sure that is in another: the first words of the page, the last of a run.

A reader who stops after it must not be misled. So an invalid run says first that it must not be quoted, a judge's opinion
decides nothing, an agent that leaves half of its callers without an answer gets no time, and pauses cut stand beside the
soonest agent, because speed can be bought by answering before the caller has ended. Names come from users' files; each is one
line here, and callers escape the sentence for where they show it.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from harness.figures.cells import Cell
from harness.figures.head_to_head import Preferred
from harness.figures.one_reply import is_one_for_all
from harness.figures.quality_state import QUOTED
from harness.figures.seat import SeatSummary
from harness.figures.summary import RunSummary
from harness.printable import printable
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.store.judgment import reference_id
from harness.timing.figures import NO_REPLY_TEXT
from harness.timing.quantiles import Quantiles
from harness.wording import counted, latency_band, listed, milliseconds, number_word, share, share_band

MOST_NAMED: Final = 4
"""Agents that are named each; of more a sentence names the soonest, the slowest and the preferred one."""
FEWEST_FOR_A_RATE: Final = 20
"""Of fewer pauses or turns the count is said: "one pause in three" of three pauses would promise a rate."""
_MOST_OFTEN: Final = 0.25
"""Above it "one in so many" jumps by too much from one number to the next, and a percentage is said."""


def found(summary: RunSummary) -> str:
    """What was found: `echo-bot answers half of its callers within 1.21 s, and cuts into one pause in twenty; nobody has …`."""
    agents = _agents(summary)
    if not any(cell.turns for cell in agents):
        return "No call could be finished, so nothing was found." if agents else "No agent was played, so nothing was found."
    if all(cell.from_a_file for cell in agents):
        parts = [_of_a_file(summary, agents)]
    else:
        parts = _of_one(summary, agents[0]) if len(agents) == 1 else _of_several(summary, agents)
    said = "; ".join([*parts, *_seats(summary), _quality(summary, agents)])
    where = f"in {counted(len(summary.circumstances.contexts), 'recorded call')}, " if summary.circumstances.calls else ""
    whole = f"{_not_to_be_quoted(summary, agents)}{where}{said}."
    # A name is written as its user wrote it; the sentence's own words begin with a capital.
    own = ("half of the written answers of ", "no answer of ", "the replies of ", *(("in ",) if where else ()))
    return whole[:1].upper() + whole[1:] if whole.startswith(own) else whole


def how_sure(summary: RunSummary) -> str:
    """How sure that is: `8 conversations; the first sound timed to within 1.2 ms (95 % of 64 trials); 95 % interval …`."""
    known, agents = summary.circumstances, _agents(summary)
    conversations = len(known.contexts)
    parts = [counted(conversations, "conversation")] if conversations else []
    if 0 < conversations < FEWEST_CLUSTERS:
        parts = [f"{parts[0]}, too few for an interval, which takes {FEWEST_CLUSTERS}"]
    if any(cell.kind != "text" and not cell.from_a_file for cell in agents):
        if known.calls:
            parts.append("the ends of callers' turns were found in the sound")
        elif known.onset_error is not None:
            parts.append(f"the first sound timed to within {known.onset_error.words}")
        else:
            parts.append("the error of the measurement was not calibrated")
    parts += _intervals(summary, agents)
    preferred = _surest(summary.head_to_head)
    if preferred is not None:
        low, high = preferred.interval
        votes = f"{counted(preferred.votes, 'vote')} of {counted(preferred.raters, 'person', 'people')}"
        between = f"{_one_line(preferred.agent)} preferred in {share_band((low, high))} of votes"
        parts.append(f"95 % interval of {votes}: {between}")
    else:
        boards = [board for condition in summary.conditions if (board := summary.board(condition)) is not None]
        votes_of = next((board.people_votes for board in boards if board.people_votes is not None), None)
        if votes_of is not None:
            parts.append(f"{counted(votes_of.votes, 'vote')} of {counted(votes_of.raters, 'person', 'people')}")
    return f"{'; '.join(parts)}." if parts else "Nothing was measured."


def _agents(summary: RunSummary) -> list[Cell]:
    """The agents' cells, soonest first; people in the supporter's seat are no agents."""
    seated = {seat.agent for seat in summary.seats}
    return sorted((cell for cell in summary.whole if cell.agent not in seated), key=lambda cell: _order(summary, cell))


def _order(summary: RunSummary, cell: Cell) -> tuple[bool, float, str]:
    p50_ms = _figure(cell).p50
    return cell.kind == "text", float("inf") if p50_ms is None else p50_ms, summary.name(cell)


def _figure(cell: Cell) -> Quantiles:
    """The latency that decides "fast"."""
    return cell.ttft_ms if cell.kind == "text" else cell.answer_ms if cell.answer_differs else cell.ttfa_ms


def _timed(cell: Cell) -> bool:
    return _figure(cell).p50 is not None and not _figure(cell).p50_over_limit and not cell.from_a_file


def _one_line(name: str) -> str:
    return printable(" ".join(name.split()), one_line=True)


def _name(summary: RunSummary, cell: Cell) -> str:
    return _one_line(summary.name(cell))


def _share_of(count: int, of: int, thing: str) -> str:
    """`one pause in twenty`, `3 of 12 pauses`, `none of 12 pauses`, `45 % of pauses`."""
    if count and of >= FEWEST_FOR_A_RATE:
        if count / of <= _MOST_OFTEN:
            # The nearest share, and not the nearest number: 22 % is one in five.
            nearest = min((of // count, of // count + 1), key=lambda n: abs(1 / n - count / of))
            return f"one {thing} in {number_word(nearest)}"
        return f"{share(count / of)} of {thing}s" if count < of else f"each of {counted(of, thing)}"
    return f"{count or 'none'} of {counted(of, thing)}"


def _not_to_be_quoted(summary: RunSummary, agents: Sequence[Cell]) -> str:
    invalid = [cell for cell in agents if not cell.valid]
    if summary.valid and not invalid:
        return ""
    # In a joint summary one run may be invalid and another not.
    whose = f" of {listed([_name(summary, cell) for cell in invalid])}" if 0 < len(invalid) < len(agents) else ""
    rated = any(cell.quality_valid and cell.quality_state in QUOTED for cell in agents) or bool(summary.head_to_head)
    return f"These figures{whose} must not be quoted{', except the ratings of replies that were read' if rated else ''}: "


def _of_one(summary: RunSummary, cell: Cell) -> list[str]:
    name = _name(summary, cell)
    parts = [_speed(name, cell)]
    if _timed(cell) and cell.no_reply:
        parts.append(f"leaves {_share_of(cell.no_reply, cell.turns, 'turn')} unanswered")
    cut, pauses = cell.pauses
    if pauses:
        parts.append(f"cuts into {_share_of(cut, pauses, 'pause')}")
    if cell.kind == "text" or not _timed(cell):
        parts[1:] = [f"it {part}" for part in parts[1:]]
    *first, last = parts
    return [f"{', '.join(first)}, and {last}" if first else last]


def _of_a_file(summary: RunSummary, agents: Sequence[Cell]) -> str:
    """Whose replies these are: nobody timed them, whatever the file states."""
    named = listed([_name(summary, cell) for cell in agents]) if len(agents) <= MOST_NAMED else counted(len(agents), "agent")
    return f"the replies of {named} to {counted(len(summary.circumstances.contexts), 'conversation')} were in a file"


def _speed(name: str, cell: Cell) -> str:
    """A clause about one agent; it is the verb's subject where it was timed and speaks."""
    figure = _figure(cell)
    if cell.from_a_file:
        return f"the replies of {name} were in a file"
    if figure.p50_over_limit:
        if cell.no_reply == cell.turns:
            return f"{name} answers none of {counted(cell.turns, 'turn')} within {NO_REPLY_TEXT}"
        return f"{name} leaves at least half of its callers without an answer for {NO_REPLY_TEXT}"
    if figure.p50 is None:
        return f"no answer of {name} could be timed"
    if cell.kind == "text":
        return f"half of the written answers of {name} begin within {milliseconds(figure.p50)}"
    return f"{name} answers half of its callers within {milliseconds(figure.p50)}{_filler(cell)}"


def _filler(cell: Cell) -> str:
    """` (after a filler at 412 ms)`; empty where the first sound is the answer, or half of both come as soon."""
    if not cell.answer_differs:
        return ""
    first = cell.ttfa_ms.p50
    if first is not None and cell.answer_ms.p50 is not None and milliseconds(first) == milliseconds(cell.answer_ms.p50):
        return ""
    return f" (after a filler{f' at {milliseconds(first)}' if first is not None else ''})"


def _of_several(summary: RunSummary, agents: Sequence[Cell]) -> list[str]:
    """Clauses about several agents; those that speak and those that write are timed from different instants."""
    groups = [[c for c in agents if _timed(c) and (c.kind == "text") == text] for text in (False, True)]
    rest = [cell for cell in agents if not _timed(cell)]
    parts: list[str] = []
    if len(agents) <= MOST_NAMED:
        parts += [_side_by_side(summary, group) for group in groups if group]
        parts += [_speed(_name(summary, cell), cell) for cell in rest]
        parts += _cut_by_each(summary, agents)
        left = [c for c in agents if _timed(c) and c.no_reply]
        unanswered = [f"{_name(summary, c)} leaves {_share_of(c.no_reply, c.turns, 'turn')} unanswered" for c in left]
        return [*parts, *([listed(unanswered)] if unanswered else [])]
    parts += [_soonest_and_slowest(summary, group) for group in groups if group]
    if silent := sum(_figure(cell).p50_over_limit for cell in rest):
        half = f"at least half of {'its' if silent == 1 else 'their'} callers without an answer for {NO_REPLY_TEXT}"
        parts.append(f"{silent} leave{'s' if silent == 1 else ''} {half}")
    if untimed := sum(not _figure(cell).p50_over_limit for cell in rest):
        parts.append(f"no answer of {counted(untimed, 'other')} could be timed")
    number = len({cell.agent for cell in agents})
    of_which = f" under {counted(len(summary.conditions), 'condition')}" if len(summary.conditions) > 1 else ""
    return [f"of {counted(number, 'agent')}{of_which}, {parts[0]}".replace("of ", "Of ", 1), *parts[1:]]


def _side_by_side(summary: RunSummary, group: Sequence[Cell]) -> str:
    first, *others = group
    name = "those of {}" if first.kind == "text" else "{}"
    more = [f"{name.format(_name(summary, c))} within {milliseconds(_figure(c).p50)}{_filler(c)}" for c in others]
    return listed([_speed(_name(summary, first), first), *more])


def _soonest_and_slowest(summary: RunSummary, group: Sequence[Cell]) -> str:
    first, last = group[0], group[-1]
    cut, pauses = first.pauses
    beside = f" and cuts into {_share_of(cut, pauses, 'pause')}" if pauses else ""
    half = "begins half of its written answers" if first.kind == "text" else "answers half of its callers"
    said = (
        f"{_name(summary, first)} is the soonest: it {half} within {milliseconds(_figure(first).p50)}{_filler(first)}{beside}"
    )
    if first is last:
        return said
    return f"{said}, and the slowest, {_name(summary, last)}, within {milliseconds(_figure(last).p50)}{_filler(last)}"


def _cut_by_each(summary: RunSummary, agents: Sequence[Cell]) -> list[str]:
    spoken_to = [(cell, *cell.pauses) for cell in agents if cell.pauses[1]]
    if not spoken_to:
        return []
    if not any(cut for _, cut, _ in spoken_to):
        return [f"{'neither' if len(spoken_to) == 2 else 'none of them'} cuts into a pause"]
    spoken_to.sort(key=lambda one: -one[1] / one[2])
    each = [f"{_name(summary, cell)} {'' if k else 'cuts '}into {_cut(cut, of)}" for k, (cell, cut, of) in enumerate(spoken_to)]
    return [listed(each)]


def _cut(cut: int, of: int) -> str:
    return _share_of(cut, of, "pause") if cut else "none"


def _seats(summary: RunSummary) -> Iterable[str]:
    """People who answered the same callers, or a rehearsal, whose replies are a program's."""
    for seat in summary.seats:
        cells = (c for c in summary.whole if (c.agent, c.condition) == (seat.agent, seat.condition))
        cell = next(cells, None)
        if cell is not None and _timed(cell):
            yield f"{_who(seat)} half of them within {milliseconds(_figure(cell).p50)}"


def _who(seat: SeatSummary) -> str:
    if not seat.is_people:
        return "a rehearsal, which is a program's, answers"
    return f"{counted(seat.persons, 'person', 'people')} who took the same calls answer{'s' if seat.persons == 1 else ''}"


def _surest(rows: Sequence[Preferred]) -> Preferred | None:
    """The preference to name: of the agent that people surely prefer to most others, the surest."""
    apart = [row for row in rows if row.at_least > 0.5]
    wins = {row.agent: sum(other.agent == row.agent for other in apart) for row in apart}
    return max(apart or rows, key=lambda row: (wins.get(row.agent, 0), row.at_least), default=None)


def _quality(summary: RunSummary, agents: Sequence[Cell]) -> str:
    """Whom people prefer, or a judge that is borne out; what a judge thinks decides nothing."""
    it = "it" if len(agents) == 1 else "them"
    top = _surest(summary.head_to_head)
    if top is not None and (top.at_least > 0.5 or len(summary.head_to_head) == 1):
        return _preference(summary, top, len(agents))
    state = next((one for one in ("people", "borne_out") if _any(agents, one)), None)
    rated = [c for c in agents if c.quality_state == state and (state == "people" or not is_one_for_all(c.commonest_reply))]
    if rated:
        who = "people rate" if state == "people" else "a judge that people elsewhere bear out rates"
        return _rated(summary, [c for c in rated if c.condition == rated[0].condition], who, alone=len(agents) == 1)
    if summary.head_to_head:
        return "people's votes tell none of them clearly apart"
    boards = [board for condition in summary.conditions if (board := summary.board(condition)) is not None]
    if summary.people_refused or any(board.people_refused for board in boards):
        return f"people's votes do not yet rate {it}"
    if _any(agents, "opinion"):
        return f"on kindness there is a judge's opinion alone, which decides nothing: no person has rated {it}"
    return f"nobody has rated {it}"


def _any(agents: Sequence[Cell], state: str) -> bool:
    return any(cell.quality_state == state for cell in agents)


def _preference(summary: RunSummary, row: Preferred, agents: int) -> str:
    who, verb = ("people", "prefer") if row.whose is None else ("one person", "prefers")
    agent, over = _one_line(row.agent), _one_line(row.over)
    where = f"in {row.preferred} of {counted(row.conversations, 'conversation')}"
    if row.at_least <= 0.5:
        return f"{who} {verb} neither {agent} nor {over} clearly ({agent} {where})"
    others = sum(other.agent == row.agent and other.at_least > 0.5 for other in summary.head_to_head) - 1
    to = f" to {over}" if agents > 2 else ""
    return f"{who} {verb} {agent}{to} {where}" + (f", and to {counted(others, 'other')} as surely" if others else "")


def _rated(summary: RunSummary, cells: Sequence[Cell], who: str, *, alone: bool) -> str:
    """The place of one agent among the references, or the best rated of several."""
    if alone:
        return _among_references(cells[0], who)
    ordered = sorted((c for c in cells if c.elo is not None), key=lambda c: -(c.elo or 0.0))
    if not ordered:
        return f"{who} them, on too few conversations to say how"
    first, *others = ordered
    least = (first.elo_interval or (None, None))[0]
    near = [c for c in others if least is None or (top := (c.elo_interval or (None, None))[1]) is None or top >= least]
    if not others:
        return f"{who} {_name(summary, first)} alone"
    apart = f", not clearly above {listed([_name(summary, c) for c in near])}" if 0 < len(near) <= MOST_NAMED else ""
    return f"{who} {_name(summary, first)} highest{apart or (f', not clearly above {len(near)} others' if near else '')}"


def _among_references(cell: Cell, who: str) -> str:
    places: dict[str, list[str]] = {"above": [], "not clearly apart from": [], "below": []}
    for reference, over in cell.elo_over.items():
        low, high = over.interval or (None, None)
        above, below = low is not None and low > 0, high is not None and high < 0
        place = "above" if above else "below" if below else "not clearly apart from"
        places[place].append(f"“{_one_line(reference_id(reference))}”")
    words = [f"{place} {listed(names)}" for place, names in places.items() if names]
    return f"{who} it {', and '.join(words)}" if words else f"{who} it, with no reference to compare it with"


def _intervals(summary: RunSummary, agents: Sequence[Cell]) -> Iterable[str]:
    """The 95 % intervals of the medians: of up to four agents each, of more the soonest's; of one also that of pauses cut."""
    named = [(cell, band) for cell in agents if (band := _band(_figure(cell))) and not cell.from_a_file]
    shown = named if len(agents) <= MOST_NAMED else named[:1]
    if len(agents) == 1 and shown:
        yield f"95 % interval of the median {shown[0][1]}"
    elif shown:
        each = listed([f"{_name(summary, cell)} {band}" for cell, band in shown])
        yield f"95 % interval{'s' if len(shown) > 1 else ''} of the median{'s' if len(shown) > 1 else ''}: {each}"
    if len(agents) == 1 and (interval := agents[0].pauses_cut_interval):
        yield f"95 % interval of the pauses cut {share_band(interval)}"


def _band(figure: Quantiles) -> str:
    low, high = figure.p50_interval or (figure.p50_at_least, None)
    return latency_band(low, high)
