"""`harness judge`: judge a finished run (or a file of completions); verdicts of earlier judges stay."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from harness.errors import UserError
from harness.judgment import JudgeCheck, Presentation
from harness.progress import RunProgress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.judging.batch import JudgingOutcome
    from harness.judging.estimate import Estimate

    Judged = tuple[Sequence[JudgingOutcome], Sequence[JudgeCheck], Sequence[Estimate]]


def judge(
    run: Annotated[Path | None, typer.Argument(help="Folder of a run.")] = None,
    judge: Annotated[
        list[str] | None, typer.Option(help="Judge: a shipped name or a .toml file; may be repeated.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only put the judges through pairs with known answers.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be asked, and what it costs.")
    ] = False,
    reads: Annotated[str, typer.Option(help="What judges read: heard (the audio's transcript) or written.")] = "heard",
    completions: Annotated[
        Path | None, typer.Option(help="Judge the texts of this JSON Lines file, with no run.")
    ] = None,
    pack: Annotated[str, typer.Option(help="With --completions: the pack they answer.")] = "heart-mini",
    out: Annotated[
        Path | None, typer.Option(help="With --completions: write the judgments here (.jsonl or .csv).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of pairs and orders.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> int:
    """Judge replies pairwise, blind."""
    from harness.judge_run import load_judges
    from harness.judging.text_board import as_object

    names = tuple(judge) if judge else ("embedded",)
    if not load_judges(names):
        raise UserError("--judge none: leaves nothing to do")
    if (run is None) == (completions is None):
        raise UserError("name a run's folder, or a file with --completions")
    if reads not in ("heard", "written"):
        raise UserError(f"--reads {reads}: unknown; choose heard or written")
    if completions is not None:
        outcomes, checks, estimates = _judge_file(completions, pack, names, seed, dry_run, out)
    else:
        presentation: Presentation = "heard_text" if reads == "heard" else "written"
        outcomes, checks, estimates = _judge_run(cast(Path, run), names, seed, presentation, check, dry_run)
    found = as_object(outcomes, checks, estimates)
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        for plan in estimates:
            cost = "no price on file" if plan.cost_usd is None else f"US$ {plan.cost_usd:.2f}"
            print(f"{plan.judge}: {plan.calls} calls, about {plan.tokens_in + plan.tokens_out:,} tokens, {cost}")
        if outcomes:
            print(", ".join(f"{name} {found[name]}" for name in ("comparisons", "calls", "cached", "missing")))
        for row in checks:
            print(_in_words(row))
    return 3 if found["missing"] else 0


def _judge_run(
    run: Path, names: tuple[str, ...], seed: int, presentation: Presentation, check: bool, dry_run: bool
) -> "Judged":
    from harness.judge_run import RunJudging, check_judges, estimate_run, judge_run
    from harness.store import RunStore

    store = RunStore.open(run)
    how = RunJudging(judges=names, seed=seed, presentation=presentation)
    if dry_run:
        return [], [], estimate_run(store, how)
    with RunProgress() as progress, store.lock():
        outcomes = [] if check else asyncio.run(judge_run(store, how, progress))
        if check:
            asyncio.run(check_judges(store, how, progress))
    return outcomes, store.judge_checks(), []


def _judge_file(path: Path, pack: str, names: tuple[str, ...], seed: int, dry_run: bool, out: Path | None) -> "Judged":
    from harness.judge_run import CANARIES, weights_for
    from harness.judging.text_board import dry_run as estimate_file
    from harness.judging.text_board import judge_completions
    from harness.ranking.files import write
    from scenarios.pack import PackError, load_pack

    try:
        contexts = load_pack(pack).contexts
    except PackError as error:
        raise UserError(str(error)) from error
    if dry_run:
        return [], [], list(estimate_file(path, contexts, names, seed=seed))
    with RunProgress() as progress:
        weights = {k: v for name in names for k, v in weights_for(name, progress).items()}
        progress.phase("Judging")
        board = judge_completions(
            path, contexts, names, weights, seed=seed, canaries=CANARIES,
            progress=lambda done, total, _: progress.count(done, total),
        )  # fmt: skip
    if out is not None:
        write(board.judgments, out)
    return board.outcomes, board.checks, []


def _in_words(check: JudgeCheck) -> str:
    interval = check.accuracy_interval
    between = f" (95 % interval {interval[0]:.0%}–{interval[1]:.0%})" if interval else ""
    trusted = "trusted" if check.trusted else "not trusted"
    return (
        f"{check.judge}: {trusted}; right on {check.accuracy:.0%} of {check.pairs} pairs with known answers{between}, "
        f"changes its mind with the order on {check.flip_rate:.0%}"
    )
