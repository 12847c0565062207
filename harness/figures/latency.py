"""The latency table of a cell: the turns that give a figure, their values, and the figures made of them.

No reply, and a reply that began before the caller had finished, rank slowest: leaving them out would reward silence and
interruption, and a negative wait is no merit. Discarded turns are unknown and take no part. An agent of whose
turns more than 5 % had to be discarded gets no heard figure at all, in no table and no joint chart: what was left out is
then no accident. Figures that could owe too much to others on the agent's machine are left out one by one, and a turn whose
first figure is left out (*contended*) takes no part in counts by turns; they do not count towards those 5 %: the agent has no
part in them, and where they are many the run is invalid (validity.py). Each figure that is left comes with the part of it that
others could have caused.

A reply of a filler alone has a TTFA and no answer: its answer ranks slowest too, because its caller waited for one in vain, and
leaving it out would reward fillers that nothing follows. Turns timed before fillers were known apart have no answer that is
known, and take no part in it.

The share within a budget is the exception: a contended turn counts there unless others decide on which side it is. They can
only delay, and 25 ms is a larger part of a quick reply than of a slow one, so leaving out every contended turn leaves out the
quick ones: 63 % of 161 turns became 55 % of the 124 that were not contended (docs/performance.md). But where others decide on
more than 5 % of the turns, those are no accident either: they are slow ones, and then every contended turn is left out.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from harness.figures.rtp_lines import LineSummary, line_of
from harness.figures.speakers import NO_SPEAKERS, Speakers, by_speaker
from harness.ranking.joint import MOST_ALIKE
from harness.statistics.bounds import share_of
from harness.statistics.interval import TURNS_FOR_P95, Interval
from harness.store.selection import Turns
from harness.timing.figures import TurnTiming
from harness.timing.quantiles import Quantiles, quantiles_of
from harness.turns.catalogue import CATALOGUE, HEARD, LATENCIES
from harness.turns.table import MOST_DISCARDED, NOT_ASKED, begins_with_filler

SHORT_PAUSE_MS: Final = 800.0
"""Longer pauses are the turn's end in many people's speech; they are counted separately."""

_OF_WORDS: Final = tuple(figure.key for figure in LATENCIES if "words" in figure.needs)
_READ: Final = {figure.key: figure.read for figure in LATENCIES if figure.read is not None}
FIGURES: Final = tuple(_READ)


class Latencies(BaseModel):
    """The latencies of a cell in ms, one field for each of `LATENCIES`."""

    model_config = ConfigDict(extra="forbid")

    ttft_ms: Quantiles = Field(default_factory=Quantiles)
    ttft_from_spoken_end_ms: Quantiles = Field(default_factory=Quantiles)
    ttfa_ms: Quantiles = Field(default_factory=Quantiles)
    answer_ms: Quantiles = Field(default_factory=Quantiles)
    first_byte_ms: Quantiles = Field(default_factory=Quantiles)
    first_sound_ms: Quantiles = Field(default_factory=Quantiles)
    first_speech_ms: Quantiles = Field(default_factory=Quantiles)
    first_word_ms: Quantiles = Field(default_factory=Quantiles)
    first_substance_ms: Quantiles = Field(default_factory=Quantiles)
    greeting_ms: Quantiles = Field(default_factory=Quantiles)
    """From the opened call to the agent's greeting, on calls that the agent began."""


class WithinBudget(BaseModel):
    """Share of turns within budget; a turn without reply, or one that began early, is not."""

    model_config = ConfigDict(extra="forbid")

    ttft: float | None = None
    ttfa: float | None = None
    answer: float | None = None
    """Share of turns whose answer is within the budget of TTFA."""
    ttft_interval: Interval | None = None
    ttfa_interval: Interval | None = None
    answer_interval: Interval | None = None


