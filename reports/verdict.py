"""The verdict on each agent: its answers and one sentence, written so that they do not mislead a reader who stops there.

*Fast* is yes or no only if the interval of the median is on one side of the budget. Where over 5 % of the replies begin with a
filler, the median is that of the answer, so a filler buys no *yes*. *Kind* is compared with the bar: a person's reply if one
competes, otherwise the one that its author meant to be best; only people's votes, or a judge that is borne out, can decide it.
*Pauses cut* are beside the two, because speed can be bought by answering before the caller has ended. People who answered the
same callers get no verdict. The facts behind the sentence follow in a fixed order; one that is not known is named as missing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from harness.figures.cells import AgentSummary, JudgeSummary
from harness.figures.latency import filler_words
from harness.figures.one_reply import is_one_for_all
from harness.figures.seat import beside_words
from harness.gate.stored import StoredLimit
from harness.reports.gate_shown import limit_of, side_of
from harness.reports.view import (
    UNKNOWN,
    AgentView,
    Estimate,
    PageView,
    RatingView,
    ReferenceView,
    percentile,
)
from harness.reports.wording import elo, elo_interval, latency, latency_interval, share_interval
from harness.scenarios.context import by_a_person
from harness.store.judgment import reference_id
from harness.timing.figures import NO_REPLY_TEXT
from harness.timing.quantiles import Quantiles
from harness.turn_taking.detectors import PAUSES_CUT_LIMIT
from harness.turns.bounded import Bounded
from harness.wording import (
    UNKNOWN_TEXT,
    cannot_tell,
    counted,
    had_it_been_its_own,
    milliseconds,
    share,
    share_had_it_been_its_own,
)

Answer = Literal["yes", "no", "unclear", "no verdict", "not rated", "few", "many"]
NO_INTERVAL = "too few conversations for an interval"
THE_GATES: Final = "the gate's limit"
INVALID = "INVALID RUN, not to be quoted"
ONE_FOR_ALL = "one reply for all callers, not to be quoted"
STATED = "as a file states, not measured"
"""In the place of an interval, of a latency that came with a file of replies."""


@dataclass(frozen=True, slots=True)
class Half:
    """One answer, with its figure and 95 % interval, or the reason why it has none."""

    answer: Answer
    figure: str
    interval: str
    value: Estimate = UNKNOWN
    """The figure as a number, in the unit of `limit`."""
    limit: float = 0.0
    against: str = ""
    """The limit in words; empty if there is nothing to compare with."""
    beside: str = ""
    """Of a latency: the filler before the answer, and the figure had the machine been its own; empty without either."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one agent. `number` is its index among the page's agents; `text` has the facts behind it."""

    agent: str
    number: int
    fast: Half
    kind: Half
    pauses: Half | None
    """None without inner pauses."""
    sentence: str
    text: str


def verdicts(view: PageView) -> tuple[Verdict, ...]:
    """The verdicts, one per agent, fastest first; agents without a figure last."""
    agents = [(number, agent) for number, agent in enumerate(view.agents) if not agent.seat]
    return tuple(_verdict(number, agent, view) for number, agent in sorted(agents, key=lambda n: _speed(n[1])))


def _speed(agent: AgentView) -> tuple[float, str]:
    p50_ms = percentile(_figure(agent), "p50").value
    return (p50_ms if p50_ms is not None else float("inf"), agent.name)


def _figure(agent: AgentView) -> Quantiles:
    return agent.whole.latency(deciding(agent))


def deciding(agent: AgentView) -> str:
    """The latency that decides *fast*."""
    return "ttft" if not agent.spoken else "answer" if agent.whole.cell.answer_differs else "ttfa"


_NAMES: Final = {"ttfa": "TTFA", "ttft": "TTFT", "answer": "answer"}


def _budget(agent: AgentView, view: PageView, figure: str) -> tuple[str, float, float | None]:
    """The name of a latency in a sentence, the run's budget in ms, and the share of turns within it: turns were counted against
    that budget, whatever the limit of a gate is."""
    budget_ms = view.budget_ttft_ms if figure == "ttft" else view.budget_ttfa_ms
    return _NAMES[figure], budget_ms, getattr(agent.whole.cell.within_budget, figure)


