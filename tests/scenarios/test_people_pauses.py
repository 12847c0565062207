"""Pauses as people make them: their law, their places, the same bytes from one seed, and files in which nothing else moves."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from harness.scenarios import load_pack, shipped_packs
from harness.scenarios.mark_pack import with_people_pauses, write_people_pauses
from harness.scenarios.pack import PackError
from harness.scenarios.pause_law import LONGEST_MS, PER_TURN, SHORTEST_MS, distance_from_law, length_ms, longer_than, mean_ms
from harness.scenarios.pause_places import KINDS, Kind, kind_of_gap
from harness.scenarios.pauses import PAUSE, fault_in_marks, pauses_ms, without_pauses
from harness.scenarios.people_pauses import marked, marked_set
from tests.scenarios.conftest import WritePack
from tests.scenarios.test_commands import harness

TEXT = "It's the exam. I mean, um, the second one, the hard one, and I can't sit it again. I just can't do it a third time."


def test_the_law_is_the_published_one() -> None:
    for ms, published in ((300, 0.556), (600, 0.217), (1_000, 0.10), (1_600, 0.05)):
        assert abs(longer_than(ms) - published) < 0.02
    assert (length_ms(0.0), length_ms(1.0)) == (SHORTEST_MS, LONGEST_MS)
    assert longer_than(LONGEST_MS) == pytest.approx(0)
    free = [length_ms(u) for u in np.random.default_rng(0).random(20_000)]
    assert (distance_from_law(free) or 1) < 0.02
    assert abs(float(np.mean(free)) / mean_ms() - 1) < 0.03
    assert distance_from_law([]) is None
    assert distance_from_law([100.0] * 5) == 1.0


@pytest.mark.parametrize(
    ("text", "gap", "kind"),
    [
        ("It ended. And then", 2, "after_sentence"),
        ("He said “no.” Then", 3, "after_sentence"),
        ("I was, um, going", 3, "hesitation"),
        ("I was, um. Going", 3, "hesitation"),
        ("I I did", 1, "hesitation"),
        ("I was… going", 2, "hesitation"),
        ("you know, nearly", 2, "hesitation"),
        ("I went but late", 2, "before_conjunction"),
        ("Well, fine", 1, "after_comma"),
        ("the third time", 2, "elsewhere"),
    ],
)
def test_each_gap_between_words_is_of_one_kind(text: str, gap: int, kind: Kind) -> None:
    assert kind_of_gap(text.split(), gap) == kind


def test_the_same_seed_gives_the_same_bytes_and_marks_that_stand_are_dropped_first() -> None:
    once = marked(TEXT, 3, per_word=0.2)
    assert pauses_ms(once)
    assert marked(TEXT, 3, per_word=0.2) == once
    assert marked(once, 3, per_word=0.2) == once
    assert marked(once, 4, per_word=0.2) == marked(TEXT, 4, per_word=0.2) != once
    assert without_pauses(once) == TEXT
    texts = [TEXT, "Yes.", "Hello there – well, it rained."] * 10
    assert marked_set(marked_set(texts, 1), 1) == marked_set(texts, 1)


def test_number_goes_with_the_words_and_some_turns_have_none() -> None:
    short, long = "It rained all week and nobody rang.", " ".join([TEXT] * 4)
    found = marked_set([short, long] * 100, 0)
    per_word = [sum(len(pauses_ms(t)) for t in found[k::2]) / len(text.split()) for k, text in enumerate((short, long))]
    assert 0.7 < per_word[0] / per_word[1] < 1.3
    assert abs(sum(len(pauses_ms(t)) for t in found) / len(found) - PER_TURN) < 0.1
    assert any(not pauses_ms(t) for t in found[::2])
    assert all(fault_in_marks(t) is None for t in found)


def test_places_follow_peoples_odds() -> None:
    words = TEXT.split()
    gaps = Counter(kind_of_gap(words, k) for k in range(1, len(words)))
    paused: Counter[Kind] = Counter()
    for text in marked_set([TEXT] * 600, 0, per_turn=1.0):
        said = 0
        for piece in PAUSE.split(text)[:-1:2]:
            said += len(piece.split())
            paused[kind_of_gap(words, said)] += 1
    rates = {kind: paused[kind] / gaps[kind] for kind in KINDS if gaps[kind]}
    assert rates["hesitation"] > rates["after_comma"] > rates["elsewhere"]
    assert rates["after_sentence"] > 3 * rates["elsewhere"]


@pytest.mark.parametrize("name", shipped_packs())
def test_a_pack_of_shipped_size_follows_the_law_and_keeps_all_else(name: str, tmp_path: Path) -> None:
    pack = load_pack(name)
    out = write_people_pauses(pack, tmp_path / pack.path.name, seed=0)
    written = load_pack(out)
    turns = [turn for c in written.contexts for turn in c.turns if turn.role == "seeker"]
    pauses = [ms for turn in turns for ms in pauses_ms(turn.text)]
    assert (distance_from_law(pauses) or 1) <= 0.08
    assert abs(len(pauses) / len(turns) - PER_TURN) < 0.15
    assert any(not pauses_ms(turn.text) for turn in turns)
    for before, after in zip(pack.contexts, written.contexts, strict=True):
        assert [turn.plain for turn in after.turns] == [turn.plain for turn in before.turns]
        assert after.model_copy(update={"turns": before.turns}) == before
    assert dict(with_people_pauses(written, 0)) == {p: p.read_text("utf-8") for p in with_people_pauses(written, 0)}


STYLES = """\
# a comment at the top
pack: styles
source: written for the tests
licence: Apache-2.0
contexts:
  - id: one   # and one beside
    subset: regular
    emotion: anxiety
    problem: exams
    turns:
      - {role: seeker, text: I know <pause 300> it is late and I am sorry to ring}
      - {role: supporter, text: Take your time.}
      - role: seeker
        text: "She said \\"go\\", so I went, um, and it rained, and I had no coat with me at all."

      - role: supporter
        text: 'It''s cold out.'
      - role: seeker
        # before the text
        text: It is a long plain text that goes on over
          several lines, you know, <pause 900>
          and it ends here. Or here, I think.
      - role: supporter
        text: Go on.
      - role: seeker
        text: >-
          Folded, with a mark at the end of a line, <pause 410>
          which goes on, and on, and on. It's fine.
    references:
      - {id: good, author: authored, text: "Fine. <no mark>"}
