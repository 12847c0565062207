"""A test open to others: who is let in, by which name, from where, how often and until when."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness.people.serve import links_of
from harness.reports.invited.guard import Ceiling, from_here
from harness.reports.invited.links import end_links, list_links
from tests.reports.listening.conftest import invite

Serve = Callable[..., Any]
TEXT = {"medium": "text", "practice": 0, "gold": 0, "attention": 0}
VOTE = {"position": 0, "answer": {"choice": 1, "reason": "warmer"}}


def test_only_its_own_names_are_answered(serve: Serve) -> None:
    served = serve(items=1, **TEXT)
    client = served.client()
    for host in ("localhost", "127.0.0.1:1", "[::1]"):
        assert client.get("/step", headers={"host": host}).status_code == 200
    for host in ("evil.test", "localhost.evil.test", "www.localhost", "127.0.0.1@evil.test", ""):
        assert client.get("/step", headers={"host": host}).status_code == 400, host


SENDERS: list[tuple[dict[str, str], bool]] = [
    ({}, True),
    ({"origin": "{address}", "sec-fetch-site": "same-origin"}, True),
    ({"origin": "{address}"}, True),
    ({"origin": "http://evil.test"}, False),
    ({"origin": "null"}, False),
    ({"origin": "{address}0"}, False),
    ({"origin": "{address}.evil.test"}, False),
    ({"sec-fetch-site": "cross-site"}, False),
    ({"sec-fetch-site": "same-site"}, False),
    ({"sec-fetch-site": "none", "origin": "{address}"}, False),
]


def test_a_change_is_taken_from_its_own_pages_alone(serve: Serve) -> None:
    served = serve(items=1, begins_per_minute=100, **TEXT)
    for headers, taken in SENDERS:
        sent = {name: value.format(address=served.address) for name, value in headers.items()}
        rater, stranger = served.begun(), served.client()
        raters, answers = len(served.votes.raters()), len(served.votes.answers())
        expected = 200 if taken else 403
        assert stranger.post("/begin", json={"consent": True}, headers=sent).status_code == expected, headers
        for path, body in (("/answer", VOTE), ("/leave", {}), ("/collect/reply", {})):
            status = rater.post(path, json=body, headers=sent).status_code
            assert (status != 403) is taken, (path, headers)
        assert len(served.votes.raters()) == raters + taken
        assert len(served.votes.answers()) == answers + taken


def test_behind_tls_the_origin_is_the_address_asked_for() -> None:
    assert from_here({"host": "127.0.0.1", "origin": "https://rater.test"}, "http", "https://rater.test")
    assert not from_here({"host": "rater.test", "origin": "http://rater.test"}, "http", "https://rater.test")


def test_so_many_sessions_begin_from_one_address_and_no_more(serve: Serve) -> None:
    served = serve(items=1, begins_per_minute=3, **TEXT)
    known = served.begun()
    for _ in range(2):
        served.begun()
    refused = served.client().post("/begin", json={"consent": True})
    assert refused.status_code == 429
    assert refused.json()["error"] == "Many people are beginning from where you are just now. Please try again in a minute."
    assert int(refused.headers["retry-after"]) > 0
    assert known.post("/begin", json={"consent": True}).status_code == 200
    assert len(served.votes.raters()) == 3


def test_the_ceiling_lets_in_again_after_a_minute_and_knows_one_household_of_ipv6() -> None:
    ceiling = Ceiling(2)
    assert [ceiling.admits("192.0.2.1", now_s) for now_s in (0.0, 1.0, 2.0, 59.9, 60.1)] == [True, True, False, False, True]
    assert [ceiling.admits(f"2001:db8::{k}", 0.0) for k in (1, 2, 3)] == [True, True, False]
    assert ceiling.admits("2001:db8:0:1::1", 0.0)
    assert all(ceiling.admits(f"::ffff:192.0.2.{k}", 0.0) for k in range(1, 9))


@pytest.mark.parametrize("named", [True, False])
def test_forwarded_headers_count_from_a_named_proxy_alone(serve: Serve, named: bool) -> None:
    proxy = "127.0.0.1" if named else "192.0.2.1"
    served = serve(items=1, public=True, begins_per_minute=1, reached={"url": "https://rater.test", "proxies": [proxy]}, **TEXT)
    links = invite(served.votes, 2)
    begun = []
    for number, link in enumerate(links):
        headers = {"host": "rater.test", "x-forwarded-proto": "https", "x-forwarded-for": f"192.0.2.66, 198.51.100.{number}"}
        client = httpx2.Client(base_url=served.address, headers=headers | {"origin": "https://rater.test"})
        entered = client.get(link.path)
        cookie = entered.headers["set-cookie"]
        assert "; secure" in cookie.lower()
        assert cookie.startswith("__Host-listener=")
        assert entered.headers["location"] == "/entering/"
        client.headers["cookie"] = cookie.split(";")[0]
        begun.append(client.post("/begin", json={"consent": True}).status_code)
    # Two addresses behind a proxy that is believed; one where it is not.
    assert begun == ([200, 200] if named else [200, 429])


@pytest.mark.parametrize("tls", [False, True])
def test_a_cookie_may_travel_unencrypted_only_where_everything_does(
    serve: Serve, certificate: tuple[Path, Path], tls: bool
) -> None:
    reached = {"certificate": certificate[0], "key": certificate[1]} if tls else {}
    served = serve(items=1, public=True, reached=reached, **TEXT)
    (link,) = invite(served.votes, 1)
    cookie = served.client().get(link.path).headers["set-cookie"].lower().split("; ")
    assert {"httponly", "samesite=strict", "path=/"} <= set(cookie)
    assert ("secure" in cookie) is tls


@pytest.mark.parametrize(("ends", "says"), [("expired", "has expired"), ("revoked", "was withdrawn")])
def test_a_link_that_ended_opens_nothing_at_once_and_keeps_what_was_given(serve: Serve, ends: str, says: str) -> None:
    served = serve(items=2, public=True, **TEXT)
    soon_s = time.time() + 2 if ends == "expired" else None
    link, other = invite(served.votes, 2, expires_s=soon_s)
    person = served.client()
    person.get(link.path)
    assert person.post("/begin", json={"consent": True}).status_code == 200
    assert person.post("/answer", json=VOTE).status_code == 200
    if soon_s is None:
        assert end_links(links_of(served.store.folder), link.id, served.store.folder) == 1
    else:
        time.sleep(max(soon_s - time.time(), 0) + 0.05)
    answers: list[httpx2.Response] = [
        person.get("/step"), person.post("/answer", json=VOTE | {"position": 1}), person.post("/leave", json={}),
        person.post("/begin", json={"consent": True}), person.get("/sound/0"), person.get("/collect/next"),
    ]  # fmt: skip
    for refused in answers:
        assert refused.status_code == 403
        assert says in refused.json()["error"]
    for page in (person.get("/"), served.client().get(link.path)):
        assert page.status_code == 403
        assert says in page.text
        assert "set-cookie" not in page.headers
    assert [a.position for a in served.votes.answers()] == [0]
    assert f"{link.id}  ab-text-without  rater  {ends}, begun as rater-0001" in list_links(links_of(served.store.folder))
    if ends == "revoked":
        assert served.client().get(other.path).status_code == 303
        assert end_links(links_of(served.store.folder), "all", served.store.folder) == 1
        assert served.client().get(other.path).status_code == 403


def test_a_link_cannot_lead_to_another_site(serve: Serve) -> None:
    served = serve(items=1, public=True, **TEXT)
    (link,) = invite(served.votes, 1)
    for path in ("//evil.test", "/%2F/evil.test", "/entering//evil.test", "/\\evil.test"):
        reply = httpx2.get(served.address + path + link.path[1:])
        assert "evil" not in reply.headers.get("location", ""), path
        assert "evil" not in reply.text, path
    assert served.client().get(link.path + "?next=//evil.test").headers["location"] == "/entering/"


def test_a_secret_of_somebodys_choice_is_not_taken_on(serve: Serve) -> None:
    served = serve(items=1, **TEXT)
    chosen = httpx2.Client(base_url=served.address, headers={"cookie": "listener=planted"})
    assert "planted" not in chosen.post("/begin", json={"consent": True}).headers["set-cookie"]
    assert httpx2.get(f"{served.address}/step", headers={"cookie": "listener=planted"}).json() == {"kind": "welcome"}
