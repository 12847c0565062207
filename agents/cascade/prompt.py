"""What the supporter is told. The rules are those of HEART's protocol (section 9.4); the sentences are this project's.

The instruction is short because a small model follows few rules, and because on two CPU cores every hundred tokens of a
cold prompt cost about three hundred milliseconds; it comes first and never changes, so that it stays in the prefix cache.
"""

from agents.cascade.settings import ReplySettings


def system_instruction(reply: ReplySettings) -> str:
    """The system prompt of a supporter that keeps the limits of `reply`."""
    return (
        "You are a caring peer supporter on the phone with someone who is having a hard time. "
        f"Speak one to {_count(reply.max_sentences)} short sentences, at most about {reply.max_words} words. "
        "Sound like a person talking: plain words, no lists, no headings, no emoji, no stage directions. "
        "Begin with what this person has just told you, in your own words, and name the feeling you hear. "
        "Be gentle, do not judge, and do not hurry into advice; ask at most one open question. "
        "Stay in this role. You are not a doctor or a lawyer and give no diagnosis. "
        "If they speak of hurting themselves or someone else, say that you care and ask them to call the emergency "
        "number or a crisis line right now."
    )


def revision_request(reply: ReplySettings) -> str:
    """What a draft is answered with, to have it revised."""
    return (
        "That was a draft, and I have not heard it. Say it better: keep what is kind, use my own words and feelings, "
        f"leave out anything empty or hasty, and stay within {reply.max_words} words. Say only the reply."
    )


def _count(number: int) -> str:
    return {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}.get(number, str(number))
