"""`harness judge`: verdicts of judges on a finished run or a file of completions. Earlier verdicts are preserved."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from harness.commands import play_options as asked_for
from harness.commands.judge_check import against_people, compared, read_ratings
from harness.commands.recorded import refuse_recorded
from harness.commands.screen import AsJson
from harness.errors import UserError
from harness.progress import RunProgress
from harness.store.judgment import JudgeCheck, Presentation
from harness.wording import command

if TYPE_CHECKING:
    from harness.fleet.run import OnCluster
    from harness.judging.batch import JudgingOutcome
    from harness.judging.record import Stop
    from harness.ranking.stopping import Goal
    from harness.store.step_failure import StepFailure
    from harness.verdicts.estimate import Estimate
    from harness.verdicts.judge import RunJudging


app = typer.Typer(no_args_is_help=True, help="Compare replies in pairs, and check the judges that do so.")

Judges = Annotated[
    list[str] | None,
    typer.Option(
        metavar="JUDGE",
        show_default="none, and a line that names them",
        help="Judge: a shipped name, local:FILE.gguf, or a .toml file; may be repeated.",
    ),
]
Model = Annotated[str | None, typer.Option(hidden=True)]
"""With `--judge local` its model: the former way to write `--judge local:MODEL`."""


_READS: Final[Mapping[str, Presentation]] = {"heard": "heard_text", "written": "written", "audio": "audio"}


@dataclass(frozen=True)
class _Result:
    outcomes: "Sequence[JudgingOutcome]" = ()
    checks: "Sequence[JudgeCheck]" = ()
    estimates: "Sequence[Estimate]" = ()
    stop: "Stop | None" = None
    heard_wer: dict[str, float | None] = field(default_factory=dict)
    failed: "Sequence[StepFailure]" = ()
    """Sessions that could not be judged, for a reason outside their agents."""
    written_to: Path | None = None
    notes: tuple[str, ...] = ()
    """Sentences on the names in a file of completions."""
    none_left: bool = False
    """No judge answered."""
    asked: Sequence[str] | None = None
    """The judges of this command, where `checks` has others too."""


@app.command("run")
def run(
    target: Annotated[Path, typer.Argument(help="Folder of a run.")],
    judge: Judges = None,
    model: Model = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the number of questions and their cost.")] = False,
    reads: Annotated[
        str,
        typer.Option(
            metavar="heard|written|audio",
            help="For a run: heard (the audio's transcript) or written replies, or the audio itself for a judge that hears.",
        ),
    ] = "heard",
    pairs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default="every pair",
            help="Number of pairs to judge, balanced over all contexts; default: every pair.",
        ),
    ] = None,
    replicates: Annotated[
        int, typer.Option(metavar="N", help="Verdicts of each judge on each pair, each in random order.")
    ] = 1,
    until_separated: Annotated[
        str | None,
        typer.Option(
            metavar="best|order",
            show_default="ask all",
            help="Stop when intervals separate: best (one agent above all others) or order (every two agents).",
        ),
    ] = None,
    keep_excluded: Annotated[
        bool, typer.Option("--keep-excluded", help="Also ask judges that failed half of the known answers.")
    ] = False,
    # Both of a file of completions, which is judged without a run; `import-replies` makes one of it.
    pack: Annotated[str, typer.Option(hidden=True)] = "heart-mini",
    out: Annotated[Path | None, typer.Option(hidden=True)] = None,
    seed: Annotated[int, typer.Option(help="Seed of pairs and orders.")] = 1,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            show_default="all questions",
            help="Ask only the I-th of N parts of the questions, as in 2/4; afterwards judge RUN as a whole.",
        ),
    ] = None,
    ray: asked_for.Ray = None,
    ray_worker: asked_for.RayWorker = None,
    as_json: AsJson = False,
) -> int:
    """Compare replies in pairs, without showing the judge which agent gave which."""
    from harness.judging.design import Design
    from harness.ranking.stopping import GOALS
    from harness.shards.split import parse_shard
    from harness.verdicts.judge import RunJudging

    names = _judges(judge, model)
    if reads not in _READS:
        raise UserError(f"--reads {reads}: unknown; choose {', '.join(_READS)}")
    for option, value in (("--pairs", pairs), ("--replicates", replicates)):
        if value is not None and value < 1:
            raise UserError(f"{option} {value}: must be at least 1")
    goal: Goal | None = next((goal for goal in GOALS if goal == until_separated), None)
    if until_separated is not None and goal is None:
        raise UserError(f"--until-separated {until_separated}: unknown; choose {' or '.join(GOALS)}")
    where = asked_for.on_cluster(ray, ray_worker)
    whole = target.is_file() or dry_run or goal is not None
    if shard is not None and whole:
        raise UserError(f"--shard {shard}: judges a part of a run; leave out a file, --dry-run, --until-separated")
    if where is not None and (whole or shard is not None):
        raise UserError(f"--ray {ray}: judges a run in parts; leave out a file, --shard, --dry-run, --until-separated")
    part = parse_shard(shard) if shard is not None else None
    asked = RunJudging(
        names, seed, _READS[reads], Design(cells=pairs, replicates=replicates), goal,
        keep_excluded, part,
    )  # fmt: skip
    if target.is_file():
        return _say(_judge_file(target, pack, asked, out, dry_run), as_json)
    if part is not None:
        return _say(_judge_shard(target, asked), as_json)
    if where is not None:
        _ask_on_cluster(target, asked, reads, where)
    return _say(_judge_run(target, asked, dry_run), as_json)


@app.command("check")
def check(
    run: Annotated[Path | None, typer.Argument(help="Folder of a run that stores the check.")] = None,
    judge: Judges = None,
    model: Model = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            show_default="no ratings by people",
            help="Replies rated by people (.csv, .jsonl or a published folder); the result is saved.",
        ),
    ] = None,
    scale: Annotated[str, typer.Option(help="With --against: lowest and highest score of the file.")] = "1-5",
    seed: Annotated[int, typer.Option(hidden=True)] = 1,
    as_json: AsJson = False,
) -> int:
    """Ask judges about pairs with known answers, or about replies that people rated; several judges give a table."""
    from harness.store.run_store import RunStore
    from harness.verdicts.judge import check_judges

    names = _judges(judge, model)
    if against is not None and run is not None:
        raise UserError("--against: compares judges with people's ratings; leave out the run")
    labels = read_ratings(against, scale) if against is not None else None
    if len(names) > 1 and run is None:
        return compared(names, labels, seed, as_json)
    if labels is not None:
        return against_people(labels, names, seed, as_json)
    store = RunStore.open(run) if run is not None else None
    with RunProgress() as progress, nullcontext() if store is None else store.lock():
        checks = asyncio.run(check_judges(store, names, seed, progress))
    return _say(_Result(checks=checks, none_left=all(check.silent for check in checks)), as_json)


def _judges(judge: list[str] | None, model: str | None) -> tuple[str, ...]:
    """The names of the judges to ask, each of which exists."""
    from harness.judging.settings import LOCAL, known_judges
    from harness.verdicts.judge import load_judges

    names = tuple(judge or ())
    if model is not None and LOCAL not in names:
        raise UserError(f"--model {model}: is for --judge local; add it")
    if not names:
        raise UserError(f"name a judge with --judge: {known_judges()}")
    if model is not None:
        names = tuple(f"{LOCAL}:{model}" if name == LOCAL else name for name in names)
    if not load_judges(names, sound=None):
        raise UserError("--judge none: leaves nothing to do")
    return names


def _judge_shard(run: Path, asked: "RunJudging") -> _Result:
    from harness.store.run_store import RunStore
    from harness.verdicts.judge import judge_shard

    store = RunStore.open(run)
    refuse_recorded(store)
    with RunProgress() as progress:
        outcomes = asyncio.run(judge_shard(store, asked, progress))
        progress.note(f"when all shards are judged: {command('judge', 'run', run)}, with the same options and without --shard")
    return _Result(outcomes)


def _ask_on_cluster(run: Path, asked: "RunJudging", reads: str, where: "OnCluster") -> None:
    from harness.fleet.judging import ask_on_cluster
    from harness.store.run_store import RunStore

    RunStore.open(run).close()  # reports a folder without a run before the cluster starts
    line = [word for name in asked.judges for word in ("--judge", name)]
    line += ["--reads", reads, "--replicates", str(asked.design.replicates), "--seed", str(asked.seed)]
    line += ["--pairs", str(asked.design.cells)] if asked.design.cells is not None else []
    with RunProgress() as progress:
        ask_on_cluster(run, line, where, progress)


def _judge_run(run: Path, asked: "RunJudging", dry_run: bool) -> _Result:
    from harness.judging.record import read_records
    from harness.judging.settings import load_judge_settings
    from harness.measuring.transcribe import transcribe_all
    from harness.store.run_store import RunStore
    from harness.verdicts.judge import estimate_run, heard_wer_by_agent, judge_run, no_judge_left

    store = RunStore.open(run)
    refuse_recorded(store)  # before its calls are transcribed for nothing
    if dry_run:
        return _Result(estimates=estimate_run(store, asked))
    with RunProgress() as progress, store.lock():
        transcribe_all(store, progress)  # a check leaves out the words that no limit needs
        outcomes = asyncio.run(judge_run(store, asked, progress))
    none_left = not outcomes and no_judge_left(store, asked.judges)
    judged = {row.judge for outcome in outcomes for row in outcome.judgments}
    stops = [r.stop for r in read_records(run) if r.judge in judged and r.presentation == asked.presentation]
    return _Result(
        outcomes,
        store.judge_checks(),
        stop=stops[0] if stops else None,
        heard_wer=heard_wer_by_agent(store),
        failed=[f for f in store.step_failures() if f.step == "judging"],
        none_left=none_left,
        asked=[load_judge_settings(name).judge_id for name in asked.judges],
    )


def _judge_file(path: Path, pack: str, asked: "RunJudging", out: Path | None, dry_run: bool) -> _Result:
    from harness.scenarios.pack import load_pack
    from harness.store.judgment_files import write
    from harness.verdicts.judge import CANARIES, weights_for
    from harness.verdicts.text_board import dry_run as estimate_file
    from harness.verdicts.text_board import judge_completions

    contexts = load_pack(pack).contexts
    target = out or path.with_name(f"{path.stem}.judgments.jsonl")
    cached = target.with_name(f"{target.name}.verdicts.sqlite")
    if dry_run:
        return _Result(estimates=estimate_file(path, contexts, asked, cache_path=cached, canaries=CANARIES))
    with RunProgress() as progress:
        weights = {k: v for name in asked.judges for k, v in weights_for(name, progress).items()}
        progress.phase("Judging")
        board = judge_completions(
            path, contexts, asked, weights, progress.count,
            cache_path=cached, canaries=CANARIES,
        )  # fmt: skip
    write(board.judgments, target)
    none_left = not board.outcomes and any(check.silent for check in board.checks)
    return _Result(board.outcomes, board.checks, stop=board.stop, written_to=target, notes=board.notes, none_left=none_left)


def _say(result: _Result, as_json: bool) -> int:
    """The exit code, after the result is printed."""
    from harness.verdicts.text_board import as_object

    shown = as_object(
        result.outcomes, result.checks, result.estimates, stop=result.stop, heard_wer=result.heard_wer, asked=result.asked
    )
    shown["failed"] = [{"session": f.session, "kind": f.kind, "detail": f.detail} for f in result.failed]
    shown["notes"] = list(result.notes)
    if as_json:
        print(json.dumps(shown, indent=2))
    else:
        _print(result, shown)
    return 3 if shown["missing"] or shown["failed"] or result.none_left else 0


def _print(result: _Result, shown: dict[str, Any]) -> None:
    for plan in result.estimates:
        known = "its ratings are an opinion in any case" if plan.seconds_heard else _known_of(plan.judge)
        print(f"{_costs(plan, 'at most ' if plan.least else '')}; {known}")
        if plan.least is not None:
            print(_costs(plan.least, "at least "))
    if result.outcomes:
        print(", ".join(f"{name} {shown[name]}" for name in ("comparisons", "calls", "cached", "missing", "unasked")))
    for judge, why in shown["why_missing"].items():
        print(f"{judge}: {why}")
    for failure in result.failed:
        print(f"{failure.session}: could not be judged ({failure.detail})")
    for row in result.checks:
        print(_in_words(row))
    for note in result.notes:
        print(note)
    if result.stop is not None:
        print(result.stop.in_words())
    for agent, share in result.heard_wer.items():
        if share is not None:
            print(f"{agent}: {share:.1%} of words heard differ from those written")
    if result.written_to is not None:
        print(f"judgments: {result.written_to}")


def _costs(plan: "Estimate", bound: str) -> str:
    from harness.verdicts.estimate import cost_in_words

    check = f" ({plan.check_calls} of them in its check)" if plan.check_calls else ""
    heard = ""
    if plan.seconds_heard:
        of = "whose tokens are not known" if plan.tokens_heard is None else f"{plan.tokens_heard:,} of the tokens"
        heard = f" with {plan.seconds_heard / 60:.1f} minutes of sound ({of})"
    tokens = f"about {plan.tokens_in + plan.tokens_out:,} tokens, {cost_in_words(plan)}"
    return f"{plan.judge}: {bound}{plan.calls} calls{check}{heard}, {tokens}"


def _known_of(judge: str) -> str:
    """The known accuracy of a judge, before it is asked anything."""
    from harness.judging.embedded import NAME, WORTH

    return WORTH if judge.split("@")[0] == NAME else "its accuracy is not measured here: `harness judge check` measures it"


def _in_words(check: JudgeCheck) -> str:
    from harness.judging.embedded import NAME, WORTH
    from harness.judging.validation.sentences import (
        IN_WORDS,
        hearing_sentence,
        judge_sentence,
        people_sentence,
        red_lines_details,
        standing,
    )
    from harness.judging.validation.sentences import red_lines_sentence as grave
    from harness.judging.validation.trust import trust_in
    from harness.wording import share, share_band

    unanswered = [f"{check.judge}: {check.why_missing}."] if check.why_missing and not check.silent else []
    if check.hears and not check.silent:
        by = check.deliveries.by_delivery if check.deliveries is not None else {}
        details = [f"{spoilt}: right on {share(right)}" for spoilt, right in by.items()]
        return "\n".join(
            [f"{hearing_sentence(check.judge, check.deliveries)}. {IN_WORDS[trust_in(check)]}", *details, *unanswered]
        )
    words = judge_sentence(
        check.judge, check.accuracy, check.accuracy_interval, check.flip_rate, check.pairs, check.why_missing
    )
    if check.held_out_accuracy is not None:
        band = f" (95 % interval {share_band(check.held_out_interval)})" if check.held_out_interval else ""
        words += (
            f"; right on {share(check.held_out_accuracy)}{band} of our own pairs held out from its fit (a development figure)"
        )
    first = grave(check.judge, check.red_lines)
    return "\n".join(
        [
            *([f"{check.judge} {WORTH}."] if check.judge.split("@")[0] == NAME else []),
            *([f"{first}."] if first else []),
            f"{words}. {IN_WORDS[trust_in(check)]}".rstrip(),
            *unanswered,
            *([] if check.silent else [f"{check.judge}: {standing(check)}."]),
            *(f"{people_sentence(people)}." for people in check.people_checks),
            *(red_lines_details(check.red_lines) if check.red_lines is not None else ()),
        ]
    )
