"""One sentence per agent, written so that a busy engineer may stop reading there and not be misled.

It always holds the same five facts in the same order: the budget, the rating with its band, cut-ins, the measurement
error and the accuracy of the judges. A fact that is not known is named as missing rather than left out.
"""

from dataclasses import dataclass
from typing import Literal

from harness.timing.figures import NO_REPLY_TEXT
from harness.wording import counted, milliseconds, share
from reports.view import AgentView, JudgeView, PageView
from reports.wording import elo, elo_interval, latency, latency_interval

Outcome = Literal["within", "over", "unknown"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The sentence about one agent. `outcome`: does its median TTFA (TTFT for a text endpoint) meet the budget?"""

    agent: str
    outcome: Outcome
    text: str


def verdicts(view: PageView) -> tuple[Verdict, ...]:
    """One sentence per agent, fastest first; agents without a figure last."""
    return tuple(_verdict(agent, view) for agent in sorted(view.agents, key=_speed))


def _speed(agent: AgentView) -> tuple[float, str]:
    figure = agent.whole.latency["ttfa" if agent.spoken else "ttft"]
    return (figure.p50.value if figure.p50.value is not None else float("inf"), agent.name)


def _verdict(agent: AgentView, view: PageView) -> Verdict:
    outcome, speed = _speed_words(agent, view)
    parts = [speed, _rating_words(agent)]
    if agent.spoken:
        parts.append(_interaction_words(agent))
        parts.append(
            f"measured to within {view.onset_error.words}"
            if view.onset_error is not None
            else "measurement error not calibrated"
        )
    if agent.whole.rating.elo.value is not None:
        parts.append(_judge_words(view))
    return Verdict(agent.name, outcome, "; ".join(part for part in parts if part) + ".")


def _speed_words(agent: AgentView, view: PageView) -> tuple[Outcome, str]:
    name, metric, budget, within = (
        ("TTFA", "ttfa", view.budget_ttfa_ms, agent.whole.within_ttfa)
        if agent.spoken
        else ("TTFT", "ttft", view.budget_ttft_ms, agent.whole.within_ttft)
    )
    figure = agent.whole.latency["ttfa" if metric == "ttfa" else "ttft"]
    if figure.p50_over:
        return "over", f"gives no reply within {NO_REPLY_TEXT} on at least half of {counted(agent.whole.turns, 'turn')}"
    if figure.p50.value is None:
        return "unknown", f"no {name} could be measured"
    outcome: Outcome = "within" if figure.p50.value <= budget else "over"
    band = latency_interval(figure.p50)
    return outcome, (
        f"median {name} {latency(figure)}{f' ({band})' if band else ''}, "
        f"{'within' if outcome == 'within' else 'over'} the {milliseconds(budget)} budget; "
        f"{share(within)} of {counted(agent.whole.turns, 'turn')} within it"
    )


def _rating_words(agent: AgentView) -> str:
    rating = agent.whole.rating
    if rating.elo.value is None:
        return "not rated"
    band = elo_interval(rating.elo)
    return f"Elo {elo(rating.elo.value)} ({band if band else 'too few conversations for a band'})"


def _interaction_words(agent: AgentView) -> str:
    if agent.whole.cut_in_rate is None:
        return "cut-ins not known"
    cut = f"cuts in on {share(agent.whole.cut_in_rate)} of turns"
    if agent.whole.pauses_marked:
        cut += f" and into {agent.whole.pauses_cut} of {counted(agent.whole.pauses_marked, 'pause')}"
    return cut


def _judge_words(view: PageView) -> str:
    known = [judge for judge in view.judges if judge.accuracy.value is not None]
    if not known:
        return "judge accuracy not measured"
    return "judge accuracy " + ", ".join(f"{share(judge.accuracy.value)} on our own pairs{_doubt(judge)}" for judge in known)


def _doubt(judge: JudgeView) -> str:
    if not judge.validated:
        return " (not validated against people)"
    return "" if judge.trusted else " (not trusted)"