class TurnFigures(Latencies):
    """Figures of one agent's turns. Shares are 0–1, times in ms; None is not known."""

    turns: int
    no_reply: int
    discarded: dict[str, int] = Field(default_factory=dict)
    contended: int = 0
    """Turns left out because others used the agent's machine."""
    within_budget: WithinBudget = Field(default_factory=WithinBudget)
    filler_first: tuple[int, int] = (0, 0)
    """Replies whose first sound is not their answer, and replies of which this is known."""
    backchannels: int = 0
    """The agent's backchannels, which are neither replies nor cut-ins."""
    cut_in_rate: float | None = None
    cut_in_interval: Interval | None = None
    false_start_rate: float | None = None
    """False starts per marked pause."""
    pauses_cut: tuple[int, int] = (0, 0)
    short_pauses_cut: tuple[int, int] = (0, 0)
    """Cut and all marked pauses under 800 ms."""
    underruns: int = 0
    line: LineSummary | None = None
    """Line of wires that carry a media clock (WebRTC, SIP)."""
    unexplained_p95_ms: float | None = None
    yield_ms: Quantiles | None = None
    tokens_per_s: float | None = None
    inter_token_gap_p95_ms: float | None = None
    """Median over turns of each turn's own p95."""
    tts_real_time_factor: float | None = None

    @property
    def answer_differs(self) -> bool:
        """True if over 5 % of the replies do not begin with their answer: then the answer is beside TTFA wherever it is shown,
        and decides *fast* with it."""
        return differs(self.filler_first)


def turn_figures(
    turns: Turns, *, budgets_ms: Mapping[str, float], seed: int, spoken: bool = True, speakers: Speakers = NO_SPEAKERS
) -> TurnFigures:
    """The figures of one agent. Discarded and contended turns are counted and take part in nothing else.

    `spoken`: False of an agent that is asked in writing, which has no sound to wait for and nobody to interrupt. `speakers`:
    those of the contexts whose speaker is known; intervals are over them.
    """
    turns = by_speaker(turns, speakers)
    every = [t for group in turns.values() for t in group]
    kept = _kept(turns)
    used = [t for group in kept.values() for t in group]
    within = {
        name: share_of(within_budget_flags(turns, name, budget_of(name, budgets_ms))) for name in ("ttft", "ttfa", "answer")
    }
    cut_ins = share_of(chances(turns, "cut_in_rate"))
    if not spoken:
        within["ttfa"] = within["answer"] = cut_ins = None, None
    yields = _known(kept, lambda t: t.yield_ms)
    pauses = [(ms, cut) for t in used for ms, cut in zip(t.pause_durations_ms, t.pause_was_cut, strict=True)]
    short = [cut for ms, cut in pauses if ms < SHORT_PAUSE_MS]
    return TurnFigures(
        turns=len(every),
        no_reply=sum(t.no_reply for t in used),
        contended=sum(t.contended for t in every),
        discarded=dict(Counter(t.discarded for t in every if t.discarded is not None)),
        **{f"{name}_ms": _beside_others(turns, name, seed) for name in FIGURES},
        within_budget=WithinBudget(
            **{name: share for name, (share, _) in within.items()},  # type: ignore[arg-type]
            **{f"{name}_interval": interval for name, (_, interval) in within.items()},  # type: ignore[arg-type]
        ),
        filler_first=filler_first(turns),
        backchannels=sum(t.backchannels for t in used),
        cut_in_rate=cut_ins[0],
        cut_in_interval=cut_ins[1],
        false_start_rate=share_of(chances(turns, "false_start_rate"))[0] if spoken else None,
        pauses_cut=(sum(cut for _, cut in pauses), len(pauses)),
        short_pauses_cut=(sum(short), len(short)),
        underruns=sum(t.underruns for t in used),
        line=line_of(turns),
        unexplained_p95_ms=_unexplained_p95(used),
        yield_ms=quantiles_of(yields, seed) if yields else None,
        tokens_per_s=_median([t.tokens_per_s for t in used]),
        inter_token_gap_p95_ms=_median([t.inter_token_gap_p95_ms for t in used]),
        tts_real_time_factor=_median([t.tts_real_time_factor for t in used]),
    )


def ranks_slowest(turn: TurnTiming) -> bool:
    """True if a turn ranks behind every answered one: nothing was said, or it began before the caller had finished. A turn
    that was left out is unknown, and has no rank."""
    return turn.left_out is None and (turn.no_reply or turn.signed_ms is not None)


def filler_first(turns: Turns) -> tuple[int, int]:
    """Replies whose first sound is not their answer, and replies of which this is known."""
    replies = [t for group in _made_of(turns, "answer").values() for t in group if t.ttfa_ms is not None]
    return sum(map(begins_with_filler, replies)), len(replies)


