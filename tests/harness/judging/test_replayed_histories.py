"""Replies that answer conversations of their own: each is shown, scored and cached with the one it answers."""

import json

import pytest

from harness import models
from harness.judging import EMBEDDED_WEIGHTS, open_judge
from harness.judging.cache import cache_key
from harness.judging.completion import Completion
from harness.judging.judge import Question
from harness.judging.rubric import user_prompt
from harness.scenarios.context import Turn
from harness.scenarios.pack import load_pack

CONTEXT = load_pack("heart-mini").contexts[0]
OTHER = (*CONTEXT.turns[:-2], Turn(role="supporter", text="Bananas are yellow."), CONTEXT.turns[-1])


def reply(system: str, text: str, turns: tuple[Turn, ...] | None = None) -> Completion:
    return Completion(CONTEXT.id, system, text, turns=turns)


def test_replies_to_the_same_conversation_are_asked_as_ever() -> None:
    question = Question.of(CONTEXT, reply("a", "One."), reply("b", "Two."))
    assert question == Question(CONTEXT.turns, "One.", "Two.")
    assert question.swapped() == Question(CONTEXT.turns, "Two.", "One.")
    assert Question.of(CONTEXT, reply("a", "One.", OTHER), reply("b", "Two.", OTHER)).second_turns is None


def test_each_reply_is_shown_after_its_own_conversation_whatever_the_order() -> None:
    question = Question.of(CONTEXT, reply("a", "One.", OTHER), reply("b", "Two."))
    assert (question.turns, question.turns_of_second) == (OTHER, CONTEXT.turns)
    assert question.swapped() == Question.of(CONTEXT, reply("b", "Two."), reply("a", "One.", OTHER))
    assert question.swapped().swapped() == question
    prompt = user_prompt(question)
    data = json.loads(prompt[prompt.index("{") : prompt.rindex("}") + 1])
    assert "conversation" not in data
    assert data["conversation_before_reply_A"][-2]["text"] == "Bananas are yellow."
    assert data["conversation_before_reply_B"][-2]["text"] == CONTEXT.turns[-2].text


def test_an_answer_is_kept_for_its_conversations_only() -> None:
    keys = {
        cache_key("judge", Question.of(CONTEXT, reply("a", "One.", mine), reply("b", "Two.", yours)), 0)
        for mine in (None, OTHER)
        for yours in (None, OTHER)
    }
    assert len(keys) == 4


@pytest.mark.models
async def test_the_embedded_judge_scores_a_reply_by_what_it_answers() -> None:
    text = CONTEXT.references[0].text
    unlike = tuple(turn.model_copy(update={"text": "The oven needs a new door."}) for turn in CONTEXT.turns)
    async with open_judge("embedded", {name: models.resolve(name) for name in EMBEDDED_WEIGHTS}) as judge:
        verdict = await judge.compare(Question.of(CONTEXT, reply("a", text, unlike), reply("b", text)))
        swapped = await judge.compare(Question.of(CONTEXT, reply("b", text), reply("a", text, unlike)))
    assert verdict.winner == "second", "the same words fit the conversation that they were written for"
    assert swapped.winner == "first"
