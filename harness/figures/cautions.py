"""Cautions that a reader must know before quoting a number, worded once for the terminal, `--json` and the page.

As a dot on a plot, a rating from a weak judge or from four conversations is the same as a good one, so cautions are shown with
each figure. Each caution follows from the run alone: nothing reassuring is ever added, and unknown facts are stated as
unknown. Its code is stable, because programs act on it; its words are for people and may change.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from harness.figures.cells import Cell, RunFigures
from harness.figures.circumstances import OPEN, Circumstances, languages_words, open_words, unwatched_words
from harness.figures.latency import MUCH_LOST, line_words
from harness.figures.one_reply import is_one_for_all
from harness.figures.reply_flags import TO_JUDGE
from harness.figures.session_figures import unspoken_words
from harness.figures.validity import NOT_TO_BE_QUOTED
from harness.judging.validation.sentences import IN_WORDS, hearing_sentence, judge_sentence, red_lines_sentence
from harness.judging.validation.trust import BLIND
from harness.ranking.wider import FEWEST_PERSONS
from harness.statistics.interval import FEWEST_CLUSTERS, TURNS_FOR_P95
from harness.store.selection import BY_EAR, MACHINES_DIFFER
from harness.timing.figures import IN_FULL, NO_REPLY_TEXT
from harness.timing.unknown_waits import MOST_ERROR_MS
from harness.turns.speakers import bunches, speakers_sentence
from harness.wording import command, counted, had_it_been_its_own, milliseconds

Level = Literal["bad", "warn", "note"]
_ORDER: Final[Mapping[Level, int]] = {"bad": 0, "warn": 1, "note": 2}
IDLE_PERCENT: Final = 1.0
"""An agent that waits has nothing to do; more than this is work that could slow the one being timed."""


class Kind(NamedTuple):
    """One kind of caution: how grave it is, its topic, and its words, with a place in braces for each figure."""

    level: Level
    topic: str
    words: str = "{}"


KINDS: Final[Mapping[str, Kind]] = {
    "invalid": Kind("bad", "Invalid", f"{NOT_TO_BE_QUOTED}: {{}}."),
    "runs_differ": Kind("warn", "Runs differ: {topic}"),
    "not_joint": Kind("warn", "{topic}"),
    "not_judged": Kind("warn", "Not judged", "No reply of this run has been judged, so there is no Elo."),
    "timing_alone": Kind("warn", "Timing alone", "In {} of {} the caller is a recording: there is no text of its words, so "
                         "the replies are timed and not judged."),
    "presentation": Kind("warn", "{topic}"),
    "red_lines": Kind("warn", "Red lines", "{}."),
    "judge": Kind("note", "Judge", "{}."),
    "weak_judge": Kind("warn", "Weak judge", "{}. {}"),
    "silent_judge": Kind("warn", "No answer"),
    "own_family": Kind("warn", "Own family", "In {} the judge shares its model family with exactly one side, because no other "
                       "judge was left. Models tend to prefer their own kind; these verdicts are marked and never called "
                       "trusted."),
    "judged_across_conditions": Kind("warn", "To judge again", "{}."),
    "ranking": Kind("warn", "Ranking"),
    "silence": Kind("warn", "Decided by silence", "{} went to the other side because nothing was heard from one."),
    "few_conversations": Kind("warn", "Few conversations", f"This run has {{}}. Under {FEWEST_CLUSTERS} no interval is given, "
                              "and the order of agents can change with the next conversation."),
    "speakers": Kind("note", "Speakers"),
    "no_p95": Kind("note", "No 95th percentile", "With at most {} per agent there is no reliable 95th percentile; it needs "
                   f"{TURNS_FOR_P95}."),
    "failed": Kind("warn", "Failed sessions", "{} failed ({}). They are listed by kind."),
    "why_silent": Kind("warn", "Why no reply", "{}: {}."),
    "unspoken": Kind("warn", "Unspoken turns", "{}. The figures are of the turns that were spoken."),
    "no_reply": Kind("warn", "No reply", "No answer {}: {}. Such turns count as an agent's slowest."),
    "undecided": Kind("warn", "Others decide", "This machine cannot tell whether {} within the budget: others could have "
                      "caused the difference. On a quieter machine each would be one or the other."),
    "contended": Kind("note", "Others", "Other programs, other machines on the same host, or a quota took processor time that "
                      "an agent needed. They can only delay it: {}."),
    "discarded": Kind("note", "Discarded", "Turns whose measurement could not be trusted give no figure: {}."),
    "unjudged": Kind("warn", "Missing verdicts", "{} of this run has no verdict at all."),
    "unfinished": Kind("warn", "Unfinished", "{} of the planned sessions are not finished; {}."),
    "not_analysed": Kind("warn", "Not analysed", "{} could not be analysed, through no fault of the agents: `{}` times them "
                         "again, `{}` does the rest."),
    "length_tells": Kind("warn", "Length gives the end away"),
    "machines_differ": Kind("warn", "Machines differ"),
    "lossy_line": Kind("warn", "Lossy line", "{} ({}): {}. Lost packets are heard as silence, so words may be missing from "
                       "replies, and latencies include the line's part; `line` in the JSON has the figures."),
    "idle_load": Kind("warn", "Busy while waiting", "{} used up to {:.0f} % of a core while it waited."),
    "unsure_clock": Kind("warn", "Unsure clock", "{}: on {} its clock is known to ±{:,.0f} ms at worst, more than what was "
                         "measured across the two clocks (TTFT from the spoken end, endpointing): those figures say nothing. "
                         "TTFA and TTFT are not affected."),
    "reported_stages": Kind("note", "Reported stages", "{}: TTFT and the stages of the waterfall are {}; the borders between "
                            "stages are accurate to {:,.0f} ms on the worst turn. TTFA is not affected."),
    "stalled": Kind("warn", "Stalled stream", "{} sends sound without end, and its stream stalled in {}, for {} at most. Late "
                    "silence was dropped, as players do; a reply that came with it was heard late."),
    "odd_sound": Kind("warn", "Sound", "{}: {}."),
    "ends_turns": Kind("warn", "Turns ended for it", "{}: {}. Compare its TTFA with that of no agent which decides itself."),
    "other_wire": Kind("note", "Another wire", "{}: {}."),
    "unwatched": Kind("note", "Others not measured"),
    "throttled": Kind("warn", "Throttled", "On {} of {} the processor was slowed down for heat: its latencies are those of a "
                      "hot machine."),
    "gpu_clocks": Kind("warn", "The GPU's clock", "{} Latencies measured on it are not those of one clock; `nvidia-smi -lgc` "
                       "pins it."),
    "gpu_shared": Kind("warn", "Shared GPU", "{} What agents compute there was delayed by an unknown time."),
    "not_calibrated": Kind("note", "Not calibrated", "The error of the onset measurement was not calibrated for every session "
                           "here{}; `harness calibrate` measures it."),
    "measurement_error": Kind("note", "Measurement error", "TTFA was measured to within {} in calibration."),
    "few_people": Kind("warn", "Few people", f"{{}} answered {{}} here. Under {FEWEST_PERSONS} persons or {FEWEST_CLUSTERS} "
                       "conversations no interval is given for them, and no agent is compared with them."),
    "seat_error": Kind("warn", "People's error", "{}: {}. A wait of unknown latency takes no part in any figure; one with "
                       "a large error does, so compare it with agents' only with care."),
    "seat_losses": Kind("warn", "Lost sound", "{}: the microphone lost sound in {} of {}. Where more than "
                        f"{MOST_ERROR_MS:.0f} ms of it were lost before the answer began, the turn gives no wait."),
    "seat_unrated": Kind("warn", "Replies not rated", "{}: {} of {} are not on the board, because nobody has judged them yet: "
                         "`{}` asks about them."),
    "rehearsal": Kind("warn", "Rehearsal", "{}: {} in the supporter's seat are a program's or a rehearsal's. They are no "
                      "people's, and show only that the seat works."),
    "to_judge": Kind("warn", "Replies to the judge", "{}: {} of {} speak to a judge or a model, and not to the caller. No "
                     "verdict was changed for it; listen to these replies before you quote one."),
    "same_reply": Kind("warn", "One reply for all", "{}: {} of {} get nearly the same reply. A judge meets one conversation at "
                       "a time and cannot notice, so its rating of this agent must not be quoted; people's can."),
    "no_human_baseline": Kind("note", "No human baseline", "No reply by a person competes on this board. Elo is relative to "
                              "the systems shown here and to nothing else."),
    "no_certificate": Kind("note", "Not a certificate", "An Elo is no certificate of safety. It says which reply was preferred "
                           "on these conversations, not that an agent helps anybody or does no harm."),
    "sides_swapped": Kind("warn", "Sides swapped?", "{} If the two sides are swapped, name the caller's (`--caller`, or "
                          "calls.csv) and measure again in another folder."),
    "open_turns": Kind("note", "Open turns", "Nobody knows how these would have been answered, so they count on no side: {}."),
    "other_language": Kind("warn", "Another language", "In {} the agent does not speak English, so no words are given there; "
                           "times do not depend on the language."),
    "recorded_calls": Kind("note", "Recorded calls", "These calls already happened, so the caller's turns were found in the "
                           "sound. Each end is exact to some milliseconds in a quiet channel, to 12 ms in noise 35 dB below "
                           "the voice and to 51 ms at 25 dB (95 % of turns, docs/calls.md), and so is TTFA. Cut pauses are a "
                           "lower bound: a caller who gave way cannot be distinguished from one who was done."),
    "latency_stated": Kind("warn", "Latency as stated", "The latencies of {} are those that {} states. Nobody measured them."),
    "not_in_file": Kind("note", "Not in the file", "{}: {}."),
    "machines": Kind("note", "Machines", "The agents here are machines. Where people talk to one, they should be told so, and "
                     "told its limits."),
}  # fmt: skip
"""Every kind, by its code."""
_NOT_HEARD: Final[Mapping[str, str]] = {
    "written": "Judges read the text that agents report, and not what was heard: this Elo leaves out what the voice, the line "
    "or a cut-in did to the reply.",
    "audio": "The Elo is from people who heard the replies without their delay; nobody judged them as text.",
}
"""Text by presentation, where the quoted board is not of the words that were heard."""
_HEARD_BY_JUDGES: Final = (
    "Judges heard the replies, and none read them. That is an opinion, which is not quoted for the run; `harness rank RUN "
    "--presentation audio` shows it."
)


class Caution(BaseModel):
    """A sentence or two. `bad`: figures must not be quoted; `warn`: they are weak; `note`: a general fact."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    """A key of `KINDS`."""
    level: Level
    topic: str
    text: str


def worded(code: str, *figures: object, topic: str = "", level: Level | None = None) -> Caution:
    """A caution of a kind, with its figures in their places. `topic` and `level`: where they depend on the run."""
    kind = KINDS[code]
    text = kind.words.format(*figures)
    return Caution(code=code, level=level or kind.level, topic=kind.topic.format(topic=topic), text=text)


def cautions(summary: RunFigures, known: Circumstances) -> tuple[Caution, ...]:
    """Everything that limits what a run can say, gravest first."""
    found = [] if summary.valid else [worded("invalid", "; ".join(summary.invalid) or "the run does not say why")]
    for part in (_judges, _ranking, _losses, _callers, _machines, _lines, _seats):
        found += part(summary, known)
    if known.verdicts and not known.human_baseline:
        found.append(worded("no_human_baseline"))
    return gravest_first([*found, worded("no_certificate"), worded("machines")])


def gravest_first(found: Iterable[Caution]) -> tuple[Caution, ...]:
    """Cautions sorted by level: bad, weak, general; within a level in the order found."""
    return tuple(sorted(found, key=lambda caution: _ORDER[caution.level]))


def _callers(summary: RunFigures, known: Circumstances) -> Iterator[Caution]:
    for cell in summary.whole:
        if spoken_to := cell.flags.get(TO_JUDGE):
            replies = cell.common_opening[1] if cell.common_opening else cell.turns
            yield worded("to_judge", summary.name(cell), spoken_to, counted(replies, "reply", "replies"))
        if is_one_for_all(cell.commonest_reply) and cell.commonest_reply is not None:
            same, of = cell.commonest_reply
            yield worded("same_reply", summary.name(cell), same, counted(of, "conversation"))
    for text in known.length_tells:
        yield worded("length_tells", text)
    if known.sides_swapped:
        yield worded("sides_swapped", " ".join(known.sides_swapped))
    if known.other_language:
        yield worded("other_language", languages_words(known.other_language))
    if left_open := [f"{summary.name(c)} {words}" for c in summary.whole if (words := open_words(c))]:
        yield worded("open_turns", ", ".join(left_open))
    if known.calls:
        yield worded("recorded_calls")
    for file in known.imported.values():
        if file.timed:
            yield worded("latency_stated", ", ".join(file.timed), file.source)
        lacks = [f"{counted(file.left_out, 'row')} left out"] if file.left_out else []
        lacks += [f"no reply of {name} to {counted(n, 'conversation')}" for name, n in sorted(file.unanswered.items())]
        if lacks:
            yield worded("not_in_file", file.source, "; ".join(lacks))


def _presentations(summary: RunFigures, known: Circumstances) -> Iterator[Caution]:
    """Cautions where the quoted board is not of the heard replies, or where the run quotes no board."""
    for condition in summary.conditions:
        judged = list(dict.fromkeys(b.presentation for b in summary.boards if (b.condition, b.subset) == (condition, "all")))
        quoted = summary.quoted(condition)
        if judged == [BY_EAR] and quoted != BY_EAR:
            yield worded("presentation", _HEARD_BY_JUDGES, topic="No board quoted")
        elif judged and quoted not in judged:
            text = (
                f"No reply was judged as it was heard, but as {' and '.join(judged)}. None of these boards is quoted for the "
                f"run; `harness rank RUN --presentation {judged[0]}` shows one."
            )
            yield worded("presentation", text, topic="No board quoted")
        elif judged and known.spoken and quoted in _NOT_HEARD:
            yield worded("presentation", _NOT_HEARD[quoted], topic="What was judged")


def _judges(summary: RunFigures, known: Circumstances) -> Iterator[Caution]:
    if known.timing_alone:
        yield worded("timing_alone", len(known.timing_alone), counted(len(known.contexts), "conversation"))
        if not known.contexts - known.timing_alone:
            return
    for judge in summary.judges:
        if judge.why_missing:
            left = f" {IN_WORDS['silent']}" if judge.trust == "silent" else ""
            yield worded("silent_judge", f"{judge.id}: {judge.why_missing}.{left}", level="bad" if left else None)
    if not known.verdicts and not summary.boards:
        yield worded("not_judged")
        return
    judges = summary.judges
    for judge in judges:
        if crossed := red_lines_sentence(judge.id, judge.red_lines):
            yield worded("red_lines", crossed)
    yield from _presentations(summary, known)
    alone = all(judge.trust != "trusted" for judge in judges)
    for judge in judges:
        proved = (
            hearing_sentence(judge.id, judge.deliveries)
            if judge.trust == "hears"
            else judge_sentence(judge.id, judge.accuracy, judge.accuracy_interval, judge.flip_rate, judge.pairs)
        )
        if judge.trust == "trusted":
            yield worded("judge", proved)
        elif judge.trust == "silent" and judge.why_missing:
            continue  # said first
        else:
            blind = alone and judge.trust in BLIND
            yield worded("weak_judge", proved, IN_WORDS[judge.trust], level="bad" if blind else None)
    if own := sum(judge.own_family_judgments for judge in judges):
        yield worded("own_family", counted(own, "verdict"))


def _ranking(summary: RunFigures, known: Circumstances) -> Iterator[Caution]:
    for folder, why in known.to_judge_again.items():
        text = why.replace("RUN", folder)
        yield worded("judged_across_conditions", f"{text[:1].upper()}{text[1:]}")
    for text in known.ranking:
        yield worded("ranking", text)
    if known.silent:
        yield worded("silence", counted(known.silent, "comparison"))
    if len(known.contexts) < FEWEST_CLUSTERS:
        yield worded("few_conversations", counted(len(known.contexts), "conversation"))
    turns = max((cell.turns for cell in summary.whole), default=0)
    if known.speakers:
        number = bunches(known.contexts, known.speakers)
        said = speakers_sentence(known.speakers, number, turns)
        yield worded("speakers", said, level="warn" if number < FEWEST_CLUSTERS else None)
    untimed = known.imported and not any(file.timed for file in known.imported.values())
    if turns < TURNS_FOR_P95 and not (untimed and all(cell.from_a_file for cell in summary.whole)):
        yield worded("no_p95", counted(turns, "turn"))


def _losses(summary: RunFigures, known: Circumstances) -> Iterator[Caution]:
    if failed := summary.failed_sessions:
        agents = ", ".join(sorted({failure.agent for failure in failed}))
        yield worded("failed", counted(len(failed), "session"), agents)
    if left := [f"{summary.name(c)}: {words}" for c in summary.whole if (words := unspoken_words(c))]:
        yield worded("unspoken", ". ".join(left))
    if silent := [f"{summary.name(c)} on {c.no_reply} of {counted(c.turns, 'turn')}" for c in summary.whole if c.no_reply]:
        # Who recorded a call did not wait as the harness does.
        limit = (
            f"before the caller spoke again or hung up, at most {NO_REPLY_TEXT}" if known.calls else f"within {NO_REPLY_TEXT}"
        )
        yield worded("no_reply", limit, ", ".join(silent))
    for name, why in sorted(known.why_silent.items()):
        yield worded("why_silent", name, why)
    if between := [f"{c.undecided} of {counted(c.turns, 'turn')} of {summary.name(c)}" for c in summary.whole if c.undecided]:
        yield worded("undecided", ", ".join(between) + (" are" if sum(c.undecided for c in summary.whole) > 1 else " is"))
    if delayed := [f"{summary.name(c)}, {words}" for c in summary.whole if (words := _delayed(c))]:
        yield worded("contended", "; ".join(delayed))
    lost = [(c, sum(n for why, n in c.discarded.items() if why not in (MACHINES_DIFFER, *OPEN))) for c in summary.whole]
    if dropped := [f"{summary.name(c)} {count} of {c.turns}" for c, count in lost if count]:
        yield worded("discarded", ", ".join(dropped))
    if known.verdicts and (unjudged := known.unjudged - known.timing_alone):
        yield worded("unjudged", counted(len(unjudged), "conversation"))
    for folder, count in known.unfinished.items():
        resume = f"`{command('run', '--resume', '--out', folder)}` plays them"
        if folder in known.calls:
            resume = f"`{command('measure', known.calls[folder], '--resume', '--out', folder)}` measures them"
        as_shard = "play them as a shard of the plan and merge it into the run"
        yield worded("unfinished", count, as_shard if folder in known.merged else resume)
    for folder, count in known.not_analysed.items():
        the_rest = ("measure", known.calls[folder]) if folder in known.calls else ("run",)
        again = command("measure", folder), command(*the_rest, "--resume", "--out", folder)
        yield worded("not_analysed", counted(count, "session"), *again)


def _delayed(cell: Cell) -> str:
    """The part of others in an agent's median; empty where they had none."""
    measure, figure = ("TTFT", cell.ttft_ms) if cell.kind == "text" else ("TTFA", cell.ttfa_ms)
    own = had_it_been_its_own(figure.p50_range, cell.others)
    return f"{measure} p50 {milliseconds(figure.p50)}; {own}" if own else ""


