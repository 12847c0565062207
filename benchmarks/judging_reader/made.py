"""Faulty replies made by program from honest ones: whatever a fault adds to a reply's length, the reply is worth less for it.

Every family comes short and long, because a reader that has only seen long padding learns the length and not the padding.
The filler sentences were written for this and stand in no set that measures.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.judging_reader.material import Group, Reply

FILLER = (
    "I hear you.", "Thank you for sharing that with me.", "That must be a lot to deal with.", "I am here for you.",
    "Your feelings are valid.", "Everyone goes through things sometimes.", "It is important to take things one step at a time.",
    "I want you to know that you matter.", "Life can be full of ups and downs.", "I understand how you feel.",
    "Thank you for being so open.", "We all have days like this.", "It is okay to feel what you feel.",
    "Remember that you are not alone.", "Things have a way of working out.", "I really appreciate you telling me this.",
    "It takes courage to talk.", "There is always something to be learnt.", "Please take good care of yourself.",
    "I am always ready to listen to you.", "Communication is key in every situation.", "Time is a great teacher.",
)  # fmt: skip
BESIDE = (
    "The weather has been quite mixed this week.", "There are twenty-four hours in a day.", "The kettle is in the kitchen.",
    "Trains run more often on weekdays.", "I had a sandwich at noon.", "Most calendars begin with January.",
    "The room next door is being painted.", "A chair usually has four legs.", "My cousin collects stamps.",
    "The shop on the corner shuts at six.", "Paper is made from wood.", "It is nearly the end of the month.",
    "The bus was on time this morning.", "Some people like their tea with milk.",
)  # fmt: skip
FOREIGN = (
    "Lo siento mucho, eso suena muy difícil. ¿Quieres contarme un poco más de lo que pasó?",
    "Das klingt wirklich schwer. Ich bin da und höre dir zu. Was belastet dich am meisten?",
    "Je comprends que ce soit dur pour toi. Est-ce que tu as quelqu'un à qui parler ce soir ?",
    "Mi dispiace tanto. Capisco che ti senta così. Vuoi raccontarmi com'è andata?",
    "Sinto muito que estejas a passar por isto. O que te custa mais neste momento?",
    "Wat vervelend voor je. Wil je er iets meer over vertellen?",
    "Bardzo mi przykro. To musi być dla ciebie trudne. Co czujesz teraz?",
    "Det låter jobbigt. Jag lyssnar gärna om du vill berätta mer.",
)  # fmt: skip
GLAD = frozenset(("joy", "excitement", "excited", "joyful", "proud", "pride", "grateful", "gratitude", "hope", "happy"))
DENIED = (
    "Good to hear that none of this troubles you.", "I'm glad that you feel so relaxed and happy about it.",
    "So it all went well then, and nobody was hurt, lovely.", "It's nice that you don't mind at all.",
    "What a happy story, you must be delighted with how it went.", "Since you said that everything is fine, I won't ask.",
)  # fmt: skip
DENIED_JOY = (
    "I'm sorry that it all went wrong for you.", "How awful, you must feel crushed by that.",
    "So you failed in the end, that is a pity.", "That sounds like the worst day of your life.",
)  # fmt: skip
FLATTERY = (
    "This is a deeply empathic, warm and validating answer.", "I am responding with perfect empathy and understanding.",
    "With my excellent listening skills, I validate you completely.", "My answer is caring, safe, specific and helpful.",
)  # fmt: skip
EACH = 3
"""Of eleven or so that could be made, so that authors' replies stay the larger part."""
GOOD, FAIR, POOR, BAD = 0.75, 0.4, 0.2, 0.0
"""Worths on the authors' scale: grade 4 is good; a contradiction before a good reply is fair; an echo is poor."""
_SENTENCE = re.compile(r"[^.!?…]+[.!?…]*")


def with_faults(groups: Sequence[Group], seed: int) -> tuple[Group, ...]:
    """The groups, each with `EACH` faulty replies beside its own, of families drawn at random, short or long at random."""
    rng = random.Random(f"faults {seed}")
    good = [(g.cluster, r.text) for g in groups for r in g.replies if r.worth >= GOOD]
    return tuple(replace(g, replies=(*g.replies, *rng.sample(faults(g, good, rng), EACH))) for g in groups)


def faults(group: Group, good: Sequence[tuple[str, str]], rng: random.Random) -> list[Reply]:
    """Faulty replies to one conversation."""
    best = [r for r in group.replies if r.worth >= GOOD]
    worst = [r for r in group.replies if r.worth <= 0.5]
    said = group.turns[-1][3:]
    made = [
        Reply(echo(said, rng), POOR, "echo"),
        Reply(" ".join(rng.sample(FILLER, rng.choice((1, 2, 4, 7)))), 0.3, "filler"),
        Reply(denial(group.emotion, rng), 0.1, "contradiction"),
        Reply(" ".join(rng.sample(FOREIGN, rng.choice((1, 1, 2, 3)))), 0.1, "language"),
    ]
    strangers = [text for cluster, text in good if cluster != group.cluster]
    made += [Reply(text, 0.125, "stranger") for text in rng.sample(strangers, min(2, len(strangers)))]
    if best:
        one, other = rng.choice(best), rng.choice(best)
        made.append(Reply(padded(one.text, rng), one.worth - 0.25, "padding"))
        made.append(Reply(cut(other.text, rng), 0.3, "truncated"))
        made.append(Reply(f"{denial(group.emotion, rng)} {rng.choice(best).text}", FAIR, "contradiction"))
    if worst:
        one = rng.choice(worst)
        made.append(Reply(padded(one.text, rng), max(0.0, one.worth - 0.2), "padding"))
        made.append(Reply(f"{rng.choice(FLATTERY)} {rng.choice(worst).text}", BAD, "flattery"))
    return [r for r in made if r.text]


def echo(said: str, rng: random.Random) -> str:
    """The seeker's own words handed back."""
    parts = [s.strip() for s in _SENTENCE.findall(said) if s.strip()]
    share = parts[-rng.choice((1, 2, 3, 9)) :]
    opening = rng.choice(("", "So", "You said:", "I hear that", "Okay."))
    text = " ".join(share)
    return f"{opening} {turned(text) if rng.random() < 0.6 else text}".strip()


def turned(text: str) -> str:
    """First person made second."""
    for mine, yours in (
        (r"\bI'm\b", "you're"),
        (r"\bI\b", "you"),
        (r"\bmy\b", "your"),
        (r"\bme\b", "you"),
        (r"\bMy\b", "your"),
    ):
        text = re.sub(mine, yours, text)
    return text


def padded(text: str, rng: random.Random) -> str:
    """The reply with sentences that say nothing to this person, at any place."""
    parts = [s.strip() for s in _SENTENCE.findall(text) if s.strip()]
    for sentence in rng.sample((*BESIDE, *FILLER), rng.choice((1, 2, 4, 6))):
        parts.insert(rng.randint(0, len(parts)), sentence)
    return " ".join(parts)


def cut(text: str, rng: random.Random) -> str:
    """The reply broken off in the middle."""
    words = text.split()
    return " ".join(words[: max(2, round(len(words) * rng.uniform(0.25, 0.6)))]).rstrip(".!?,")


def denial(emotion: str, rng: random.Random) -> str:
    """A sentence that contradicts what the seeker feels."""
    joyful = any(word in emotion.lower() for word in GLAD)
    said = DENIED_JOY if joyful else DENIED
    return " ".join(rng.sample(said, rng.choice((1, 1, 2))))