def differs(of: tuple[int, int]) -> bool:
    """True if a share of replies is so large that their answers must be shown beside TTFA. `of`: from `filler_first`."""
    return of[0] > MOST_ALIKE * of[1]


def latency_values(turns: Turns, figure: str) -> dict[str, list[float]]:
    """Context → one latency figure of its turns in ms, infinite where a turn ranks slowest: the values behind every percentile.

    Empty where the figure is withheld (too many discarded) or was never measured.
    """
    return _values(turns, figure, lambda _, value_ms: value_ms)


def _values(turns: Turns, figure: str, as_shown: Callable[[TurnTiming, float], float]) -> dict[str, list[float]]:
    read = _READ[figure]

    def shown(turn: TurnTiming) -> float | None:
        value_ms = read(turn)
        if value_ms is None and figure == "answer" and turn.ttfa_ms is not None:
            return float("inf")  # A filler alone: `_made_of` leaves out every other reply without an answer.
        return as_shown(turn, value_ms) if value_ms is not None else None

    return (_ranked if figure in HEARD else _known)(_made_of(turns, figure), shown)


def _made_of(turns: Turns, figure: str) -> Turns:
    """The turns that give a figure."""
    lacks = _lacks_words if figure in _OF_WORDS else _lacks_answer if figure == "answer" else None
    if lacks is not None:
        return _known_turns(heard_turns(turns, figure), lacks)
    return (heard_turns if figure in HEARD else _kept)(turns, figure)


def _beside_others(turns: Turns, figure: str, seed: int) -> Quantiles:
    """The percentiles of a figure, and the part of them that others could have caused, where it is known for every turn."""
    found = quantiles_of(_values(turns, figure, lambda _, value_ms: value_ms), seed)
    used = _made_of(turns, figure)
    read = _READ[figure]
    owed = [t.owed_ms(figure) for group in used.values() for t in group if read(t) is not None]
    if not owed or None in owed:
        return found
    # One context: this part needs no intervals, and resampling is most of the work.
    less = [v for group in _values(turns, figure, lambda t, v: v - (t.owed_ms(figure) or 0.0)).values() for v in group]
    return found.beside(quantiles_of({"": less}, seed))


def chances(turns: Turns, figure: str) -> dict[str, list[bool]]:
    """Context → each chance that a share of the catalogue counts, and whether it was taken.

    Contended and discarded turns take no part; too many discarded ones leave nothing to say of silence.
    """
    read = CATALOGUE[figure].chances
    assert read is not None, figure
    among = heard_turns(turns) if figure == "no_reply_rate" else _kept(turns)
    return {c: [taken for t in group for taken in read(t) if taken is not None] for c, group in among.items()}


def budget_of(figure: str, budgets_ms: Mapping[str, float]) -> float:
    """The budget of ttfa, answer or ttft in ms; an answer has that of TTFA."""
    return budgets_ms["ttft" if figure == "ttft" else "ttfa"]


def within_budget_flags(turns: Turns, figure: str, budget_ms: float) -> dict[str, list[bool]]:
    """Context → whether each turn is within budget of `figure` (ttfa, answer, ttft). No reply, or one that began early, is not.

    A contended turn counts as within the budget if it is so all the same, and as over it if it is so without all that others
    could have caused; else it is unknown and takes no part. Where over 5 % are unknown, no contended turn takes part.
    """
    if figure in HEARD and not _enough_heard(turns):
        return {}
    if figure == "answer":
        turns = _known_turns(turns, _lacks_answer)
    counted = {c: [t for t in group if t.discarded is None] for c, group in turns.items()}
    every = [t for group in counted.values() for t in group]
    unknown = sum(_owes(t, figure) and _is_within(t, figure, budget_ms) is None for t in every)
    used = counted if unknown <= MOST_DISCARDED * len(every) else _kept(turns, figure)
    flags = {c: [_is_within(t, figure, budget_ms) for t in group] for c, group in used.items()}
    known = {c: [within for within in group if within is not None] for c, group in flags.items()}
    return {c: group for c, group in known.items() if group}


