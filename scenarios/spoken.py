"""The turns of a context that a caller speaks."""

from harness.scenarios.context import Context


def spoken_indices(context: Context, mode: str) -> tuple[int, ...]:
    """The indices of the turns that the caller speaks: the last, or in replay every seeker turn."""
    if mode == "seeded":
        return (len(context.turns) - 1,)
    return tuple(k for k, turn in enumerate(context.turns) if turn.role == "seeker")
