"""`harness scenarios import`: packs made from others' texts and recordings, with a note on everything that is left out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.screen import AsJson
from harness.errors import UserError
from harness.progress import RunProgress

if TYPE_CHECKING:
    from harness.audio.pcm import Float32
    from harness.scenarios.imports import Imported

OF_CHATS = ("messages", "sharegpt")
OF_TRANSCRIPTS = ("vtt", "srt")
OF_TEXTS = ("jsonl", *OF_CHATS, *OF_TRANSCRIPTS, "pipecat")
OF_SOUND = ("recordings", "eot-bench", "turnbench")
SURE_OF_LANGUAGE = 0.5
"""Least probability of a language to refuse a turn: below it, no language is likelier than all others together."""


def import_contexts(
    kind: Annotated[
        str,
        typer.Argument(
            help="Kind of source: jsonl, messages, sharegpt, vtt, srt, pipecat (its eval scenarios), recordings, eot-bench or "
            "turnbench."
        ),
    ],
    path: Annotated[Path, typer.Argument(help="Chat log, transcript, scenario YAML, recordings, or a benchmark's rows.")],
    out: Annotated[Path, typer.Option(help="New pack: a folder for sound, a file for texts; it must not exist yet.")],
    caller_channel: Annotated[
        int | None,
        typer.Option(
            metavar="1|2",
            show_default="files of one channel",
            help="recordings: channel of the caller in files of two channels (1 or 2).",
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            show_default="en for eot-bench, else any",
            help="eot-bench: language of the rows (en). recordings: refuse turns in another language (transcribes each).",
        ),
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", show_default="none", help="Recordings, chats, transcripts: licence to write into the pack."
        ),
    ] = None,
    caller: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default="the first who speaks", help="vtt and srt: name of the caller."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a pack from conversations in another format, and list what could not be converted."""
    from harness.scenarios.imports import ImportFault

    _refuse_misplaced(kind, caller_channel, language, licence, caller)
    try:
        if kind in OF_SOUND:
            imported, written = _from_sound(kind, path, out, caller_channel, language, licence)
        else:
            imported, written = _from_texts(kind, path, out, licence, caller)
    except ImportFault as error:
        raise UserError(str(error)) from error
    timed = sum(context.timing_alone for context in imported.contexts)
    if as_json:
        found = {"schema": 1, "pack": str(written), "items": len(imported.contexts), "timing_alone": timed}
        print(json.dumps({**found, "not_carried": list(imported.not_carried)}, indent=2))
        return
    for what in imported.not_carried:
        print(what)
    print(f"{len(imported.contexts)} contexts in {written}")
    if timed:
        print(f"{timed} of them have no text: they are played for timing alone, and not judged")


def _refuse_misplaced(
    kind: str, caller_channel: int | None, language: str | None, licence: str | None, caller: str | None
) -> None:
    if kind not in (*OF_TEXTS, *OF_SOUND):
        raise UserError(f"{kind}: cannot be imported; there are: {', '.join((*OF_TEXTS, *OF_SOUND))}")
    if kind != "recordings":
        if caller_channel is not None:
            raise UserError("--caller-channel: is for recordings alone")
        if licence is not None and kind not in (*OF_CHATS, *OF_TRANSCRIPTS):
            raise UserError("--licence: is for recordings, chat logs and transcripts alone")
    if caller is not None and kind not in OF_TRANSCRIPTS:
        raise UserError("--caller: is for vtt and srt alone")
    if language is not None and kind not in ("recordings", "eot-bench"):
        raise UserError("--language: is for recordings and eot-bench alone")
    if caller_channel not in (None, 1, 2):
        raise UserError(f"--caller-channel {caller_channel}: must be 1 or 2")


def _from_texts(kind: str, path: Path, out: Path, licence: str | None, caller: str | None) -> "tuple[Imported, Path]":
    from harness.scenarios.imports import import_chats, import_jsonl, import_pipecat_eval, import_transcript, write_imported

    if kind in OF_CHATS:
        imported = import_chats(path, kind, licence)
    elif kind in OF_TRANSCRIPTS:
        imported = import_transcript(path, caller, licence)
    else:
        imported = {"jsonl": import_jsonl, "pipecat": import_pipecat_eval}[kind](path)
    return imported, write_imported(imported, out)


def _from_sound(
    kind: str, path: Path, out: Path, caller_channel: int | None, language: str | None, licence: str | None
) -> "tuple[Imported, Path]":
    from harness.audio.vocal import silero
    from harness.voices.recorded_packs import pack_of_eot_bench, pack_of_recordings, write_pack
    from harness.voices.turnbench_packs import pack_of_turnbench

    if not path.exists():
        raise UserError(f"{path}: does not exist")
    if out.exists():
        raise UserError(f"{out}: exists already; give another name")
    with RunProgress() as progress:
        progress.phase("Reading the recordings")
        if kind == "eot-bench":
            pack = pack_of_eot_bench(path, language=language or "en", step=progress.status)
        elif kind == "turnbench":
            pack = pack_of_turnbench(path, step=progress.status)
        else:
            pack = pack_of_recordings(
                path,
                silero(),
                caller_channel=caller_channel,
                licence=licence or "not stated",
                refuse_language=_ear(language) if language else lambda _turn: None,
                step=progress.status,
            )
        return pack.imported, write_pack(pack, out)


def _ear(wanted: str) -> "Callable[[Float32], str | None]":
    """A check of a turn's language by the harness's own transcriber: the reason to refuse a turn, or None."""
    from harness import models
    from harness.audio.transcribe import Transcriber
    from harness.measuring.transcribe import TRANSCRIBER

    transcriber = Transcriber(models.resolve(TRANSCRIBER))

    def why_not(turn: "Float32") -> str | None:
        heard, sure = transcriber.language_of(turn)
        if heard == wanted or sure < SURE_OF_LANGUAGE:
            return None
        return f"is spoken in {heard!r} and not {wanted!r}, as {TRANSCRIBER} hears it ({sure:.0%} sure)"

    return why_not
