"""`harness rank`: ratings, agreement and the joint figure of a run or of a file of judgments."""

import json
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console

from harness.commands.screen import AsJson
from harness.errors import UserError
from harness.nearest import or_one_of
from harness.store.judgment import Presentation

_PRESENTATIONS = ("written", "heard_text", "audio", "audio_with_delay")
_METHODS = ("ordinal", "strength", "plain", "rao-kupper")


def rank(
    target: Annotated[Path, typer.Argument(help="Folder of a run, or a .jsonl or .csv file of judgments.")],
    presentation: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default="the run's only one", help=f"One of: {', '.join(_PRESENTATIONS)}."),
    ] = None,
    condition: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default="the run's only one", help="Line condition, if the run has several."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(show_default="people's axis where people voted, else ordinal", help=f"One of: {', '.join(_METHODS)}."),
    ] = None,
    draws: Annotated[int, typer.Option(help="Number of bootstrap draws.")] = 1000,
    seed: Annotated[int | None, typer.Option(help="Seed of the bootstrap; default: the run's seed, 0 for a file.")] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default="none", help="CSV of scores from elsewhere: system, family, and numeric columns."
        ),
    ] = None,
    people: Annotated[
        bool | None,
        typer.Option(
            "--people/--judges",
            show_default="people's votes where they give a board",
            help="Rate by people's votes, which the verdicts of judges help to predict, or by the judges alone.",
        ),
    ] = None,
    keep_excluded: Annotated[
        bool,
        typer.Option("--keep-excluded", help="Also count judges and listening-test raters that failed their checks."),
    ] = False,
    export: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", show_default="not written", help="Write the board to this .csv or .md file; may be repeated."
        ),
    ] = None,
    as_csv: Annotated[Path | None, typer.Option("--csv", hidden=True, help="Write the board to a CSV file.")] = None,
    as_markdown: Annotated[
        Path | None, typer.Option("--markdown", hidden=True, help="Write the board to a Markdown file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Rate systems from pairwise judgments."""
    if presentation is not None and presentation not in _PRESENTATIONS:
        raise UserError(f"--presentation {presentation}: unknown{or_one_of(presentation, _PRESENTATIONS)}")
    if method is not None and method not in _METHODS:
        raise UserError(f"--method {method}: unknown{or_one_of(method, _METHODS)}")
    if method is not None and people:
        raise UserError("--people: has a model of its own (plain Bradley–Terry, prediction-powered): leave --method out")
    if odd := [file for file in export or () if file.suffix not in (".csv", ".md")]:
        raise UserError(f"--export {odd[0]}: name a file that ends in .csv or .md")
    if draws < 1:
        raise UserError(f"--draws {draws}: must be at least 1")
    from harness.commands.check_files import write
    from harness.figures.rank import rank_target
    from harness.ranking.export import board_csv, extras, ranking_markdown
    from harness.ranking.model import Method, RatingModel
    from harness.ranking.question import RatingQuestion
    from harness.ranking.ranking_object import as_object
    from harness.ranking.scores import Scores, read_scores
    from harness.reports.listening.results import human_rows_of

    asked = RatingQuestion(
        model=None if method is None else RatingModel(cast(Method, method)),
        presentation=cast(Presentation | None, presentation),
        condition=condition,
        by_people=people,
        scores=read_scores(scores) if scores is not None else Scores(),
        draws=draws,
        seed=seed,
    )
    votes, left_out = human_rows_of(target, keep_excluded=keep_excluded)
    ranking = rank_target(target, asked, votes=votes, left_out=left_out, keep_excluded=keep_excluded)
    table = ranking_markdown(ranking)
    boards = {".csv": board_csv(ranking.board, ranking.joint, ranking.quality_state), ".md": table}
    for ending, file in (*((file.suffix, file) for file in export or ()), (".csv", as_csv), (".md", as_markdown)):
        if file is not None:
            write(file, boards[ending].encode())
    if as_json:
        print(json.dumps(as_object(ranking), indent=2))
    else:
        Console().print(table + extras(ranking), markup=False, highlight=False, soft_wrap=True)
