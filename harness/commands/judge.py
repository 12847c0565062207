"""`harness judge`: verdicts of judges on a finished run or a file of completions. Earlier verdicts are preserved."""

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import play_options as asked_for
from harness.commands.recorded import refuse_recorded
from harness.commands.screen import AsJson
from harness.errors import UserError
from harness.progress import RunProgress
from harness.store.judgment import JudgeCheck, Presentation
from harness.wording import command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.fleet.run import OnCluster
    from harness.judging.batch import JudgingOutcome
    from harness.judging.record import Stop
    from harness.ranking.stopping import Goal
    from harness.store.step_failure import StepFailure
    from harness.verdicts.estimate import Estimate
    from harness.verdicts.judge import RunJudging


@dataclass(frozen=True)
class _Found:
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


def judge(
    run: Annotated[Path | None, typer.Argument(help="Folder of a run.")] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JUDGE", show_default="embedded", help="Judge: a shipped name, local, or a .toml file; may be repeated."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            show_default="none",
            help="With --judge local: a language model's name (harness models) or a .gguf file.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only test the judges on pairs with known answers; needs no run.")
    ] = False,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            show_default="no ratings by people",
            help="With --check: replies rated by people (.csv, .jsonl or a published folder); the result is saved.",
        ),
    ] = None,
    scale: Annotated[str, typer.Option(help="With --against: lowest and highest score of the file.")] = "1-5",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the number of questions and their cost.")] = False,
    reads: Annotated[
        str, typer.Option(metavar="heard|written", help="What judges read: heard (the audio's transcript) or written.")
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
    completions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default="the run", help="Judge the texts of this JSON Lines file instead of a run."),
    ] = None,
    pack: Annotated[str, typer.Option(help="With --completions: the pack that they answer.")] = "heart-mini",
    out: Annotated[
        Path | None,
        typer.Option(help="With --completions: output file (.jsonl or .csv); default: beside the input."),
    ] = None,
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
    ray_shards: asked_for.RayShards = None,
    ray_cpus: asked_for.RayCpus = None,
    ray_gpus: asked_for.RayGpus = None,
    ray_memory_gib: asked_for.RayMemory = None,
    as_json: AsJson = False,
) -> int:
    """Compare replies in pairs, without showing the judge which agent gave which."""
    from harness.judging.design import Design
    from harness.verdicts.judge import RunJudging, load_judges
    from harness.verdicts.text_board import as_object

    names = _with_model(tuple(judge) if judge else ("embedded",), model)
    if not load_judges(names):
        raise UserError("--judge none: leaves nothing to do")
    if reads not in ("heard", "written"):
        raise UserError(f"--reads {reads}: unknown; choose heard or written")
    for option, value in (("--pairs", pairs), ("--replicates", replicates)):
        if value is not None and value < 1:
            raise UserError(f"{option} {value}: must be at least 1")
    if run is not None and completions is not None:
        raise UserError(f"{run} and --completions {completions}: name only one of them")
    something_else = check or dry_run or until_separated is not None
    part = _shard(shard, run, something_else)
    where = asked_for.cluster(ray, ray_shards, ray_cpus, ray_gpus, ray_memory_gib)
    if where is not None and (run is None or something_else or part is not None):
        raise UserError(
            f"--ray {ray}: judges a run in parts; leave out --shard, --completions, --check, --dry-run, --until-separated"
        )
    design = Design(cells=pairs, replicates=replicates)
    presentation: Presentation = "heard_text" if reads == "heard" else "written"
    asked = RunJudging(names, seed, presentation, design, _goal(until_separated), keep_excluded, part)
    if against is not None and (not check or run is not None or dry_run):
        raise UserError(
            "--against: compares judges with people's ratings; use it with --check, without a run and without --dry-run"
        )
    if against is not None:
        return _against_people(against, _scale(scale), asked, as_json)
    if check and not dry_run:
        found = _check(run, asked)
    elif completions is not None:
        found = _judge_file(completions, pack, asked, out, dry_run)
    elif run is not None and part is not None:
        found = _judge_shard(run, asked)
    elif run is not None:
        if where is not None:
            _ask_on_cluster(run, asked, reads, where)
        found = _judge_run(run, asked, dry_run)
    else:
        raise UserError("name a run's folder, or a file with --completions")
    told = as_object(found.outcomes, found.checks, found.estimates, stop=found.stop, heard_wer=found.heard_wer)
    told["failed"] = [{"session": f.session, "kind": f.kind, "detail": f.detail} for f in found.failed]
    told["notes"] = list(found.notes)
    if as_json:
        print(json.dumps(told, indent=2))
    else:
        _say(found, told)
    return 3 if told["missing"] or told["failed"] else 0


