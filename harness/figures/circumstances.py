"""Circumstances that a run's figures do not show and a reader must know: how it was played, judged and measured.

The error of TTFA claims no more than the calibration's trials support: of sixty and more the 95th percentile of the error is
quoted, of fewer the largest, with the number of trials and the error that half of them stay within; errors are rounded up.
Where the share of others was not measured, the run says so, since a figure would seem to owe nothing to them. What a
connection found out in its calls (another wire than the profile's, sound that cannot be meant so) is read from one finished
call of each agent. Of calls that already happened nobody knows the caller's turns, so swapped sides are suspected aloud.
"""

import contextlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from harness.agents.connection import ENDS_TURNS, FELL_BACK, ODD_SOUND
from harness.agents.secrets import beginning
from harness.errors import UserError
from harness.figures.cells import Cell
from harness.figures.machine import clock_sentences, sharing_sentences
from harness.ranking.board import Board
from harness.recording.files import RECORDING_FILE
from harness.scenarios.context import Context, by_a_person
from harness.scenarios.speakers import Speaker
from harness.store.judgment import is_rule, reference_name
from harness.store.judgment_table import JudgmentTable
from harness.store.manifest import PEOPLE, AgentEntry, ImportedReplies, RunManifest
from harness.store.selection import NOT_TIMED, Selection
from harness.store.session import Session
from harness.timing.figures import StagesFrom, crosses_clocks_unsurely
from harness.timing.unknown_waits import CALL_ENDED, ON_HOLD
from harness.turn_taking.scores import length_gives_it_away, words_separation
from harness.turns.speakers import speakers_of
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
    ends_turns: dict[str, str] = Field(default_factory=dict)
    """Agent to which the harness says where its caller's turn ends → why."""
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
    imported: dict[str, ImportedReplies] = Field(default_factory=dict)
    """The file of a run of replies that were in one, by the run's folder."""
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
    known = {key: float(value) for key, value in (calibration or {}).items() if isinstance(value, int | float)}
    rest: dict[str, Any] = {"trials": known.get("trials"), "half_ms": known.get("ttfa_p50_error_ms")}
    if "ttfa_p95_error_ms" in known:
        return OnsetError(within_ms=known["ttfa_p95_error_ms"], **rest)
    return OnsetError(within_ms=known["ttfa_max_error_ms"], of="all", **rest) if "ttfa_max_error_ms" in known else None


def largest(errors: Sequence[OnsetError | None]) -> OnsetError | None:
    """The largest error of several runs; None where one of them was not calibrated."""
    known = [error for error in errors if error is not None]
    return max(known, key=lambda error: error.within_ms, default=None) if len(known) == len(errors) else None


def _rounded_up(error_ms: float) -> str:
    return f"{math.ceil(error_ms * 10) / 10:.1f} ms"


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


def _noted(selection: Selection, name: str) -> dict[str, str]:
    """Agent → the reason that its connection noted under this mark. One finished call of each agent shows it."""
    first = {s.key.agent: s for s in reversed(selection.of_the_plan) if s.status == "finished"}
    found: dict[str, str] = {}
    for agent, session in first.items():
        with contextlib.suppress(OSError, UserError):
            if name in (session.folder / RECORDING_FILE).read_text(encoding="utf-8"):
                marks = selection.store.recording(session).marks
                why = next((str(mark.detail.get("why", "")) for mark in marks if mark.name == name), "")
                found |= {agent: beginning(why, MOST_CHARACTERS)} if why else {}
    return found


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
    unanswered = sum(
        turns[0].greeting is not None and all(turn.ttfa_ms is None and turn.signed_ms is None for turn in turns)
        for turns in (session.turn_timings for session in measured)
    )
    if unanswered > len(measured) / 2:
        yield f"In {unanswered} {of_all} nobody answers the side that is named as the caller's, although the other side speaks."


def open_words(cell: Cell) -> str:
    """`3 of 20 turns (the call ended before an answer 2, … 1)`; empty where every turn's answer is known."""
    found = {why: cell.discarded[why] for why in OPEN if cell.discarded.get(why)}
    each = ", ".join(f"{why} {count}" for why, count in found.items())
    return f"{sum(found.values())} of {counted(cell.turns, 'turn')} ({each})" if found else ""


def languages_words(languages: Mapping[str, str]) -> str:
    """`3 calls (de 2, fr 1)`."""
    each = sorted(Counter(languages.values()).items())
    return f"{counted(len(languages), 'call')} ({', '.join(f'{code} {count}' for code, count in each)})"


