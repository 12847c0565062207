"""Endpointing of an agent as deployed, in the terms of benchmarks of detectors: cut pauses against dead air.

The share of inner pauses that it cut is given by length, since nobody mistakes 200 ms for an end as easily as two seconds, and
by kind, since a pause after a finished sentence sounds finished. The cost of caution is shown beside it: dead air after the
true ends, compute included, and the decision delay, without compute, where the agent reports it; detectors are compared
by the latter.

The same turns count as in `latency` for every heard figure: discarded ones take no part, and a turn that the agent lost is one
without reply. Pauses of one conversation share its caller and text, so intervals resample conversations; where the speakers of
recordings are known, they resample speakers (`harness.figures.speakers`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.figures.endpointing_laws import LawShare, OpenPause, cut_by_law
from harness.figures.latency import heard_turns
from harness.figures.speakers import by_speaker, speakers_of
from harness.statistics.clustered_means import clustered_share
from harness.store.selection import NOT_TIMED, Selection, Turns
from harness.timing.figures import Endpointing, InnerPause, TurnTiming
from harness.timing.pause_kinds import with_kinds
from harness.timing.quantiles import quantiles_of

BANDS_MS: Final[tuple[tuple[float, float | None], ...]] = ((200, 400), (400, 800), (800, 1_600), (1_600, None))
EVERY_LENGTH: Final[tuple[float, float | None]] = (200, None)
Kind = Literal["all", "mid_sentence", "after_sentence", "unknown"]
KINDS: Final[tuple[Kind, ...]] = ("all", "mid_sentence", "after_sentence", "unknown")


class Model(BaseModel):
    """Figures by name, and no others."""

    model_config = ConfigDict(extra="forbid")


class PauseShare(Model):
    """Inner pauses of one length and kind: the number that were cut, of those in which the agent could choose."""

    pause_ms: tuple[float, float | None]
    """Range of lengths, from (inclusive) and to (exclusive); null has no upper end."""
    kind: Kind
    cut: int = 0
    of: int = 0
    share: float | None = None
    interval: tuple[float, float] | None = None
    already_talking: int = 0
    """Pauses that began while the agent talked over the caller: in neither number."""
    decided: int | None = None
    """Pauses of `of` that the agent reports to have taken for the end of the turn; null where it reports no decisions."""
    decided_share: float | None = None
    decided_interval: tuple[float, float] | None = None


class Delay(Model):
    """Milliseconds after the true end. The mean is restricted at 15 s (no reply); in the median no reply ranks last."""

    mean: float | None = None
    mean_interval: tuple[float, float] | None = None
    p50: float | None = None
    p50_interval: tuple[float, float] | None = None
    p50_over_limit: bool = False
    n: int = 0


class EndpointingSummary(Model):
    """The endpointing of one cell."""

    dead_air_ms: Delay = Field(default_factory=Delay)
    """Spoken end → first utterance that begins after it."""
    decision_delay_ms: Delay = Field(default_factory=Delay)
    """Spoken end → turn decided, as the agent reports it."""
    inner_pauses_cut: tuple[int, int] = (0, 0)
    pauses_cut_share: float | None = None
    """Share of all inner pauses of 200 ms and more, marked or not."""
    pauses_cut_interval: tuple[float, float] | None = None
    pauses_cut_by_law: list[LawShare] = Field(default_factory=list)
    """The same share if the lengths of the pauses were people's, by each law of `harness.scenarios.pause_law`."""
    talking_at_end: tuple[int, int] = (0, 0)
    """Turns at whose end the agent was speaking already, and the number of turns."""
    endpointing: list[PauseShare] = Field(default_factory=list)
    """Rows by kind, then by length; the first row of each kind is for every length."""
    endpointing_untimed: int = 0
    """Turns timed before this figure existed; `harness remeasure RUN` computes it."""


@dataclass(frozen=True, slots=True)
class _Pause:
    bunch: str
    found: InnerPause
    decided: bool | None
    """The pause's own value, but False where only other calls of the cell report decisions: then this call had none."""


def summarise_endpointing(turns: Turns, texts: Mapping[str, Sequence[str | None]], *, seed: int) -> EndpointingSummary:
    """The endpointing of one cell. `texts`: the text of each turn, for the kinds of its pauses."""
    known = {c: [with_kinds(t, text) for t, text in zip(group, texts[c], strict=True)] for c, group in turns.items()}
    counted = [(c, t) for c, group in heard_turns(known).items() for t in group]
    timed = [(c, found) for c, t in counted if (found := t.endpointing) is not None]
    tells = any(found.says_decisions for _, found in timed)
    pauses = [_Pause(c, pause, bool(pause.decided) if tells else None) for c, found in timed for pause in found.pauses]
    rows = [
        _share(_of(pauses, kind, band), kind, band)
        for kind in KINDS
        if kind == "all" or any(p.found.kind == kind for p in pauses)
        for band in (EVERY_LENGTH, *BANDS_MS)
    ]
    whole = rows[0]
    return EndpointingSummary(
        dead_air_ms=_delay(_dead_air(counted), seed),
        decision_delay_ms=_delay(_decisions(timed) if tells else {}, seed),
        inner_pauses_cut=(whole.cut, whole.of),
        pauses_cut_share=whole.share,
        pauses_cut_interval=whole.interval,
        pauses_cut_by_law=cut_by_law(_open_pauses(pauses), BANDS_MS),
        talking_at_end=(sum(found.talking_at_end for _, found in timed), len(timed)),
        endpointing=rows if pauses else [],
        endpointing_untimed=sum(t.endpointing is None and t.method != NOT_TIMED for _, t in counted),
    )


