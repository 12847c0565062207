"""The pack report: what ships passes it, and each rule fires on a pack that breaks it."""

from collections import Counter

import pytest

from harness.audio.caller_voices import caller_voice
from harness.scenarios import Pack, load_pack, shipped_packs
from harness.scenarios.check import (
    check_pack,
    history_length,
    list_packs,
    nearest_pair,
    picked_by_length,
    repeated_phrases,
    shared_openings,
    show_context,
)
from harness.scenarios.context import Context
from harness.scenarios.pause_law import PER_TURN
from harness.scenarios.pauses import PAUSE, pauses_ms

OPEN = load_pack("heart-open")


def with_contexts(*contexts: Context) -> Pack:
    return Pack("changed", tuple(contexts), "0" * 64, OPEN.path)


@pytest.mark.parametrize("name", shipped_packs())
def test_shipped_packs_have_no_problems(name: str) -> None:
    """Screens, the validator of adversarial items, the law of pauses, and the rules of packs that were written for it."""
    assert check_pack(load_pack(name)).problems == ()


def test_heart_mini_is_what_was_promised() -> None:
    contexts = load_pack("heart-mini").contexts
    assert Counter(c.subset for c in contexts) == {"regular": 9, "adversarial": 3}
    assert len({c.escalation for c in contexts if c.escalation}) == 3
    for context in contexts:
        assert 5 <= len(context.turns) <= 9
        assert 2 <= sum(context.spoken.plain.count(mark) for mark in ".?!") <= 9
        good, plain = context.references
        assert good.author == plain.author == "authored"
        assert (good.quality or 0) >= (plain.quality or 0) + 2
        assert plain.weak_on
        assert plain.note


def test_heart_open_is_what_was_promised() -> None:
    counts = check_pack(OPEN).as_json()
    assert (counts["regular"], counts["adversarial"]) == (60, 12)
    assert counts["escalation"] == {"always-10": 3, "linear-ramp": 3, "mid-ramp": 3, "mid-spike": 3}
    regular = [c for c in OPEN.contexts if c.subset == "regular"]
    assert len({c.emotion for c in regular}) >= 10
    assert len({c.problem for c in regular}) >= 12
    assert {history_length(c) for c in regular} == {"short", "medium", "long", "very long"}
    assert {c.voice for c in OPEN.contexts} == {"male", "female"}, "who speaks is drawn for each run"
    assert all(caller_voice(c.voice)[1] for c in OPEN.contexts)
    assert counts["nearest_pair"]["overlap"] < 0.1
    assert counts["pauses"]["distance_from_law"] <= 0.08
    assert abs(counts["pauses"]["per_turn"] - PER_TURN) < 0.01
    assert any(not pauses_ms(c.spoken.text) for c in OPEN.contexts), "some people say it in one breath"


def test_every_context_has_three_authored_references_of_falling_quality_with_their_weakness_named() -> None:
    for context in OPEN.contexts:
        good, fair, poor = context.references
        assert (good.quality or 0) > (fair.quality or 0) > (poor.quality or 0)
        assert not good.weak_on
        for weaker in (fair, poor):
            assert weaker.weak_on
            assert weaker.note
        assert {r.author for r in context.references} == {"authored"}
        assert context.spoken.speech is not None


def test_length_does_not_give_the_better_reference_away() -> None:
    share = picked_by_length(OPEN.contexts)
    assert share is not None
    assert 0.35 < share < 0.65


def test_the_share_of_pairs_in_which_the_longer_reference_is_better_is_counted() -> None:
    good, _, poor = (
        ref.model_copy(update={"quality": quality}) for ref, quality in zip(OPEN.contexts[0].references, (5, 3, 1), strict=True)
    )
    texts = {"longer": (8, 2), "shorter": (2, 8), "equal": (4, 4)}
    shares = {}
    for name, words in texts.items():
        pair = tuple(ref.model_copy(update={"text": "word " * n}) for ref, n in zip((good, poor), words, strict=True))
        shares[name] = picked_by_length([OPEN.contexts[0].model_copy(update={"references": pair})])
    assert shares == {"longer": 1.0, "shorter": 0.0, "equal": 0.5}
    assert picked_by_length([OPEN.contexts[0].model_copy(update={"references": (good,)})]) is None


def test_a_phrase_in_three_contexts_and_a_shared_opening_are_found() -> None:
    three = [c.model_copy(update={"turns": (*c.turns[:1], *OPEN.contexts[0].turns[1:])}) for c in OPEN.contexts[:3]]
    assert repeated_phrases(three)
    assert not repeated_phrases(OPEN.contexts)
    assert shared_openings([OPEN.contexts[0], OPEN.contexts[0]])
    problems = check_pack(with_contexts(*three), shipped=True).problems
    assert any("stands in 3 contexts" in problem for problem in problems)


def test_the_nearest_pair_is_the_copied_one() -> None:
    copy = OPEN.contexts[5].model_copy(update={"id": "copy", "situation": "another"})
    pair = nearest_pair([*OPEN.contexts[:8], copy])
    assert pair is not None
    assert {pair.a, pair.b} == {OPEN.contexts[5].id, "copy"}
    assert pair.overlap == 1.0


@pytest.mark.parametrize(("mark", "told"), [(" <pause 600> ", "from the law to-agents"), (" ", "no pause is marked")])
def test_pauses_off_the_law_or_missing_are_a_problem_of_shipped_packs_only(mark: str, told: str) -> None:
    alike = with_contexts(
        *(
            c.model_copy(update={"turns": tuple(t.model_copy(update={"text": PAUSE.sub(mark, t.text)}) for t in c.turns)})
            for c in OPEN.contexts
        )
    )
    (problem,) = check_pack(alike, shipped=True).problems
    assert told in problem
    assert check_pack(alike, shipped=False).problems == ()


def test_what_a_screen_or_the_validator_finds_is_a_problem_of_any_pack() -> None:
    context = OPEN.contexts[0]
    dark = context.spoken.model_copy(update={"text": "I dont want to really be around, you know."})
    found = check_pack(with_contexts(context.model_copy(update={"turns": (*context.history, dark)})), shipped=False).problems
    assert any(problem.startswith(f"{context.id}: safety") for problem in found)
    hot = next(c for c in OPEN.contexts if c.escalation == "linear-ramp")
    calm = hot.spoken.model_copy(update={"text": "It's all right, thanks for asking."})
    found = check_pack(with_contexts(hot.model_copy(update={"turns": (*hot.history, calm)})), shipped=False).problems
    assert any("the last turn measures" in problem for problem in found)


def test_listing_and_showing() -> None:
    rows = {row["pack"]: row for row in list_packs(load_pack(name) for name in shipped_packs())}
    assert rows["heart-open"]["items"] == 72
    shown = show_context(OPEN.contexts[0])
    assert shown["context"]["id"] == OPEN.contexts[0].id
    assert shown["pauses_ms"]
    assert shown["findings"] == []