def _verdict(number: int, agent: AgentView, view: PageView) -> Verdict:
    latencies = dict.fromkeys(("ttfa", deciding(agent)) if agent.spoken else ("ttft",))
    parts = [*(_speed_words(agent, view, figure) for figure in latencies), _rating_words(agent)]
    if agent.spoken:
        parts.append(_interaction_words(agent))
        parts.append(
            f"measured to within {view.onset_error.words}"
            if view.onset_error is not None
            else "measurement error not calibrated"
        )
    if _judged(agent.whole.rating) and (view.judges or view.verdicts):
        parts.append(_judge_words(view))
    return Verdict(
        agent.name,
        number,
        fast(agent, view),
        kind(agent, view),
        pauses(agent, view),
        _sentence(agent, view),
        "; ".join(part for part in parts if part) + ".",
    )


def fast(agent: AgentView, view: PageView) -> Half:
    """The answer to "fast": is the median TTFA (TTFT of a text model; the answer where it differs) within the budget?"""
    found = _fast(agent, view, deciding(agent))
    if deciding(agent) != "answer":
        return found
    at = latency(agent.whole.latency("ttfa"))
    filler = "the answer, after a filler" + (f" at {at}" if at != UNKNOWN_TEXT else "")
    return replace(found, beside="; ".join(words for words in (filler, found.beside) if words))


def _fast(agent: AgentView, view: PageView, by: str) -> Half:
    figure = agent.whole.latency(by)
    p50 = percentile(figure, "p50")
    if p50.value is None and not figure.p50_over_limit:
        return Half("unclear", "not measured", "" if agent.valid else INVALID)
    gate = limit_of(view.gates, agent.name, f"{by}_ms.p50")
    budget = _budget(agent, view, by)[1] if gate is None else gate.bound
    words = f"{'budget' if gate is None else THE_GATES} {milliseconds(budget)}{'' if agent.spoken else ' to its first words'}"
    limit = p50, budget, words, had_it_been_its_own(figure.p50_range)
    if not agent.valid:
        return Half("unclear", latency(figure), INVALID, *limit)
    if agent.whole.cell.from_a_file:
        return Half("unclear", latency(figure), STATED, *limit)
    beyond = Estimate(p50.value, *(None if end is None else end - budget for end in (p50.low, p50.high)))
    answer = _by_gate(gate, _side(beyond, up="no", down="yes"), within="yes", outside="no")
    return Half(answer, latency(figure), latency_interval(p50) or NO_INTERVAL, *limit)


def not_quotable(cell: AgentSummary) -> str:
    """Why a rating must not be quoted."""
    return ONE_FOR_ALL if is_one_for_all(cell.commonest_reply) and cell.valid else INVALID


def _by_gate(gate: StoredLimit | None, own: Answer, *, within: Answer, outside: Answer) -> Answer:
    """The gate's answer where it has a limit on the figure, else the page's own, of the 95 % interval."""
    side = side_of(gate) if gate is not None else None
    return own if side is None else {"within": within, "outside": outside, "unclear": "unclear"}[side]


def pauses(agent: AgentView, view: PageView) -> Half | None:
    """The answer to "few or many inner pauses cut"; None if the agent had none to cut."""
    cell = agent.whole.cell
    cut = Estimate.of(cell.pauses_cut_share, cell.pauses_cut_interval)
    if cut.value is None:
        return None
    gate = limit_of(view.gates, agent.name, "pauses_cut_share")
    bound = PAUSES_CUT_LIMIT if gate is None else gate.bound
    limit = cut, bound, f"{'limit' if gate is None else THE_GATES} {share(bound)}"
    if not agent.valid:
        return Half("unclear", share(cut.value), INVALID, *limit)
    if cut.low is None or cut.high is None:
        return Half("unclear", share(cut.value), NO_INTERVAL, *limit)
    own: Answer = "few" if cut.high <= bound else "many" if cut.low > bound else "unclear"
    answer = _by_gate(gate, own, within="few", outside="many")
    return Half(answer, share(cut.value), share_interval(cut), *limit)


def _judged(rating: RatingView) -> bool:
    """True if its replies were judged, even if the rating is too uncertain to be quoted."""
    return rating.elo.value is not None or rating.win_rate is not None or rating.judgments > 0