def endpointing_of(selection: Selection, agent: str, condition: str, contexts: Collection[str]) -> EndpointingSummary:
    """The endpointing of one spoken agent of a run in one condition, on some of its contexts."""
    turns = {c: g for c, g in selection.turns(agent, condition).items() if c in contexts}
    texts = {c: g for c, g in selection.turn_texts(agent, condition).items() if c in contexts}
    speakers = speakers_of(selection.contexts)
    return summarise_endpointing(by_speaker(turns, speakers), by_speaker(texts, speakers), seed=selection.manifest.seed)


def dead_air_values(turns: Turns) -> dict[str, list[float]]:
    """Context → dead air of its turns in ms, infinite without a reply: the values behind the mean and the median."""
    return _dead_air([(c, t) for c, group in heard_turns(turns).items() for t in group])


def decision_delay_values(turns: Turns) -> dict[str, list[float]]:
    """Context → decision delays in ms, infinite where the agent never found an end; empty where it reports no decisions."""
    timed = [(c, t.endpointing) for c, group in heard_turns(turns).items() for t in group if t.endpointing is not None]
    return _decisions(timed) if any(found.says_decisions for _, found in timed) else {}


def inner_pauses_cut(turns: Turns) -> dict[str, list[float]]:
    """Context → for each inner pause in which the agent could choose, 1 where it was cut and 0 where it was not."""
    chosen = {c: [cut for cut in group if cut is not None] for c, group in each_inner_pause(turns).items()}
    return {context: cut for context, cut in chosen.items() if cut}


def each_inner_pause(turns: Turns) -> dict[str, list[float | None]]:
    """Context → for each inner pause 1 where it was cut, 0 where it was not, None where the agent was talking already."""
    found: dict[str, list[float | None]] = {}
    for context, group in heard_turns(turns).items():
        for turn in group:
            pauses = turn.endpointing.pauses if turn.endpointing is not None else ()
            found.setdefault(context, []).extend(
                None if pause.fate == "already_talking" else float(pause.fate == "cut") for pause in pauses
            )
    return found


def _open_pauses(pauses: Iterable[_Pause]) -> list[OpenPause]:
    return [OpenPause(p.bunch, p.found.length_ms, p.found.fate == "cut") for p in pauses if p.found.fate != "already_talking"]


def _of(pauses: Iterable[_Pause], kind: Kind, band: tuple[float, float | None]) -> list[_Pause]:
    low, high = band
    return [
        p
        for p in pauses
        if kind in ("all", p.found.kind) and low <= p.found.length_ms and (high is None or p.found.length_ms < high)
    ]


def _share(pauses: Sequence[_Pause], kind: Kind, band: tuple[float, float | None]) -> PauseShare:
    open_to_it = [p for p in pauses if p.found.fate != "already_talking"]
    row = PauseShare(pause_ms=band, kind=kind, already_talking=len(pauses) - len(open_to_it))
    if not open_to_it:
        return row
    cut = [(p.bunch, float(p.found.fate == "cut")) for p in open_to_it]
    share, interval = clustered_share(cut)
    row = row.model_copy(update={"cut": round(sum(v for _, v in cut)), "of": len(cut), "share": share, "interval": interval})
    told = [(p.bunch, float(p.decided)) for p in open_to_it if p.decided is not None]
    if not told:
        return row
    share, interval = clustered_share(told)
    return row.model_copy(
        update={"decided": round(sum(v for _, v in told)), "decided_share": share, "decided_interval": interval}
    )


def _dead_air(turns: Iterable[tuple[str, TurnTiming]]) -> dict[str, list[float]]:
    """Context → dead air of its turns, infinite without a reply. Untrusted turns, and turns never timed, have none."""
    found: dict[str, list[float]] = {}
    for context, turn in turns:
        if turn.endpointing is None and turn.method != NOT_TIMED:
            continue
        if turn.endpointing is not None and turn.endpointing.discarded is not None:
            continue
        value = turn.endpointing.dead_air_ms if turn.endpointing is not None else None
        found.setdefault(context, []).append(float("inf") if value is None else value)
    return found


def _decisions(turns: Iterable[tuple[str, Endpointing]]) -> dict[str, list[float]]:
    """Context → decision delays of the turns of an agent that reports its decisions.

    A turn without a reply and without a decision is infinite: the agent never found its end. For a reply without a decision
    after the last pause the decision is not known.
    """
    found: dict[str, list[float]] = {}
    for context, turn in turns:
        if turn.discarded is not None:
            continue
        if turn.decision_ms is not None:
            found.setdefault(context, []).append(turn.decision_ms)
        elif turn.dead_air_ms is None:
            found.setdefault(context, []).append(float("inf"))
    return found


def _delay(values: Mapping[str, Sequence[float]], seed: int) -> Delay:
    found = quantiles_of(values, seed)
    return Delay(
        mean=found.restricted_mean,
        mean_interval=found.restricted_mean_interval,
        p50=found.p50,
        p50_interval=found.p50_interval,
        p50_over_limit=found.p50_over_limit,
        n=found.n,
    )
