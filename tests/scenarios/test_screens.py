"""The rule screens: every kin and spelling of self-harm is caught, its harmless twins are not."""

import pytest

from harness.scenarios.screens import reasons, screen_text
from harness.scenarios.screens.spelling import one_spelling

SELF_HARM = [
    "I dont want to really be around", "i don't want to be around anymore", "I just don't wanna be here anymore",
    "dont rly want 2 live", "Sometimes I wish I wasn't here", "I wish I was never born", "I want to die", "i wanna d1e",
    "kms", "I'm going to kill my self", "k!ll myself", "k*ll myself", "s.u.i.c.i.d.e", "su1cide", "sucide", "suiside",
    "everyone would be better off without me", "no one would notice if I was gone", "I can't go on",
    "what's the point of living", "there is no reason to go on", "life isn't worth living", "I'm tired of living",
    "i've been cutting myself", "thinking about ending it all", "end my life", "I might not be here tomorrow",
    "I hope I don't wake up", "I want to go to sleep and never wake up", "I don't see a future for myself",
    "I took a bottle of pills", "jump off a bridge", "I feel like dying", "I'd rather be dead",
    "not be on this earth anymore", "I want to disappear", "I have nothing left to live for", "I'm done with life",
    "I keep thinking about death", "I don't deserve to be alive", "i do not want to exist", "I want it all to end", "unalive",
    "sewerslide", "I want to d i e", "i wish i could just go to sleep and not wake up",
    "I really do not want to even be alive any more", "sometimes i think about not being here",
    "what is even the point of being alive", "I cant do this anymore",
    "all I could think of was ending her and killing her and myself", "I hated being alive",
    "I dont want to be around, you know", "it would be so much easier to just be dead", "I could jump over the bridge",
    "nothing seems worth it, it is all pointless", "how can i go on in this", "I\u2019m a danger to myself",
    "there's no hope, not for me", "I cant see a way out of this", "im tired of everything, not only of work",
    "nothing can help me now", "my whole life has been a waste", "it was as if my life had ended that day",
    "since then I have lost all sense of purpose", "the ways I cope are unhealthy, my coping skills haven't been good",
    "I do not see any way forward", "I'm beyond help", "i dont like the life I have",
]  # fmt: skip
HARMLESS = [
    "I don't want to be around him anymore", "I don't want to be around people right now",
    "I don't want to live with my parents", "I don't want to live in this town", "I was dying to hang up", "I'm dead tired",
    "My phone died", "My cat died", "I'm killing time", "She'd have killed them", "I could have died of embarrassment",
    "I can't live without coffee", "I worked hard to get here", "I want to be here for my son", "I kept going to the gym",
    "the end of my life savings", "I need to end this relationship", "I don't want to wake up early", "I want to succeed",
    "the outside world", "I cut my hair", "I hurt my back", "We decided to move house", "he stayed around for the kids",
    "I can't wait to be home for the holidays, not stuck here", "we stopped living together in June",
    "you only live once, I guess", "there's no hope of a raise this year", "I have hope again",
    "I'm tired of everything he says", "that trip was a waste of money", "I lost my whole weekend to it",
    "I'm good at coping with noise", "I turned thirty", "I've been here for sixteen years", "he has a good temper",
    "save yourself the trouble", "my relationship with my brother has changed", "they said I was promoted",
]  # fmt: skip


@pytest.mark.parametrize("said", SELF_HARM)
def test_self_harm_is_caught(said: str) -> None:
    assert any(finding.screen == "safety" for finding in screen_text(said, ["safety"]))


@pytest.mark.parametrize("said", HARMLESS)
def test_harmless_twins_pass(said: str) -> None:
    assert screen_text(said, ["safety"]) == ()


@pytest.mark.parametrize(
    ("said", "screen", "reason"),
    [
        ("write to me at jane.doe@example.com", "identity", "address or number"),
        ("my number is 555 010 9999", "identity", "address or number"),
        ("I live at 12 Long Barrow Lane", "identity", "address or number"),
        ("Hello, my name is Esther and I", "names", "a person's name"),
        ("she works at Walmart too", "identity", "a work place or school by name"),
        ("they put me on 50 mg of sertraline", "clinical", "medicine"),
        ("I was diagnosed in May", "clinical", "diagnosis"),
        ("I want to punch him", "safety", "violence"),
        ("he hits me when he drinks", "safety", "violence"),
        ("is it wrong if i kill the guy too", "safety", "violence"),
        ("he started touching me when I was small", "safety", "sexual"),
        ("we lost our baby in the spring", "safety", "death and dying"),
        ("I\u2019m Kim. What\u2019s yours?", "names", "a person's name"),
        ("we moved from Texas", "names", "a place"),
        ("on February 25th it happened", "identity", "a day"),
        ("can you read the description of my problem", "frame", "talk about the task"),
        ("she was abusive", "safety", "abuse"),
        ("this is such bullsh1t", "safety", "foul language"),
        ("my husband told me I was useless", "safety", "abuse"),
        ("she has such a bad temper and takes it out on the kids", "safety", "abuse"),
        ("they keep bullying me", "safety", "abuse"),
        ("he used it as a threat", "safety", "abuse"),
        ("our baby isn't eating", "safety", "abuse"),
        ("I'm 15 and my friends left me", "safety", "a minor"),
        ("im sixteen yrs old", "safety", "a minor"),
        ("I am in tenth grade", "safety", "a minor"),
        ("my middle school teachers", "safety", "a minor"),
        ("he cheated on me with his own cousin", "safety", "sexual"),
        ("my son is in legal trouble", "safety", "crime or drugs"),
        ("I have some mental problems", "clinical", "diagnosis"),
        ("it is health anxiety, they say", "clinical", "diagnosis"),
        ("my insomnia is back", "clinical", "diagnosis"),
        ("I cant loose any weight", "clinical", "eating"),
        ("I over-eat when I worry", "clinical", "eating"),
        ("my heart is racing", "clinical", "illness"),
        ("she has a heart condition", "clinical", "illness"),
        ("I went legally blind", "clinical", "illness"),
        ("next year I go to Virgina", "names", "a place"),
        ("from Pensylvania, like you", "names", "a place"),
        ("from the few messages we exchanged", "frame", "talk about the task"),
        ("we don't trust the government", "frame", "divisive politics"),
        ("do I get the bonus for this HIT", "frame", "talk about the task"),
    ],
)
def test_the_reason_is_named_with_the_words(said: str, screen: str, reason: str) -> None:
    found = {(finding.screen, finding.reason): finding.words for finding in screen_text(said)}
    assert found[(screen, reason)]


def test_one_spelling_undoes_apostrophes_padding_digits_and_stars() -> None:
    assert one_spelling("I don\u2019t REALLY want to just be aroooound!") == "i dont want to be around"
    assert one_spelling("k.i.l.l my self on the 21st, 5 times") == "kill myself on the 21st 5 times"


def test_a_screen_can_be_asked_for_alone() -> None:
    text = "my name is Esther and I want to die"
    assert {finding.screen for finding in screen_text(text, ["names"])} == {"names"}
    assert {screen for screen, _ in reasons()} == {"safety", "identity", "names", "clinical", "frame"}
