"""Contexts from pipecat's eval scenarios: `context:` is the history, the first `user:` is the caller's turn.

pipecat has only the user's side; the bot's answer is an expectation, not a text. So a scenario gives one context:
the turns after the first would follow replies that do not exist, and are listed as omitted. Its own loader reads
the file, so includes and defaults have the same meaning; `pause_ms` becomes a pause mark of the same length.
"""

from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.foreign_files import FileFault, read_text
from harness.foreign_yaml import refuse_floods
from harness.installation import install_command
from harness.scenarios.context import Context
from harness.scenarios.imports.imported import DEFAULTS, Imported, ImportFault, as_id, valid_context
from harness.scenarios.imports.talk import history_of, role_in_pack


def import_pipecat_eval(path: Path) -> Imported:
    """One context for each scripted scenario of the file. Raises `ImportFault`, or `UserError` without pipecat: one line."""
    try:
        from pipecat.evals.scenario import EvalScenarioFile
        from pipecat.evals.script import EvalScriptScenario
    except ImportError as error:
        raise UserError(f"pipecat's eval scenarios are read by its own loader ({error}): {install_command('local')}") from error

    try:
        refuse_floods(read_text(path))
        file = EvalScenarioFile.load(path)
    except FileFault as fault:
        raise ImportFault(fault.at(path)) from None
    except Exception as error:  # any exception of its loader on an untrusted file is a fault of that file
        raise ImportFault(f"{path}: no pipecat eval scenario ({' '.join(str(error).split())[:200]})") from None
    contexts: list[Context] = []
    left: list[str] = []
    for scenario in file.scenarios:
        if not isinstance(scenario, EvalScriptScenario):
            left.append(f"{scenario.name}: a simulated caller is not carried over")
            continue
        context = _context(scenario, path, left)
        if context is not None:
            contexts.append(context)
    if not contexts:
        raise ImportFault(f"{path}: no scenario has a spoken user turn")
    return Imported(tuple(contexts), tuple(left))


def _context(scenario: Any, path: Path, left: list[str]) -> Context | None:
    spoken = [turn for turn in scenario.turns if turn.user]
    if not spoken:
        left.append(f"{scenario.name}: has no 'user:' turn")
        return None
    left += _left_behind(scenario, spoken[0])
    turns = _history(scenario, left)
    turns.append({"role": "seeker", "text": _text(spoken[0])})
    source = f"pipecat eval scenario {scenario.name} in {path.name}"
    fields = {**DEFAULTS, "id": as_id(scenario.name), "turns": turns, "source": source}
    return valid_context(fields, f"{path}: {scenario.name}")


def _left_behind(scenario: Any, first: Any) -> list[str]:
    left = []
    for k, turn in enumerate(scenario.turns):
        where = f"{scenario.name}: turns[{k}]"
        if turn.user and turn is not first:
            left.append(f"{where}.user follows a reply that is not written")
        dropped = (key for key in ("dtmf", "audio", "image", "send_after") if getattr(turn, key, None))
        left += [f"{where}.{key} is not carried over" for key in dropped]
        if getattr(turn, "expect", None):
            left.append(f"{where}.expect is not carried over: replies are judged, not matched")
    return left


def _history(scenario: Any, left: list[str]) -> list[dict[str, str]]:
    said: list[tuple[str, str]] = []
    for k, message in enumerate(scenario.context):
        role, text = role_in_pack(message.get("role")), message.get("content")
        if role is None or not isinstance(text, str) or not text.strip():
            left.append(f"{scenario.name}: context[{k}] ({message.get('role')}) is not carried over")
        else:
            said.append((role, text.strip()))
    if said and said[-1][0] == "seeker":
        left.append(f"{scenario.name}: the last user message of context: has no reply and is not carried over")
    return history_of(said)


def _text(turn: Any) -> str:
    parts = getattr(turn, "parts", None)
    if not parts:
        return str(turn.user)
    return " ".join(f"<pause {part}>" if isinstance(part, int) else str(part) for part in parts)
