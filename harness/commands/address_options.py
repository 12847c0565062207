"""Options of every command that serves pages to invited people: the address, access by links, and encryption."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

if TYPE_CHECKING:
    from harness.reports.invited.address import Address

Returned = TypeVar("Returned")


@dataclass(frozen=True, slots=True)
class AddressOptions:
    """The options as they were given."""

    host: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            show_default="this machine alone",
            help="Address to listen on; default: this machine only, with --public every address.",
        ),
    ] = None
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65_535)] = 8_177
    public: Annotated[bool, typer.Option("--public", help="Let other machines connect; everybody needs a link.")] = False
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            show_default="none",
            help="With --public: the address that people open, for example https://listening.example.org.",
        ),
    ] = None
    tls_cert: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default="no https", help="Certificate for https (PEM, with its chain)."),
    ] = None
    tls_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default="no https", help="Key of the certificate (PEM, without a passphrase)."),
    ] = None
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            show_default="none",
            help="IP address of a reverse proxy whose forwarded headers are trusted; may be repeated.",
        ),
    ] = None
    expires: Annotated[
        str, typer.Option(metavar="12h|7d|2w|never", help="Lifetime of the links of --public: 12h, 7d, 2w, or never.")
    ] = "30d"

    def checked(self) -> "tuple[Address, float | None]":
        """The address, and the lifetime of its links in seconds (None: they never end).

        Raises:
            UserError: the options contradict each other or are impossible.
        """
        from harness.reports.invited.address import address_of, lifetime_s

        address = address_of(
            host=self.host, port=self.port, public=self.public, url=self.url,
            certificate=self.tls_cert, key=self.tls_key, proxies=tuple(self.proxy or ()),
        )  # fmt: skip
        return address, lifetime_s(self.expires)


def with_address(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """The command with the options of an address, after its own, in the place of its parameter `at`."""
    names = [field.name for field in fields(AddressOptions)]

    @wraps(command)
    def filled(**values: Any) -> Returned:
        return command(at=AddressOptions(**{name: values.pop(name) for name in names}), **values)

    hints = get_type_hints(AddressOptions, include_extras=True)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    options = [inspect.Parameter(f.name, kind, default=f.default, annotation=hints[f.name]) for f in fields(AddressOptions)]
    own = [parameter for parameter in inspect.signature(command).parameters.values() if parameter.name != "at"]
    parameters = [*own, *options]
    vars(filled)["__signature__"] = inspect.Signature(parameters)
    filled.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return filled
