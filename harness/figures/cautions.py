"""Cautions that a reader must know before quoting a number, worded once for the terminal, `--json` and the page.

As a dot on a plot, a rating from a weak judge or from four conversations is the same as a good one, so cautions are shown with
each figure. Each caution follows from the run alone: nothing reassuring is ever added, and what is not known is stated as not
known. Its code is stable, because programs act on it; its words are for people and may change.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from harness.figures.cells import RunFigures
from harness.figures.circumstances import Circumstances
from harness.figures.rtp_lines import MUCH_LOST, in_words
from harness.figures.watched import unwatched_words
from harness.judging.trust import BLIND, IN_WORDS, judge_sentence
from harness.ranking.exact import TURNS_FOR_P95
from harness.ranking.sandwich import FEWEST_CONTEXTS
from harness.store.selection import MACHINES_DIFFER
from harness.timing.figures import IN_FULL, MOST_OWED_MS, MOST_OWED_SHARE, NO_REPLY_TEXT
from harness.wording import command, counted, milliseconds

Code = Literal[
    "invalid", "runs_differ", "not_joint", "not_judged", "weak_judge", "judge", "own_family", "ranking", "silence",
    "presentation", "few_conversations", "no_p95", "failed", "no_reply", "discarded", "unjudged", "idle_load", "unfinished",
    "not_analysed", "judged_across_conditions", "unsure_clock", "reported_stages", "lossy_line", "contended", "unwatched",
    "throttled", "length_tells", "machines_differ", "timing_alone", "measurement_error", "not_calibrated", "no_human_baseline",
    "no_certificate", "machines",
]  # fmt: skip
Level = Literal["bad", "warn", "note"]
_ORDER: Final[Mapping[Level, int]] = {"bad": 0, "warn": 1, "note": 2}
IDLE_PERCENT: Final = 1.0
"""An agent that waits has nothing to do; more than this is work that could slow the one being timed."""


_NOT_HEARD_TEXT: Final[Mapping[str, str]] = {
    "written": "Judges read the text that agents report, and not what was heard: this Elo leaves out what the voice, the line "
    "or a cut-in did to the reply.",
    "audio": "The Elo is from people who heard the replies without their delay; nobody judged them as text.",
}
"""By presentation, where the quoted board is not of the words that were heard."""


class Caution(BaseModel):
    """A sentence or two. `bad`: figures must not be quoted; `warn`: they are weak; `note`: a general fact."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: Code
    level: Level
    topic: str
    text: str


def cautions(summary: RunFigures, known: Circumstances) -> tuple[Caution, ...]:
    """Everything that limits what a run can say, gravest first."""
    return gravest_first(
        [
            *_validity(summary),
            *_judges(summary, known),
            *_ranking(known),
            *_size(summary, known),
            *_losses(summary, known),
            *_callers(known),
            *_machines(summary, known),
            *_machine(known),
            *_lines(summary),
            *_standing(known),
        ]
    )


def gravest_first(found: Iterable[Caution]) -> tuple[Caution, ...]:
    """Cautions sorted by level: bad, weak, general; within a level in the order found."""
    return tuple(sorted(found, key=lambda caution: _ORDER[caution.level]))


def _said(code: Code, level: Level, topic: str, text: str) -> Caution:
    return Caution(code=code, level=level, topic=topic, text=text)


def _validity(summary: RunFigures) -> Iterator[Caution]:
    if not summary.valid:
        why = "; ".join(summary.invalid) or "the run does not say why"
        yield _said("invalid", "bad", "Invalid", f"These figures must not be quoted: {why}.")


def _callers(known: Circumstances) -> Iterator[Caution]:
    for text in known.length_tells:
        yield _said("length_tells", "warn", "Length gives the end away", text)


def _presentations(summary: RunFigures, known: Circumstances) -> Iterator[Caution]:
    """Cautions where the quoted board is not of what was heard, or where the run quotes no board."""
    for condition in summary.conditions:
        judged = list(dict.fromkeys(b.presentation for b in summary.boards if (b.condition, b.subset) == (condition, "all")))
        quoted = summary.quoted(condition)
        if judged and quoted not in judged:
            text = (
                f"No reply was judged as it was heard, but as {' and '.join(judged)}. None of these boards is quoted for the "
                f"run; `harness rank RUN --presentation {judged[0]}` shows one."
            )
            yield _said("presentation", "warn", "No board quoted", text)
        elif judged and known.spoken and quoted in _NOT_HEARD_TEXT:
            yield _said("presentation", "warn", "What was judged", _NOT_HEARD_TEXT[quoted])


