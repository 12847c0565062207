"""What a reader must know before quoting a number, in plain words.

The page puts these sentences above the charts, not in a footnote, because a rating from a weak judge or from four
conversations looks exactly like a good one once it is a dot on a plot. Each is a pure consequence of the view: nothing
reassuring is ever added, and what is not known is said to be not known.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from reports.view import NOT_JOINT, JudgeView, PageView
from reports.wording import counted, milliseconds, share, share_interval

SMALL_CONTEXTS = 8
"""Below this many conversations no interval is given: a bootstrap over fewer says more than it knows."""
P95_TURNS = 60
"""A 95th percentile of fewer turns rests on fewer than three of them."""
NEAR_CHANCE = 0.6
"""A judge whose accuracy may be this low, on pairs where guessing gives 50 %, tells little about replies."""

Level = Literal["bad", "warn", "note"]


@dataclass(frozen=True, slots=True)
class Caution:
    """One sentence or two; `bad` means that figures must not be quoted, `warn` that they are weak, `note` a standing fact."""

    level: Level
    topic: str
    text: str


def cautions(view: PageView) -> tuple[Caution, ...]:
    """Everything that limits what this run can say, gravest first."""
    found = [
        *_validity(view),
        *_differences(view),
        *_judges(view),
        *_size(view),
        *_losses(view),
        *_analysis(view),
        *_standing(view),
    ]
    order: dict[Level, int] = {"bad": 0, "warn": 1, "note": 2}
    return tuple(sorted(found, key=lambda caution: order[caution.level]))


def judge_sentence(judge: JudgeView) -> str:
    """How good a judge proved, in one line, to stand beside every Elo it produced."""
    if judge.accuracy.value is None:
        return f"{judge.name}: accuracy on pairs with known answers was not measured"
    interval = share_interval(judge.accuracy)
    pairs = f" of {counted(judge.pairs, 'pair')}" if judge.pairs else ""
    flips = (
        f"; changes its verdict with the order shown on {share(judge.flip_rate.value)}"
        if judge.flip_rate.value is not None
        else ""
    )
    return (
        f"{judge.name}: right on {share(judge.accuracy.value)}{pairs} with known answers"
        f"{f' ({interval})' if interval else ''}{flips}"
    )


def near_chance(judge: JudgeView) -> bool:
    """The judge may be no better than guessing, as far as its gold pairs can tell."""
    floor = judge.accuracy.low if judge.accuracy.low is not None else judge.accuracy.value
    return floor is None or floor <= NEAR_CHANCE


def _validity(view: PageView) -> Iterator[Caution]:
    if view.valid:
        return
    why = "; ".join(view.invalid_reasons) or "the run does not say why"
    topic = "Invalid" if view.differences else "This run is invalid"
    yield Caution("bad", topic, f"{'These' if view.differences else 'Its'} figures must not be quoted: {why}.")


def _differences(view: PageView) -> Iterator[Caution]:
    for what, text in view.differences:
        yield Caution("warn", what if what == NOT_JOINT else f"Runs differ: {what.lower()}", text)


def _judges(view: PageView) -> Iterator[Caution]:
    if not view.judgments:
        yield Caution("warn", "Not judged", "No reply of this run has been judged, so there is no Elo on this page.")
        return
    weak = [judge for judge in view.judges if not judge.trusted and not judge.name.startswith("human")]
    trusted = [judge for judge in view.judges if judge.trusted]
    for judge in weak:
        if judge.excluded:
            text = f"{judge_sentence(judge)}. It failed this check, so none of its verdicts is in a rating here."
        elif near_chance(judge):
            text = (
                f"{judge_sentence(judge)}. That is near what guessing would give (50 %): the ratings it made "
                "say little or nothing about which reply is better."
            )
        else:
            text = f"{judge_sentence(judge)}. It does not reach the bar for a trusted judge; read its ratings as a hint."
        yield Caution("bad" if not trusted and near_chance(judge) else "warn", "Weak judge", text)
    own = sum(a.own_family_judgments for a in view.agents)
    if own:
        yield Caution(
            "warn",
            "Own family",
            f"In {counted(own, 'verdict')} the judge shares its model family with exactly one side, because no other judge "
            "was left. Models tend to prefer their own kind; these verdicts are marked and never called trusted.",
        )


def _size(view: PageView) -> Iterator[Caution]:
    contexts = len(view.contexts)
    if contexts < SMALL_CONTEXTS:
        yield Caution(
            "warn",
            "Few conversations",
            f"This run has {counted(contexts, 'conversation')}. Under {SMALL_CONTEXTS} no interval is given, and an order of "
            "agents can turn round with the next conversation.",
        )
    turns = max((agent.whole.turns for agent in view.agents), default=0)
    if turns < P95_TURNS:
        yield Caution(
            "note",
            "No 95th percentile",
            f"With at most {counted(turns, 'turn')} an agent there is no honest 95th percentile; it needs {P95_TURNS}.",
        )


def _losses(view: PageView) -> Iterator[Caution]:
    if view.failures:
        agents = sorted({failure.agent for failure in view.failures})
        yield Caution(
            "warn",
            "Failed sessions",
            f"{counted(len(view.failures), 'session')} failed ({', '.join(agents)}). They are listed below by kind.",
        )
    silent = [agent for agent in view.agents if agent.whole.no_reply]
    if silent:
        each = ", ".join(f"{agent.name} on {agent.whole.no_reply} of {counted(agent.whole.turns, 'turn')}" for agent in silent)
        yield Caution("warn", "No reply", f"Nothing within 15 s: {each}. Such turns count as an agent's slowest.")
    dropped = [agent for agent in view.agents if agent.whole.discarded]
    if dropped:
        each = ", ".join(f"{agent.name} {agent.whole.discarded} of {agent.whole.turns}" for agent in dropped)
        yield Caution(
            "note",
            "Discarded",
            f"Turns whose measurement could not be trusted give no figure: {each}. Why stands below.",
        )
    unjudged = sum(1 for context in view.contexts if context.turns and not context.judgments)
    if view.judgments and unjudged:
        yield Caution("warn", "Missing verdicts", f"{counted(unjudged, 'conversation')} of this run has no verdict at all.")


def _analysis(view: PageView) -> Iterator[Caution]:
    """What the summary warns of, less what this page says of each judge in its own words."""
    for text in view.warnings:
        if not any(f"Judge {judge.name.partition(' ')[0]}:" in text for judge in view.judges):
            yield Caution("warn", "From the analysis", text)


def _standing(view: PageView) -> Iterator[Caution]:
    if view.onset_error_ms is None:
        yield Caution(
            "note",
            "Not calibrated",
            "The error of the onset measurement was not calibrated for every run here."
            if view.differences
            else "The error of the onset measurement was not calibrated on this machine for this run.",
        )
    else:
        yield Caution(
            "note",
            "Measurement error",
            f"TTFA is measured to within {milliseconds(view.onset_error_ms)} (95 % of calibration trials).",
        )
    if view.judgments and not view.has_human_reference:
        yield Caution(
            "note",
            "No human baseline",
            "No reply by a person competes on this board. Elo is relative to the systems shown here and to nothing else.",
        )
    yield Caution(
        "note",
        "Not a certificate",
        "An Elo is no certificate of safety. It says which reply was preferred on these conversations, not that an agent "
        "helps anybody or does no harm.",
    )
    yield Caution(
        "note",
        "Machines",
        "The agents here are machines. Where people talk to one, they should be told so, and told its limits.",
    )
