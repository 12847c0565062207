"""The view of a session, made from its files: its sound, its timeline, its figures and its words."""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import quote

from harness.figures.latency import ranks_slowest
from harness.reports import session_audio as drawing
from harness.reports.each_turn import each_turn
from harness.reports.served import served
from harness.reports.session_audio import Drawing
from harness.reports.shown_runs import Part, ShownRuns
from harness.reports.sound import sound_file
from harness.reports.view import METRICS, Span, TurnView
from harness.store.selection import is_agents_fault
from harness.store.session import Session
from harness.store.step_failure import StepFailure, attempt
from harness.store.unspoken import unspoken_of
from harness.timing.figures import IN_FULL, HiddenWork, Stage, TurnTiming, Waterfall
from harness.turns.catalogue import LATENCIES
from harness.verdicts.conversations import conversation_of
from harness.wording import of_it_others

_BESIDE = (*(figure.key for figure in LATENCIES if not figure.drawn), "signed", "yield")
"""Shown with a turn, not offered as an axis of the joint chart."""


def turns(page_runs: ShownRuns, page_folder: Path, *, audio: bool, bundle: bool) -> dict[str, list[TurnView]]:
    """Conversation → its turns, run by run, with the sound files made before. See `harness.reports.assemble.assemble`."""
    contexts = {context.id: context for context in page_runs.contexts}
    found: dict[str, list[TurnView]] = {context: [] for context in contexts}
    for part in page_runs.parts:
        first_ns = first_start_ns(part)
        text = {
            part.names.of(a.name, c) for a in part.store.manifest.agents if a.kind == "text" for c in part.selection.conditions
        }
        for session in part.sessions:
            drawn = drawing.drawn_before(sound_file(page_runs, part, session, page_folder)) if audio else None
            turn = _turn(session, drawn, _address(drawn, page_folder, bundle), first_ns)
            # A text model loses no turn, because it has no sound to wait for (`Selection.turns`).
            if session.status == "failed":
                turn = replace(turn, slowest=session.key.agent not in text and is_agents_fault(session.failure_kind))
            real = attempt(session.id, "drawing", partial(conversation_of, session, contexts[session.key.context_id]))
            if real is not None and not isinstance(real, StepFailure):
                turn = replace(turn, replayed=tuple((said.role, said.text) for said in real))
            if page_runs.several:
                turn = replace(turn, run=part.label, session=f"{part.label}/{turn.session}")
            found[session.key.context_id].append(turn)
    return found


def first_start_ns(part: Part) -> int | None:
    """The start of the run's first session, on the clock of its machine."""
    return min((s.started_ns for s in part.sessions if s.started_ns is not None), default=None)


def _address(drawn: Drawing | None, page_folder: Path, bundle: bool) -> str | None:
    """The address of a session's sound: a path beside the page, or the data themselves."""
    if drawn is None:
        return None
    if bundle:
        return "data:audio/flac;base64," + base64.b64encode(drawn.file.read_bytes()).decode("ascii")
    return quote(drawn.file.relative_to(page_folder).as_posix())


def _turn(session: Session, drawn: Drawing | None, sound: str | None, first_ns: int | None) -> TurnView:
    timing = session.timing
    failure = ": ".join(part for part in (session.failure_kind, session.failure_detail) if part)
    started = (session.started_ns - first_ns) / 1e9 if session.started_ns is not None and first_ns is not None else None
    base = TurnView(
        agent=session.key.agent,
        session=session.id,
        status=session.status,
        failure=failure,
        written=session.written_text,
        heard=session.heard_text,
        understood=session.understood_text,
        audio=sound,
        figures_ms=_figures(timing),
        others_ms=_others(timing),
        spoken_end_ms=timing.spoken_end_ms if timing is not None else None,
        caller=drawn.caller if drawn is not None else (),
        pauses=_pauses(drawn, timing),
        marks=drawn.marks if drawn is not None else (),
        envelope=drawn.envelope if drawn is not None else None,
        length_ms=drawn.length_ms if drawn is not None else None,
        started_s=started,
        repeat=session.key.repeat,
        condition=session.key.condition,
        mode=session.key.mode,
        unspoken=unspoken_of(session),
    )
    if timing is None:
        return base
    waterfall = timing.waterfall
    return replace(
        base,
        agent_spans=_agent_spans(session.turn_timings or (timing,)),
        each=each_turn(session),
        stages=_stages(waterfall.stages) if waterfall else (),
        stages_note=" ".join(note for note in (_whose_word(timing), _network(waterfall)) if note),
        hidden=_stages(waterfall.hidden) if waterfall else (),
        served=served(timing),
        refused=(*timing.refused, *(waterfall.refused if waterfall else ())),
        cut_in=timing.cut_in,
        no_reply=timing.no_reply and not timing.contended,
        slowest=ranks_slowest(timing),
        discarded=_left_out(timing),
        labels=(*timing.labels, *_greeting(timing), *_withdrawn(timing), *_dropped(timing)),
        pacing_p99_error_ms=timing.pacing_p99_error_ms,
        loop_lag_max_ms=timing.loop_lag_max_ms,
        pauses_marked=timing.pauses_marked,
        pauses_cut=timing.pauses_cut,
    )


