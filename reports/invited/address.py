"""The address of pages and its access rules, checked before a sound is made or a link is given out.

A link is useless if it has an address that its reader cannot reach, and a secret in it is useless if
it is sent unencrypted. So the bound address, the printed links, the accepted names of this server, the trusted proxies,
and the security of cookies follow from one description, and contradictions are refused.
"""

import ipaddress
import re
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from harness.errors import UserError

LOCALHOST = "127.0.0.1"
LOCAL_HOSTS = ("localhost", LOCALHOST, "::1")
PORT = 8_177
LAST_PORT = 65_535
_EVERY = ("0.0.0.0", "::")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_UNIT_S = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_NOT_ITS_KEY = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")
_SOMEWHERE_ELSE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses reserved for documentation: nothing is ever sent there."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where pages are served, and to whom. `url`: their origin as people see it; None: the machine's own address."""

    host: str = LOCALHOST
    port: int = PORT
    public: bool = False
    url: str | None = None
    certificate: Path | None = None
    key: Path | None = None
    proxies: tuple[str, ...] = ()
    own_address: str | None = None

    @property
    def secure(self) -> bool:
        """True if raters use TLS, so that a cookie is never sent without it."""
        return self.scheme == "https"

    @property
    def scheme(self) -> str:
        if self.url is not None:
            return urlsplit(self.url).scheme
        return "https" if self.certificate is not None else "http"

    @property
    def origin(self) -> str:
        """The part of a link before its path."""
        if self.url is not None:
            return self.url
        name = self.own_address or (self.host if self.host not in (*_EVERY, *LOCAL_HOSTS) else "localhost")
        return f"{self.scheme}://{_in_address(name)}" + _port_shown(self.scheme, self.port)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host names that requests may use, so that no other site's name can be pointed at this server."""
        if self.url is not None:
            return (_in_address(urlsplit(self.url).hostname or ""),)
        own = (self.own_address, self.host, socket.gethostname())
        names = [*LOCAL_HOSTS, *(name for name in own if name is not None and name not in _EVERY)]
        return tuple(dict.fromkeys(_in_address(name.lower()) for name in names))


def address_of(
    *,
    host: str | None = None,
    port: int = PORT,
    public: bool = False,
    url: str | None = None,
    certificate: Path | None = None,
    key: Path | None = None,
    proxies: Sequence[str] = (),
) -> Address:
    """The address that the options ask for.

    Raises:
        UserError: the options contradict each other, are impossible, or would give raters links that do not work.
    """
    named = tuple(_proxy(proxy) for proxy in proxies)
    origin = None if url is None else _origin(url)
    if not public and (origin is not None or named):
        raise UserError(f"{'--url' if origin else '--proxy'}: is for raters elsewhere; add --public, so that each needs a link")
    if named and origin is None:
        raise UserError("--proxy: links need the public address of the proxy; add --url https://…")
    _check_certificate(certificate, key)
    if origin is not None and not named and (certificate is not None) != origin.startswith("https:"):
        raise UserError(
            f"--url {url}: needs --tls CERT,KEY, or --proxy with the address of the proxy that speaks TLS for it"
            if certificate is None
            else f"--url {url}: is not encrypted, but --tls is given; write https://"
        )
    bound = host or (_EVERY[0] if public and not _all_here(named) else LOCALHOST)
    if bound not in LOCAL_HOSTS and not public:
        raise UserError(f"--address {bound}: is reachable by others; add --public, so that each needs a link of their own")
    made = Address(bound, port, public, origin, certificate, key, named)
    return replace(made, own_address=_own_address(bound)) if bound in _EVERY else made


def host_and_port(text: str) -> tuple[str | None, int | None]:
    """The host and the port of `HOST:PORT`, `HOST`, `PORT` or `[::1]:PORT`; None: not given.

    >>> host_and_port("0.0.0.0:80"), host_and_port("8200"), host_and_port("::1"), host_and_port("[::1]:80")
    (('0.0.0.0', 80), (None, 8200), ('::1', None), ('::1', 80))

    Raises:
        UserError: the port is no number up to 65,535.
    """
    bare = text if text.isdecimal() else ""
    found = re.fullmatch(r"\[(?P<inner>[^\]]*)\](?::(?P<port6>.*))?|(?P<host>[^:]*):(?P<port>[^:]*)", text)
    port = bare or (found and (found["port6"] or found["port"])) or ""
    host = "" if bare else (found["inner"] or found["host"] or "") if found else text
    if port and not (port.isdecimal() and int(port) <= LAST_PORT):
        raise UserError(f"--address {text}: {port} is no port; write HOST:PORT with a port from 0 to {LAST_PORT}")
    return host or None, int(port) if port else None


