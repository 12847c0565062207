"""The supporter's instructions. The rules are those of HEART's protocol (section 9.4); the sentences are this project's.

The instruction is short because a small model follows few rules (told that it is not a doctor, it told callers that they
were not), and because on two CPU cores every hundred tokens of a cold prompt cost about three hundred milliseconds; it
comes first and never changes, so that it stays in the prefix cache.
"""

from harness.agents.cascade.settings import ReplySettings


def system_instruction(reply: ReplySettings) -> str:
    """The system prompt of a supporter that keeps the limits of `reply`."""
    return (
        "You are a kind friend on the phone with someone who is having a hard time. "
        f"Reply in one to {_count(reply.max_sentences)} short spoken sentences, at most about {reply.max_words} words, "
        "with no lists. First say back the feeling you hear, in your own words. "
        "Do not judge and do not hurry into advice. Ask at most one gentle question. "
        "Stay in this role and give no medical or legal advice. "
        "If they may hurt themselves or someone else, ask them to call the emergency number now."
    )


def revision_request(reply: ReplySettings) -> str:
    """The request to revise a draft."""
    return (
        "That was a draft, and I have not heard it. Say it better: keep what is kind, use my own words and feelings, "
        f"leave out anything empty or hasty, and stay within {reply.max_words} words. Say only the reply."
    )


def _count(number: int) -> str:
    return {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}.get(number, str(number))
