"""One conversation of any format as a context: roles by their many names, neighbours merged, the end on the caller's turn.

Formats differ in the names of their fields and agree in the rest, so each reader only yields what was said by whom; the rules
are here once, and so is the count of what is left out.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from harness.scenarios.context import Context
from harness.scenarios.imports.imported import DEFAULTS, ImportFault, as_id, valid_context

SEEKER: Final = frozenset(("user", "human", "caller", "seeker", "customer", "client", "patient", "usr"))
SUPPORTER: Final = frozenset(
    ("assistant", "gpt", "bot", "agent", "model", "supporter", "ai", "chatgpt", "chatbot", "counselor", "sys")
)
UNSPOKEN: Final = frozenset(("system", "developer", "tool", "function", "observation", "function_call", "tool_call", "ipython"))
"""Roles of what nobody says."""
MOST_TURNS: Final = 60
"""As in a pack; of a longer talk the last turns are taken."""


class Said(NamedTuple):
    """A message: its role in a pack (None: nobody says it), its text, and what it has beside its text, in words."""

    role: str | None
    text: str
    left: tuple[str, ...] = ()


def role_in_pack(word: Any) -> str | None:
    """The role in a pack for a format's own; None for any other."""
    return "seeker" if _name(word) in SEEKER else "supporter" if _name(word) in SUPPORTER else None


def role_of(word: Any, where: str) -> str | None:
    """The role in a pack for a format's own; None for what nobody says. Raises `ImportFault` for an unknown one."""
    if (role := role_in_pack(word)) or _name(word) in UNSPOKEN:
        return role
    raise ImportFault(f"{where}: role {str(word)[:40]!r} is unknown; write user or assistant (system and tool are left out)")


def _name(word: Any) -> str:
    return str(word).strip().casefold()


def text_of(content: Any, where: str) -> tuple[str, tuple[str, ...]]:
    """The text of a message's content, a text or a list of parts, and the kinds of its parts that are no text."""
    if content is None or isinstance(content, str):
        return (content or "").strip(), ()
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list) or not all(isinstance(part, str | dict) for part in content):
        raise ImportFault(f"{where}: content must be a text, or a list of parts such as {{'type': 'text', 'text': '…'}}")
    texts, others = [], []
    for part in content:
        text = part if isinstance(part, str) else part.get("text")
        if isinstance(text, str):
            texts.append(text.strip())
        else:
            others.append(f"a part of type {str(part.get('type', 'unknown'))[:40]!r}")
    return " ".join(filter(None, texts)), tuple(others)


def merged(said: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """(Role, text) of messages as turns, neighbours of one role made one."""
    turns: list[dict[str, str]] = []
    for role, text in said:
        if turns and turns[-1]["role"] == role:
            turns[-1]["text"] += f" {text}"
        else:
            turns.append({"role": role, "text": text})
    return turns


def history_of(said: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Messages as the turns before a seeker's: the last is a supporter's, and what a seeker said after it is left out."""
    turns = merged(said)
    while turns and turns[-1]["role"] == "seeker":
        turns.pop()
    return turns


def context_of(said: Iterable[Said], path: Path, number: int, where: str, known: dict[str, Any]) -> tuple[Context, list[str]]:
    """The context of a conversation and a line for each kind of omission. Raises `ImportFault` if no user speaks."""
    left: Counter[str] = Counter()
    spoken: list[tuple[str, str]] = []
    for one in said:
        left.update(one.left)
        if one.role is None:
            left["a system or tool message"] += 1
        elif not one.text:
            left["an empty message"] += 1
        else:
            spoken.append((one.role, one.text))
    turns = merged(spoken)
    while turns and turns[-1]["role"] == "supporter":
        turns.pop()
        left["the reply after the last user's turn"] += 1
    if not turns:
        raise ImportFault(f"{where}: no user says anything; a conversation needs a turn of the user, which is played")
    if len(turns) > MOST_TURNS:
        left[f"a turn before the last {MOST_TURNS}"] += len(turns) - MOST_TURNS
        turns = turns[-MOST_TURNS:]
    fields = {"id": as_id(f"{path.stem}-{number}"), "source": f"{path.name}, conversation {number}", **DEFAULTS, **known}
    context = valid_context({**fields, "turns": turns}, where)
    return context, [f"{where}: left out: {what}" + (f" ({count} times)" if count > 1 else "") for what, count in left.items()]
