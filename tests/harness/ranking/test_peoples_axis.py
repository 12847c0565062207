from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from harness.errors import UserError
from harness.ranking.board import SystemRating
from harness.ranking.peoples_axis import Pairs, PeoplesAxis, axis_of, peoples_axis
from harness.store.judgment import Judgment, no_reply_rule
from harness.store.judgment_table import table_of
from tests.present import present

SYSTEMS = ("amber", "basalt", "cobalt")
WORTH = {"amber": 1.0, "basalt": 0.0, "cobalt": -1.0}
JUDGE = "embedded@4"


def row(context: int, one: str, other: str, winner: str = "a", **more: Any) -> Judgment:
    return Judgment.model_validate(
        {"context": f"c{context:03}", "subset": "regular", "system_a": one, "system_b": other, "source": "human",
         "judge": "ida", "winner": winner, "draw_rate": 1.0, "presentation": "heard_text", **more}
    )  # fmt: skip


def all_pairs(contexts: int, systems: Sequence[str] = SYSTEMS) -> list[tuple[int, str, str]]:
    return [(c, *pair) for c in range(contexts) for pair in combinations(systems, 2)]


def winner(context: int, one: str, other: str, rng: np.random.Generator, noise: float) -> str:
    """Votes and verdicts share what is particular to a pair of replies."""
    own = np.random.default_rng([context, SYSTEMS.index(one), SYSTEMS.index(other)]).normal(0, 2)
    return "a" if WORTH[one] - WORTH[other] + own + rng.normal(0, noise) > 0 else "b"


def votes(contexts: int = 20, many: int = 40, seed: int = 1, raters: int = 1, **more: Any) -> list[Judgment]:
    """Votes on drawn pairs."""
    rng = np.random.default_rng(seed)
    pairs = all_pairs(contexts)
    drawn = [pairs[k] for k in rng.permutation(len(pairs))[:many]]
    return [
        row(c, one, other, winner(c, one, other, rng, 1.0), judge=f"rater-{k % raters}", **more)
        for k, (c, one, other) in enumerate(drawn)
    ]


def verdicts(contexts: int = 20, seed: int = 2, **more: Any) -> list[Judgment]:
    """A judge's verdicts on all pairs."""
    rng = np.random.default_rng(seed)
    return [
        row(c, one, other, winner(c, one, other, rng, 1.0), strength=int(rng.integers(1, 6)),
            **{"source": "judge", "judge": JUDGE, "draw_rate": None, **more})
        for c, one, other in all_pairs(contexts)
    ]  # fmt: skip


def silence(context: int, one: str, other: str, **more: Any) -> Judgment:
    """A comparison that `one` wins, because `other` gave no reply."""
    return row(context, one, other, "a", source="judge", judge=no_reply_rule(JUDGE), strength=5, draw_rate=None, **more)


def axis(rows: Iterable[Judgment], **more: Any) -> PeoplesAxis:
    return peoples_axis(table_of(rows), "heard_text", **more)


def ends(rating: SystemRating) -> tuple[float, float]:
    low, high = present(rating.interval)
    return present(low), present(high)


def refusal(rows: Iterable[Judgment], presentation: str = "heard_text") -> str:
    with pytest.raises(UserError) as raised:
        peoples_axis(table_of(rows), presentation)
    said = str(raised.value)
    assert "\n" not in said
    assert ". " not in said
    return said


def test_votes_and_verdicts_give_a_board_with_intervals() -> None:
    given = [*votes(), *verdicts()]
    found = axis(given, pairs=60)
    board = found.board
    assert (found.votes, found.raters, found.pairs, found.judges) == (40, 1, 60, (JUDGE,))
    assert 0 < found.power <= 1
    assert 0.5 < present(found.agrees) < 1
    assert board.systems[0].system == "amber"
    for rating in board.systems:
        low, high = ends(rating)
        assert low < rating.elo < high
        assert present(rating.band)[0] < low
    assert sum(rating.judgments for rating in board.systems) == 2 * board.judgments == 80
    assert board.contexts == len({vote.context for vote in given[:40]})
    assert np.mean([rating.elo for rating in board.systems]) == pytest.approx(1500)
    assert present(found.by_context).shape == (20, 3)
    assert found.saved > 5
    assert f"as good as {round(found.worth)}: {JUDGE} saved {found.saved}" in found.in_words