def circumstances_of(selection: Selection, rows: JudgmentTable, boards: Mapping[str, Board]) -> Circumstances:
    """The circumstances of a run. `rows`: the verdicts of its quoted boards, condition → board."""
    manifest, contexts, store, sessions = selection.manifest, selection.contexts, selection.store, selection.sessions
    folder, calls, verdicts = str(store.folder), manifest.calls, store.judged_contexts()
    merged = manifest.fleet if manifest.fleet is not None and manifest.fleet.shard is None else None
    planned = len(manifest.planned_contexts if merged else manifest.context_ids)
    planned *= len(manifest.played) * len(manifest.conditions) * manifest.repeats
    # A call that happened cannot be measured better by trying again.
    unfinished = planned - sum(s.status == "finished" or calls is not None for s in selection.of_the_plan)
    if (file := manifest.replies) is not None:
        unfinished = 0  # Nobody can play what is not in the file.
    people = {PEOPLE, *(reference_name(r.id) for c in contexts for r in c.references if by_a_person(r.author))}
    several = len(selection.conditions) > 1
    broken = {failure.session for failure in store.step_failures()}
    spoken = file is None and any(agent.kind != "text" for agent in manifest.played)
    turns = [(s.key.agent, turn) for s in sessions for turn in s.turn_timings]
    reported = [(agent, turn) for agent, turn in turns if turn.stages_from not in (None, "marks")]
    resolution = _counted_with_most((agent, turn.stages_resolution_ms or 0.0) for agent, turn in reported)
    silent = Counter((agent, turn.why_silent) for agent, turn in turns if turn.no_reply and turn.why_silent)
    return Circumstances(
        contexts=frozenset(context.id for context in contexts),
        played=frozenset(s.key.context_id for s in sessions),
        judged=frozenset(verdicts),
        verdicts=sum(verdicts.values()),
        ranking=tuple(f"{name}: {text}" if several else text for name, board in boards.items() for text in board.warnings),
        silent=int(np.isin(rows["judge"], [k for k, name in enumerate(rows.judges) if is_rule(name)]).sum()),
        idle_percent=manifest.idle_cpu_percent,
        unfinished={folder: unfinished} if unfinished > 0 else {},
        merged=frozenset({folder} if merged else ()),
        machines_differ=len(merged.kinds) if merged and len(merged.kinds) > 1 else 0,
        machines_pooled=merged is not None and merged.pool_machines,
        length_tells=tuple(unfit_callers(contexts, [manifest.mode])) if spoken else (),
        speakers=dict(speakers_of(contexts)),
        timing_alone=frozenset(context.id for context in contexts if context.timing_alone),
        calls={folder: calls.source} if calls is not None else {},
        imported={folder: file} if file is not None else {},
        sides_swapped=tuple(swapped_words(manifest, sessions)),
        other_language=calls.other_language if calls is not None else {},
        to_judge_again={folder: notes[-1].text} if (notes := store.notes()) else {},
        not_analysed={folder: len(broken)} if broken else {},
        unsure_clocks=_counted_with_most(
            (agent, turn.waterfall.clock_uncertainty_ms)
            for agent, turn in turns
            if turn.waterfall is not None and crosses_clocks_unsurely(turn)
        ),
        reported_stages={agent: (turn.stages_from, resolution[agent][1]) for agent, turn in reported if turn.stages_from},
        other_wires=_noted(selection, FELL_BACK),
        ends_turns=_noted(selection, ENDS_TURNS),
        odd_sound=_noted(selection, ODD_SOUND),
        stalled=_counted_with_most((agent, turn.stalled_ms) for agent, turn in turns if turn.stalled_ms is not None),
        why_silent={agent: f"{why} ({counted(n, 'turn')})" for (agent, why), n in reversed(silent.most_common())},
        throttled=Counter(agent for agent, turn in turns if turn.contention is not None and turn.contention.throttled),
        gpu_clocks=clock_sentences(manifest.cards),
        gpu_shared=sharing_sentences(manifest.cards),
        unwatched=unwatched(manifest.played, sessions),
        spoken=spoken,
        onset_error=onset_error(manifest.calibration),
        not_calibrated=manifest.not_calibrated,
        human_baseline=any(rating.system in people for board in boards.values() for rating in board.systems),
    )


def _counted_with_most(values: Iterable[tuple[str, float]]) -> dict[str, tuple[int, float]]:
    """Agent → the number of its values, and the greatest."""
    found: dict[str, tuple[int, float]] = {}
    for agent, value in values:
        count, most = found.get(agent, (0, value))
        found[agent] = count + 1, max(most, value)
    return found


def unfit_callers(contexts: Sequence[Context], modes: Sequence[str]) -> Iterator[str]:
    """A sentence or two for each way of playing whose turns give their end away by length: a run that must not be compared.

    It is computed from the contexts as they were played, so that it covers a run of any pack, or of a part of one.
    """
    for mode in dict.fromkeys(modes):
        if said := length_gives_it_away(words_separation(contexts, every_turn=mode == "replay")):
            turns = "all the callers' turns" if mode == "replay" else "the last turns"
            yield f"{said} Measured on {turns} of {counted(len(contexts), 'conversation')}."
