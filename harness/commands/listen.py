"""`harness listen`: a blinded listening test of a run's replies, served to people in their browsers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import door_options as given
from harness.commands.recorded import refuse_recorded
from harness.errors import UserError
from harness.progress import RunProgress
from harness.wording import command

if TYPE_CHECKING:
    from harness.store.run_store import RunStore


def listen(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    design: Annotated[
        str, typer.Option(metavar="ab|acr", help="ab: choose the better of two replies. acr: rate each reply on five points.")
    ] = "ab",
    medium: Annotated[str, typer.Option(metavar="sound|text", help="Presentation of the replies: sound or text.")] = "sound",
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
    host: given.Host = None,
    port: given.Port = 8_177,
    public: given.Public = False,
    url: given.Url = None,
    tls_cert: given.TlsCert = None,
    tls_key: given.TlsKey = None,
    proxy: given.Proxy = None,
    raters: Annotated[int, typer.Option(help="With --public: number of links for raters.", min=0, max=10_000)] = 10,
    contributors: Annotated[
        int, typer.Option(help="With --public: number of links for people who record replies.", min=0, max=10_000)
    ] = 0,
    expires: given.Expires = "30d",
    revoke: given.Revoke = None,
    links: given.Links = False,
    take_in: Annotated[
        bool, typer.Option("--take-in", help="Only add people's replies to the run as references; serve nothing.")
    ] = False,
) -> None:
    """Serve a listening test until Ctrl-C. Answers are saved; replies that people recorded become references."""
    from pydantic import ValidationError

    from harness.reports.listening.design import ListeningDesign
    from harness.reports.listening.door import door, lifetime_s
    from harness.reports.listening.invitations import NewLinks
    from harness.reports.listening.serve import links_shown, serve
    from harness.reports.listening.serve import revoke as end_links
    from harness.store.run_store import RunStore

    try:
        asked = ListeningDesign.model_validate(
            {"kind": design, "medium": medium, "delays": delays, "items": items, "seed": seed, "condition": condition}
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        option = {"kind": "design"}.get(str(first["loc"][0]), str(first["loc"][0]))
        raise UserError(f"--{option} {first['input']}: {first['msg']}") from error
    reached = door(host=host, port=port, public=public, url=url, certificate=tls_cert, key=tls_key, proxies=tuple(proxy or ()))
    works_s = lifetime_s(expires)
    with RunProgress() as progress:
        store = RunStore.open(run)
        if revoke is not None:
            progress.note(f"Links ended: {end_links(store.folder, revoke)}")
            return
        if links:
            for line in links_shown(store.folder):
                typer.echo(line)
            return
        if take_in:
            _take_in(store, progress)
            return
        refuse_recorded(store)
        progress.phase("Making the sounds")
        serve(
            store,
            asked,
            reached,
            people=NewLinks(raters, contributors, works_s),
            progress=progress.count,
            announce=progress.note,
        )
        _take_in(store, progress)


def _take_in(store: "RunStore", progress: RunProgress) -> None:
    """Add people's replies to the run as references for judges; spoken ones are transcribed by the run's transcriber."""
    from harness import models
    from harness.extras import require_local
    from harness.measuring.transcribe import TRANSCRIBER, Transcribe
    from harness.reports.listening.people import take_in, untranscribed

    transcribe: Transcribe | None = None
    if waiting := untranscribed(store):
        try:
            require_local("transcribing spoken replies", ("faster_whisper",))
            from harness.audio.transcribe import Transcriber

            progress.phase(f"Transcribing people's spoken replies ({waiting})")
            transcribe = Transcriber(models.resolve(TRANSCRIBER)).transcribe
        except UserError as error:
            progress.note(f"{waiting} spoken replies have no words yet: {error}")
    count = take_in(store, transcribe)
    if transcribe is not None and (mute := untranscribed(store)):
        progress.note(f"{mute} spoken replies have no words: the transcriber heard none.")
    if count:
        progress.note(
            f"{count} replies by people are references of this run; to judge them: {command('judge', 'run', store.folder)}"
        )