def test_the_judge_moves_no_share_and_narrows_the_interval() -> None:
    alone, both = axis(votes()), axis([*votes(), *verdicts()])
    assert (alone.power, alone.worth, alone.saved, alone.judges) == (0.0, 40.0, 0, ())
    assert alone.in_words == "40 votes by 1 person, rated without a judge"
    shares = [{rating.system: rating.win_rate for rating in found.board.systems} for found in (alone, both)]
    assert shares[0] == pytest.approx(shares[1])

    assert sum(high - low for low, high in map(ends, both.board.systems)) < sum(
        high - low for low, high in map(ends, alone.board.systems)
    )


def test_sides_and_order_of_rows_make_no_difference() -> None:
    given = [*votes(), *verdicts()]
    swap = {"a": "b", "b": "a", "tie": "tie"}
    turned = [
        r.model_copy(update={"system_a": r.system_b, "system_b": r.system_a, "winner": swap[r.winner]}) if k % 2 else r
        for k, r in enumerate(reversed(given))
    ]
    one, other = axis(given), axis(turned)
    assert one.power == pytest.approx(other.power)
    assert [r.system for r in one.board.systems] == [r.system for r in other.board.systems]
    assert [r.elo for r in one.board.systems] == pytest.approx([r.elo for r in other.board.systems])


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (verdicts(), "nobody has voted on these replies (heard_text)"),
        (votes(presentation="audio"), "nobody has voted on these replies (heard_text)"),
        ([row(1, "amber", "basalt", judge=f"r{k}") for k in range(9)], "all votes are on one pair of replies"),
        ([*votes(7, 20), *verdicts()], "people voted on 7 conversations, and an interval needs 8"),
        ([*(row(k, "amber", "basalt", "ab"[k % 2]) for k in range(9)), *verdicts()], "nobody voted on a pair with cobalt"),
        (
            [*votes(), *(r for r in verdicts() if (r.context, r.system_a, r.system_b) not in
                         {(v.context, v.system_a, v.system_b) for v in votes()})],
            f"{JUDGE}: no verdict on any of the 40 pairs that people voted on: judge the whole run with it",
        ),
        ([*(row(k, "amber", "basalt") for k in range(9)), *(silence(k, "amber", "basalt") for k in range(9))],
         "people voted only on pairs with a side that gave no reply"),
        ([*(row(k, "amber", "basalt", "ab"[k % 2]) for k in range(9)), silence(9, "cobalt", "basalt")],
         "nobody voted on a pair with cobalt"),
    ],
    ids=["no votes", "another presentation", "one pair", "seven conversations", "a system alone", "no verdict there", "ruled",
         "a system that met silence alone"],
)  # fmt: skip
def test_refusals_are_one_sentence(rows: list[Judgment], says: str) -> None:
    assert refusal(rows).startswith(says)


def test_chosen_pairs_need_no_verdict_because_they_are_rated_without_a_judge() -> None:
    mine = votes(draw_rate=None)
    voted = {(v.context, v.system_a, v.system_b) for v in mine}
    elsewhere = [r for r in verdicts() if (r.context, r.system_a, r.system_b) not in voted]
    assert axis([*mine, *elsewhere]).in_words == "40 votes by 1 person, rated without a judge"


def test_a_judge_of_no_use_is_named_with_what_it_saved() -> None:
    wrong = [r.model_copy(update={"winner": {"a": "b", "b": "a"}[r.winner]}) for r in verdicts()]
    found = axis([*votes(), *wrong])
    assert (found.power, found.saved) == (0.0, 0)
    assert found.in_words == f"40 votes by 1 person; {JUDGE} saved none"


def test_notes_on_few_conversations_and_few_people() -> None:
    one = axis(votes()).board.warnings
    assert any(note.startswith("Votes on ") and "small-sample" in note for note in one)
    assert "All votes are one person's: the intervals cover other conversations, not other people." in one
    assert any("3 people's" in note for note in axis(votes(raters=3)).board.warnings)
    many = axis(votes(60, 170, raters=8)).board
    assert many.warnings == ()
    assert present(many.covariance).freedom == pytest.approx(7, abs=0.01)


def test_a_rater_who_leads_is_named_with_their_share_and_the_intervals_are_of_these_raters() -> None:
    given = votes(60, 170, raters=12)
    led = axis([v.model_copy(update={"judge": "rater-0"}) if k % 10 < 8 else v for k, v in enumerate(given)])
    (note,) = led.board.warnings
    assert "12 people's" in note or "7 people's" in note
    assert "rater-0 cast 8" in note
    assert "not other people" in note
    assert led.effective_raters < 2
    assert present(led.board.covariance).freedom == led.board.contexts - 1


