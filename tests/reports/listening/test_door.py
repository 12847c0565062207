"""How a test for others is reached: what contradicts itself is refused in one line, and what is printed works."""

import doctest
import re
import signal
import ssl
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness.commands.address_options import AddressOptions
from harness.errors import UserError
from harness.figures.summary import RunSummary
from harness.people.serve import links_of
from harness.reports.invited import address
from harness.reports.invited.address import Address, address_of, host_and_port, lifetime_s
from harness.reports.invited.links import list_links
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.serve import serve
from harness.store.run_store import RunStore
from tests.harness.conftest import begin

Played = Callable[..., tuple[RunStore, RunSummary]]
VOTE = {"position": 0, "answer": {"choice": 1, "reason": "warmer"}}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"url": "https://rater.test"}, "add --public"),
        ({"proxies": ["127.0.0.1"]}, "add --public"),
        ({"public": True, "proxies": ["127.0.0.1"]}, "add --url"),
        ({"public": True, "proxies": ["proxy.test"], "url": "https://rater.test"}, "own IP address"),
        ({"public": True, "proxies": ["*"], "url": "https://rater.test"}, "own IP address"),
        ({"public": True, "url": "https://rater.test"}, "needs --tls CERT,KEY, or --proxy"),
        *(({"public": True, "url": url}, "--url")
          for url in ("rater.test", "//rater.test", "https://", "ftp://rater.test", "http://a b", "http://rater.test:x",
                      "http://rater.test/path", "http://me@rater.test", "http://rater.test?x", "http://[::1", "http://*")),
    ],
)  # fmt: skip
def test_a_door_that_cannot_be_is_refused(asked: dict[str, object], says: str) -> None:
    with pytest.raises(UserError, match=re.escape(says)):
        address_of(**asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "7", "d", "-1d", "0d", "7 d", "1y", "9999999d"])
def test_a_lifetime_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="such as 7d"):
        lifetime_s(text)


def test_a_lifetime_is_what_it_says() -> None:
    assert (lifetime_s("90m"), lifetime_s("7d"), lifetime_s("never")) == (5_400.0, 604_800.0, None)


@pytest.mark.parametrize(
    ("given", "host", "port"),
    [
        ({"address": "0.0.0.0:8200", "public": True}, "0.0.0.0", 8200),
        ({"address": "[::1]:0"}, "::1", 0),
        ({"address": "localhost"}, "localhost", 8177),
        ({"address": ":8200"}, "127.0.0.1", 8200),
        ({"host": "::1", "port": 0}, "::1", 0),
    ],
)
def test_one_option_says_where_pages_are_served_and_the_old_two_still_do(given: dict[str, Any], host: str, port: int) -> None:
    made, _ = AddressOptions(**given).checked()
    assert (made.host, made.port) == (host, port)


def test_a_port_that_is_none_is_refused() -> None:
    for text in ("localhost:http", "65536", "[::1]:x"):
        with pytest.raises(UserError, match="is no port"):
            host_and_port(text)
    assert doctest.testmod(address).failed == 0


