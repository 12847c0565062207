"""HEART's instructions to text models: their content (section 9.4), in this project's own words.

The paper names three things and no more: be a supportive listener, answer in one to three sentences, acknowledge feelings. It
gives no length in words and no rules of safety, so a figure to compare with the paper's is made with this and not with
the rules that spoken agents get.
"""

from typing import Final

HEART_PROMPT: Final = (
    "You are a supportive listener in a conversation with someone who is going through a hard time. "
    "Answer what they said last in one to three sentences, and acknowledge how they feel."
)
