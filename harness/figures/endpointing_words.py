"""The endpointing of agents as tables of text, the same in the terminal and on the page: ends, pauses, and pauses by law.

A cell may have a second line: the 95 % interval of the figure in its first.
"""

from collections.abc import Iterable
from typing import Final

from harness.figures.endpointing import BANDS_MS, EVERY_LENGTH, KINDS, Delay, EndpointingSummary, PauseShare
from harness.figures.endpointing_laws import LawShare
from harness.scenarios.pause_law import LAWS
from harness.timing.figures import OVER_LIMIT_TEXT
from harness.wording import UNKNOWN_TEXT, counted, milliseconds, share, share_band, with_band

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
            *_delay(found.dead_air_ms),
            *_delay(found.decision_delay_ms),
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
        f"{name}: {counted(found.endpointing_untimed, 'turn')} timed without these figures; `harness remeasure RUN` makes them."
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


def _delay(found: Delay) -> tuple[str, str]:
    p50 = OVER_LIMIT_TEXT if found.p50_over_limit else milliseconds(found.p50)
    return with_band(milliseconds(found.mean), _band(found.mean_interval)), with_band(p50, _band(found.p50_interval))


def _band(interval: tuple[float, float] | None) -> str:
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