def _judges(summary: RunFigures, known: Circumstances) -> Iterator[Caution]:
    if known.timing_alone:
        yield _said(
            "timing_alone",
            "warn",
            "Timing alone",
            f"In {len(known.timing_alone)} of {counted(len(known.contexts), 'conversation')} the caller is a recording: "
            "there is no text of its words, so the replies are timed and not judged.",
        )
        if not known.contexts - known.timing_alone:
            return
    if not known.verdicts and not summary.boards:
        yield _said("not_judged", "warn", "Not judged", "No reply of this run has been judged, so there is no Elo.")
        return
    yield from _presentations(summary, known)
    judges = summary.judges
    alone = all(judge.trust != "trusted" for judge in judges)
    for judge in judges:
        proved = judge_sentence(judge.id, judge.accuracy, judge.accuracy_interval, judge.flip_rate, judge.pairs)
        if judge.trust == "trusted":
            yield _said("judge", "note", "Judge", f"{proved}.")
        else:
            level: Level = "bad" if alone and judge.trust in BLIND else "warn"
            yield _said("weak_judge", level, "Weak judge", f"{proved}. {IN_WORDS[judge.trust]}")
    if own := sum(judge.own_family_judgments for judge in judges):
        yield _said(
            "own_family",
            "warn",
            "Own family",
            f"In {counted(own, 'verdict')} the judge shares its model family with exactly one side, because no other judge "
            "was left. Models tend to prefer their own kind; these verdicts are marked and never called trusted.",
        )


def _ranking(known: Circumstances) -> Iterator[Caution]:
    for folder, why in known.to_judge_again.items():
        text = why.replace("RUN", folder)
        yield _said("judged_across_conditions", "warn", "To judge again", f"{text[:1].upper()}{text[1:]}.")
    for text in known.ranking:
        yield _said("ranking", "warn", "Ranking", text)
    if known.silent:
        yield _said(
            "silence",
            "warn",
            "Decided by silence",
            f"{counted(known.silent, 'comparison')} went to the other side because nothing was heard from one.",
        )


def _size(summary: RunFigures, known: Circumstances) -> Iterator[Caution]:
    if len(known.contexts) < FEWEST_CONTEXTS:
        yield _said(
            "few_conversations",
            "warn",
            "Few conversations",
            f"This run has {counted(len(known.contexts), 'conversation')}. Under {FEWEST_CONTEXTS} no interval is given, and "
            "the order of agents can change with the next conversation.",
        )
    turns = max((cell.turns for cell in summary.whole), default=0)
    if turns < TURNS_FOR_P95:
        yield _said(
            "no_p95",
            "note",
            "No 95th percentile",
            f"With at most {counted(turns, 'turn')} per agent there is no reliable 95th percentile; it needs {TURNS_FOR_P95}.",
        )


def _losses(summary: RunFigures, known: Circumstances) -> Iterator[Caution]:
    if summary.failures:
        agents = ", ".join(sorted({failure.agent for failure in summary.failures}))
        yield _said(
            "failed",
            "warn",
            "Failed sessions",
            f"{counted(len(summary.failures), 'session')} failed ({agents}). They are listed by kind.",
        )
    silent = [f"{summary.name(c)} on {c.no_reply} of {counted(c.turns, 'turn')}" for c in summary.whole if c.no_reply]
    if silent:
        yield _said(
            "no_reply",
            "warn",
            "No reply",
            f"Nothing within {NO_REPLY_TEXT}: {', '.join(silent)}. Such turns count as an agent's slowest.",
        )
    contended = [f"{summary.name(c)} on {c.contended} of {counted(c.turns, 'turn')}" for c in summary.whole if c.contended]
    if contended:
        yield _said(
            "contended",
            "warn",
            "Contended",
            "Other programs, other machines on the same host, or a quota took processor time that an agent needed, and could "
            f"have caused more than {MOST_OWED_SHARE * 100:.0f} % of the first sound's time and {MOST_OWED_MS:.0f} ms of it: "
            f"{', '.join(contended)}. Such turns are left out of latencies.",
        )
    lost = [(c, sum(n for why, n in c.discarded.items() if why != MACHINES_DIFFER)) for c in summary.whole]
    dropped = [f"{summary.name(c)} {count} of {c.turns}" for c, count in lost if count]
    if dropped:
        yield _said(
            "discarded",
            "note",
            "Discarded",
            f"Turns whose measurement could not be trusted give no figure: {', '.join(dropped)}.",
        )
    if known.verdicts and known.unjudged - known.timing_alone:
        yield _said(
            "unjudged",
            "warn",
            "Missing verdicts",
            f"{counted(len(known.unjudged - known.timing_alone), 'conversation')} of this run has no verdict at all.",
        )
    for folder, count in known.unfinished.items():
        yield _said(
            "unfinished",
            "warn",
            "Unfinished",
            f"{count} of the planned sessions are not finished; "
            + (
                "play them as a shard of the plan and merge it into the run."
                if folder in known.merged
                else f"`{command('run', '--resume', '--out', folder)}` plays them."
            ),
        )

    for folder, count in known.not_analysed.items():
        yield _said(
            "not_analysed",
            "warn",
            "Not analysed",
            f"{counted(count, 'session')} could not be analysed, through no fault of the agents: "
            f"`{command('remeasure', folder)}` times them again, "
            f"`{command('run', '--resume', '--out', folder)}` does the rest.",
        )


