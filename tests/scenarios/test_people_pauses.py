"""Pauses as people make them: their law, their places, the same bytes from one seed, and files in which nothing else moves."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml

from harness.scenarios import load_pack, shipped_packs
from harness.scenarios.mark_pack import with_people_pauses, write_people_pauses
from harness.scenarios.pack import PackError
from harness.scenarios.pause_law import BETWEEN_PEOPLE, LAWS, LONGEST_MS, PER_TURN, SHORTEST_MS, TO_AGENTS, PauseLaw
from harness.scenarios.pause_places import KINDS, Kind, kind_of_gap
from harness.scenarios.pauses import PAUSE, fault_in_marks, pauses_ms, without_pauses
from harness.scenarios.people_pauses import marked, marked_set
from tests.scenarios.conftest import Scenarios, WritePack

TEXT = "It's the exam. I mean, um, the second one, the hard one, and I can't sit it again. I just can't do it a third time."


@pytest.mark.parametrize(
    ("law", "published", "within"),
    [(TO_AGENTS, (0.556, 0.217, 0.10, 0.05), 0.02), (BETWEEN_PEOPLE, (0.83, 0.41, 0.13, 0.026), 0.008)],
    ids=LAWS,
)
def test_each_law_is_the_published_one(law: PauseLaw, published: tuple[float, ...], within: float) -> None:
    for ms, share in zip((300, 600, 1_000, 1_600), published, strict=True):
        assert abs(law.longer_than(ms) - share) < within
    assert (law.length_ms(0.0), law.length_ms(1.0)) == (SHORTEST_MS, LONGEST_MS)
    assert law.longer_than(LONGEST_MS) == pytest.approx(0)
    assert law.between(200, 600) + law.between(600, None) == pytest.approx(1)
    free = [law.length_ms(u) for u in np.random.default_rng(0).random(20_000)]
    assert (law.distance(free) or 1) < 0.02
    assert abs(float(np.mean(free)) / law.mean_ms() - 1) < 0.03
    assert law.distance([]) is None
    assert law.distance([100.0] * 5) == 1.0


def test_a_wait_of_six_tenths_cuts_twice_as_many_pauses_between_people() -> None:
    assert 1.8 < BETWEEN_PEOPLE.longer_than(600) / TO_AGENTS.longer_than(600) < 2.2
    assert BETWEEN_PEOPLE.longer_than(1_600) < TO_AGENTS.longer_than(1_600)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_set_marked_by_a_law_follows_it_and_not_the_other(law: PauseLaw) -> None:
    pauses = [ms for text in marked_set([TEXT] * 800, 3, law=law) for ms in pauses_ms(text)]
    assert len(pauses) == 1_440
    for other in LAWS.values():
        distance = other.distance(pauses) or 1
        assert (distance < 0.01) if other is law else (distance > 0.2)


def test_draws_to_agents_have_not_moved() -> None:
    """Packs that ship were drawn by it: another length for the same seed would be another pack."""
    assert [TO_AGENTS.length_ms(u) for u in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)] == [215, 256, 322, 457, 942, 3_093]
    assert marked_set([TEXT] * 3, 5) == marked_set([TEXT] * 3, 5, law=TO_AGENTS)


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
    assert (TO_AGENTS.distance(pauses) or 1) <= 0.08
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
    bare = [re.sub(r"\s+", " ", PAUSE.sub(" ", text)) for text in (written.replace("pauses: to-agents\n", ""), STYLES)]
    assert bare[0] == bare[1]


def test_the_command_marks_a_pack_and_refuses_in_one_line(scenarios: Scenarios, write_pack: WritePack, tmp_path: Path) -> None:
    done = scenarios("pauses", "heart-mini", "--out", tmp_path / "mini.yaml")
    assert done.code == 0, done.err
    assert "pauses in 43 turns" in done.out
    assert "eot-bench" in done.out
    between = tmp_path / "between.yaml"
    done = scenarios("pauses", "heart-mini", "--out", between, "--law", "between-people")
    assert "Switchboard" in done.out
    assert "not by voice activity" in done.out
    assert yaml.safe_load(between.read_text())["pauses"] == "between-people"
    assert yaml.safe_load((tmp_path / "mini.yaml").read_text())["pauses"] == "to-agents"
    pauses = [ms for c in load_pack(between).contexts for turn in c.turns for ms in pauses_ms(turn.text)]
    assert (BETWEEN_PEOPLE.distance(pauses) or 1) < 0.08 < (TO_AGENTS.distance(pauses) or 0)
    counted = scenarios("check", between).out
    assert "to-agents, 0.0" in counted
    unknown = scenarios("build", "pack", "heart-mini", "--out", tmp_path / "no.yaml", "--pauses", "some")
    assert (unknown.code, len(unknown.err.strip().splitlines())) == (2, 1)
    assert "--pauses some: unknown; choose one of to-agents, between-people" in unknown.err
    assert not (tmp_path / "no.yaml").exists()
    again = scenarios("pauses", "heart-mini", "--out", tmp_path / "mini.yaml")
    assert again.code == 2
    assert "exists already" in again.err
    escaped = write_pack("text: It's the exam. I mean, <pause 400> the second one.", 'text: "It\\x27s the\\x20exam, it is."')
    with pytest.raises(PackError, match=r"tiny\.yaml:13: this text cannot be edited in place"):
        with_people_pauses(load_pack(escaped), 2, per_turn=3.0)


def test_esconv_is_built_with_peoples_pauses_alike_twice(scenarios: Scenarios, tmp_path: Path) -> None:
    from harness.scenarios.esconv import build_to
    from tests.scenarios.talks import as_original, talks

    (tmp_path / "ESConv.json").write_text(as_original(talks()))
    built = [build_to(tmp_path / "ESConv.json", tmp_path / side, regular=10, pauses=TO_AGENTS)[0] for side in "ab"]
    assert built[0].read_bytes() == built[1].read_bytes()
    plain = load_pack(build_to(tmp_path / "ESConv.json", tmp_path / "c", regular=10)[0])
    paused = load_pack(built[0])
    assert any(pauses_ms(turn.text) for c in paused.contexts for turn in c.turns)
    for before, after in zip(plain.contexts, paused.contexts, strict=True):
        assert [turn.plain for turn in after.turns] == [turn.plain for turn in before.turns]
    refused = scenarios("build", "esconv", tmp_path / "ESConv.json", "--out", tmp_path / "d", "--pauses", "some")
    assert refused.code == 2
    assert "--pauses some: unknown; choose one of none, to-agents, between-people" in refused.err


def test_the_old_name_of_a_law_is_still_the_same_law(scenarios: Scenarios, tmp_path: Path) -> None:
    from tests.scenarios.talks import as_original, talks

    (tmp_path / "ESConv.json").write_text(as_original(talks()))
    for name in ("people", "to-agents", "between-people"):
        done = scenarios(
            "build", "esconv", tmp_path / "ESConv.json", "--out", tmp_path / name, "--regular", "10", "--pauses", name
        )
        assert done.code == 0, done.err
    packs = {name: (tmp_path / name / "esconv.yaml").read_bytes() for name in ("people", "to-agents", "between-people")}
    assert packs["people"] == packs["to-agents"] != packs["between-people"]
    assert b"pauses: between-people" in packs["between-people"]
    told = json.loads((tmp_path / "people" / "report.json").read_text())["pauses"]
    assert (told["law"], "eot-bench" in told["source"]) == ("to-agents", True)


@pytest.mark.parametrize("head", ["pauses: between-people\ncontexts:", "{pack: flow, contexts: "], ids=["named before", "flow"])
def test_the_name_of_the_law_is_written_into_any_head(head: str, tmp_path: Path) -> None:
    turn = "{role: seeker, text: 'Well, I was there, you know, and it rained, and I went home, um, and sat down.'}"
    rows = f" [{{id: a, subset: regular, emotion: anxiety, problem: exams, source: here, licence: none, turns: [{turn}]}}]"
    path = tmp_path / "one.yaml"
    path.write_text(head + rows + ("}" if head.startswith("{") else "\n"), encoding="utf-8")
    (written,) = with_people_pauses(load_pack(path), 1, per_turn=4.0).values()
    found = yaml.safe_load(written)
    assert found["pauses"] == "to-agents"
    assert len(pauses_ms(found["contexts"][0]["turns"][0]["text"])) == 4