def _is_within(turn: TurnTiming, figure: str, budget_ms: float) -> bool | None:
    """True if a turn is within its budget; None if others decide that, or if its TTFT was not measured."""
    value_ms = _READ[figure](turn)
    owes = _owes(turn, figure)
    if value_ms is None or (figure in HEARD and turn.signed_ms is not None):
        return None if owes or figure == "ttft" else False
    if owes and value_ms > budget_ms:
        return None if value_ms - (turn.owed_ms(figure) or 0.0) <= budget_ms else False
    return value_ms <= budget_ms


def _kept(turns: Turns, figure: str | None = None) -> Turns:
    """The turns whose machine allows this figure; for None, those that count by turns."""
    kept = {c: [t for t in group if t.discarded is None and not _owes(t, figure)] for c, group in turns.items()}
    return {c: group for c, group in kept.items() if group}


def _owes(turn: TurnTiming, figure: str | None) -> bool:
    # For a turn without reply or without answer, others' share is that of the first figure: it ranks slowest in those it lacks.
    lacks = turn.no_reply or (figure == "answer" and turn.answer_ms is None)
    return turn.contended if figure is None or lacks else turn.owes_too_much(figure)


def heard_turns(turns: Turns, figure: str | None = None) -> Turns:
    """The turns that give the figures taken from the sound (those of `_kept`); none where too many were discarded.

    A person's page without a loop-back trial is an accident of the page, and a recorded call that ended before an answer is
    none of the agent: such turns are unknown, and count on neither side.
    """
    return _kept(turns, figure) if _enough_heard(turns) else {}


def _enough_heard(turns: Turns) -> bool:
    known = [t for group in turns.values() for t in group if t.discarded not in NOT_ASKED]
    every = sum(not t.contended for t in known)
    return sum(t.discarded is not None for t in known) <= MOST_DISCARDED * every


def _known_turns(heard: Turns, lacks: Callable[[TurnTiming], bool]) -> Turns:
    """The turns without those that lack a transcript, or a timing that knows fillers; none where those are too many to be an
    accident.

    A run that was stopped while it transcribed knows every silence and few words: its figure would be made of silence alone.
    """
    every = [t for group in heard.values() for t in group]
    unknown = [t for t in every if lacks(t)]
    if len(unknown) > MOST_DISCARDED * len(every):
        return {}
    known = {c: [t for t in group if not lacks(t)] for c, group in heard.items()}
    return {c: group for c, group in known.items() if group}


def _lacks_words(turn: TurnTiming) -> bool:
    # A first word shows that there was a transcript, also in a run that did not store whether there was one.
    return turn.ttfa_ms is not None and not turn.transcribed and turn.first_word_ms is None


def _lacks_answer(turn: TurnTiming) -> bool:
    # Only since fillers are known apart has a reply one: without its answer, it is a filler alone.
    return turn.ttfa_ms is not None and turn.answer_ms is None and not begins_with_filler(turn)


def _ranked(turns: Turns, read: Callable[[TurnTiming], float | None]) -> dict[str, list[float]]:
    """Heard figures: no reply and an early one rank slowest. Empty where the figure was never measured (text, no words)."""
    every = [t for group in turns.values() for t in group]
    heard = [t for t in every if t.ttfa_ms is not None]
    slowest = [t for t in every if ranks_slowest(t)]
    if all(read(t) is None for t in every) and (heard or not slowest):
        return {}
    return {c: [_or_slowest(None if t.signed_ms is not None else read(t)) for t in group] for c, group in turns.items()}


def _or_slowest(value: float | None) -> float:
    return float("inf") if value is None else value


def _known(turns: Turns, read: Callable[[TurnTiming], float | None]) -> dict[str, list[float]]:
    found = {c: [v for t in group if (v := read(t)) is not None] for c, group in turns.items()}
    return {c: group for c, group in found.items() if group}


def _unexplained_p95(turns: Sequence[TurnTiming]) -> float | None:
    rest = [
        abs(stage.duration_ms)
        for turn in turns
        if turn.waterfall is not None
        for stage in turn.waterfall.stages
        if stage.name == "unexplained"
    ]
    return float(np.percentile(rest, 95)) if len(rest) >= TURNS_FOR_P95 else None


def _median(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return float(np.median(known)) if known else None