def test_votes_on_chosen_pairs_are_left_out_beside_drawn_ones() -> None:
    chosen = [row(k, "cobalt", "amber", draw_rate=None, judge="fan") for k in range(20)]
    drawn = axis([*votes(), *verdicts()])
    mixed = axis([*votes(), *verdicts(), *chosen])
    assert mixed.votes == 40
    assert [rating.elo for rating in mixed.board.systems] == pytest.approx([rating.elo for rating in drawn.board.systems])
    assert "20 votes on pairs that were not drawn at random left out." in mixed.board.warnings


def test_votes_on_chosen_pairs_alone_are_rated_without_the_judge() -> None:
    found = axis([*votes(draw_rate=None), *verdicts()])
    assert (found.votes, found.power, found.worth, found.judges) == (40, 0.0, 40.0, ())
    assert any("not drawn at random: rated without a judge" in note for note in found.board.warnings)
    nobody = axis(votes(draw_rate=None))
    assert [r.elo for r in found.board.systems] == pytest.approx([r.elo for r in nobody.board.systems])


def test_a_vote_on_a_later_repeat_is_not_of_the_draw() -> None:
    later = [row(k, "cobalt", "amber", replicate=1) for k in range(20)]
    assert axis([*votes(), *verdicts(), *later]).votes == 40


def test_rates_weigh_votes() -> None:
    """Pairs that amber won were drawn half as often, and so count twice."""
    rare = [v.model_copy(update={"draw_rate": 0.5}) if v.winner == "a" and v.system_a == "amber" else v for v in votes()]
    elo = [next(r.elo for r in axis(rows).board.systems if r.system == "amber") for rows in (votes(), rare)]
    assert elo[1] > elo[0] + 20


def test_silence_loses_without_a_vote_and_in_its_share() -> None:
    """Cobalt gave no reply in a half of the conversations: votes on those pairs are left out, and the rule counts by pairs."""
    given = votes(20, 55)
    ruled = [silence(k, name, "cobalt") for k in range(10) for name in ("amber", "basalt")]
    found, before = axis([*given, *ruled], pairs=60), axis(given, pairs=60)
    gone = sum(v.system_b == "cobalt" and v.context < "c010" for v in given)
    assert found.votes == 55 - gone
    assert f"{gone} votes on pairs with a side that gave no reply left out: a rule decides those." in found.board.warnings

    def cobalt(axis: PeoplesAxis) -> float:
        return next(r.elo for r in axis.board.systems if r.system == "cobalt")

    assert cobalt(found) < cobalt(before) - 50
    assert cobalt(found) < cobalt(axis([*given, *ruled], pairs=2000))
    share = {r.system: r.win_rate for r in axis([*given, *ruled], pairs=60).board.systems}["cobalt"]
    kept = [v for v in given if v.system_b == "cobalt" and v.context >= "c010"]
    per_vote = 40 / found.votes
    won = per_vote * sum(v.winner == "b" for v in kept)
    assert share == pytest.approx(won / (per_vote * len(kept) + 20))


def test_a_system_that_won_everything_has_a_bound_and_no_judge() -> None:
    swept = [v.model_copy(update={"winner": "a"}) if v.system_a == "amber" else v for v in votes(20, 50)]
    found = axis([*swept, *verdicts()])
    amber = next(rating for rating in found.board.systems if rating.system == "amber")
    assert present(amber.interval)[1] is None
    assert (found.power, found.judges, found.by_context, found.worth) == (0.0, (), None, 50.0)
    assert found.in_words == "50 votes by 1 person, rated without a judge"


def test_ties_are_half_a_win() -> None:
    board = axis([v.model_copy(update={"winner": "tie"}) for v in votes()]).board
    assert [rating.elo for rating in board.systems] == pytest.approx([1500, 1500, 1500])
    assert all(ends(rating)[0] < 1480 for rating in board.systems)


def test_the_axis_of_a_run_takes_its_own_presentation() -> None:
    heard = votes(presentation="audio", seed=5)
    read = votes(seed=6)
    table = table_of([*heard, *read, *verdicts()])
    found = axis_of(table, None, None, Pairs(heard=60, read=120))
    assert (found.board.presentation, found.votes, found.pairs) == ("audio", 40, 60)
    assert found.judges == (JUDGE,)
    assert any(note.startswith("Votes on another presentation (heard_text)") for note in found.board.warnings)
    of_texts = axis_of(table, None, "heard_text", Pairs(heard=60, read=120))
    assert (of_texts.board.presentation, of_texts.pairs) == ("heard_text", 120)
    with pytest.raises(UserError, match="nobody has voted"):
        axis_of(table, None, "written")


