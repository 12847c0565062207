"""Options of every command that serves pages to people: the address, access by links, and encryption."""

from pathlib import Path
from typing import Annotated

import typer

Host = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        show_default="this machine alone",
        help="Address to listen on; default: this machine only, with --public every address.",
    ),
]
Port = Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65_535)]
Public = Annotated[bool, typer.Option("--public", help="Let other machines connect; everybody needs a link.")]
Url = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        show_default="none",
        help="With --public: the address that people open, for example https://listening.example.org.",
    ),
]
TlsCert = Annotated[
    Path | None,
    typer.Option(metavar="FILE", show_default="no https", help="Certificate for https (PEM, with its chain)."),
]
TlsKey = Annotated[
    Path | None,
    typer.Option(metavar="FILE", show_default="no https", help="Key of the certificate (PEM, without a passphrase)."),
]
Proxy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ADDRESS",
        show_default="none",
        help="IP address of a reverse proxy whose forwarded headers are trusted; may be repeated.",
    ),
]
Expires = Annotated[str, typer.Option(metavar="12h|7d|2w|never", help="Lifetime of these links: 12h, 7d, 2w, or never.")]
Revoke = Annotated[
    str | None,
    typer.Option(metavar="ID|all", show_default="none", help="Only end a link (the id printed with it) or all; serve nothing."),
]
Links = Annotated[bool, typer.Option("--links", help="Only list the links that exist; serve nothing.")]
