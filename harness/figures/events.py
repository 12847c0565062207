"""An agent's reactions to sounds during its speech: how often it stopped, and how many words that cost; rows, and their table
of text.

A row's share is of the events at which the agent was speaking and had more to say. Where each conversation had a sound once,
the interval is the exact one (Clopper and Pearson 1934); where repeats had it several times, conversations (or known speakers)
are resampled. Discarded calls are left out, as in the latencies.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from pydantic import BaseModel, ConfigDict

from harness.statistics.clustered_means import clustered_share
from harness.statistics.interval import TAIL
from harness.statistics.share_bounds import clopper_pearson
from harness.store.events import ASKS, Asks, CallerEvent, EventName
from harness.store.selection import Selection
from harness.timing.figures import EventTaken
from harness.turns.speakers import bunch_of, speakers_of
from harness.wording import UNKNOWN_TEXT, counted, milliseconds, share, share_band, with_band


class EventRow(BaseModel):
    """One sound at one instant, and an agent's reactions to it. Shares are 0–1; intervals are of 95 %."""

    model_config = ConfigDict(extra="forbid")

    source: str
    """The file of the run's events, or the name of the set that ships."""
    sound: EventName
    at_ms: float
    """Into the reply."""
    asks: Asks
    """The right reaction of an agent that is speaking: `stop`, or `nothing`."""
    of: int = 0
    """Events at which the agent was speaking and had more to say."""
    stopped: int = 0
    share: float | None = None
    interval: tuple[float, float] | None = None
    stop_ms: float | None = None
    """Median over the stops: the event's onset → the last audible sample."""
    fell_silent: int = 0
    """Stops after which it said nothing more."""
    restarted: int = 0
    """Stops after which it began again with words that had been heard."""
    went_on_later: int = 0
    """Stops after which it spoke again with other words."""
    lost_words: tuple[int, int] | None = None
    """Events at which words were lost, and events for which this is known; null where it is known for none."""
    lost_words_interval: tuple[float, float] | None = None
    not_sounding: int = 0
    """The agent was between utterances: in no number above."""
    ended: int = 0
    """The reply had come to its end: in no number above."""
    no_occasion: int = 0
    """The reply was over, or there was none, before the instant: in no number above."""
    left_out: int = 0
    """Discarded, or not measured."""


@dataclass(frozen=True, slots=True)
class _Call:
    bunch: str
    event: EventTaken | None
    left_out: bool


def events_of(selection: Selection, agent: str, condition: str, contexts: Collection[str]) -> list[EventRow]:
    """The rows of one spoken agent in one condition, in the order of the settings; none for a run without events."""
    settings, manifest = selection.manifest.events, selection.manifest
    if settings is None or selection.apart:
        return []
    speakers = speakers_of(selection.contexts)
    calls: dict[CallerEvent, list[_Call]] = {event: [] for event in settings.events}
    for session in selection.of(agent, condition):
        key = session.key
        if session.status == "finished" and key.context_id in contexts:
            event, timing = settings.dealt(manifest.planned_contexts, key.context_id, key.repeat, manifest.seed), session.timing
            taken, lost = (timing.event, timing.discarded is not None) if timing is not None else (None, True)
            calls[event].append(_Call(bunch_of(key.context_id, speakers), taken, lost))
    return [_row(settings.source, event, found) for event, found in calls.items() if found]


def _row(source: str, event: CallerEvent, calls: Sequence[_Call]) -> EventRow:
    used = [call for call in calls if not call.left_out]
    met = [(c.bunch, c.event) for c in used if c.event is not None]
    open_to_it = [(c, e) for c, e in met if e.fate not in ("not_sounding", "ended")]
    stops = [e for _, e in open_to_it if e.fate != "went_on"]
    again = [e for e in stops if e.fate == "spoke_again"]
    asks = ASKS[event.sound]
    # After a stop that the event asks for, the agent answers instead: words that it leaves out are not lost.
    told = [(c, e.lost_words > 0) for c, e in open_to_it if e.lost_words is not None] if asks == "nothing" else []
    share, interval = _share([(c, e.fate != "went_on") for c, e in open_to_it])
    stop_ms = [e.stop_ms for e in stops if e.stop_ms is not None]
    restarted = sum(e.repeated_words > 0 for e in again)
    return EventRow(
        source=source,
        sound=event.sound,
        at_ms=event.at_ms,
        asks=asks,
        of=len(open_to_it),
        stopped=len(stops),
        share=share,
        interval=interval,
        stop_ms=median(stop_ms) if stop_ms else None,
        fell_silent=sum(e.fate == "stopped" for e in stops),
        restarted=restarted,
        went_on_later=len(again) - restarted,
        lost_words=(sum(lost for _, lost in told), len(told)) if told else None,
        lost_words_interval=_share(told)[1],
        not_sounding=sum(e.fate == "not_sounding" for _, e in met),
        ended=sum(e.fate == "ended" for _, e in met),
        no_occasion=len(used) - len(met),
        left_out=len(calls) - len(used),
    )


def _share(values: Sequence[tuple[str, bool]]) -> tuple[float | None, tuple[float, float] | None]:
    if not values:
        return None, None
    if len({bunch for bunch, _ in values}) < len(values):
        return clustered_share([(bunch, float(hit)) for bunch, hit in values])
    hits = sum(hit for _, hit in values)
    return hits / len(values), clopper_pearson(hits, len(values), TAIL)


HEAD: Final = (
    "Agent", "Sound", "At", "Asks for", "Stopped", "Right", "Stop after", "Fell silent", "Restarted", "Went on later",
    "Lost words",
)  # fmt: skip
SOUND_WORDS: Final = {"second-voice": "second voice", "nothing": "no sound (control)"}
Named = tuple[str, Sequence[EventRow]]
Rows = tuple[tuple[str, ...], ...]


def event_rows(agents: Iterable[Named]) -> Rows:
    """One row per agent, sound and instant, under `HEAD`."""
    return tuple(
        (
            name,
            SOUND_WORDS.get(row.sound, row.sound),
            milliseconds(row.at_ms),
            "a stop" if row.asks == "stop" else "nothing",
            with_band(f"{row.stopped}/{row.of} {share(row.share)}" if row.of else UNKNOWN_TEXT, share_band(row.interval)),
            UNKNOWN_TEXT if not row.of else share(row.share if row.asks == "stop" else 1 - (row.share or 0.0)),
            milliseconds(row.stop_ms),
            str(row.fell_silent),
            str(row.restarted),
            str(row.went_on_later),
            UNKNOWN_TEXT
            if row.lost_words is None
            else with_band("{}/{}".format(*row.lost_words), share_band(row.lost_words_interval)),
        )
        for name, rows in agents
        for row in rows
    )


def event_notes(agents: Iterable[Named]) -> tuple[str, ...]:
    """Events that are in no share, one sentence per agent, sound and instant."""
    notes = []
    for name, rows in agents:
        for row in rows:
            parts = [
                (row.no_occasion, "the reply was over, or there was none, before the instant"),
                (row.ended, "the reply came to its end there"),
                (row.not_sounding, "the agent was silent at that moment"),
                (row.left_out, "left out of every heard figure"),
            ]
            if said := "; ".join(f"{counted(n, 'call')}: {words}" for n, words in parts if n):
                notes.append(f"{name}: {row.source}, {row.sound} at {row.at_ms:g} ms: {said}.")
    return tuple(notes)