def kind(agent: AgentView, view: PageView) -> Half:
    """The answer to "kind": are its replies preferred to the bar, by valid verdicts?"""
    found = _kind(agent, view)
    if agent.whole.cell.quality_valid:
        return found
    return replace(found, answer="unclear", interval=not_quotable(agent.whole.cell))
    return (
        found
        if agent.whole.cell.quality_valid or found.answer == "not rated"
        else replace(found, answer="unclear", interval=INVALID)
    )


def _kind(agent: AgentView, view: PageView) -> Half:
    rating = agent.whole.rating
    if not _judged(rating):
        return Half("not rated", "nobody rated its replies", "")
    if not agent.quoted:
        return Half("no verdict", "a judge's opinion" if rating.elo.value is not None else "not known", "")
    bar = the_bar(agent, view)
    if bar is None:
        return Half("unclear", "no reference to compare it with", "")
    over = rating.over.get(bar.name or bar.system, Estimate())
    met = "too little known against" if (bar.name or bar.system) in rating.over else "never met"
    figure = f"{signed(over.value)} Elo against “{_short(bar)}”" if over.value is not None else f"{met} “{_short(bar)}”"
    between = _signed_interval(over) or NO_INTERVAL
    return Half(_side(over, up="yes", down="no"), figure, between, over, 0.0, f"against “{_short(bar)}”")


def the_bar(agent: AgentView, view: PageView) -> ReferenceView | None:
    """The bar on this agent's board: a person's reply, otherwise the one meant to be best, otherwise the best rated."""
    rated = [r for r in view.references if r.condition == agent.condition and "all" in r.ratings]
    people = [r for r in rated if any(by_a_person(author) for author in r.author.split(", "))]
    return max(people or rated, key=lambda r: (r.quality or 0.0, _elo_of(r) or 0.0), default=None)


def _elo_of(reference: ReferenceView) -> float | None:
    return reference.ratings["all"].elo.value if "all" in reference.ratings else None


def _short(reference: ReferenceView) -> str:
    return reference_id(reference.name or reference.system)


def _side(of_zero: Estimate, *, up: Answer, down: Answer) -> Answer:
    if of_zero.low is not None and of_zero.low > 0:
        return up
    if of_zero.high is not None and (of_zero.high < 0 or (down == "yes" and of_zero.high <= 0)):
        return down
    return "unclear"


def signed(value: float) -> str:
    return f"{value:+.0f}".replace("-", "−")


def _signed_interval(estimate: Estimate) -> str:
    low, high = estimate.low, estimate.high
    if low is not None and high is not None:
        return f"{signed(low)} to {signed(high)}"
    if low is not None:
        return f"at least {signed(low)}"
    return f"at most {signed(high)}" if high is not None else ""


def _sentence(agent: AgentView, view: PageView) -> str:
    """`Answers within 500 ms on 62 % of turns; rated below “good” and above “plain”, preferred to “good” in …`."""
    parts = [_in_time(agent, view)]
    if agent.whole.cell.cut_in_rate:
        parts.append(f"cuts in on {share(agent.whole.cell.cut_in_rate)} of turns")
    parts.append(_against_references(agent, view))
    if agent.beside is not None and agent.valid:
        parts.append(beside_words(agent.beside, quoted=agent.quoted))
    best = agent.whole.cell.p_best_within_budget
    if best is not None:
        parts.append(f"the chance that it is the best rated of those within the budget is {share(best)}")
    return "; ".join(parts) + "."


def _in_time(agent: AgentView, view: PageView) -> str:
    _, budget, within = _budget(agent, view, deciding(agent))
    if within is None:
        return "Its latency is not known"
    if deciding(agent) == "answer":
        words = filler_words(agent.whole.cell, budget)
        return f"Fast, {words}" if _fast(agent, view, "ttfa").answer == "yes" else f"W{words[1:]}"
    begins = "Answers" if agent.spoken else "Begins its answer"
    if agent.whole.cell.from_a_file:
        begins = f"A file states that it {begins[:1].lower()}{begins[1:]}"
    ends = getattr(agent.whole.cell.within_budget, f"{deciding(agent)}_range")
    alone = share_had_it_been_its_own(ends, agent.whole.cell.others)
    return (
        f"{begins} within {milliseconds(budget)} on {share(within)} of {counted(agent.whole.cell.turns, 'turn')}"
        f"{f'; {alone}' if alone else ''}"
    )


