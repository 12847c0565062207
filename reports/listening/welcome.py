"""The first page of a test: what a person is asked for, before they agree to it. Every sentence follows from the design.

Nothing here says which agent, delay or reply is expected to be better, and nothing marks a check: that would change answers.
"""

from typing import Final

from harness.reports.listening.design import ListeningDesign, scales
from harness.reports.listening.length import SessionLength
from harness.wording import counted

_RATED: Final = {
    "empathy": "how well it responds to how the person feels",
    "naturalness": "how natural the voice sounds",
}


def title(design: ListeningDesign) -> str:
    """The heading."""
    return "Which reply would help more?" if design.kind == "ab" else "How good is each reply?"


def about(design: ListeningDesign) -> str:
    """What a person does in this test."""
    meet = "hear" if design.medium == "sound" else "read"
    if design.kind == "ab":
        asked = (
            f"You will {meet} people who are going through something hard, and two replies to each of them. You say which "
            "of the two would help this person more, and why, in a few words."
        )
    else:
        rated = " and ".join(_RATED[scale] for scale in scales(design.medium))
        asked = (
            f"You will {meet} people who are going through something hard, and one reply to each of them. You rate {rated}, "
            "from 1 to 5."
        )
    own = "your own ear" if design.medium == "sound" else "your own view"
    return f"{asked} There are no right answers: we want {own}."


def equipment(design: ListeningDesign) -> str:
    """What a person needs for it."""
    if design.medium == "text":
        return "Everything is read, and no sound is played: you need no headphones."
    if not design.headphone_trials:
        return "Everything is heard to its end, so please use headphones and sit somewhere quiet."
    return (
        "You need headphones that work on both sides, and somewhere quiet. We try the headphones out first, with "
        f"{counted(design.headphone_trials, 'short trial')}; without them the test ends there. Everything is heard to its end."
    )


def delays(design: ListeningDesign) -> str:
    """What a person should know of the waits; empty where all replies come alike."""
    twice = "You meet each conversation twice, at different times; please answer afresh each time."
    waits = "Some replies come at once and some after a wait. Nothing is broken then."
    if design.medium == "text" or design.delays == "without":
        return ""
    return waits if design.delays == "with" else f"{twice} {waits}"


def origin(design: ListeningDesign) -> str:
    """Whose the replies are."""
    return (
        f"The replies are {'spoken' if design.medium == 'sound' else 'spoken or written'} by machines, some perhaps by people."
    )


def duration(design: ListeningDesign, length: SessionLength) -> str:
    """How much is asked, and how long it takes."""
    thing = "pair of replies" if design.kind == "ab" else "reply"
    things = "pairs of replies" if design.kind == "ab" else "replies"
    practice = f", after {length.practice} for practice" if length.practice else ""
    pause = f", with a break after every {design.break_every}" if length.questions > design.break_every else ""
    low, high = length.minutes
    time = f"about {counted(high, 'minute')}" if low >= high else f"{low} to {high} minutes"
    source = f", as it took earlier raters ({counted(length.answers, 'answer')})" if length.answers else ""
    return (
        f"There {'is' if length.questions == 1 else 'are'} {counted(length.questions, thing, things)}{practice}{pause}. It "
        f"takes {time}{source}; you may close the page and go on later in the same browser."
    )


def welcome_page(html: str, design: ListeningDesign, length: SessionLength) -> str:
    """The page of the test for this design."""
    parts = {
        "title": title(design),
        "about": about(design),
        "equipment": " ".join(part for part in (equipment(design), delays(design)) if part),
        "origin": origin(design),
        "duration": duration(design, length),
    }
    for name, text in parts.items():
        html = html.replace(f"{{{name}}}", text)
    return html
