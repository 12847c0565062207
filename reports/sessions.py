"""The view of a session and its turns, made from its files: its sound, its timeline, its figures and its words."""

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Final
from urllib.parse import quote

from harness.figures.server_waits import SOURCES, WAITS
from harness.reports import session_audio as drawing
from harness.reports.session_audio import Drawing, sound_file
from harness.reports.session_view import ServedView, SessionView, Span, TurnView
from harness.reports.shown_runs import Part, ShownRuns
from harness.reports.view import METRICS
from harness.servers.split import ServerSplit
from harness.store.selection import is_agents_fault
from harness.store.session import Session
from harness.store.step_failure import StepFailure, attempt
from harness.store.unspoken import unspoken_of
from harness.timing.figures import IN_FULL, HiddenWork, Stage, TurnTiming, Waterfall
from harness.turns.bounded import Bounded, bounded
from harness.turns.catalogue import CATALOGUE, LATENCIES
from harness.turns.table import begins_with_filler
from harness.verdicts.conversations import conversation_of
from harness.wording import milliseconds, share

_TIMES: Final = (*METRICS, *(figure.key for figure in LATENCIES if not figure.drawn), "signed", "yield", "dead_air")
_ANSWERED: Final = ("ttfa", "answer")
"""In these a turn without an answer that could be timed ranks slowest."""


def sessions(page_runs: ShownRuns, page_folder: Path, *, audio: bool, bundle: bool) -> dict[str, list[SessionView]]:
    """Conversation → its sessions, run by run, with the sound files made before. See `harness.reports.assemble.assemble`."""
    contexts = {context.id: context for context in page_runs.contexts}
    found: dict[str, list[SessionView]] = {context: [] for context in contexts}
    for part in page_runs.parts:
        first_ns = first_start_ns(part)
        text = {
            part.names.of(a.name, c) for a in part.store.manifest.agents if a.kind == "text" for c in part.selection.conditions
        }
        for session in part.sessions:
            drawn = drawing.drawn_before(sound_file(page_runs, part, session, page_folder)) if audio else None
            shown = _session(session, drawn, _address(drawn, page_folder, bundle), first_ns)
            # A text model loses no turn, because it has no sound to wait for (`Selection.turns`).
            if session.status == "failed":
                shown = replace(shown, lost=session.key.agent not in text and is_agents_fault(session.failure_kind))
            real = attempt(session.id, "drawing", partial(conversation_of, session, contexts[session.key.context_id]))
            if real is not None and not isinstance(real, StepFailure):
                shown = replace(shown, replayed=tuple((said.role, said.text) for said in real))
            if page_runs.several:
                shown = replace(shown, run=part.label, session=f"{part.label}/{shown.session}")
            found[session.key.context_id].append(shown)
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


def _session(session: Session, drawn: Drawing | None, sound: str | None, first_ns: int | None) -> SessionView:
    started = (session.started_ns - first_ns) / 1e9 if session.started_ns is not None and first_ns is not None else None
    timed = session.turn_timings or ((session.timing,) if session.timing is not None else ())
    return SessionView(
        agent=session.key.agent,
        session=session.id,
        status=session.status,
        failure=": ".join(part for part in (session.failure_kind, session.failure_detail) if part),
        written=session.written_text,
        heard=session.heard_text,
        understood=session.understood_text,
        audio=sound,
        caller=drawn.caller if drawn is not None else (),
        pauses=_pauses(drawn, session.timing),
        agent_spans=_agent_spans(timed),
        marks=drawn.marks if drawn is not None else (),
        envelope=drawn.envelope if drawn is not None else None,
        length_ms=drawn.length_ms if drawn is not None else None,
        started_s=started,
        repeat=session.key.repeat,
        condition=session.key.condition,
        mode=session.key.mode,
        turns=tuple(map(_turn, count(1), timed, _words(session, timed))),
        unspoken=unspoken_of(session),
    )


def _turn(number: int, timing: TurnTiming, words: str | None) -> TurnView:
    endpointing, waterfall = timing.endpointing, timing.waterfall
    fates = [pause.fate for pause in endpointing.pauses] if endpointing is not None else []
    return TurnView(
        number=number,
        spoken_end_ms=timing.spoken_end_ms,
        times_ms=_times(timing),
        watched=timing.owed_ms(timing.first_figure[0]) is not None,
        others=timing.contention.others if timing.contention is not None else (),
        inner_pauses=(fates.count("cut"), sum(fate != "already_talking" for fate in fates)),
        marked_pauses=(timing.pauses_cut, timing.pauses_marked),
        backchannels=timing.backchannels,
        cut_in=timing.cut_in,
        talking_at_end=endpointing is not None and endpointing.talking_at_end,
        no_reply=timing.no_reply,
        discarded=timing.discarded or "",
        labels=tuple(_labels(timing)),
        words=words,
        stages=_stages(waterfall.stages) if waterfall else (),
        stages_note=" ".join(note for note in (_whose_word(timing), _network(waterfall)) if note),
        hidden=_stages(waterfall.hidden) if waterfall else (),
        served=served(timing),
        refused=(*timing.refused, *(waterfall.refused if waterfall else ())),
        pacing_p99_error_ms=timing.pacing_p99_error_ms,
        loop_lag_max_ms=timing.loop_lag_max_ms,
    )