def _against_references(agent: AgentView, view: PageView) -> str:
    rating = agent.whole.rating
    if not _judged(rating):
        return "nobody rated its replies"
    if not agent.quoted:
        return (
            "too few conversations to rate it" if rating.elo.value is None else "on kindness there is a judge's opinion alone"
        )
    bar = the_bar(agent, view)
    mine = [r for r in view.references if r.condition == agent.condition and (r.name or r.system) in rating.over]
    mine.sort(key=lambda r: -(_elo_of(r) or 0.0))
    places: dict[str, list[str]] = {}
    for reference in mine:
        places.setdefault(_place(rating.over[reference.name or reference.system]), []).append(f"“{_short(reference)}”")
    words = [f"{where} {' and '.join(names)}" for where, names in places.items()]
    found = f"rated {', '.join(words)}" if words else "no reference competes with it"
    if rating.elo.value is None:
        found = "too few conversations to rate it"
    against = agent.against.get(bar.name or bar.system) if bar is not None else None
    if bar is None or against is None:
        return found
    shares = []
    if against.verdicts:
        shares.append(f"in {share(against.share.value)} of {counted(against.verdicts, 'verdict')}")
    if against.votes:
        shares.append(f"in {share(against.of_people.value)} of {counted(against.votes, 'vote')} by people")
    return found + (f"; preferred to “{_short(bar)}” {', '.join(shares)}" if shares else "")


def _place(over: Estimate) -> str:
    return {"yes": "above", "no": "below"}.get(_side(over, up="yes", down="no"), "not clearly apart from")


def _speed_words(agent: AgentView, view: PageView, by: str) -> str:
    name, budget, within = _budget(agent, view, by)
    figure = agent.whole.latency(by)
    if figure.p50_over_limit:
        missing = "answer" if by == "answer" else "reply"
        return f"gives no {missing} within {NO_REPLY_TEXT} on at least half of {counted(agent.whole.cell.turns, 'turn')}"
    if figure.p50 is None:
        return f"no {name} could be measured"
    band = latency_interval(percentile(figure, "p50"))
    sure = STATED if agent.whole.cell.from_a_file else f"95 %: {band}" if band else ""
    return (
        f"median {name} {latency(figure)}{f' ({sure})' if sure else ''}, "
        f"{_against_budget(figure.p50, figure, budget)}; {share(within)} of {counted(agent.whole.cell.turns, 'turn')} within it"
    )


def _against_budget(p50_ms: float, figure: Quantiles, budget_ms: float) -> str:
    ends = Bounded(*(figure.p50_range or (p50_ms, p50_ms)))
    of_budget = f"the {milliseconds(budget_ms)} budget"
    if ends.within(budget_ms) == "cannot tell":
        return f"within or over {of_budget}: {cannot_tell(milliseconds(ends.high_ms - ends.low_ms))}"
    return f"{'within' if ends.within(budget_ms) == 'fast' else 'over'} {of_budget}"


def _rating_words(agent: AgentView) -> str:
    rating = agent.whole.rating
    if rating.elo.value is None:
        return "too few conversations for an Elo" if _judged(rating) else "not rated"
    band = elo_interval(rating.elo)
    return f"Elo {elo(rating.elo.value)} ({f'95 %: {band}' if band else NO_INTERVAL})"


def _interaction_words(agent: AgentView) -> str:
    if agent.whole.cell.cut_in_rate is None:
        return "cut-ins not known"
    cut = f"cuts in on {share(agent.whole.cell.cut_in_rate)} of turns"
    if agent.whole.cell.pauses[1]:
        cut += f" and into {agent.whole.cell.pauses[0]} of {counted(agent.whole.cell.pauses[1], 'pause')}"
    return cut


def _judge_words(view: PageView) -> str:
    known = [judge for judge in view.judges if judge.accuracy is not None]
    if not known:
        return "judge accuracy not measured"
    return "judge accuracy " + ", ".join(_of_judges(known))


def _of_judges(known: list[JudgeSummary]) -> Iterator[str]:
    for judge in known:
        yield f"{share(judge.accuracy)} on our own pairs{_doubt(judge)}"


def _doubt(judge: JudgeSummary) -> str:
    if judge.validated_on_people is None:
        return " (not validated against people)"
    return "" if judge.trusted else " (not trusted)"
