"""The build from ESConv: its steps on small talks, and the whole on a corpus in its layout, all written for the tests."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.scenarios import load_pack
from harness.scenarios.adversarial import faults
from harness.scenarios.esconv import EsconvError, build, build_to, read_esconv
from harness.scenarios.esconv.build import CELL_CAP_SHARE, copies, places
from harness.scenarios.esconv.potential import potential
from harness.scenarios.esconv.read import Role, Utterance, couplets, merged
from harness.scenarios.screens import screen_text
from harness.scenarios.screens.second import Verdict
from tests.scenarios.talks import CORPUS, LATER, OPENING, PLIGHTS, as_lines, as_original, talk, talks, write_splits


def test_both_layouts_give_the_same_talks(tmp_path: Path) -> None:
    (tmp_path / "esconv_train.jsonl").write_text(as_lines(talks()))
    (tmp_path / "ESConv.json").write_text(as_original(talks()))
    lines = read_esconv(tmp_path / "esconv_train.jsonl")
    original = read_esconv(tmp_path / "ESConv.json")
    assert [d.utterances for d in lines] == [d.utterances for d in original] == [d.utterances for d in talks()]
    assert len(read_esconv(tmp_path)) == len(talks())


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("ESConv.json", "[{]", "not JSON"),
        ("ESConv.json", '{"a": 1}', "no list"),
        ("ESConv.json", "[]", "no dialogue"),
        ("ESConv.json", '[{"emotion_type": "fear"}]', "dialogue 1"),
        (
            "x.jsonl",
            '{"emotion_type": "fear", "problem_type": "p", "dialog": [{"speaker": "x", "text": "t"}]}',
            "x.jsonl:1",
        ),
        ("x.jsonl", "[" * 100_000, "not JSON"),
    ],
)
def test_what_is_not_esconv_is_one_line_and_nothing_is_written(tmp_path: Path, name: str, content: str, says: str) -> None:
    (tmp_path / name).write_text(content)
    out = tmp_path / "out"
    with pytest.raises(EsconvError) as caught:
        build_to(tmp_path / name, out)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not out.exists()


def test_a_missing_path_and_a_file_as_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(EsconvError, match="no such file"):
        build_to(tmp_path / "nowhere", tmp_path / "out")
    (tmp_path / "out").write_text("")
    with pytest.raises(EsconvError, match="is a file"):
        build_to(tmp_path, tmp_path / "out")


def test_messages_of_one_speaker_are_one_turn_and_doubles_are_dropped() -> None:
    said: list[tuple[Role, str]] = [
        ("seeker", "I lost it"),
        ("seeker", "all of it."),
        ("seeker", "all of it."),
        ("supporter", "Oh."),
        ("supporter", ""),
    ]
    turns = merged(tuple(Utterance(role, text) for role, text in said))
    assert [(t.role, t.text) for t in turns] == [("seeker", "I lost it. all of it."), ("supporter", "Oh.")]


def test_couplets_are_answered_seeker_turns_with_their_history() -> None:
    found = list(couplets(talks()[0]))
    assert [c.turn for c in found] == [2, 4, 6]
    assert [t.text for t in found[1].history] == OPENING
    assert found[1].seeker.text == PLIGHTS[0]


@pytest.mark.parametrize("plight", PLIGHTS)
def test_distress_with_a_request_has_potential(plight: str) -> None:
    assert potential(plight).is_high_stakes


@pytest.mark.parametrize(
    "said",
    [
        "Thank you so much for your help, I am so sad and lonely but you have been really helpful to me tonight.",
        "Have you ever been so sad and lonely and afraid that you did not know what to do with yourself at night?",
        "It's easier said than done, a lot of people are afraid of being alone and they put up with anything at all.",
        "I am so sad that he cheated on me and left me alone here, I miss him. Has someone cheated on you before?",
        "I don't feel too guilty about the taxi, we went to the same school when we were small and lived close by.",
        "I am sad.",
    ],
)
def test_closings_questions_to_the_supporter_and_generalities_have_none(said: str) -> None:
    assert not potential(said).is_high_stakes


def test_places_follow_the_square_root_and_the_cap() -> None:
    given = places({("a", "x"): 100, ("b", "x"): 25, ("c", "x"): 4, ("d", "x"): 1}, 18, 8)
    assert sum(given.values()) == 18
    assert given[("a", "x")] == 8
    assert given[("d", "x")] == 1
    assert given[("b", "x")] > given[("c", "x")]
    assert places({("a", "x"): 3}, 10, 8) == {("a", "x"): 3}


def test_a_story_told_twice_is_kept_once() -> None:
    twice = [talk("talk-0", PLIGHTS[0]), talk("talk-9", PLIGHTS[0]), talk("talk-1", PLIGHTS[1])]
    assert copies([c for d in twice for c in couplets(d)]) == {"talk-9": "talk-0"}


def test_what_the_screens_take_out_is_listed_with_reason_and_words() -> None:
    dark = talk(
        "talk-7",
        "I am so sad and ashamed of it all, I dont want to really be around and I don't know what to do about my work.",
    )
    result = build([*talks(), dark], regular=10)
    assert [c.id for c in result.contexts] == ["esconv-talk-0-t4", "esconv-talk-1-t4", "esconv-talk-2-t4"]
    (removal,) = [r for r in result.report.removals if r.id.startswith("talk-7")]
    assert removal.step == "safety"
    assert "be around" in removal.words
    assert result.report.removed[f"safety: {removal.reason}"] == 1


def test_a_candidate_keeps_its_original_completion() -> None:
    context = build(talks(), regular=10).contexts[0]
    (original,) = context.references
    assert original.author == "original"
    assert original.text.startswith("That sounds heavy")


def test_a_built_pack_loads_and_says_that_no_model_took_part(tmp_path: Path) -> None:
    (tmp_path / "ESConv.json").write_text(as_original(talks()))
    pack, report = build_to(tmp_path / "ESConv.json", tmp_path / "out", regular=10)
    assert len(load_pack(pack).contexts) == report["regular"] == 3
    assert report["adversarial"] == 0
    assert "not run" in report["second_screen"]
    assert any("need a model" in problem for problem in report["problems"])
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"esconv.yaml", "report.json", "removed.jsonl"}


CALM = "It was a long week, and nobody rang me back."
WARM = "I'm so tired of explaining, you people never listen."
HOT = "Shut up, you useless idiot! You don't care, you're a liar, you make me sick!"


def obliging_model(messages: Sequence[dict[str, str]], schema: object) -> str:
    if schema is Verdict:
        return json.dumps({"unfit": False, "reason": "none", "words": ""})
    levels = json.loads(messages[1]["content"])["hostility_of_each_seeker_turn"]
    return json.dumps({"seeker_turns": [CALM if n <= 1 else WARM if n < 5 else HOT for n in levels]})


def test_with_a_model_the_set_has_a_second_screen_and_adversarial_items(tmp_path: Path) -> None:
    plights = [
        *PLIGHTS,
        "I am so worried that my son ignores me, he shouts at his friends too, what should I do about him?",
    ]
    four = [talk(f"talk-{k}", plight, problem=f"problem {k}") for k, plight in enumerate(plights)]
    (tmp_path / "ESConv.json").write_text(as_original(four))
    pack, report = build_to(
        tmp_path / "ESConv.json", tmp_path / "out", regular=4, adversarial_per_profile=1, complete=obliging_model
    )
    assert (report["regular"], report["adversarial"], report["problems"]) == (4, 4, [])
    assert report["second_screen"].startswith("run over 4")
    assert report["model_quality"] == "not measured here"
    assert len({c.escalation for c in load_pack(pack).contexts if c.escalation}) == 4


ITEMS = 20


def test_a_corpus_in_splits_builds_alike_twice(tmp_path: Path) -> None:
    esconv = write_splits(tmp_path / "esconv")
    pack, report = build_to(esconv, tmp_path / "a", regular=ITEMS)
    build_to(esconv, tmp_path / "b", regular=ITEMS)
    for name in ("esconv.yaml", "report.json", "removed.jsonl"):
        digests = {hashlib.sha256((tmp_path / side / name).read_bytes()).hexdigest() for side in "ab"}
        assert len(digests) == 1
    contexts = load_pack(pack).contexts
    assert len(contexts) == report["regular"] == ITEMS
    assert max(report["cells"].values()) <= CELL_CAP_SHARE * ITEMS
    for context in contexts:
        assert [r.author for r in context.references] == ["original"]
        assert not any(screen_text(turn.text) for turn in context.turns)


def test_of_a_corpus_all_that_may_be_told_is_told_once(tmp_path: Path) -> None:
    pack, report = build_to(write_splits(tmp_path / "esconv"), tmp_path / "out", regular=100)
    assert report["steps"]["dialogues"] == len(CORPUS) + 1
    assert report["steps"]["past the screens"] == len(CORPUS) + len(LATER) + 1
    assert dict(report["removed"]) == {"same story": 2}, "both items of the talk that is told again"
    per_talk = Counter(c.id.rsplit("-t", 1)[0] for c in load_pack(pack).contexts)
    assert Counter(per_talk.values()) == {2: len(LATER) - 1, 1: len(CORPUS) - len(LATER) + 1}


def test_a_corpus_and_a_model_give_five_items_a_profile(tmp_path: Path) -> None:
    pack, report = build_to(write_splits(tmp_path / "esconv"), tmp_path / "out", regular=ITEMS, complete=obliging_model)
    assert (report["regular"], report["adversarial"], report["problems"]) == (ITEMS, 20, [])
    heated = [c for c in load_pack(pack).contexts if c.escalation]
    assert set(Counter(c.escalation for c in heated).values()) == {5}
    assert not [fault for c in heated for fault in faults(c)]


def test_the_original_layout_with_other_speaker_names_builds(tmp_path: Path) -> None:
    (tmp_path / "FailedESConv.json").write_text(as_original(talks(), "speaker", "listener"))
    _, report = build_to(tmp_path / "FailedESConv.json", tmp_path / "out", regular=20)
    assert (report["regular"], report["steps"]["dialogues"]) == (len(PLIGHTS), len(PLIGHTS))
