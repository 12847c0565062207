"""`harness label`: support strategies and reasons labelled by a judge, and a comparison of these labels with people's."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.commands.screen import AsJson
from harness.errors import UserError
from harness.files import write_whole
from harness.progress import RunProgress
from harness.store.judgment import Presentation

if TYPE_CHECKING:
    from harness.labelling.label_sheets import TwoLabellers

app = typer.Typer(no_args_is_help=True, help="Label support strategies and reasons, and measure the labeller.")
Target = Annotated[Path, typer.Argument(help="Folder of a run, or a JSON Lines file of completions.")]
Pack = Annotated[str, typer.Option(help="For a file of completions: the pack that they answer.")]
Reads = Annotated[str, typer.Option(help="For a run: heard (the audio's transcript) or written replies.")]
Condition = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", show_default="the run's only one", help="For a run with several line conditions: the one to label."
    ),
]
SHEETS = ("labeller-1.csv", "labeller-2.csv")
SETTLED = "to-settle.csv"
NOT_MEASURED = "its quality against people is not measured here: harness label export, then harness label score"


@app.command("strategies")
def strategies(
    target: Target,
    judge: Annotated[str, typer.Option(help="Judge behind an endpoint: a shipped name or a .toml file.")],
    pack: Pack = "heart-mini",
    reads: Reads = "heard",
    condition: Condition = None,
    as_json: AsJson = False,
) -> int:
    """Label the fifteen strategies in every reply. A strategy counts as present only with a quote from the reply."""
    from harness.labelling.label_replies import label_replies, labelling_judge, material
    from harness.ranking.strategies import usage

    settings = labelling_judge(judge)
    found = material(target, pack, _presentation(reads), condition)
    with RunProgress() as progress:
        labels, missing = asyncio.run(label_replies(found, settings, progress))
    used = usage(labels)
    told: dict[str, Any] = {
        "schema": 1,
        "labeller": settings.judge_id,
        "replies": len(labels) // 15,
        "missing": missing,
        "macro_f1": None,
        "against_a_program": None,
        "systems": {
            u.name: {
                "replies": u.replies,
                "unique_per_reply": u.unique_per_reply.value,
                "entropy_bits": u.entropy_bits.value,
                "sd": u.sd.value,
                "range": u.range.value,
                "uncertain_share": u.uncertain_share,
            }
            for u in used
        },
    }
    if as_json:
        print(json.dumps(told, indent=2))
    else:
        print(f"{told['labeller']}: {told['replies']} replies labelled, {missing} without a usable answer; {NOT_MEASURED}")
        for u in used:
            print(
                f"{u.name}: {u.unique_per_reply.value:.1f} strategies a reply, {len(u.coverage)} of 15 used, "
                f"{u.uncertain_share:.0%} uncertain"
            )
    return 3 if missing else 0


@app.command("reasons")
def reasons(
    target: Annotated[Path, typer.Argument(help="Folder of a run, or a .jsonl or .csv file of judgments.")],
    judge: Annotated[str, typer.Option(help="Judge behind an endpoint: a shipped name or a .toml file.")],
    as_json: AsJson = False,
) -> int:
    """Label the reasons of verdicts by the codebook. A reason counts only with a quote from the verdict's text."""
    from harness.labelling.label_replies import code_reasons, labelling_judge
    from harness.store import judgment_files as files
    from harness.store.paths import LABELS
    from harness.store.run_store import RunStore

    settings = labelling_judge(judge)
    rows = RunStore.open(target).judgments() if target.is_dir() else files.read(target)
    folder = target / LABELS if target.is_dir() else target.with_suffix(".labels")
    with RunProgress() as progress:
        kappa, coded, missing = asyncio.run(code_reasons(rows, settings, folder, progress))
    if as_json:
        print(json.dumps({"schema": 1, "reasons": coded, "missing": missing, "kappa_with_rules": kappa}, indent=2))
    else:
        agreed = "not computable" if kappa is None else f"{kappa:.2f}"
        print(f"{coded} reasons coded, {missing} without a usable answer; agreement with the rules, kappa: {agreed}")
    return 3 if missing else 0


