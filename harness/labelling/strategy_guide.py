"""Meaning of each of the fifteen strategies, with an example: the same words for a model and for people who label.

A labeller who knows only a name uses the meaning that it has elsewhere, and two labellers then disagree on words, not on
replies. Names are HEART's (section 9.10); definitions and examples are this project's own, each contrasted with its nearest
neighbour.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from harness.ranking.strategies import STRATEGIES


@dataclass(frozen=True, slots=True)
class Meaning:
    """One strategy: the act of a reply that uses it, and an example."""

    definition: str
    example: str


GUIDE: Final[Mapping[str, Meaning]] = {
    "affirmation": Meaning(
        "names a strength, an effort or a good choice of this person; praise without a ground is not enough",
        "You kept going to those meetings even when nobody backed you. That took nerve.",
    ),
    "avoid judgment and criticism": Meaning(
        "says in words that the person is not judged, blamed or wrong to feel so; merely not judging does not count",
        "I don't think any less of you for shouting at him.",
    ),
    "clarification": Meaning(
        "asks in order to understand what was meant or what happened",
        "When you say she froze you out, what did she do?",
    ),
    "collaborative planning": Meaning(
        "works out a next step together with the person, who keeps the choice",
        "Shall we think about what you could say on Thursday, and you pick what sounds like you?",
    ),
    "emotional validation": Meaning(
        "says that this feeling makes sense in this situation; naming a feeling alone is a reflective statement",
        "No wonder you're angry, after she promised it twice.",
    ),
    "normalize experiences": Meaning(
        "says that others in this situation feel or do the same",
        "A lot of people find the third week harder than the first.",
    ),
    "offer hope": Meaning(
        "says that it can become better or bearable, with or without a reason",
        "It won't always hurt as sharply as it does tonight.",
    ),
    "promote self-care": Meaning(
        "encourages rest, food, sleep, movement, pleasure or asking for time of one's own",
        "Have you had anything to eat today? The forms can wait until you have.",
    ),
    "provide different perspectives": Meaning(
        "shows how another person, or another time, may see the situation",
        "From his side it may have looked as though you'd already decided.",
    ),
    "reflective statements": Meaning(
        "says back what the person said or feels, in other words, without adding that it makes sense",
        "So the house is quiet, and that is when it starts.",
    ),
    "reframe negative thoughts": Meaning(
        "takes a harsh thought about oneself or the future and puts a fairer one in its place",
        "You call it failing. I'd call it stopping before it broke you.",
    ),
    "share information": Meaning(
        "gives a fact that may help: how something works, what exists, what is usual",
        "A doctor's note is enough there, they may not ask for the diagnosis.",
    ),
    "stress management": Meaning(
        "gives a technique against tension: breathing, grounding, a pause, a list, splitting a task",
        "Put both feet on the floor and name five things that you can see.",
    ),
    "suggest options": Meaning(
        "proposes something to do, as an offer; two people's plan is collaborative planning, a technique is stress management",
        "You could ask to speak with her before the others come in.",
    ),
    "chit-chat": Meaning(
        "talks about something that has nothing to do with the trouble, or only keeps the talk going",
        "Nice weather for it at least. What's your dog called?",
    ),
}
"""The meanings in the order of `STRATEGIES`."""


def in_a_line(strategy: str) -> str:
    """The strategy as in the prompt."""
    meaning = GUIDE[strategy]
    return f'{strategy}: {meaning.definition} (for instance "{meaning.example}")'


def for_people() -> str:
    """The sheet's companion: one page in Markdown."""
    rows = "\n".join(f"| {name} | {GUIDE[name].definition} | {GUIDE[name].example} |" for name in STRATEGIES)
    return (
        "# What the columns mean\n\n"
        "Mark a cell where the reply uses the strategy, however briefly. A reply may use several or none. A polite tone "
        "alone is no strategy.\n"
        "Write anything into `done` once you have looked at all columns of a row.\n\n"
        f"| strategy | the reply … | for instance |\n|---|---|---|\n{rows}\n"
    )
