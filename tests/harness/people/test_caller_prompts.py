"""Prompts are harmless, and everybody's are dealt so that each is retold about equally often."""

from collections import Counter
from pathlib import Path

from harness.people.caller.prompts import PER_PERSON, dealt, prompts_of, topics
from harness.scenarios import load_pack
from harness.scenarios.context import Context, Turn
from harness.scenarios.pack import Pack
from harness.scenarios.screens import ALL, screen_text
from harness.study.texts import texts


def of(*texts: str) -> Pack:
    contexts = tuple(
        Context(
            id=f"c{k}",
            subset="regular",
            emotion="anxiety",
            problem="exams",
            turns=(Turn(role="seeker", text=text),),
            source="t",
            licence="t",
        )
        for k, text in enumerate(texts)
    )
    return Pack("mine", contexts, "0", Path("mine.yaml"))


def test_prompts_are_regular_turns_without_pause_marks() -> None:
    found = prompts_of(load_pack("heart-mini"))
    assert len(found.usable) == 9
    assert all("<pause" not in prompt.text for prompt in found.usable)
    assert found.in_words() == "9 prompts to retell; left out: 3 hostile"


def test_a_crisis_is_never_a_prompt() -> None:
    found = prompts_of(of("My exam is on Friday. <pause 400> I am late.", "I dont want to really be around any more."))
    assert [prompt.text for prompt in found.usable] == ["My exam is on Friday. I am late."]
    assert found.in_words() == "1 prompts to retell; left out: 1 held back by the screens"


def test_topics_pass_every_screen() -> None:
    assert len({topic.id for topic in topics(texts())}) == 24
    assert [screen_text(topic.text, ALL) for topic in topics(texts())] == [()] * 24


def test_prompts_are_covered_evenly_and_nobody_gets_one_twice() -> None:
    prompts = prompts_of(load_pack("heart-open")).usable
    given: Counter[str] = Counter()
    first = []
    for _ in range(10):
        mine = dealt(prompts, given, seed=3)
        assert len({p.id for p in mine}) == PER_PERSON
        first.append(mine[0].id)
        given.update(p.id for p in mine)
        assert max(given.values()) - min(given[p.id] for p in prompts) <= 1
    assert len(set(first)) > 5
    assert dealt(prompts, given, seed=3) == dealt(prompts, given, seed=3)
    assert dealt(prompts, {}, seed=3) != dealt(prompts, {}, seed=4)
    assert len(dealt(prompts[:5], {}, seed=0)) == 5
