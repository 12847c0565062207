"""Circumstances that a run's figures do not show and a reader must know: how it was played, judged and measured.

The error of TTFA claims no more than the calibration's trials support: of sixty and more the 95th percentile of the error is
quoted, of fewer the largest, with the number of trials and the error that half of them stay within; errors are rounded up.
Where the share of others was not measured, the run says so, since a figure would seem to owe nothing to them. What a
connection found out in its calls (another wire than the profile's, sound that cannot be meant so) is read from one finished
call of each agent. Of calls that already happened nobody knows the caller's turns, so swapped sides are suspected aloud.
"""

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from harness.agents.connection import FELL_BACK, ODD_SOUND
from harness.agents.secrets import beginning
from harness.errors import UserError
from harness.figures.cells import Cell
from harness.recording.files import RECORDING_FILE
from harness.scenarios.speakers import Speaker
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.selection import NOT_TIMED, Selection
from harness.store.session import Session
from harness.timing.figures import StagesFrom
from harness.timing.unknown_waits import CALL_ENDED, ON_HOLD
from harness.wording import counted


class OnsetError(BaseModel):
    """`of` the trials lie within `within_ms` of the truth, half of them within `half_ms`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    within_ms: float
    of: Literal["95 %", "all"] = "95 %"
    trials: int | None = None
    """Trials that gave a figure; None where a run does not say."""
    half_ms: float | None = None

    @property
    def words(self) -> str:
        """`2.1 ms (95 % of 64 trials)`, `2.1 ms (all of 16 trials, half of them within 0.4 ms)`."""
        trials = "the trials" if self.trials is None else counted(self.trials, "trial")
        half = f", half of them within {_rounded_up(self.half_ms)}" if self.of == "all" and self.half_ms is not None else ""
        return f"{_rounded_up(self.within_ms)} ({self.of} of {trials}{half})"


class Unwatched(NamedTuple):
    """Counts of one agent's turns."""

    turns: int
    not_watched: int
    older: int
    """Counted over all cores of the machine, and without quotas."""


class Circumstances(BaseModel):
    """Circumstances that a run's figures do not show, and a reader must know."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contexts: frozenset[str] = frozenset()
    played: frozenset[str] = frozenset()
    judged: frozenset[str] = frozenset()
    verdicts: int = 0
    ranking: tuple[str, ...] = ()
    """The board's own notes."""
    silent: int = 0
    """Comparisons decided by silence."""
    idle_percent: dict[str, float] = Field(default_factory=dict)
    """CPU of each agent while it waited, in percent of one core."""
    unfinished: dict[str, int] = Field(default_factory=dict)
    """Planned sessions that are not finished, by the run's folder."""
    merged: frozenset[str] = frozenset()
    """Folders of runs that were merged from shards."""
    machines_differ: int = 0
    """Kinds of machine of a merged run, where there are several."""
    machines_pooled: bool = False
    """Their latencies are pooled, because the user asked for it."""
    unsure_clocks: dict[str, tuple[int, float]] = Field(default_factory=dict)
    """Agent → turns with a figure smaller than the uncertainty of its clock, and the worst bound in ms."""
    reported_stages: dict[str, tuple[StagesFrom, float]] = Field(default_factory=dict)
    """Agent that stamps no marks → the source of its TTFT and stages, and the worst resolution of a turn in ms."""
    other_wires: dict[str, str] = Field(default_factory=dict)
    """Agent that was called over another wire than its profile says → why."""
    odd_sound: dict[str, str] = Field(default_factory=dict)
    """Agent → why its sound cannot be meant as it was sent."""
    why_silent: dict[str, str] = Field(default_factory=dict)
    """Agent → the most frequent reason of its turns without a reply that its wire named."""
    stalled: dict[str, tuple[int, float]] = Field(default_factory=dict)
    """Agent → turns in which its stream of sound stalled, and the longest stall in ms."""
    throttled: dict[str, int] = Field(default_factory=dict)
    """Agent → turns during which a core of its machine was slowed down for heat."""
    gpu_clocks: tuple[str, ...] = ()
    """Sentences on GPUs whose clock changed under load."""
    gpu_shared: tuple[str, ...] = ()
    """Sentences on GPUs that programs of no agent used."""
    unwatched: dict[str, Unwatched] = Field(default_factory=dict)
    """Agent that ran here → its turns for which the share of other programs is not fully known."""
    length_tells: tuple[str, ...] = ()
    """Reasons why the endpointing of these callers must not be compared."""
    speakers: dict[str, Speaker] = Field(default_factory=dict)
    """Context → its speaker, where that is known."""
    timing_alone: frozenset[str] = frozenset()
    """Conversations whose caller is a recording without a text."""
    calls: dict[str, str] = Field(default_factory=dict)
    """Source of the recordings of a run of calls that already happened, by its folder."""
    sides_swapped: tuple[str, ...] = ()
    """Reasons to suspect that the sides of recorded calls are swapped."""
    other_language: dict[str, str] = Field(default_factory=dict)
    """Recorded call → the language of its agent, where that is none that the transcriber writes."""
    to_judge_again: dict[str, str] = Field(default_factory=dict)
    """Reasons why the run has to be judged again, by the run's folder."""
    not_analysed: dict[str, int] = Field(default_factory=dict)
    """Sessions that a step after the call could not process, by the run's folder."""
    spoken: bool = True
    """True if any agent was spoken to; otherwise there is no TTFA that could be wrong."""
    onset_error: OnsetError | None = None
    """Error of the TTFA measurement; None where any run was not calibrated."""
    not_calibrated: str = ""
    """Reason why it was not calibrated, where that is known."""
    human_baseline: bool = False
    """True if a person's reply competes on the board."""

    @property
    def unjudged(self) -> frozenset[str]:
        """Conversations that an agent played and nobody judged."""
        return self.played - self.judged


