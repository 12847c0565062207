"""The events that `--events` names: the shipped set, or a YAML file of sounds and instants.

A run takes minutes, so an event that no call could play is refused before the first one, with file and instant.
"""

from pathlib import Path

import yaml
from pydantic import ValidationError

from harness.caller import Limits
from harness.errors import UserError
from harness.store.events import EVERYDAY, EventSettings, everyday

LONGEST_FILE_BYTES = 1 << 20


def load_events(named: str) -> EventSettings:
    """The events of a shipped set or of a file `events: [{sound, at_ms}, …]`.

    Raises:
        UserError: there is no such file, it is malformed, or an event is after the end of any call.
    """
    if named == EVERYDAY:
        return everyday()
    path = Path(named)
    try:
        with path.open("rb") as file:
            text = file.read(LONGEST_FILE_BYTES).decode("utf-8-sig")
        given = yaml.safe_load(text)
    except OSError as error:
        raise UserError(f"--events {named}: cannot be read ({error.strerror}); name a YAML file, or {EVERYDAY}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"--events {named}: is not a YAML file ({' '.join(str(error).split())[:120]})") from error
    if not isinstance(given, dict):
        raise UserError(
            f"--events {named}: begin with `events:` and list sounds with their instants, {{sound: cough, at_ms: 1500}}"
        )
    try:
        settings = EventSettings.model_validate({"events": given.pop("events", ()), **given, "source": named})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UserError(f"--events {named}: {where}: {first['msg']}") from error
    latest_ms = Limits().total_s * 1000
    for event in settings.events:
        if event.at_ms >= latest_ms:
            raise UserError(
                f"--events {named}: {event.sound} at {event.at_ms:g} ms is after the call's end, {latest_ms:g} ms at most "
                "after the caller's turn; place it earlier"
            )
    return settings
