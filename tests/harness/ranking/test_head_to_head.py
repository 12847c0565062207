from itertools import cycle
from typing import Any

import pytest

from harness.ranking.head_to_head import HeadToHead, head_to_head
from harness.statistics.share_bounds import clopper_pearson
from harness.store.judgment import Judgment, no_reply_rule
from harness.store.judgment_table import table_of


def vote(context: int, winner: str, rater: str = "r1", **more: Any) -> Judgment:
    row = {"context": f"c{context:03}", "subset": "regular", "system_a": "kind", "system_b": "curt", "source": "human",
           "judge": rater, "winner": {"kind": "a", "curt": "b"}.get(winner, "tie"), "draw_rate": 1.0}  # fmt: skip
    return Judgment.model_validate(row | more)


def votes(*winners: str, raters: int = 1) -> list[Judgment]:
    """One vote a conversation, raters in turn."""
    return [vote(n, winner, f"r{n % raters}") for n, winner in enumerate(winners)]


def one(rows: list[Judgment], **more: Any) -> HeadToHead:
    (found,) = head_to_head(table_of(rows), **more)
    return found


def test_eight_of_eight_are_apart_and_seven_are_not() -> None:
    eight = one(votes(*["kind"] * 8))
    assert (eight.agent, eight.over, eight.conversations, eight.preferred, eight.tied) == ("kind", "curt", 8, 8, 0)
    assert (eight.votes, eight.votes_for, eight.votes_tied, eight.share) == (8, 8, 0, 1.0)
    assert eight.at_least**8 + (1 - eight.at_least) ** 8 == pytest.approx(0.05)
    assert eight.is_apart
    assert eight.interval == pytest.approx((0.025 ** (1 / 8), 1.0))
    assert eight.in_words.startswith("kind preferred to curt in 8 of 8 conversations: at least 69 %")
    seven = one(votes(*["kind"] * 7, "curt"))
    assert not seven.is_apart
    assert seven.at_least == pytest.approx(clopper_pearson(7, 8, 0.025)[0], abs=1e-6)
    assert "not apart" in seven.in_words


def test_five_conversations_are_too_few_for_any_direction_and_six_are_not() -> None:
    assert [one(votes(*["kind"] * n)).is_apart for n in (1, 5, 6)] == [False, False, True]


def test_the_agent_with_more_votes_comes_first_and_can_be_asked_about_from_either_side() -> None:
    found = one(votes("curt", "curt", "curt", "tie", "kind"))
    assert (found.agent, found.preferred, found.tied, found.votes_for, found.share) == ("curt", 3, 1, 3, 0.7)
    turned = found.oriented("kind", "curt")
    assert (turned.agent, turned.preferred, turned.tied, turned.votes_for) == ("kind", 1, 1, 1)
    assert turned.share == pytest.approx(0.3)
    assert turned.interval == pytest.approx((1 - found.interval[1], 1 - found.interval[0]))
    assert turned.bounds(0.01) == pytest.approx(tuple(1 - end for end in reversed(found.bounds(0.01))))
    assert not turned.is_apart
    assert turned.oriented("curt", "kind").at_least == pytest.approx(found.at_least)
    with pytest.raises(ValueError, match="this is about"):
        found.oriented("kind", "other")
    assert one(votes("tie", "tie")).agent == "curt"


def test_a_gate_that_names_pair_and_direction_beforehand_has_no_correction() -> None:
    found = one(votes(*["kind"] * 14, "curt", "curt"))
    low, high = found.bounds(0.05)
    assert (low, high) == pytest.approx(clopper_pearson(14, 16, 0.05), abs=1e-6)
    assert found.at_least <= low
    assert (found.value, found.contexts) == (found.share, 16)


def test_votes_of_one_conversation_are_no_more_than_that_conversation() -> None:
    alone, often = one(votes(*["kind"] * 8)), one([vote(n, "kind", repeat=k) for n in range(8) for k in range(5)])
    assert (often.votes, often.conversations) == (40, 8)
    assert often.at_least == pytest.approx(alone.at_least, abs=1e-6)


def test_a_vote_counts_by_the_inverse_of_the_rate_of_its_pair() -> None:
    rows = [vote(n, "kind", draw_rate=0.5) for n in range(4)] + [vote(4 + n, "curt") for n in range(4)]
    assert one(rows).share == pytest.approx(2 / 3)
    even = one([vote(0, "kind", draw_rate=0.3), vote(0, "curt", "r2", draw_rate=0.3)])
    assert (even.tied, even.preferred) == (1, 0)