def _shard(text: str | None, run: Path | None, something_else: bool) -> tuple[int, int] | None:
    from harness.shards.split import parse_shard

    if text is not None and (run is None or something_else):
        raise UserError(
            f"--shard {text}: judges a part of a run; leave out --completions, --check, --dry-run, --until-separated"
        )
    return parse_shard(text) if text is not None else None


def _judge_shard(run: Path, asked: "RunJudging") -> _Found:
    from harness.store.run_store import RunStore
    from harness.verdicts.judge import judge_shard

    store = RunStore.open(run)
    refuse_recorded(store)
    with RunProgress() as progress:
        outcomes = asyncio.run(judge_shard(store, asked, progress))
        progress.note(f"when all shards are judged: {command('judge', run)}, with the same options and without --shard")
    return _Found(outcomes)


def _ask_on_cluster(run: Path, asked: "RunJudging", reads: str, where: "OnCluster") -> None:
    from harness.fleet.judging import ask_on_cluster
    from harness.store.run_store import RunStore

    RunStore.open(run).close()  # reports a folder without a run before the cluster starts
    line = [word for name in asked.judges for word in ("--judge", name)]
    line += ["--reads", reads, "--replicates", str(asked.design.replicates), "--seed", str(asked.seed)]
    line += ["--pairs", str(asked.design.cells)] if asked.design.cells is not None else []
    with RunProgress() as progress:
        ask_on_cluster(run, line, where, progress)


def _with_model(names: tuple[str, ...], model: str | None) -> tuple[str, ...]:
    if model is None:
        return names
    if "local" not in names:
        raise UserError(f"--model {model}: is for --judge local; add it")
    return tuple(f"local:{model}" if name == "local" else name for name in names)


def _scale(text: str) -> tuple[float, float]:
    low, dash, high = text.partition("-")
    try:
        found = float(low), float(high)
    except ValueError:
        found = (0.0, 0.0)
    if not dash or found[0] >= found[1]:
        raise UserError(f"--scale {text}: must be the lowest and the highest score, as in 1-5")
    return found


def _against_people(path: Path, scale: tuple[float, float], asked: "RunJudging", as_json: bool) -> int:
    from harness.judging.validation.against_people import kept
    from harness.judging.validation.label_files import read_labels
    from harness.judging.validation.sentences import people_details, people_sentence
    from harness.verdicts.judge import check_against_people, validations_folder

    labels = read_labels(path, scale)
    with RunProgress() as progress:
        checks = asyncio.run(check_against_people(asked.judges, labels, asked.seed, progress))
    if as_json:
        print(json.dumps({"schema": 1, "checks": [check.model_dump() for check in checks]}, indent=2))
        return 3 if any(check.missing for check in checks) else 0
    for check in checks:
        print(f"{people_sentence(check)}.")
        for line in people_details(check):
            print(line)
        if check.missing:
            print(f"{check.missing} pairs were not answered")
        earlier = [before for before in kept(check.fingerprint, validations_folder()) if before != check]
        for before in earlier:
            print(f"known of this judge, and counts too: {people_sentence(before)}.")
    return 3 if any(check.missing for check in checks) else 0


def _goal(name: str | None) -> "Goal | None":
    from harness.ranking.stopping import GOALS

    found: Goal | None = next((goal for goal in GOALS if goal == name), None)
    if name is not None and found is None:
        raise UserError(f"--until-separated {name}: unknown; choose {' or '.join(GOALS)}")
    return found


def _check(run: Path | None, asked: "RunJudging") -> _Found:
    from harness.store.run_store import RunStore
    from harness.verdicts.judge import check_judges

    store = RunStore.open(run) if run is not None else None
    with RunProgress() as progress:
        if store is None:
            return _Found(checks=asyncio.run(check_judges(None, asked.judges, asked.seed, progress)))
        with store.lock():
            return _Found(checks=asyncio.run(check_judges(store, asked.judges, asked.seed, progress)))


def _judge_run(run: Path, asked: "RunJudging", dry_run: bool) -> _Found:
    from harness.judging.record import read_records
    from harness.measuring.transcribe import transcribe_all
    from harness.store.run_store import RunStore
    from harness.verdicts.judge import estimate_run, heard_wer_by_agent, judge_run

    store = RunStore.open(run)
    refuse_recorded(store)  # before its calls are transcribed for nothing
    if dry_run:
        return _Found(estimates=estimate_run(store, asked))
    with RunProgress() as progress, store.lock():
        transcribe_all(store, progress)  # a check leaves out the words that no limit needs
        outcomes = asyncio.run(judge_run(store, asked, progress))
    judged = {row.judge for outcome in outcomes for row in outcome.judgments}
    stops = [r.stop for r in read_records(run) if r.judge in judged and r.presentation == asked.presentation]
    return _Found(
        outcomes,
        store.judge_checks(),
        stop=stops[0] if stops else None,
        heard_wer=heard_wer_by_agent(store),
        failed=[f for f in store.step_failures() if f.step == "judging"],
    )