def test_the_old_words_of_a_certificate_still_work(certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    old, _ = AddressOptions(tls_cert=cert, tls_key=key).checked()
    new, _ = AddressOptions(tls=f"{cert},{key}").checked()
    assert (old.certificate, old.key) == (new.certificate, new.key) == (cert, key)


def test_a_certificate_without_its_key_is_refused(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    cert, key = certificate
    other, unlike, sealed = (tmp_path / name for name in ("other.pem", "unlike.pem", "sealed.pem"))
    commands: tuple[list[str | Path], ...] = (
        ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", other],
        ["genpkey", "-algorithm", "ED25519", "-out", unlike],
        ["pkey", "-in", key, "-aes256", "-passout", "pass:x", "-out", sealed],
    )
    for made in commands:
        subprocess.run(["openssl", *made], check=True, capture_output=True)
    for given, says in (
        ((cert, None), "write --tls CERT,KEY"),
        ((None, key), "write --tls CERT,KEY"),
        ((tmp_path / "none.pem", key), "cannot be read"),
        ((tmp_path, key), "cannot be read"),
        ((cert, other), "is not the key of"),
        ((cert, unlike), "is not the key of"),
        ((cert, sealed), "without a passphrase"),
        ((key, key), "no certificate"),
    ):
        with pytest.raises(UserError, match=says):
            address_of(certificate=given[0], key=given[1])


@pytest.mark.parametrize(
    ("asked", "host", "origin"),
    [
        ({}, "127.0.0.1", "http://localhost:8177"),
        ({"public": True, "url": "https://Rater.test/", "proxies": ["127.0.0.1"]}, "127.0.0.1", "https://rater.test"),
        ({"public": True, "url": "http://[2001:db8::7]:80"}, "0.0.0.0", "http://[2001:db8::7]"),
        ({"public": True, "url": "https://rater.test:8443", "proxies": ["10.0.0.0/24"]}, "0.0.0.0", "https://rater.test:8443"),
    ],
)
def test_a_link_names_what_raters_reach(asked: dict[str, object], host: str, origin: str) -> None:
    made = address_of(**asked)  # type: ignore[arg-type]
    assert (made.host, made.origin, made.secure) == (host, origin, origin.startswith("https"))


def test_without_an_address_asked_for_links_name_the_machines_own() -> None:
    made = address_of(public=True)
    assert made.host == "0.0.0.0"
    assert made.own_address is None or made.own_address in made.hosts
    assert Address("0.0.0.0", own_address="192.0.2.7").origin == "http://192.0.2.7:8177"
    assert "0.0.0.0" not in made.hosts


def listen(*arguments: object) -> subprocess.Popen[str]:
    return begin("listen", *arguments, env={"COLUMNS": "60"})


def test_the_command_prints_links_that_work_until_they_are_revoked(played: Played, certificate: tuple[Path, Path]) -> None:
    store, _ = played(contexts=4)
    cert, key = certificate
    served = listen(
        store.folder, "--medium", "text", "--public", "--address", "127.0.0.1:0", "--tls", f"{cert},{key}",
        "--raters", 2, "--contributors", 1, "--expires", "7d",
    )  # fmt: skip
    try:
        assert served.stderr is not None
        printed = []
        for line in served.stderr:
            printed.append(line)
            if "These links work on this machine alone" in line:
                break
        assert "for holders of a link alone" in printed[-2], printed
        found = [
            re.match(r"(rater|contributor) ([0-9a-f]{8}): (https://localhost:\d+)(/\S*invitation/\S+)  \(until \d", line)
            for line in printed
        ]
        links = [match for match in found if match]
        assert [match[1] for match in links] == ["rater", "rater", "contributor"], printed
        trusted = ssl.create_default_context(cafile=str(cert))
        rater = httpx2.Client(base_url=links[0][3], verify=trusted, follow_redirects=True, timeout=20)
        for _ in range(200):
            try:
                assert rater.get(links[0][4]).status_code == 200
                break
            except httpx2.ConnectError:
                time.sleep(0.05)
        assert rater.post("/begin", json={"consent": True}).status_code == 200
        assert rater.post("/answer", json=VOTE).json()["position"] == 1
        ended = listen(store.folder, "--revoke", links[0][2])
        assert "Links ended: 1" in ended.communicate(timeout=60)[1]
        refused = rater.get("/step")
        assert refused.status_code == 403
        assert "withdrawn" in refused.json()["error"]
        shown = list_links(links_of(store.folder))
        assert [line.split("  ")[0] for line in shown] == [match[2] for match in links]
        assert "revoked, begun as rater-0001" in shown[0]
        assert not any(match[4] in "".join(shown) for match in links)
        with pytest.raises(UserError, match="cannot be opened"):
            serve(store, ListeningDesign(), address_of(port=int(links[0][3].rsplit(":", 1)[1])))
    finally:
        served.send_signal(signal.SIGINT)
        said = served.communicate(timeout=60)[1]
    assert (served.returncode, said.splitlines()[0]) == (0, "1 rater, 1 answer; 1 of 1 count.")
