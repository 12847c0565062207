"""The turns of a context that its voice cannot speak, with the reasons.

The voices that ship speak English. The user's own voices and those of other packages may speak anything, so they are not asked.
"""

from collections.abc import Iterable, Iterator

from harness.errors import UserError
from harness.scenarios.context import Context, spoken_indices
from harness.scenarios.pack import Pack
from harness.scenarios.speakable import other_language, unreadable_sign
from harness.voices.choice import Voices


def unspeakable(context: Context, voices: Voices, mode: str) -> Iterator[tuple[int, str]]:
    """(Index of the turn, reason) for each turn of a mode that the voice cannot speak.

    The language is that of all its turns together, because a short one shows none.
    """
    if not voices.speaks_english_alone(voices.wish_of(context)):
        return
    turns = {k: context.turns[k].plain for k in spoken_indices(context, mode) if context.turns[k].audio is None}
    signs = [(k, wrong) for k, text in turns.items() if (wrong := unreadable_sign(text))]
    yield from signs
    if not signs and (wrong := other_language(" ".join(turns.values()))):
        yield max(turns), wrong


def refuse_unspeakable(pack: Pack, contexts: Iterable[Context], voices: Voices, mode: str) -> None:
    """Raise `UserError` for the first turn that cannot be spoken, before any is rendered."""
    for context in contexts:
        for index, wrong in unspeakable(context, voices, mode):
            raise UserError(
                f"{pack.path}: {context.id}, turn {index + 1}: {wrong}, and the caller's voice speaks English alone; "
                f"`harness scenarios check {pack.path}` lists all such turns, and HEART_VOICES names voices of your own"
            )