def _agent_spans(turns: Sequence[TurnTiming]) -> tuple[Span, ...]:
    """The agent's sounds in all turns of a session; one that reaches into the next turn is listed with both."""
    found = {
        (round(turn.spoken_end_ms + u.start_ms, 1), round(turn.spoken_end_ms + u.end_ms, 1)): u.kind
        for turn in turns
        for u in turn.utterances
    }
    return tuple(Span(kind, start_ms, end_ms) for (start_ms, end_ms), kind in sorted(found.items()))


def _whose_word(timing: TurnTiming) -> str:
    if timing.stages_from in (None, "marks"):
        return ""
    good_to = f", borders accurate to {timing.stages_resolution_ms:,.0f} ms" if timing.stages_resolution_ms is not None else ""
    return f"TTFT and stages are {IN_FULL[timing.stages_from]}{good_to}."


def _network(waterfall: Waterfall | None) -> str:
    if waterfall is None or waterfall.network_uncertainty_ms is None:
        return ""
    return f"The network's share is known to ±{waterfall.network_uncertainty_ms:,.1f} ms (half of the way there and back)."


def _greeting(timing: TurnTiming) -> tuple[str, ...]:
    if timing.greeting is None:
        return ()
    over = ", talked over by the caller" if timing.greeting.talked_over else ""
    return (f"greeted after {timing.greeting.latency_ms:,.0f} ms{over}",)


def _withdrawn(timing: TurnTiming) -> tuple[str, ...]:
    if timing.withdrawn_ms is None:
        return ()
    return (f"withdrew {timing.withdrawn_ms:,.0f} ms of sound before it had said anything",)


def _left_out(timing: TurnTiming) -> str:
    """The reason why the turn gives no figure, with the figure if only the machine was at fault."""
    why = timing.left_out or ""
    if timing.contended and timing.ttfa_ms is not None:
        why += f"; TTFA was {timing.ttfa_ms:,.0f} ms"
    return why


def _figures(timing: TurnTiming | None) -> dict[str, float]:
    if timing is None or timing.contended:
        return {}
    found = {name: getattr(timing, f"{name}_ms") for name in (*METRICS, *_BESIDE) if not timing.owes_too_much(name)}
    return {name: float(value) for name, value in found.items() if value is not None}


def _others(timing: TurnTiming | None) -> dict[str, float]:
    """The part of each figure that other programs could at most have caused, also for figures dropped because of it."""
    found = {name: timing.owed_ms(name) for name in METRICS if getattr(timing, f"{name}_ms") is not None} if timing else {}
    return {name: value for name, value in found.items() if value is not None}


def _dropped(timing: TurnTiming) -> tuple[str, ...]:
    """The dropped figures of a valid turn, each with the reason."""
    late = [name for name in METRICS if not timing.contended and timing.owes_too_much(name)]
    return tuple(f"{METRICS[name]} left out: {of_it_others(timing.owed_ms(name))}" for name in late)


def _pauses(drawn: Drawing | None, timing: TurnTiming | None) -> tuple[Span, ...]:
    """The marked pauses, each `cut` or `kept`; unknown counts as kept only if the turn was timed at all."""
    if drawn is None or timing is None:
        return ()
    cut = timing.pause_was_cut
    return tuple(Span("cut" if k < len(cut) and cut[k] else "kept", start, end) for k, (start, end) in enumerate(drawn.pauses))


def _stages(stages: Iterable[Stage | HiddenWork]) -> tuple[Span, ...]:
    return tuple(Span(s.name, s.start_ms, s.start_ms + s.duration_ms) for s in stages)