@app.command("export")
def export(
    target: Target,
    out: Annotated[Path, typer.Option(help="New or empty folder for the two sheets.")],
    size: Annotated[int, typer.Option(help="Number of replies in the sample, spread over systems and subsets.")] = 60,
    seed: Annotated[int, typer.Option(help="Seed of the sample and of the sheets' orders.")] = 1,
    pack: Pack = "heart-mini",
    reads: Reads = "heard",
    condition: Condition = None,
) -> None:
    """Write a blinded sample of replies as two sheets, one for each of two people."""
    from harness.labelling.label_replies import material, write_key
    from harness.labelling.label_sheets import labelling_sheet, sample_for_people, sheet_key
    from harness.labelling.strategy_guide import for_people

    if size < 1:
        raise UserError(f"--size {size}: must be at least 1")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"--out {out}: is not an empty folder; choose a new one")
    found = material(target, pack, _presentation(reads), condition)
    sample = sample_for_people(found.contexts, found.completions, size, seed)
    if not sample:
        raise UserError(f"{target}: holds no replies to label")
    out.mkdir(parents=True, exist_ok=True)
    write_key(found.folder, sheet_key(sample))
    for n, name in enumerate(SHEETS):
        write_whole(out / name, labelling_sheet(found.contexts, sample, seed + n))
    write_whole(out / "strategies.md", for_people())
    print(
        f"{len(sample)} replies in {out / SHEETS[0]} and {out / SHEETS[1]}: one person each marks strategies with 1 and "
        f"`done` with 1 ({out / 'strategies.md'} explains them); then: harness label score {target} {out}"
    )


@app.command("score")
def score(
    target: Target,
    sheets: Annotated[Path, typer.Argument(help="Folder of the filled-in sheets.")],
    pack: Pack = "heart-mini",
    reads: Reads = "heard",
    condition: Condition = None,
    as_json: AsJson = False,
) -> int:
    """Compare two people's sheets, then each judge's labels with the labels on which the two agreed."""
    from harness.labelling.label_replies import labels_by_judge, material, read_key
    from harness.labelling.label_sheets import compare, consensus, read_settled, read_sheet, settling_sheet
    from harness.ranking.strategies import check_labeller

    found = material(target, pack, _presentation(reads), condition)
    key = read_key(found.folder)
    first, second = (read_sheet(sheets / name, list(key)) for name in SHEETS)
    both = compare(first, second)
    settled_path = sheets / SETTLED
    if both.disagreed and not settled_path.exists():
        replies = {(c.context_id, c.system): c for c in found.completions}
        sample = {item: replies[where] for item, where in key.items() if where in replies}
        write_whole(settled_path, settling_sheet(found.contexts, sample, both.disagreed))
        _say_two(both, None, {}, settled_path, as_json)
        return 0
    marks = {**both.agreed, **(read_settled(settled_path, both.disagreed) if both.disagreed else {})}
    people = consensus(marks, key)
    checks = {name: check_labeller(labels, people) for name, labels in labels_by_judge(found.folder).items()}
    measured = {name: (check.macro_f1, check.replies) for name, check in checks.items()}
    _say_two(both, len(marks), measured, None, as_json)
    return 0


def _say_two(
    both: "TwoLabellers",
    settled: int | None,
    measured: dict[str, tuple[float | None, int]],
    to_settle: Path | None,
    as_json: bool,
) -> None:
    if as_json:
        told = {
            "schema": 1,
            "items": both.items,
            "kappa": both.kappa,
            "disagreed": len(both.disagreed),
            "to_settle": None if to_settle is None else str(to_settle),
            "consensus_cells": settled,
            "labellers": {n: {"macro_f1": f1, "replies": replies} for n, (f1, replies) in measured.items()},
        }
        print(json.dumps(told, indent=2))
        return
    kappa = "not computable" if both.kappa is None else f"{both.kappa:.2f}"
    print(f"{both.items} replies by two people: they disagree on {len(both.disagreed)} cells, kappa {kappa}")
    if to_settle is not None:
        print(f"agree on them in {to_settle} (column `present`, 1 or 0), then run this command again")
    elif not measured:
        print("no judge has labelled these replies yet: harness label strategies")
    for name, (f1, replies) in measured.items():
        value = "not computable (neither person marked a strategy)" if f1 is None else f"{f1:.2f}"
        print(f"{name}: macro-F1 {value} against the two people's consensus, on {replies} replies")


def _presentation(reads: str) -> Presentation:
    if reads not in ("heard", "written"):
        raise UserError(f"--reads {reads}: unknown; choose heard or written")
    return "heard_text" if reads == "heard" else "written"