def _judge_file(path: Path, pack: str, asked: "RunJudging", out: Path | None, dry_run: bool) -> _Found:
    from harness.scenarios.pack import load_pack
    from harness.store.judgment_files import write
    from harness.verdicts.judge import CANARIES, weights_for
    from harness.verdicts.text_board import TextJudging, judge_completions
    from harness.verdicts.text_board import dry_run as estimate_file

    contexts = load_pack(pack).contexts
    how = TextJudging(asked.judges, asked.seed, asked.design, asked.until, asked.keep_excluded)
    target = out or path.with_name(f"{path.stem}.judgments.jsonl")
    cached = target.with_name(f"{target.name}.verdicts.sqlite")
    if dry_run:
        return _Found(estimates=estimate_file(path, contexts, how, cache_path=cached, canaries=CANARIES))
    with RunProgress() as progress:
        weights = {k: v for name in asked.judges for k, v in weights_for(name, progress).items()}
        progress.phase("Judging")
        board = judge_completions(
            path, contexts, how, weights, progress.count,
            cache_path=cached, canaries=CANARIES,
        )  # fmt: skip
    write(board.judgments, target)
    return _Found(board.outcomes, board.checks, stop=board.stop, written_to=target, notes=board.notes)


def _say(found: _Found, told: dict[str, object]) -> None:
    for plan in found.estimates:
        print(f"{_costs(plan, 'at most ' if plan.least else '')}; {_known_of(plan.judge)}")
        if plan.least is not None:
            print(_costs(plan.least, "at least "))
    if found.outcomes:
        print(", ".join(f"{name} {told[name]}" for name in ("comparisons", "calls", "cached", "missing", "unasked")))
    for failure in found.failed:
        print(f"{failure.session}: could not be judged ({failure.detail})")
    for row in found.checks:
        print(_in_words(row))
    for note in found.notes:
        print(note)
    if found.stop is not None:
        print(found.stop.in_words())
    for agent, share in found.heard_wer.items():
        if share is not None:
            print(f"{agent}: {share:.1%} of words heard differ from those written")
    if found.written_to is not None:
        print(f"judgments: {found.written_to}")


def _costs(plan: "Estimate", bound: str) -> str:
    cost = "no price on file" if plan.cost_usd is None else f"US$ {plan.cost_usd:.2f}"
    check = f" ({plan.check_calls} of them in its check)" if plan.check_calls else ""
    return f"{plan.judge}: {bound}{plan.calls} calls{check}, about {plan.tokens_in + plan.tokens_out:,} tokens, {cost}"


def _known_of(judge: str) -> str:
    """The known accuracy of a judge, before it is asked anything."""
    from harness.judging.embedded import held_out_record
    from harness.judging.settings import load_judge_settings

    record = held_out_record()
    if record and judge.split("@")[0] == load_judge_settings("embedded").id:
        return f"right on {record['accuracy']:.0%} of our own pairs held out from its fit (a development figure)"
    return "its accuracy is not measured here: `harness judge --check` measures it"


def _in_words(check: JudgeCheck) -> str:
    from harness.judging.validation.sentences import IN_WORDS, judge_sentence, people_sentence, red_lines_details, standing
    from harness.judging.validation.sentences import red_lines_sentence as grave
    from harness.judging.validation.trust import trust_in
    from harness.wording import share, share_band

    words = judge_sentence(check.judge, check.accuracy, check.accuracy_interval, check.flip_rate, check.pairs)
    if check.held_out_accuracy is not None:
        band = f" ({share_band(check.held_out_interval)})" if check.held_out_interval else ""
        words += (
            f"; right on {share(check.held_out_accuracy)}{band} of our own pairs held out from its fit (a development figure)"
        )
    lines = [f"{people_sentence(people)}." for people in check.people_checks]
    if check.red_lines is not None:
        lines += red_lines_details(check.red_lines)
    first = grave(check.judge, check.red_lines)
    known = [f"{first}."] * bool(first) + [
        f"{words}. {IN_WORDS[trust_in(check)]}".rstrip(),
        f"{check.judge}: {standing(check)}.",
    ]
    return "\n".join([*known, *lines])
