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

    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            show_default="this machine alone, or with --public every address, port 8177",
            help="Where the pages are served: HOST, PORT or both, as in 0.0.0.0:8177.",
        ),
    ] = None
    public: Annotated[bool, typer.Option("--public", help="Let other machines connect; everybody needs a link.")] = False
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            show_default="none",
            help="With --public: the address that people open, for example https://listening.example.org.",
        ),
    ] = None
    tls: Annotated[
        str | None,
        typer.Option(
            metavar="CERT,KEY",
            show_default="no https",
            help="Certificate with its chain and its key, for https: two files in PEM, no passphrase.",
        ),
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
    host: Annotated[str | None, typer.Option(hidden=True, help="The host of --address.")] = None
    port: Annotated[int | None, typer.Option(hidden=True, help="The port of --address.", min=0, max=65_535)] = None
    tls_cert: Annotated[Path | None, typer.Option(hidden=True, help="The certificate of --tls.")] = None
    tls_key: Annotated[Path | None, typer.Option(hidden=True, help="The key of --tls.")] = None

    def checked(self) -> "tuple[Address, float | None]":
        """The address, and the lifetime of its links in seconds (None: they never end).

        Raises:
            UserError: the options contradict each other or are impossible.
        """
        from harness.reports.invited.address import PORT, address_of, host_and_port, lifetime_s, tls_files

        host, port = host_and_port(self.address or "")
        certificate, key = tls_files(self.tls) if self.tls is not None else (self.tls_cert, self.tls_key)
        address = address_of(
            host=host or self.host,
            port=next((number for number in (port, self.port) if number is not None), PORT),
            public=self.public, url=self.url, certificate=certificate, key=key, proxies=tuple(self.proxy or ()),
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