def tls_files(text: str) -> tuple[Path | None, Path | None]:
    """The certificate and the key of `CERT,KEY`; None: not given."""
    certificate, _, key = text.partition(",")
    return Path(certificate) if certificate else None, Path(key) if key else None


@contextmanager
def opened(asked: Address) -> Iterator[tuple[socket.socket, Address]]:
    """The socket to serve on, and the address with its actual port.

    Raises:
        UserError: the address does not belong to this machine, or the port is in use.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(asked.host, asked.port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and asked.host == "::":
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        bound.bind(address)
    except OSError as error:
        raise cannot_open(asked, error) from error
    with closing(bound):
        yield bound, replace(asked, port=bound.getsockname()[1])


def cannot_open(asked: Address, error: BaseException) -> UserError:
    """The error for a socket that cannot be opened."""
    why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
    return UserError(f"--address {_in_address(asked.host)}:{asked.port}: cannot be opened{why}; choose another port")


def warnings(address: Address) -> list[str]:
    """Sentences for the person who gives links out, if the links work only here or are not encrypted; public access alone."""
    found = []
    if address.url is None and address.origin.split("//")[1].startswith("localhost"):
        found.append("These links work on this machine alone; give --url with the address that others reach it at.")
    if not address.secure:
        found.append(
            "Not encrypted: who is on the way can read links and answers, and browsers lend no microphone. "
            "Give --tls CERT,KEY, or --url https://… with --proxy."
        )
    return found


def lifetime_s(text: str) -> float | None:
    """The lifetime of links in seconds, from `7d`, `12h`, `30m`, `2w`, or `never` (None).

    Raises:
        UserError: the text has another form.
    """
    if text == "never":
        return None
    found = re.fullmatch(r"([1-9]\d{0,5})([mhdw])", text)
    if found is None:
        raise UserError(f"--expires {text}: write a number and m, h, d or w, such as 7d, or never")
    return int(found[1]) * _UNIT_S[found[2]]


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UserError(f"--url {url}: is not an address; write it like https://listening.example.org") from error
    if parts.scheme not in _DEFAULT_PORTS or not host or not re.fullmatch(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+", host):
        raise UserError(f"--url {url}: write it with scheme and host, like https://listening.example.org")
    if "@" in parts.netloc or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise UserError(f"--url {url}: the test is at the root of its address; write scheme, host and port only")
    return f"{parts.scheme}://{_in_address(host)}" + _port_shown(parts.scheme, port or _DEFAULT_PORTS[parts.scheme])


def _proxy(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text) if "/" in text else ipaddress.ip_address(text))
    except ValueError as error:
        raise UserError(
            f"--proxy {text}: write the proxy's own IP address, such as 127.0.0.1, or a network 10.0.0.0/24"
        ) from error


def _all_here(proxies: Sequence[str]) -> bool:
    return bool(proxies) and all(ipaddress.ip_network(proxy).is_loopback for proxy in proxies)


def _check_certificate(certificate: Path | None, key: Path | None) -> None:
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        raise UserError(f"--tls {certificate or key}: a certificate and its key go together; write --tls CERT,KEY")
    for path in (certificate, key):
        try:
            path.read_bytes()
        except OSError as error:
            raise UserError(f"--tls {path}: cannot be read ({error.strerror})") from error
    try:
        # Without a given password, OpenSSL would stop and ask for one at the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except ssl.SSLError as error:
        if error.reason in _NOT_ITS_KEY:
            raise UserError(f"--tls {key}: is not the key of {certificate}; give the one it was made with") from error
        raise UserError(f"--tls {certificate},{key}: are no certificate and key in PEM without a passphrase") from error


def _own_address(bound: str) -> str | None:
    """The address of this machine on its network; None without a network."""
    for family in (socket.AF_INET6, socket.AF_INET) if bound == "::" else (socket.AF_INET,):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((_SOMEWHERE_ELSE[family], 9))
                return str(probe.getsockname()[0])
        except OSError:
            continue
    return None


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _port_shown(scheme: str, port: int) -> str:
    return "" if port == _DEFAULT_PORTS[scheme] else f":{port}"