"""


def test_every_style_of_yaml_is_edited_in_place(tmp_path: Path) -> None:
    path = tmp_path / "styles.yaml"
    path.write_text(STYLES, encoding="utf-8")
    (written,) = with_people_pauses(load_pack(path), 1, per_turn=3.0).values()
    assert len(PAUSE.findall(written)) > 4
    for kept in (
        "# a comment at the top",
        "# and one beside",
        "# before the text",
        "'It''s cold out.'",
        'text: "Fine. <no mark>"',
    ):
        assert kept in written
    bare = [re.sub(r"\s+", " ", PAUSE.sub(" ", text)) for text in (written, STYLES)]
    assert bare[0] == bare[1]


def test_the_command_marks_a_pack_and_refuses_in_one_line(write_pack: WritePack, tmp_path: Path) -> None:
    done = harness("pauses", "heart-mini", "--out", tmp_path / "mini.yaml")
    assert done.returncode == 0, done.stderr
    assert "pauses in 43 turns" in done.stdout
    again = harness("pauses", "heart-mini", "--out", tmp_path / "mini.yaml")
    assert again.returncode == 2
    assert "exists already" in again.stderr
    escaped = write_pack("text: It's the exam. I mean, <pause 400> the second one.", 'text: "It\\x27s the\\x20exam, it is."')
    with pytest.raises(PackError, match=r"tiny\.yaml:13: this text cannot be edited in place"):
        with_people_pauses(load_pack(escaped), 2, per_turn=3.0)


def test_esconv_is_built_with_peoples_pauses_alike_twice(tmp_path: Path) -> None:
    from harness.scenarios.esconv import build_to
    from tests.scenarios.test_esconv_build import as_original, talks

    (tmp_path / "ESConv.json").write_text(as_original(talks()))
    built = [build_to(tmp_path / "ESConv.json", tmp_path / side, regular=10, people_pauses=True)[0] for side in "ab"]
    assert built[0].read_bytes() == built[1].read_bytes()
    plain = load_pack(build_to(tmp_path / "ESConv.json", tmp_path / "c", regular=10)[0])
    paused = load_pack(built[0])
    assert any(pauses_ms(turn.text) for c in paused.contexts for turn in c.turns)
    for before, after in zip(plain.contexts, paused.contexts, strict=True):
        assert [turn.plain for turn in after.turns] == [turn.plain for turn in before.turns]
    refused = harness("build", "esconv", tmp_path / "ESConv.json", "--out", tmp_path / "d", "--pauses", "some")
    assert refused.returncode == 2
    assert json.dumps("choose none or people")[1:-1] in refused.stderr
