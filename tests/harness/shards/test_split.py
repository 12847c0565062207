"""Every shard is a small picture of the whole run, and plays exactly what the run would have played."""

from collections import Counter

import pytest

from harness.errors import UserError
from harness.experiment import Experiment
from harness.run.fixed_plan import fixed
from harness.run.plan import make_plan
from harness.scenarios.pack import load_pack
from harness.shards.split import Share, deal, parse_shard

CONTEXTS = load_pack("heart-open").contexts


@pytest.mark.parametrize("of", [1, 2, 4, 7])
def test_shards_share_every_kind_of_context_and_the_words_evenly(of: int) -> None:
    shards = deal(CONTEXTS, of, "seeded")
    assert sorted(c.id for shard in shards for c in shard) == sorted(c.id for c in CONTEXTS)
    for kind in {(c.subset, c.emotion) for c in CONTEXTS}:
        held = [sum((c.subset, c.emotion) == kind for c in shard) for shard in shards]
        assert max(held) - min(held) <= 1
    for subset in ("regular", "adversarial"):
        held = [sum(c.subset == subset for c in shard) for shard in shards]
        assert max(held) - min(held) <= 1
    words = [sum(len(c.spoken.text.split()) for c in shard) for shard in shards]
    assert max(words) < 1.03 * min(words)


def test_dealing_hangs_on_nothing_but_the_contexts() -> None:
    order = {c.id: k for k, c in enumerate(CONTEXTS)}
    for shard, again in zip(deal(CONTEXTS, 5, "seeded"), deal(CONTEXTS[::-1], 5, "seeded"), strict=True):
        assert [c.id for c in shard] == [c.id for c in again[::-1]]
        assert [order[c.id] for c in shard] == sorted(order[c.id] for c in shard)


def test_shards_together_play_what_the_run_plays_each_in_the_runs_own_order() -> None:
    options = Experiment(
        agents=("baseline", "tuned-stock", "patient"), limit=12, repeats=2, conditions=("clean", "telephone"), events="everyday"
    )
    whole = make_plan(options)
    shards = [make_plan(options, Share((k, 4))) for k in range(1, 5)]
    played = [key for shard in shards for key in shard.session_keys()]
    assert Counter(played) == Counter(whole.session_keys())
    order = {key: k for k, key in enumerate(whole.session_keys())}
    for shard in shards:
        assert [order[key] for key in shard.session_keys()] == sorted(order[key] for key in shard.session_keys())
        assert {key.agent for key in shard.session_keys()} == {"baseline", "tuned-stock", "patient"}
        assert all(shard.event_of(key) == whole.event_of(key) for key in shard.session_keys())
    assert {fixed(shard).id for shard in shards} == {fixed(whole).id}


@pytest.mark.parametrize("text", ["0/4", "5/4", "2", "2/", "a/b", "-1/4", "1/0", "²/4", ""])
def test_a_shard_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"--shard .*: must be I/N with I from 1 to N"):
        parse_shard(text)


def test_more_shards_than_contexts_are_refused() -> None:
    with pytest.raises(UserError, match="use at most 3 shards"):
        make_plan(Experiment(limit=3), Share((1, 4)))


def test_a_plan_says_the_first_thing_in_which_it_differs() -> None:
    plan = fixed(make_plan(Experiment(agents=("baseline",), limit=3)))
    assert plan.difference(plan) is None

    def asked(**fields: object) -> dict[str, Experiment]:
        return {"experiment": plan.experiment.model_copy(update=fields)}

    moved = plan.model_copy(update=asked(pack="/elsewhere/heart-mini.yaml"))
    assert plan.difference(moved) is None
    assert plan.id == moved.id
    for change, said in (
        (asked(seed=2), "seed is 1 here and 2 there"),
        ({"harness_version": "9"}, f"harness_version is {plan.harness_version} here and 9 there"),
        ({"versions": {**plan.versions, "numpy": "0.0"}}, "versions: numpy is"),
        ({"pack_hash": "f" * 64}, "pack is not the same here and there"),
        ({"contexts": dict(list(plan.contexts.items())[:2])}, "only here"),
        ({"contexts": dict(reversed(plan.contexts.items()))}, "contexts are in another order"),
        (asked(conditions=("clean", "telephone")), "conditions is clean here and clean, telephone there"),
    ):
        other = plan.model_copy(update=change)
        assert said in (plan.difference(other) or "")
        assert other.id != plan.id