def together(each: Sequence[Circumstances], ranking: Iterable[str], human_baseline: bool) -> Circumstances:
    """The circumstances of several runs on one page, whose board is `ranking`'s: sets united, maps merged, counts added."""
    spoken = [one for one in each if one.spoken]
    found: dict[str, Any] = {}
    for name in Circumstances.model_fields:
        values = [getattr(one, name) for one in each]
        match values[0] if values else None:
            case bool():
                found[name] = any(values)
            case int():
                found[name] = sum(values)
            case dict():
                found[name] = {key: value for one in values for key, value in one.items()}
            case frozenset():
                found[name] = frozenset[str]().union(*values)
            case tuple():
                found[name] = tuple(dict.fromkeys(text for one in values for text in one))
    return Circumstances(
        **found
        | {
            "ranking": tuple(ranking),
            "machines_differ": max((one.machines_differ for one in each), default=0),
            "onset_error": largest([one.onset_error for one in spoken]),
            "not_calibrated": "; ".join(dict.fromkeys(one.not_calibrated for one in spoken if one.not_calibrated)),
            "human_baseline": human_baseline,
        }
    )


def onset_error(calibration: Mapping[str, float | str | None] | None) -> OnsetError | None:
    """The calibration error that a run's manifest quotes; None where there was none."""
    quoted = calibration or {}
    trials, half_ms, p95_ms, largest_ms = (
        _number(quoted.get(key)) for key in ("trials", "ttfa_p50_error_ms", "ttfa_p95_error_ms", "ttfa_max_error_ms")
    )
    count = None if trials is None else int(trials)
    if p95_ms is not None:
        return OnsetError(within_ms=p95_ms, trials=count, half_ms=half_ms)
    return None if largest_ms is None else OnsetError(within_ms=largest_ms, of="all", trials=count, half_ms=half_ms)


def largest(errors: Sequence[OnsetError | None]) -> OnsetError | None:
    """The largest error of several runs; None where one of them was not calibrated."""
    known = [error for error in errors if error is not None]
    return max(known, key=lambda error: error.within_ms, default=None) if len(known) == len(errors) else None


def _rounded_up(error_ms: float) -> str:
    return f"{math.ceil(error_ms * 10) / 10:.1f} ms"


