"""`harness listen`: a blinded listening test of a run's replies, served to people in their browsers."""

from pathlib import Path
from typing import Annotated

import typer

from harness.commands.address_options import AddressOptions, with_address
from harness.commands.recorded import refuse_recorded
from harness.commands.study_option import StudyFile
from harness.errors import UserError
from harness.progress import RunProgress


@with_address
def listen(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    at: AddressOptions,
    design: Annotated[
        str, typer.Option(metavar="ab|acr", help="ab: choose the better of two replies. acr: rate each reply on five points.")
    ] = "ab",
    medium: Annotated[
        str | None,
        typer.Option(
            metavar="sound|text", show_default="sound if there is any", help="Presentation of the replies: sound or text."
        ),
    ] = None,
    delays: Annotated[
        str,
        typer.Option(metavar="without|with|both", help="Play replies without their real delay, with it, or both."),
    ] = "without",
    condition: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            show_default="the run's only one",
            help="For a run with several line conditions: the one whose replies are compared.",
        ),
    ] = "",
    items: Annotated[int, typer.Option(help="Items per rater, not counting practice and checks.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of every random order.")] = 1,
    raters: Annotated[int, typer.Option(help="With --public: number of links for raters.", min=0, max=10_000)] = 10,
    contributors: Annotated[
        int, typer.Option(help="With --public: number of links for people who record replies.", min=0, max=10_000)
    ] = 0,
    study: StudyFile = None,
) -> None:
    """Serve a listening test until Ctrl-C. Answers are saved; replies that people recorded become references."""
    from pydantic import ValidationError

    from harness.commands.people import take_in_contributions
    from harness.reports.listening.design import ListeningDesign
    from harness.reports.listening.serve import serve
    from harness.store.run_store import RunStore
    from harness.study.read import read_study

    store = RunStore.open(run)
    refuse_recorded(store)
    if medium is None:
        # Agents that write, and replies from a file, have no caller who could be heard before them.
        written = store.manifest.replies is not None or all(agent.kind == "text" for agent in store.manifest.played)
        medium = "text" if written else "sound"
    try:
        asked = ListeningDesign.model_validate(
            {"kind": design, "medium": medium, "delays": delays, "items": items, "seed": seed, "condition": condition}
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        option = {"kind": "design"}.get(str(first["loc"][0]), str(first["loc"][0]))
        raise UserError(f"--{option} {first['input']}: {first['msg']}") from error
    address, lifetime_s = at.checked()
    described = read_study(study)
    with RunProgress() as progress:
        progress.phase("Making the sounds")
        serve(
            store,
            asked,
            address,
            study=described,
            raters=raters,
            contributors=contributors,
            lifetime_s=lifetime_s,
            progress=progress.count,
            announce=progress.note,
        )
        take_in_contributions(store, progress)
