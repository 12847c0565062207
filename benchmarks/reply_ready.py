"""Where the milliseconds of a reply are: each step's instant after the caller's last sound, in runs over the socket.

    python -m benchmarks.reply_ready RUN [RUN …] [--agent polaris-like] [--picture reply_ready.svg]

A waterfall (`harness.timing.waterfall`) has the critical path alone; a speculating agent does most of its work beside the
wait, and its waterfall says nothing about it. Here every step of the request that was heard is timed from the spoken end,
whether anybody waited for it or not. *Ready* is the instant at which the reply's first sound existed. Runs given together are
drawn beside each other, named by their folders. Turns that others' programs touched are left out, as in a report.
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np

import harness
from harness.agents import marks
from harness.recording.record import Recording
from harness.timeline import NS_PER_MS
from harness.timing.chain import Stamps, heard_reply
from harness.timing.figures import TurnTiming
from harness.timing.marks_chosen import stamps_in

STEPS: Final[Mapping[str, str]] = {
    marks.SILENCE_SEEN: "silence noticed",
    marks.ASR_DONE: "words known",
    marks.LLM_REQUESTED: "model asked",
    marks.LLM_FIRST_TOKEN: "first token",
    marks.FIRST_CLAUSE: "first piece of text",
    marks.TTS_FIRST_AUDIO: "ready: first sound made",
    marks.TURN_SCORED: "end of turn weighed",
    marks.TURN_DECIDED: "end of turn decided",
    marks.AUDIO_SENT: "sent",
}
HEARD: Final = "heard (TTFA)"
MOST_OWED_MS: Final = 25.0
"""A turn of which others could have caused more is left out of the table of steps, which shows the agent's own work."""


def instants_ms(recording: Recording, turn: TurnTiming) -> dict[str, float]:
    """The steps of one turn's reply by name, in ms after the spoken end; without those that were not stamped."""
    if turn.ttfa_ms is None:
        return {}
    t0_ns = recording.caller.t0_ns
    spoken_end_ns = t0_ns + round(turn.spoken_end_ms * NS_PER_MS)
    heard_ns = spoken_end_ns + round(turn.ttfa_ms * NS_PER_MS)
    stamps = stamps_in(recording).stamps
    reply = heard_reply(stamps, heard_ns, t0_ns)
    found = {} if reply is None else {name: stamp.at_ns for name, stamp in reply.steps.items()}
    asked_ns = found.get(marks.LLM_CALLED) or found.get(marks.LLM_REQUESTED)
    found |= _of_no_request(stamps, heard_ns if asked_ns is None else asked_ns, heard_ns)
    shown = {STEPS[name]: (at_ns - spoken_end_ns) / NS_PER_MS for name, at_ns in found.items() if name in STEPS}
    return {**shown, HEARD: turn.ttfa_ms}


def _of_no_request(stamps: Stamps, asked_ns: int, heard_ns: int) -> dict[str, int]:
    """The last silence and transcript before the request, and the last score and decision before the sound."""
    until = {marks.ASR_DONE: asked_ns, marks.TURN_SCORED: heard_ns, marks.TURN_DECIDED: heard_ns}
    found = {name: stamp.at_ns for name, at_ns in until.items() if (stamp := stamps.last(name, at_ns)) is not None}
    seen = stamps.last(marks.SILENCE_SEEN, found.get(marks.ASR_DONE, asked_ns))
    return found | ({} if seen is None else {marks.SILENCE_SEEN: seen.at_ns})


def _touched(turn: TurnTiming) -> bool:
    return turn.ttfa_ms is not None and (turn.owed_ms("ttfa") or 0.0) > MOST_OWED_MS


def of_run(folder: Path, agent: str, contended: bool) -> Iterator[dict[str, float]]:
    """The steps of each turn of one agent in a run; with `contended` also of those that others' programs touched."""
    with harness.load_run(folder) as run:
        for session in run.sessions:
            if session.key.agent != agent:
                continue
            recording = run.recording(session)
            for turn in session.turn_timings:
                if contended or not _touched(turn):
                    yield instants_ms(recording, turn)


def table(runs: Mapping[str, list[dict[str, float]]]) -> str:
    """Markdown: median and 95th percentile (from 20 turns on) of each step in each run."""
    lines = ["| ms after the last sound | " + " | ".join(f"{name} ({len(turns)} turns)" for name, turns in runs.items()) + " |"]
    lines.append("|---" * (1 + len(runs)) + "|")
    for step in (*STEPS.values(), HEARD):
        cells = []
        for turns in runs.values():
            values = [turn[step] for turn in turns if step in turn]
            p95 = f", {np.percentile(values, 95):,.0f}" if len(values) >= 20 else ""
            cells.append(f"{np.median(values):,.0f}{p95}" if values else "–")
        lines.append(f"| {step} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(runs: Mapping[str, list[dict[str, float]]], path: Path) -> None:
    """Each step's median and middle half, one row a step, runs beside each other."""
    import altair as alt

    rows = []
    for name, turns in runs.items():
        for step in (*STEPS.values(), HEARD):
            values = [turn[step] for turn in turns if step in turn]
            if values:
                low, middle, high = np.percentile(values, [25, 50, 75])
                rows.append({"run": name, "step": step, "low": low, "median": middle, "high": high})
    y = alt.Y("step:N", sort=[*STEPS.values(), HEARD], title=None)
    shift = alt.YOffset("run:N", sort=list(runs))
    colour = alt.Color("run:N", sort=list(runs), title=None)
    title = "ms after the caller's last sound (median, and the middle half of the turns)"
    base = alt.Chart({"values": rows})
    bars = base.mark_rule(strokeWidth=3).encode(alt.X("low:Q", title=title), alt.X2("high:Q"), y, shift, colour)
    points = base.mark_point(filled=True, size=60).encode(alt.X("median:Q"), y, shift, colour)
    (bars + points).properties(width=560, height=alt.Step(16)).save(str(path))


def main() -> None:
    parser = argparse.ArgumentParser(description="Where the milliseconds of a reply are.")
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--agent", default="polaris-like")
    parser.add_argument("--contended", action="store_true", help="keep turns that others' programs touched")
    parser.add_argument("--picture", type=Path, help="SVG or PNG")
    given = parser.parse_args()
    runs = {folder.name: [turn for turn in of_run(folder, given.agent, given.contended) if turn] for folder in given.runs}
    print(table(runs))
    if given.picture:
        draw(runs, given.picture)


if __name__ == "__main__":
    main()