def _machines(summary: RunFigures, known: Circumstances) -> Iterator[Caution]:
    if known.machines_differ > 1:
        yield worded("machines_differ", _machines_differ(summary, known))
    yield from _machine(known)


def _machines_differ(summary: RunFigures, known: Circumstances) -> str:
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
    return f"{text} {each}." if each else text


def _lines(summary: RunFigures, _known: Circumstances) -> Iterator[Caution]:
    """Cautions about bad lines, known where a line carries a media clock; a bad line is not the agent's fault."""
    for cell in summary.cells:
        if cell.subset == "all" and cell.line is not None and cell.line.lost_share > MUCH_LOST:
            yield worded("lossy_line", cell.agent, cell.condition, line_words(cell.line))


def _seats(summary: RunFigures, _known: Circumstances) -> Iterator[Caution]:
    for seat in summary.seats:
        if not seat.is_people:
            yield worded("rehearsal", seat.agent, counted(seat.replies, "reply", "replies"))
        elif seat.persons < FEWEST_PERSONS or seat.conversations < FEWEST_CLUSTERS:
            who = counted(seat.persons, "person", "people")
            yield worded("few_people", who, counted(seat.conversations, "conversation"))
        wrong = []
        if seat.not_calibrated:
            wrong.append(f"{seat.not_calibrated} of {counted(seat.sittings, 'sitting')} had a reply without a loop-back trial")
        if seat.over_limit:
            wrong.append(
                f"{seat.over_limit} of {counted(seat.sittings, 'sitting')} had an error over {MOST_ERROR_MS:.0f} ms (95 % of "
                f"trials; the largest {seat.largest_error_ms or 0.0:.0f} ms)"
            )
        if wrong:
            yield worded("seat_error", seat.agent, " and ".join(wrong))
        if seat.unrated:
            judge = command("judge", "run", summary.run)
            yield worded("seat_unrated", seat.agent, seat.unrated, counted(seat.replies, "reply", "replies"), judge)
        if seat.with_losses:
            yield worded("seat_losses", seat.agent, seat.with_losses, counted(seat.replies, "reply", "replies"))


