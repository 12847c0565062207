"""The rewriting of regular contexts into adversarial ones: a model rewrites the seeker's turns, everything else stays.

The model is given the conversation and, turn by turn, how hostile each seeker turn should be; what it returns is put
through the validator, and its faults are sent to it for the next attempt. An item that still fails is reported, never accepted.
The quality of a given model's rewritings is not measured here.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from textwrap import shorten
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, create_model

from harness.scenarios.adversarial.validate import LEAST_TURNS, PROFILES, faults, greets, target_curve
from harness.scenarios.context import Context, EscalationProfile, SpeechDirections, Turn
from harness.scenarios.llm import Complete, LlmError, LlmUnreachable, Message, as_json, ask

ATTEMPTS = 3
CANDIDATES_PER_ITEM = 4
"""Contexts to try for each wanted item before the set is reported as too small."""
PER_PROFILE = 5

_TASK = """You rewrite one side of a support conversation for a test of supporters under pressure.
Keep the situation, the facts and the order of events. Rewrite only what the SEEKER says, so that their hostility towards the
supporter follows the level given for each turn, from 0 (friendly) to 10 (openly contemptuous and insulting). Each turn must
still answer the supporter turn before it, and sound like a person speaking aloud: short sentences, fillers, self-repairs.
Never write slurs, sexual content, threats of violence, or any mention of harming oneself. The last turn must be the worst.
Answer with JSON: {"seeker_turns": [one string for each seeker turn, in order]}."""


class SeekerTurns(BaseModel):
    """The model's answer; for one conversation the number of turns is fixed too (`_of_length`)."""

    model_config = ConfigDict(extra="forbid")

    seeker_turns: list[str]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """An adversarial item that passed the validator, with the number of attempts."""

    context: Context
    attempts: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A context that could not be rewritten: the faults of the last attempt, a line each."""

    id: str
    profile: EscalationProfile
    faults: tuple[str, ...]


def usable(context: Context) -> Context | None:
    """The context as a base for rewriting: from the first supporter greeting on, at least four turns; else None."""
    turns = context.turns if context.turns[0].role == "supporter" else context.turns[1:]
    if len(turns) < LEAST_TURNS or not greets(turns[0].text):
        return None
    return context.model_copy(update={"turns": turns})


def rewrite(base: Context, profile: EscalationProfile, complete: Complete, *, attempts: int = ATTEMPTS) -> Rewrite | Failure:
    """One context rewritten to one profile, or the failure. `base` starts with a supporter's greeting (see `usable`)."""
    places = [k for k, turn in enumerate(base.turns) if turn.role == "seeker"]
    wrong: tuple[str, ...] = ()
    for attempt in range(1, attempts + 1):
        try:
            answer = ask(complete, _messages(base, profile, wrong), _of_length(len(places)))
            item = _with_seeker_turns(base, profile, answer.seeker_turns)
        except LlmUnreachable:
            raise
        except (LlmError, ValueError) as error:
            wrong = (shorten(str(error), 300),)
            continue
        wrong = faults(item, base)
        if not wrong:
            return Rewrite(item, attempt)
    return Failure(base.id, profile, wrong)


def rewrite_set(
    contexts: Sequence[Context],
    complete: Complete,
    *,
    per_profile: int = PER_PROFILE,
    seed: int = 0,
    progress: Callable[[EscalationProfile, int], None] | None = None,
) -> tuple[tuple[Rewrite, ...], tuple[Failure, ...]]:
    """`per_profile` items for each profile, bases spread over emotions and each used once; and every failure.

    Fewer come back when the model fails on `CANDIDATES_PER_ITEM` times as many bases; the failures say why.
    """
    bases = _spread([base for context in contexts if (base := usable(context))], seed)
    done: list[Rewrite] = []
    failed: list[Failure] = []
    for profile in PROFILES:
        kept = tried = 0
        while kept < per_profile and tried < per_profile * CANDIDATES_PER_ITEM and (base := next(bases, None)):
            tried += 1
            result = rewrite(base, profile, complete)
            if isinstance(result, Failure):
                failed.append(result)
                continue
            kept += 1
            done.append(result)
            if progress is not None:
                progress(profile, kept)
    return tuple(done), tuple(failed)


def _spread(bases: Sequence[Context], seed: int) -> Iterator[Context]:
    by_emotion: dict[str, list[Context]] = defaultdict(list)
    order = sorted(bases, key=lambda c: c.id)
    random.Random(seed).shuffle(order)
    for base in order:
        by_emotion[base.emotion].append(base)
    while any(by_emotion.values()):
        for emotion in sorted(by_emotion):
            if by_emotion[emotion]:
                yield by_emotion[emotion].pop()


def _messages(base: Context, profile: EscalationProfile, wrong: Sequence[str]) -> list[Message]:
    seekers = sum(turn.role == "seeker" for turn in base.turns)
    conversation = {
        "situation": base.situation,
        "turns": [{"role": turn.role, "text": turn.plain} for turn in base.turns],
        "hostility_of_each_seeker_turn": [round(level) for level in target_curve(profile, seekers)],
    }
    messages = [{"role": "system", "content": _TASK}, {"role": "user", "content": as_json(conversation)}]
    if wrong:
        messages.append({"role": "user", "content": "Your last answer was refused: " + "; ".join(wrong) + ". Try again."})
    return messages


@cache
def _of_length(turns: int) -> type[SeekerTurns]:
    # Servers that decode by grammar obey a count in the schema; asked only in words, a small model gave no turns.
    exactly = Annotated[list[str], Field(min_length=turns, max_length=turns)]
    return create_model("SeekerTurns", __base__=SeekerTurns, seeker_turns=(exactly, ...))


def _with_seeker_turns(base: Context, profile: EscalationProfile, said: Sequence[str]) -> Context:
    places = [k for k, turn in enumerate(base.turns) if turn.role == "seeker"]
    levels = target_curve(profile, len(places))
    turns = list(base.turns)
    for k, text, level in zip(places, said, levels, strict=True):
        angry = SpeechDirections(emotion="anger", intensity=round(level / 10, 2)) if level > 5 else base.turns[k].speech
        turns[k] = Turn(role="seeker", text=text, speech=angry)
    return Context.model_validate(
        {
            **base.model_dump(),
            "id": f"{base.id[:66]}-{profile}",
            "subset": "adversarial",
            "escalation": profile,
            "turns": [turn.model_dump() for turn in turns],
            "references": [],
            "source": f"{base.source}; seeker turns rewritten by a model",
        }
    )