def _times(timing: TurnTiming) -> dict[str, Bounded]:
    found = {}
    slowest = timing.discarded is None and (timing.no_reply or timing.signed_ms is not None)
    for name in _TIMES:
        value_ms = _time_ms(timing, name)
        ends = bounded(timing, name) if name in CATALOGUE else None
        if value_ms is not None:
            found[name] = ends if ends is not None and ends.high_ms == value_ms else Bounded(value_ms, value_ms)
        elif slowest and name in _ANSWERED and ends is not None:
            found[name] = ends
    return found


def _time_ms(timing: TurnTiming, name: str) -> float | None:
    if name == "dead_air":
        return timing.endpointing.dead_air_ms if timing.endpointing is not None else None
    found = getattr(timing, f"{name}_ms")
    return float(found) if found is not None else None


def _words(session: Session, timed: Sequence[TurnTiming]) -> Iterator[str | None]:
    """The words of each reply: those that begin between the end of its turn and that of the next."""
    if session.heard_words is None:
        yield from (None for _ in timed)
        return
    ends_s = [*(turn.spoken_end_ms / 1_000 for turn in timed), float("inf")]
    for begin_s, end_s in pairwise(ends_s):
        yield " ".join(word for word, start_s, _ in session.heard_words if begin_s <= start_s < end_s)


def _labels(timing: TurnTiming) -> Iterator[str]:
    yield from timing.labels
    if timing.answer_ms is None and begins_with_filler(timing):
        yield "a filler, and no answer"
    if timing.greeting is not None:
        over = ", talked over by the caller" if timing.greeting.talked_over else ""
        yield f"greeted after {timing.greeting.latency_ms:,.0f} ms{over}"
    if timing.withdrawn_ms is not None:
        yield f"withdrew {timing.withdrawn_ms:,.0f} ms of sound before it had said anything"
    if timing.stalled_ms is not None:
        yield f"its stream stalled for {milliseconds(timing.stalled_ms)}"
    if timing.why_silent:
        yield timing.why_silent


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


def _pauses(drawn: Drawing | None, timing: TurnTiming | None) -> tuple[Span, ...]:
    """The marked pauses, each `cut` or `kept`; unknown counts as kept only if the turn was timed at all."""
    if drawn is None or timing is None:
        return ()
    cut = timing.pause_was_cut
    return tuple(Span("cut" if k < len(cut) and cut[k] else "kept", start, end) for k, (start, end) in enumerate(drawn.pauses))


def _stages(stages: Iterable[Stage | HiddenWork]) -> tuple[Span, ...]:
    return tuple(Span(s.name, s.start_ms, s.start_ms + s.duration_ms) for s in stages)


def served(timing: TurnTiming) -> tuple[ServedView, ...]:
    """Each wait, with its parts end to end from where it began, and a sentence on them."""
    return tuple(
        ServedView(
            split.stage,
            WAITS.get(split.stage, split.stage),
            tuple(_parts(split, timing)),
            part_ms(split),
            split.source,
            _sentence(split),
        )
        for split in timing.servers
    )


def part_ms(split: ServerSplit) -> dict[str, float]:
    """The known parts of a wait, in the order in which they are drawn."""
    whole = {"compute": split.compute_ms} if split.prefill_ms is None else {}
    named = {
        "queue": split.queue_ms, "prefill": split.prefill_ms, "first_decode": split.first_decode_ms, **whole,
        "idle": split.idle_ms, "unexplained": split.unexplained_ms,
    }  # fmt: skip
    return {name: value for name, value in named.items() if value is not None}


def _parts(split: ServerSplit, timing: TurnTiming) -> Iterator[Span]:
    at_ms = _begin_ms(split, timing)
    for name, value_ms in part_ms(split).items():
        # Parts may overlap a little, and a bar has no negative length.
        yield Span(name, at_ms, at_ms + max(0.0, value_ms))
        at_ms += max(0.0, value_ms)


def _begin_ms(split: ServerSplit, timing: TurnTiming) -> float:
    """The begin of the wait after the spoken end. For a stage of the waterfall, that of its bar."""
    if split.stage == "llm" and timing.ttft_from_spoken_end_ms is not None:
        return timing.ttft_from_spoken_end_ms - split.whole_ms
    stages = timing.waterfall.stages if timing.waterfall is not None else ()
    return next((stage.start_ms for stage in stages if stage.name == split.stage), 0.0)


def _sentence(split: ServerSplit) -> str:
    parts = [
        f"{WAITS.get(split.stage, split.stage)} {milliseconds(split.whole_ms)}",
        f"{share(split.explained_share)} explained" if split.source != "none" else "not split",
    ]
    if split.source in SOURCES:
        parts.append(f"{split.server}, by {SOURCES[split.source]}")
    if split.late_ms >= 1:
        parts.append(f"at most {milliseconds(split.late_ms)} of the queue may be none")
    if split.running is not None or split.waiting is not None:
        parts.append(f"at most {split.running or 0:.0f} requests ran and {split.waiting or 0:.0f} waited meanwhile")
    if split.prefix_share is not None:
        parts.append(f"{share(split.prefix_share)} of all prompts until its end came from the prefix cache")
    if split.cache_use is not None:
        parts.append(f"cache used up to {share(split.cache_use)}")
    return "; ".join([*parts, *([split.note] if split.note else [])]) + "."
