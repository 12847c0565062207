"""What one person gave in a listening test, in the export and after they withdrew."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UserError
from harness.people.withdraw import withdraw_everywhere
from harness.reports.listening.answers import VoteStore
from harness.reports.listening.export import FILE, write_answers
from harness.reports.listening.people import FILE as COMPLETIONS
from harness.reports.listening.people import take_in, write_human_completions
from harness.study.study import Study
from tests.reports.listening.conftest import Served

Serve = Callable[..., Served]
ASKED = Study.model_validate({"name": "Kind", "demographics": [{"label": "=Age", "kind": "number"}, {"label": "Land"}]})
TEXT: dict[str, Any] = {"medium": "text", "practice": 0, "gold": 0, "attention": 0, "study": ASKED}


def voted(served: Served, *, about: list[object], reason: str) -> None:
    rater = served.begun()
    rater.post("/about", json={"answers": about})
    assert rater.post("/answer", json={"position": 0, "answer": {"choice": 1, "reason": reason}}).status_code == 200


def test_answers_are_exported_with_what_their_rater_said_of_themselves(serve: Serve, tmp_path: Path) -> None:
    served = serve(items=1, **TEXT)
    voted(served, about=[41, "=cmd()"], reason="warmer")
    voted(served, about=[None, None], reason="=1+1")
    path = write_answers(served.store, tmp_path)
    assert path == tmp_path / FILE
    first, second = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    assert (first["rater"], first["about: =Age"], first["about: Land"]) == ("rater-0001", "41", "'=cmd()")
    assert (second["about: =Age"], second["reason"], second["choice"]) == ("", "'=1+1", "1")
    assert {first["first"], first["second"]} <= {"quick", "slow", "ref:careful"}
    assert write_answers(served.store, tmp_path) == path


def test_a_rater_who_withdraws_is_in_no_file_of_the_run(serve: Serve) -> None:
    served = serve(items=1, **TEXT)
    voted(served, about=[41, "unforgettable land"], reason="unforgettable reason")
    voted(served, about=[30, "another land"], reason="another reason")
    out = served.store.folder / "exports"
    write_answers(served.store, out)
    (out / "tables.json").write_text("{}")
    assert "with 1 answer" in withdraw_everywhere(served.store.folder, "rater-0001")
    served.votes.close()
    left = b"".join(path.read_bytes() for path in served.store.folder.rglob("*") if path.is_file())
    assert b"unforgettable" not in left
    assert b"another reason" in left
    with pytest.raises(UserError, match="nobody of that name"):
        withdraw_everywhere(served.store.folder, "rater-0001")


def test_a_contributor_takes_replies_and_verdicts_along(serve: Serve) -> None:
    served = serve(contexts=1, **TEXT)
    person = served.begun("collect")
    person.post("/about", json={"answers": [41, None]})
    due = person.get("/collect/next").json()
    person.post("/collect/reply", json={"context": due["context"], "no_help": True, "text": "Unforgettable, go on."})
    assert take_in(served.store, None) == 1
    write_human_completions(served.store, served.store.folder / "exports")
    (served.store.folder / "exports" / "tables.json").write_text("{}")
    assert any(r.id.startswith("human-") for c in served.store.contexts() for r in c.references)
    withdraw_everywhere(served.store.folder, "rater-0001")
    assert not any(r.id.startswith("human-") for c in served.store.contexts() for r in c.references)
    assert not (served.store.folder / "exports" / COMPLETIONS).exists()
    assert take_in(served.store, None) == 0


def test_a_name_of_two_tests_is_not_guessed(serve: Serve) -> None:
    served = serve(items=1, **TEXT)
    voted(served, about=[], reason="warmer")
    other = VoteStore(served.store.folder / "listening" / "acr-text-without")
    other.begin("secret", "rater", "{}", ())
    with pytest.raises(UserError, match=r"ab-text-without/rater-0001 or acr-text-without/rater-0001"):
        withdraw_everywhere(served.store.folder, "rater-0001")
    withdraw_everywhere(served.store.folder, "acr-text-without/rater-0001")
    assert (other.has("rater-0001"), served.votes.has("rater-0001")) == (False, True)
    other.close()
