"""Endpointing of an agent as deployed, in the terms of benchmarks of detectors: cut pauses against dead air, and their tables
of text.

Pauses cut are given by length, since nobody mistakes 200 ms for an end as easily as two seconds, and by kind, since a pause
after a finished sentence sounds finished; beside them the dead air after true ends, and the decision delay where the agent
reports it. Intervals resample conversations, or known speakers. The share is also weighted to people's lengths, by each law of
`harness.scenarios.pause_law`, so that it does not depend on the pack's own mix: each band of lengths counts as much as people
have pauses in it. A band without a pause leaves that share unknown; the *effective* number of pauses says how much a weighted
one carries.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from harness.figures.latency import quantiles
from harness.scenarios.pause_law import LAWS, LawName
from harness.statistics.clustered_means import clustered_share
from harness.store.selection import NOT_TIMED, Selection, Turns
from harness.timing.endpointing import with_kinds
from harness.timing.figures import OVER_LIMIT_TEXT, InnerPause
from harness.timing.quantiles import Quantiles
from harness.turns.speakers import by_speaker, speakers_of
from harness.turns.table import TurnTable
from harness.wording import UNKNOWN_TEXT, counted, milliseconds, share, share_band, with_band


class LawShare(BaseModel):
    """The share of pauses cut under one law of their lengths; null where a band of lengths has no pause here."""

    model_config = ConfigDict(extra="forbid")

    law: LawName
    share: float | None = None
    interval: tuple[float, float] | None = None
    effective_pauses: float | None = None


@dataclass(frozen=True, slots=True)
class OpenPause:
    """A pause in which the agent could choose."""

    bunch: str
    length_ms: float
    cut: bool


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
    p50_range: tuple[float, float] | None = None
    """As of a latency."""
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
    """Turns timed before this figure existed; `harness measure RUN` computes it."""


@dataclass(frozen=True, slots=True)
class _Pause:
    bunch: str
    found: InnerPause
    decided: bool | None
    """The pause's own value, but False where only other calls of the cell report decisions: then this call had none."""


def summarise_endpointing(turns: Turns, texts: Mapping[str, Sequence[str | None]], *, seed: int) -> EndpointingSummary:
    """The endpointing of one cell. `texts`: the text of each turn, for the kinds of its pauses."""
    known = {c: [with_kinds(t, text) for t, text in zip(group, texts[c], strict=True)] for c, group in turns.items()}
    every, table = [(c, t) for c, group in known.items() for t in group], TurnTable.of_groups(known)
    counted = [every[row] for row in table.heard()]
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
        dead_air_ms=_delay(quantiles(table, "dead_air", seed)),
        decision_delay_ms=_delay(quantiles(table, "decision_delay", seed)),
        inner_pauses_cut=(whole.cut, whole.of),
        pauses_cut_share=whole.share,
        pauses_cut_interval=whole.interval,
        pauses_cut_by_law=cut_by_law(
            [OpenPause(p.bunch, p.found.length_ms, cut == "cut") for p in pauses if (cut := p.found.fate) != "already_talking"]
        ),
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


def _delay(found: Quantiles) -> Delay:
    return Delay(
        mean=found.restricted_mean,
        mean_interval=found.restricted_mean_interval,
        **found.model_dump(include={"p50", "p50_interval", "p50_range", "p50_over_limit", "n"}),
    )


def cut_by_law(pauses: Sequence[OpenPause]) -> list[LawShare]:
    """The share under each law, with an interval over bunches (conversations, or known speakers). Empty without pauses."""
    if not pauses:
        return []
    band_of = np.digitize([pause.length_ms for pause in pauses], [low for low, _ in BANDS_MS[1:]])
    number = np.bincount(band_of, minlength=len(BANDS_MS))
    if not number.all():
        return [LawShare(law=law.name) for law in LAWS.values()]
    found = []
    for law in LAWS.values():
        weight = np.array([law.between(*band) for band in BANDS_MS]) / number
        share, interval = clustered_share(
            [(pause.bunch, float(pause.cut)) for pause in pauses], weights=weight[band_of].tolist()
        )
        effective = 1 / float((weight**2 * number).sum())
        found.append(LawShare(law=law.name, share=share, interval=interval, effective_pauses=effective))
    return found


