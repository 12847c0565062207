"""The build from ESConv itself, which a user must fetch: `HEART_ESCONV` names its folder, splits and `FailedESConv.json`."""

import hashlib
import os
import time
from collections import Counter
from pathlib import Path

import pytest

from harness.scenarios import load_pack
from harness.scenarios.adversarial import faults
from harness.scenarios.esconv import build_to, read_esconv
from harness.scenarios.esconv.build import CELL_CAP_SHARE
from harness.scenarios.screens import screen_text
from tests.scenarios.test_esconv_build import obliging_model

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def esconv() -> Path:
    given = os.environ.get("HEART_ESCONV")
    if not given:
        pytest.skip("HEART_ESCONV does not name ESConv's folder")
    return Path(given)


def test_esconv_builds_280_items_alike_twice_and_fast(esconv: Path, tmp_path: Path) -> None:
    begun = time.process_time()
    pack, report = build_to(esconv, tmp_path / "a")
    assert time.process_time() - begun < 10
    build_to(esconv, tmp_path / "b")
    for name in ("esconv.yaml", "report.json", "removed.jsonl"):
        digests = {hashlib.sha256((tmp_path / side / name).read_bytes()).hexdigest() for side in "ab"}
        assert len(digests) == 1
    contexts = load_pack(pack).contexts
    assert len(contexts) == report["regular"] == 280
    per_talk = Counter(c.id.rsplit("-t", 1)[0] for c in contexts)
    assert max(per_talk.values()) <= 2
    assert max(report["cells"].values()) <= CELL_CAP_SHARE * 280
    for context in contexts:
        assert [r.author for r in context.references] == ["original"]
        assert not any(screen_text(turn.text) for turn in context.turns)


def test_esconv_and_a_model_give_280_and_20_items_five_a_profile(esconv: Path, tmp_path: Path) -> None:
    pack, report = build_to(esconv, tmp_path, complete=obliging_model)
    assert (report["regular"], report["adversarial"], report["problems"]) == (280, 20, [])
    heated = [c for c in load_pack(pack).contexts if c.escalation]
    assert set(Counter(c.escalation for c in heated).values()) == {5}
    assert not [fault for c in heated for fault in faults(c)]


def test_the_line_that_lists_of_words_miss_is_caught_in_esconv(esconv: Path) -> None:
    said = [u.text for d in read_esconv(esconv) for u in d.utterances if "want to really be around" in u.text.lower()]
    assert said
    assert all(screen_text(text, ["safety"]) for text in said)


def test_the_talks_that_failed_build(esconv: Path, tmp_path: Path) -> None:
    _, report = build_to(esconv / "FailedESConv.json", tmp_path / "out", regular=20)
    assert 0 < report["regular"] <= 20
    assert report["steps"]["dialogues"] == 196