def _machines(summary: RunFigures, known: Circumstances) -> Iterator[Caution]:
    if known.machines_differ < 2:
        return
    each = "; ".join(
        f"{cell.agent} ({cell.condition}) on {cell.machine}: TTFA p50 {milliseconds(cell.ttfa_ms.p50)}, "
        f"TTFT p50 {milliseconds(cell.ttft_ms.p50)}, {counted(cell.turns, 'turn')}"
        for cell in summary.by_machine
    )
    if known.machines_pooled:
        text = f"Latencies of {known.machines_differ} kinds of machine are pooled here, as --pool-machines asked."
    else:
        text = (
            f"This run was played on {known.machines_differ} kinds of machine, so no latency is pooled over them and no point "
            "is drawn in the joint figure; `harness merge … --pool-machines` would."
        )
    yield _said("machines_differ", "warn", "Machines differ", f"{text} {each}." if each else text)


def _lines(summary: RunFigures) -> Iterator[Caution]:
    """Cautions about bad lines, known where a line carries a media clock; a bad line is not the agent's fault."""
    for cell in summary.cells:
        if cell.subset == "all" and cell.line is not None and cell.line.lost_share > MUCH_LOST:
            yield _said(
                "lossy_line",
                "warn",
                "Lossy line",
                f"{cell.agent} ({cell.condition}): {in_words(cell.line)}. Lost packets are heard as silence, so words may be "
                "missing from replies, and latencies include the line's part; `line` in the JSON has the figures.",
            )


def _machine(known: Circumstances) -> Iterator[Caution]:
    busy = {name: percent for name, percent in known.idle_percent.items() if percent > IDLE_PERCENT}
    for name, percent in sorted(busy.items()):
        yield _said(
            "idle_load", "warn", "Busy while waiting", f"{name} used up to {percent:.0f} % of a core while it waited."
        )  # fmt: skip
    for name, (turns, worst_ms) in sorted(known.unsure_clocks.items()):
        yield _said(
            "unsure_clock",
            "warn",
            "Unsure clock",
            f"{name}: on {counted(turns, 'turn')} its clock is known to ±{worst_ms:,.0f} ms at worst, more than what was "
            "measured across the two clocks (TTFT from the spoken end, endpointing): those figures say nothing. TTFA and "
            "TTFT are not affected.",
        )
    for name, (source, worst_ms) in sorted(known.reported_stages.items()):
        yield _said(
            "reported_stages",
            "note",
            "Reported stages",
            f"{name}: TTFT and the stages of the waterfall are {IN_FULL[source]}; the borders between stages are accurate to "
            f"{worst_ms:,.0f} ms on the worst turn. TTFA is not affected.",
        )
    if known.unwatched:
        yield _said("unwatched", "note", "Others not measured", " ".join(unwatched_words(known.unwatched)))
    for name, turns in sorted(known.throttled.items()):
        yield _said(
            "throttled",
            "warn",
            "Throttled",
            f"On {counted(turns, 'turn')} of {name} the processor was slowed down for heat: its latencies are "
            "those of a hot machine.",
        )
    if not known.spoken:
        return
    if known.onset_error is None:
        why = f" ({known.not_calibrated})" if known.not_calibrated else ""
        yield _said(
            "not_calibrated",
            "note",
            "Not calibrated",
            f"The error of the onset measurement was not calibrated for every session here{why}; "
            "`harness calibrate` measures it.",
        )
    else:
        yield _said(
            "measurement_error",
            "note",
            "Measurement error",
            f"TTFA was measured to within {known.onset_error.words} in calibration.",
        )


def _standing(known: Circumstances) -> Iterator[Caution]:
    if known.verdicts and not known.human_baseline:
        yield _said(
            "no_human_baseline",
            "note",
            "No human baseline",
            "No reply by a person competes on this board. Elo is relative to the systems shown here and to nothing else.",
        )
    yield _said(
        "no_certificate",
        "note",
        "Not a certificate",
        "An Elo is no certificate of safety. It says which reply was preferred on these conversations, not that an agent "
        "helps anybody or does no harm.",
    )
    yield _said(
        "machines",
        "note",
        "Machines",
        "The agents here are machines. Where people talk to one, they should be told so, and told its limits.",
    )