ENDS_HEAD: Final = (
    "Agent", "Turns", "Dead air, mean", "Dead air, p50", "Decision delay, mean", "Decision delay, p50", "Talking at the end",
)  # fmt: skip
KIND_WORDS: Final = {
    "all": "all",
    "mid_sentence": "mid-sentence",
    "after_sentence": "after sentence",
    "unknown": "unknown",
}
PAUSES_HEAD: Final = (
    "Agent", "Pauses", "All", "200–400 ms", "400–800 ms", "800–1,600 ms", "Longer", "Decided in",
)  # fmt: skip
LAWS_TITLE: Final = "Pauses cut, if the lengths of pauses were people's"
LAWS_HEAD: Final = ("Agent", *(f"{law.name.capitalize()}: {law.who}" for law in LAWS.values()))
Named = tuple[str, EndpointingSummary]
Rows = tuple[tuple[str, ...], ...]


def ends_rows(agents: Iterable[Named]) -> Rows:
    """One row per agent, under `ENDS_HEAD`."""
    return tuple(
        (
            name,
            str(found.dead_air_ms.n),
            *_delay_words(found.dead_air_ms),
            *_delay_words(found.decision_delay_ms),
            f"{found.talking_at_end[0]}/{found.talking_at_end[1]}",
        )
        for name, found in agents
    )


def pauses_rows(agents: Iterable[Named]) -> Rows:
    """One row per agent and kind of pause, under `PAUSES_HEAD`."""
    rows: list[tuple[str, ...]] = []
    for name, found in agents:
        for kind in KINDS:
            mine = [row for row in found.endpointing if row.kind == kind]
            if mine:
                by_band = {row.pause_ms: row for row in mine}
                cells = [_cut(by_band[band]) for band in (EVERY_LENGTH, *BANDS_MS)]
                rows.append((name, KIND_WORDS[kind], *cells, _decided(by_band[EVERY_LENGTH])))
    return tuple(rows)


def laws_rows(agents: Iterable[Named]) -> Rows:
    """One row per agent with inner pauses, under `LAWS_HEAD`."""
    return tuple((name, *map(_by_law, found.pauses_cut_by_law)) for name, found in agents if found.pauses_cut_by_law)


def untimed(agents: Iterable[Named]) -> tuple[str, ...]:
    """Missing figures, one sentence per agent: recordings that were timed before these figures existed."""
    return tuple(
        f"{name}: {counted(found.endpointing_untimed, 'turn')} timed without these figures; `harness measure RUN` makes them."
        for name, found in agents
        if found.endpointing_untimed
    )


def talked_over(agents: Iterable[Named]) -> tuple[str, ...]:
    """Pauses that are in no share, one sentence per agent."""
    return tuple(
        f"{name}: in {counted(row.already_talking, 'further pause')} it was talking over the caller already."
        for name, found in agents
        for row in found.endpointing[:1]
        if row.already_talking
    )


def _delay_words(found: Delay) -> tuple[str, str]:
    p50 = OVER_LIMIT_TEXT if found.p50_over_limit else milliseconds(found.p50)
    return with_band(milliseconds(found.mean), _ms_band(found.mean_interval)), with_band(p50, _ms_band(found.p50_interval))


def _ms_band(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{milliseconds(interval[0])} – {milliseconds(interval[1])}"


def _cut(row: PauseShare) -> str:
    return with_band(f"{row.cut}/{row.of} {share(row.share)}", share_band(row.interval)) if row.of else UNKNOWN_TEXT


def _by_law(found: LawShare) -> str:
    if found.effective_pauses is None:
        return UNKNOWN_TEXT
    return with_band(f"{share(found.share)} (as {found.effective_pauses:.0f} pauses)", share_band(found.interval))


def _decided(row: PauseShare) -> str:
    if row.decided is None:
        return UNKNOWN_TEXT
    return with_band(f"{row.decided}/{row.of} {share(row.decided_share)}", share_band(row.decided_interval))