def test_references_judges_other_presentations_conditions_and_silent_sides_take_no_part() -> None:
    rows = votes(*["kind"] * 8)
    others = [
        vote(1, "curt", "j@1", source="judge", draw_rate=None),
        vote(2, "curt", "r2", presentation="written", condition="clean"),
        vote(3, "curt", "r2", presentation="heard_text", condition="phone"),
        vote(4, "curt", "r2", presentation="heard_text", condition="clean", system_b="ref:best"),
        vote(5, "curt", "r2", presentation="heard_text", condition="clean", purpose="repeat"),
        vote(6, "curt", "r2", presentation="heard_text", condition="clean", draw_rate=None),
        vote(7, "curt", "r2", presentation="heard_text", condition="clean", replicate=1),
        vote(90, "curt", "r2", presentation="heard_text", condition="clean"),
        vote(90, "kind", no_reply_rule("j@1"), source="judge", condition="clean", draw_rate=None),
    ]
    heard = [row.model_copy(update={"presentation": "heard_text", "condition": "clean"}) for row in rows]
    found = one([*heard, *others], condition="clean")
    assert (found.votes, found.raters, found.share, found.presentation) == (8, 1, 1.0, "heard_text")
    assert one([*heard, *others], condition="clean", presentation="written").agent == "curt"
    assert head_to_head(table_of([*others[:1], others[3]])) == ()
    assert head_to_head(table_of([])) == ()


def test_the_last_vote_of_a_rater_on_a_pair_counts() -> None:
    assert one([vote(0, "curt"), vote(0, "kind")]).votes_for == 1


def test_three_agents_share_the_error_among_their_pairs() -> None:
    pairs = (("a", "b"), ("a", "c"), ("b", "c"))
    rows = [vote(n, "kind", system_a=x, system_b=y) for x, y in pairs for n in range(8)]
    found = head_to_head(table_of(rows))
    assert [(h.agent, h.over, h.compared) for h in found] == [(x, y, 3) for x, y in pairs]
    p = found[0].at_least
    assert p**8 + (1 - p) ** 8 == pytest.approx(0.05 / 3)
    assert found[0].bounds(0.05)[0] == pytest.approx(0.05 ** (1 / 8))


def test_one_rater_and_one_who_leads_are_named_and_the_figure_is_of_their_votes() -> None:
    alone = one(votes(*["kind"] * 8))
    assert (alone.whose, alone.raters, alone.effective_raters) == ("r0", 1, 1.0)
    assert "the preference of one rater, r0" in alone.in_words
    rows = [vote(n, "kind", "lead") for n in range(40)] + [vote(40 + n, "curt", f"r{n}") for n in range(10)]
    led = one(rows)
    assert (led.whose, led.raters, led.votes, led.share) == ("lead", 11, 40, 1.0)
    assert led.effective_raters == pytest.approx(50**2 / (40**2 + 10))
    assert "lead" in led.in_words


def test_two_and_three_raters_speak_for_others_with_a_wider_interval_than_one_for_oneself() -> None:
    def of(*sizes: int) -> HeadToHead:
        names = [f"r{k}" for k, size in enumerate(sizes) for _ in range(size)]
        return one([vote(n, "curt" if n % 5 == 0 else "kind", name) for n, name in enumerate(names)])

    two, three, led = of(10, 9), of(8, 8, 7), of(18, 7)
    assert (two.whose, three.whose, led.whose) == (None, None, "r0")
    assert two.effective_raters == pytest.approx(19**2 / (10**2 + 9**2))
    assert of(60).at_least > of(20, 20, 20).at_least > of(30, 30).at_least > 0.5
    assert "18 votes" not in two.in_words
    assert "cast 72 %" in led.in_words


def test_raters_who_disagree_widen_the_interval_and_raters_who_agree_do_not() -> None:
    agreed = one([vote(n, w, f"r{n % 12}") for n, w in zip(range(120), cycle("kkkkc"), strict=False)
                  for w in ("kind" if w == "k" else "curt",)])  # fmt: skip
    split = one([vote(n, "curt" if n % 12 in (0, 5) or n in (7, 20, 33, 46) else "kind", f"r{n % 12}") for n in range(120)])
    assert agreed.share == pytest.approx(split.share)
    assert agreed.whose is split.whose is None
    assert agreed.effective_raters == 12.0
    assert split.at_least < agreed.at_least - 0.05