def _number(value: float | str | None) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def unwatched(agents: Iterable[AgentEntry], sessions: Sequence[Session]) -> dict[str, Unwatched]:
    """Agent that ran here → its turns; without agents whose turns are all measured, or whose place is not stated."""
    found: dict[str, Unwatched] = {}
    for agent in agents:
        lost = [t.contention for s in sessions if s.key.agent == agent.name for t in s.turn_timings if t.method != NOT_TIMED]
        not_watched = sum(one is None for one in lost) if agent.runs_here else 0
        older = sum(one is not None and not one.at_most_ms for one in lost)
        if not_watched or older:
            found[agent.name] = Unwatched(len(lost), not_watched, older)
    return found


def unwatched_words(known: Mapping[str, Unwatched]) -> Iterator[str]:
    """One sentence for each agent and kind."""
    for name, (turns, not_watched, older) in sorted(known.items()):
        if not_watched:
            yield (
                f"On {not_watched} of {counted(turns, 'turn')} of {name} the time that others on its machine could have caused "
                "was not measured."
            )
        if older:
            yield (
                f"On {older} of {counted(turns, 'turn')} of {name} the time that others could have caused was counted "
                "over all cores of the machine and without quotas, by an older harness."
            )


MOST_CHARACTERS: Final = 300


def other_wires(selection: Selection) -> dict[str, str]:
    """Agent → why its calls went over another wire. One finished call of each shows it."""
    return _noted(selection, FELL_BACK)


def odd_sound(selection: Selection) -> dict[str, str]:
    """Agent → why its sound cannot be meant as it was sent. One finished call of each shows it."""
    return _noted(selection, ODD_SOUND)


def _noted(selection: Selection, name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in selection.manifest.played:
        mine = (s for s in selection.sessions if s.key.agent == entry.name and s.status == "finished")
        if (session := next(mine, None)) is not None and (why := _why(selection, session, name)):
            found[entry.name] = why
    return found


def _why(selection: Selection, session: Session, name: str) -> str:
    with contextlib.suppress(OSError, UserError):
        if name in (session.folder / RECORDING_FILE).read_text(encoding="utf-8"):
            marks = selection.store.recording(session).marks
            why = next((str(mark.detail.get("why", "")) for mark in marks if mark.name == name), "")
            return beginning(why, MOST_CHARACTERS)
    return ""


OPEN: Final = (CALL_ENDED, ON_HOLD)
"""Reasons of turns of which nobody knows how they would have been answered."""


def swapped_words(manifest: RunManifest, sessions: Sequence[Session]) -> Iterator[str]:
    """Reasons to suspect that the two sides of the calls are swapped, one sentence each; none in a run that was played."""
    calls, measured = manifest.calls, [s for s in sessions if s.status == "finished" and s.turn_timings]
    if calls is None or not measured:
        return
    of_all = f"of {counted(len(measured), 'call')}"
    if calls.look_swapped:
        yield (
            f"In {len(calls.look_swapped)} {of_all} the side that is named as the caller's sends silence to the last bit "
            "whenever it does not speak, as a program does, and the other side never does."
        )
    unanswered = sum(_nobody_answers(session) for session in measured)
    if unanswered > len(measured) / 2:
        yield f"In {unanswered} {of_all} nobody answers the side that is named as the caller's, although the other side speaks."


def _nobody_answers(session: Session) -> bool:
    turns = session.turn_timings
    spoke_before = turns[0].greeting is not None
    return spoke_before and all(turn.ttfa_ms is None and turn.signed_ms is None for turn in turns)


def open_words(cell: Cell) -> str:
    """`3 of 20 turns (the call ended before an answer 2, … 1)`; empty where every turn's answer is known."""
    found = {why: cell.discarded[why] for why in OPEN if cell.discarded.get(why)}
    each = ", ".join(f"{why} {count}" for why, count in found.items())
    return f"{sum(found.values())} of {counted(cell.turns, 'turn')} ({each})" if found else ""


def languages_words(languages: Mapping[str, str]) -> str:
    """`3 calls (de 2, fr 1)`."""
    each = {code: sum(one == code for one in languages.values()) for code in sorted(set(languages.values()))}
    return f"{counted(len(languages), 'call')} ({', '.join(f'{code} {count}' for code, count in each.items())})"
