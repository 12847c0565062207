"""Talks in ESConv's two layouts, all of them written for the tests: ESConv itself may not be copied into the project."""

import json
from collections.abc import Sequence
from pathlib import Path

from harness.scenarios.esconv.read import Dialogue, Role, Utterance

OPENING = ["Hello, how are you?", "Not so great today.", "I'm sorry, what is going on for you?"]
OPENERS: tuple[Role, ...] = ("supporter", "seeker", "supporter")
PLIGHTS = [
    "My sister and I argue every single time she visits, I am so sad about it and I don't know what to do with myself.",
    "I feel ashamed that I failed the driving test again and my brother keeps laughing at me, what should I tell him?",
    "My landlord is ignoring the broken heating and I am exhausted and furious, I don't know how to make him listen.",
]
CORPUS = tuple(line.split(" | ") for line in (Path(__file__).parent / "plights.txt").read_text(encoding="utf-8").splitlines())
"""Emotion, problem, and what weighs on the seeker."""
LATER = (
    "I tried a letter in March and it came back unread, I felt so hurt and helpless, do you think I should ring instead?",
    "My aunt says that I make too much of it, I feel so alone with her words, what should I say when we meet for coffee?",
    "Last night I lay awake and cried until five, I am so tired and frustrated of this, is it normal that it takes months?",
)
"""What three of the seekers say later on: a talk may give two items."""


def talk(key: str, plight: str, emotion: str = "sadness", problem: str = "family", later: str = "") -> Dialogue:
    said: list[tuple[Role, str]] = [
        *zip(OPENERS, OPENING, strict=True),
        ("seeker", plight),
        ("supporter", f"That sounds heavy to carry around, {key}. What have you tried so far?"),
        ("seeker", "Not much, to be honest."),
        ("supporter", "Would you like to think about it together?"),
    ]
    if later:
        said += [
            ("seeker", later),
            ("supporter", "You have carried this by yourself for a while."),
            ("seeker", "Yes, I have."),
            ("supporter", "I am here."),
        ]
    return Dialogue(key, emotion, problem, f"It is about {key}.", tuple(Utterance(role, text) for role, text in said))


def talks() -> list[Dialogue]:
    """Three talks with nothing in common."""
    return [talk(f"talk-{k}", plight, problem=f"problem {k}") for k, plight in enumerate(PLIGHTS)]


def corpus() -> list[Dialogue]:
    """Talks of many feelings and matters, some of which give two items, and at their end one that is told a second time."""
    later = dict(enumerate(LATER))
    told = [
        talk(f"talk-{k}", plight, emotion, problem, later.get(k, "")) for k, (emotion, problem, plight) in enumerate(CORPUS)
    ]
    return [*told, talk("talk-again", CORPUS[0][2], *CORPUS[0][:2])]


def write_splits(folder: Path) -> Path:
    """The corpus as the JSON Lines copies have it, in three splits; returns the folder."""
    folder.mkdir()
    whole = corpus()
    for name, part in (("train", whole[:-6]), ("valid", whole[-6:-3]), ("test", whole[-3:])):
        (folder / f"esconv_{name}.jsonl").write_text(as_lines(part), encoding="utf-8")
    return folder


def as_lines(dialogues: list[Dialogue]) -> str:
    spoken = {"seeker": "usr", "supporter": "sys"}
    rows = [
        {
            "emotion_type": d.emotion,
            "problem_type": d.problem,
            "situation": d.situation,
            "dialog": [{"text": u.text, "speaker": spoken[u.role]} for u in d.utterances],
        }
        for d in dialogues
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def as_original(dialogues: Sequence[Dialogue], seeker: str = "seeker", supporter: str = "supporter") -> str:
    """The layout of `ESConv.json`; its second file, of talks that failed, has other names for the two."""
    called = {"seeker": seeker, "supporter": supporter}
    rows = [
        {
            "emotion_type": d.emotion,
            "problem_type": d.problem,
            "situation": d.situation,
            "dialog": [{"content": u.text + "\n", "speaker": called[u.role], "annotation": {}} for u in d.utterances],
        }
        for d in dialogues
    ]
    return json.dumps(rows)