def _machine(known: Circumstances) -> Iterator[Caution]:
    for name, percent in sorted(known.idle_percent.items()):
        if percent > IDLE_PERCENT:
            yield worded("idle_load", name, percent)
    for name, (turns, worst_ms) in sorted(known.unsure_clocks.items()):
        yield worded("unsure_clock", name, counted(turns, "turn"), worst_ms)
    for name, (source, worst_ms) in sorted(known.reported_stages.items()):
        yield worded("reported_stages", name, IN_FULL[source], worst_ms)
    for name, why in sorted(known.other_wires.items()):
        yield worded("other_wire", name, why)
    for name, why in sorted(known.ends_turns.items()):
        yield worded("ends_turns", name, why)
    for name, (turns, longest_ms) in sorted(known.stalled.items()):
        yield worded("stalled", name, counted(turns, "turn"), milliseconds(longest_ms))
    for name, why in sorted(known.odd_sound.items()):
        yield worded("odd_sound", name, why)
    if known.unwatched:
        yield worded("unwatched", " ".join(unwatched_words(known.unwatched)))
    for name, turns in sorted(known.throttled.items()):
        yield worded("throttled", counted(turns, "turn"), name)
    for text in known.gpu_clocks:
        yield worded("gpu_clocks", text)
    for text in known.gpu_shared:
        yield worded("gpu_shared", text)
    if known.spoken and known.onset_error is None and not known.calls:
        yield worded("not_calibrated", f" ({known.not_calibrated})" if known.not_calibrated else "")
    elif known.spoken and known.onset_error is not None:
        yield worded("measurement_error", known.onset_error.words)