def test_a_reference_has_no_sound_to_vote_on() -> None:
    references = [
        row(c, "amber", "ref:good", "b", source="judge", judge=JUDGE, draw_rate=None) for c in range(20)
    ]  # fmt: skip
    table = table_of([*votes(presentation="audio"), *verdicts(), *references])
    assert {rating.system for rating in axis_of(table, None, None).board.systems} == set(SYSTEMS)


def test_votes_of_one_condition() -> None:
    table = table_of([*votes(condition="clean"), *votes(seed=9, condition="street"), *verdicts(condition="clean")])
    assert axis_of(table, "clean", None).votes == 40
    assert axis_of(table, "street", None).judges == ()


def test_a_text_agent_has_no_sound_to_vote_on_either() -> None:
    typed = [row(c, "amber", "typed", "b", source="judge", judge=JUDGE, draw_rate=None) for c in range(20)]
    table = table_of([*votes(presentation="audio"), *verdicts(), *typed])
    with pytest.raises(UserError, match="nobody voted on a pair with typed"):
        axis_of(table, None, "audio", Pairs(heard=60, read=120))
    found = axis_of(table, None, "audio", Pairs(60, 120, frozenset({"typed"})))
    assert {rating.system for rating in found.board.systems} == set(SYSTEMS)


def with_references(voted: int, of_agents: int = 60, worth: str = "ab") -> list[Judgment]:
    """Votes on two agents in each conversation, and on a reference in the first `voted`."""
    rows = [row(c, "amber", "basalt", worth[c % len(worth)]) for c in range(of_agents)]
    return rows + [row(c, "amber", "ref:one", "ab"[c % 3 == 0]) for c in range(voted)]


def test_references_on_few_conversations_are_left_out_with_a_note() -> None:
    few, many = axis(with_references(5)).board, axis(with_references(9)).board
    assert [r.system for r in few.systems] == ["amber", "basalt"]
    assert not any("Left out" in note for note in [*axis(with_references(0)).board.warnings, *many.warnings])
    assert "Left out, for too few votes: ref:one." in few.warnings
    assert all(r.interval is not None for r in few.systems)
    assert {r.system for r in many.systems} == {"amber", "basalt", "ref:one"}


@pytest.mark.parametrize("voted", [0, 4, 12])
def test_a_bound_is_given_where_one_agent_always_won_with_references_or_without(voted: int) -> None:
    board = axis(with_references(voted, worth="a")).board
    rating = {r.system: r for r in board.systems}
    assert present(rating["basalt"].interval)[0] is None
    assert present(present(rating["basalt"].interval)[1]) < 1500
    if voted < 8:
        # ½ logit(0.05^(1/60)) in Elo; with twelve the reference places amber, which then has both ends.
        low, high = present(rating["amber"].interval)
        assert high is None
        assert low == pytest.approx(1758, abs=1)


def test_verdicts_on_references_nobody_voted_on_do_not_refuse_a_board() -> None:
    judged = [
        row(c, one, other, "ab"[c % 2], source="judge", judge=JUDGE, draw_rate=None)
        for c in range(20) for one, other in combinations(("amber", "basalt", "ref:one"), 2)
    ]  # fmt: skip
    board = axis([*with_references(0, 20), *judged]).board
    assert [r.system for r in board.systems] == ["amber", "basalt"]


def test_each_kind_of_pair_has_the_part_that_its_votes_are() -> None:
    """A silence counts as its kind does: one of ten pairs of two agents, and not one of all pairs of the run."""
    rows = [row(c, "amber", "basalt", "ab"[c % 2]) for c in range(9)] + [silence(9, "amber", "basalt")]
    rows += [row(c, name, "ref:one", "ab"[c % 2]) for c in range(9) for name in ("amber", "basalt")]
    found = axis(rows, pairs=30, of_agents=10)
    assert found.pairs == 30
    silent = found.met[found.contexts.index("c009")].sum() / 2
    assert silent / (found.met.sum() / 2) == pytest.approx((9 / 9) / (9 / 9 * 10 + 18 / 20 * 20))
