"""`harness scenarios`: list, show and check packs of contexts, and build one from ESConv."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from harness.agents.secrets import learn
from harness.commands.scenarios_hear import write_callers
from harness.commands.scenarios_import import import_contexts
from harness.commands.screen import AsJson, screen
from harness.errors import UserError, not_set
from harness.nearest import did_you_mean
from harness.printable import visible_json
from harness.progress import RunProgress
from harness.scenarios.context import Context
from harness.scenarios.pack import Pack, load_pack, shipped_packs
from harness.scenarios.pauses import pauses_ms

if TYPE_CHECKING:
    from harness.scenarios.pause_law import PauseLaw
    from harness.voices.choice import Voices
    from harness.voices.pack_acoustics import PackAcoustics

app = typer.Typer(no_args_is_help=True, help="List, show, hear, check and build packs of contexts.")
app.command("import")(import_contexts)


def _list_packs(as_json: bool) -> None:
    from harness.scenarios.check import list_packs

    rows = list(list_packs(load_pack(name) for name in shipped_packs()))
    if as_json:
        print(json.dumps({"schema": 1, "packs": rows}, indent=2))
        return
    table = Table("pack", "contexts", "regular", "adversarial", "emotions", "problems", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(str(row[key]) for key in ("pack", "items", "regular", "adversarial", "emotions", "problems")))
    screen().print(table)


@app.command("show")
def show(
    pack: Annotated[
        str | None, typer.Argument(help="A pack that ships, a YAML file or a folder; default: list the packs that ship.")
    ] = None,
    context: Annotated[str | None, typer.Argument(help="Id of one context; default: all, in brief.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default="none", help="Write a page, sound included, on which each voice speaks turns of PACK."
        ),
    ] = None,
    voice: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", show_default="all that ship", help="With --out: voice; may be repeated."),
    ] = None,
    turns: Annotated[int, typer.Option(help="With --out: number of turns that each voice speaks.")] = 10,
    as_json: AsJson = False,
) -> None:
    """List the shipped packs, show a pack's contexts or one conversation in full, or let its callers be heard."""
    from harness.scenarios.check import show_context

    if out is not None:
        write_callers(load_pack(pack or "heart-mini"), out, voice, turns)
        return
    if pack is None:
        _list_packs(as_json)
        return
    loaded = load_pack(pack)
    if context is None:
        if as_json:
            rows = [c.model_dump(mode="json", exclude={"turns", "references"}) for c in loaded.contexts]
            print(json.dumps({"schema": 1, "pack": loaded.name, "hash": loaded.hash, "contexts": rows}, indent=2))
        else:
            screen().print(_brief(loaded))
        return
    found = next((c for c in loaded.contexts if c.id == context), None)
    if found is None:
        hint = did_you_mean(context, (c.id for c in loaded.contexts)) or f"; `harness scenarios show {pack}` lists them"
        raise UserError(f"{pack}: has no context {context}{hint}")
    if as_json:
        print(visible_json(json.dumps(show_context(found), indent=2, ensure_ascii=False)))
        return
    for line in _in_full(found):
        screen().print(line)


def _brief(pack: Pack) -> Table:
    table = Table("context", "subset", "emotion", "problem", "turns", "voice", box=None, pad_edge=False)
    for c in pack.contexts:
        subset = f"{c.subset}, {c.escalation}" if c.escalation else c.subset
        table.add_row(c.id, subset, c.emotion, c.problem, str(len(c.turns)), c.voice)
    return table


def _in_full(context: Context) -> Iterator[Text]:
    about = [context.subset, context.escalation, context.emotion, context.problem, f"voice {context.voice}"]
    yield Text(", ".join(part for part in about if part), style="dim")
    if context.situation:
        yield Text(context.situation, style="dim")
    for turn in context.turns:
        said = turn.speech
        how = f" [{said.emotion} {said.intensity:g}]" if said else ""
        sound = f" [{turn.audio}]" if turn.audio else ""
        yield Text(f"\n{turn.role}{how}{sound}: ", style="bold") + Text(turn.text, style="not bold")
    for reference in context.references:
        quality = f", quality {reference.quality}" if reference.quality else ""
        weak = f", weak on {' '.join(reference.weak_on)}" if reference.weak_on else ""
        yield Text(f"\nreference {reference.id} ({reference.author}{quality}{weak}): ", style="dim") + Text(
            reference.text, style="not dim"
        )
        if reference.note:
            yield Text(f"  {reference.note}", style="dim")


@app.command("check")
def check(
    pack: Annotated[str, typer.Argument(help="A pack that ships, a YAML file or a folder.")],
    listen: Annotated[
        bool, typer.Option("--listen", help="Also render, transcribe and measure the last turns (minutes).")
    ] = False,
    turn_taking: Annotated[
        bool,
        typer.Option("--turn-taking", help="Also measure cues to the end of a turn (renders speech; minutes)."),
    ] = False,
    every_turn: Annotated[
        bool, typer.Option("--every-turn", help="With --listen or --turn-taking: include earlier seeker turns, as in a replay.")
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default="not drawn", help="With --turn-taking: a chart, written to this .svg or .png file."
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Count a pack's contents and check it against the screens. Exit 1 if it has a problem."""
    from harness.commands import turn_taking as tell_ends
    from harness.scenarios.check import check_pack
    from harness.turn_taking.speakers import how_far
    from harness.voices.choice import open_voices
    from harness.voices.unspeakable import unspeakable

    if every_turn and not (listen or turn_taking):
        raise UserError("--every-turn: applies to --listen and --turn-taking; add one of them")
    if picture and not turn_taking:
        raise UserError("--picture: draws the result of --turn-taking; add --turn-taking")
    if picture:
        tell_ends.refuse_picture(picture)
    loaded = load_pack(pack)
    report = check_pack(loaded)
    heard = _listen_to(loaded, every_turn) if listen else None
    speakers = how_far(loaded.contexts) if turn_taking else None
    only_recorded = speakers is not None and speakers.turns == len(loaded.contexts)
    if picture and only_recorded:
        raise UserError(f"--picture: draws pauses that are marked in texts, and {loaded.name} has recordings alone")
    ends = tell_ends.listen_for_ends(loaded, every_turn) if turn_taking and not only_recorded else None
    if ends and picture:
        tell_ends.draw(ends, loaded.name, picture)
    voices = open_voices(loaded)
    mute = [
        f"{c.id}: turn {k + 1} {wrong}: no voice here speaks it"
        for c in loaded.contexts
        for k, wrong in unspeakable(c, voices, "replay")
    ]
    problems = [*report.problems, *mute, *(heard.problems() if heard else ()), *(ends.problems() if ends else ())]
    counts = report.as_json()
    if as_json:
        more = {
            **({"acoustics": heard.as_json()} if heard else {}),
            **({"turn_taking": ends.as_json()} if ends else {}),
            **({"speakers": speakers.as_json()} if speakers else {}),
        }
        print(json.dumps({**counts, "problems": problems, **more}, indent=2))
    else:
        told = (
            *(_heard(heard) if heard else ()),
            *(tell_ends.table(ends) if ends else ()),
            *(tell_ends.table_of_speakers(speakers) if speakers else ()),
        )
        for line in (*_counted(counts, voices), *told):
            print(line)
        for problem in problems:
            print(f"problem: {problem}")
        print(f"{len(problems)} problem{'' if len(problems) == 1 else 's'}")
    return 1 if problems else 0


def _counted(counts: Mapping[str, Any], voices: "Voices") -> Iterator[str]:
    profiles = ", ".join(f"{n} {name}" for name, n in counts["escalation"].items())
    yield (
        f"{counts['items']} contexts: {counts['regular']} regular, {counts['adversarial']} adversarial"
        + (f" ({profiles})" if profiles else "")
    )
    yield f"{len(counts['emotions'])} emotions, {len(counts['problem_types'])} problems"
    yield "turns before the spoken one: " + ", ".join(f"{n} {name}" for name, n in counts["history"].items())
    if counts["recorded"]:
        yield f"{counts['recorded']} spoken by recordings; {counts['timing_alone']} without text, for timing alone, not judged"
    if counts["voices"]:
        yield "voices: " + ", ".join(
            f"{n} {name}" + ("" if voices.knows(name) else f" (unknown here: {voices.name_of(name)} speaks)")
            for name, n in counts["voices"].items()
        )
    pauses = counts["pauses"]
    mix = ", ".join(f"{name} {share:.0%}" for name, share in pauses["mix"].items())
    known = ((name, distance) for name, distance in pauses["distance_from_laws"].items() if distance is not None)
    distances = ", ".join(f"{distance:.3f} {name}" for name, distance in known)
    yield f"{pauses['count']} marked pauses" + (
        f", {pauses['per_turn']:.1f} a turn; ms: {mix}; distance (KS) from people's lengths: {distances}"
        if pauses["count"]
        else ""
    )
    nearest = counts["nearest_pair"]
    if nearest:
        yield f"nearest pair: {nearest['a']} and {nearest['b']} share {nearest['overlap']:.1%} of their word triples"


def _heard(heard: "PackAcoustics") -> Iterator[str]:
    yield f"{heard.wer:.1%} of the callers' words misheard by the harness's own transcriber; the worst turns:"
    for turn in sorted(heard.turns, key=lambda turn: -turn.wer)[:3]:
        yield f"  {turn.place}: {turn.wer:.0%} of {turn.words} words; heard: {turn.heard}"
    for told in heard.emotions:
        moved = ", ".join(f"{name} {difference:+.2f}" for name, difference in told.differences.items())
        yield f"{told.emotion}: {len(told.as_expected)} of 5 measures differ from neutral as expected ({moved})"


def _listen_to(pack: Pack, every_turn: bool) -> "PackAcoustics":
    from harness import models
    from harness.audio.transcribe import Transcriber
    from harness.measuring.transcribe import TRANSCRIBER
    from harness.voices.choice import open_voices
    from harness.voices.pack_acoustics import measure_pack

    transcriber = Transcriber(models.resolve(TRANSCRIBER))
    with RunProgress() as progress:
        return measure_pack(pack, open_voices(pack), transcriber, progress.phase, progress.step, every_turn)


def _mark_pauses(pack: str, out: Path, seed: int, law: "PauseLaw") -> None:
    """Write a copy of a pack with pauses drawn from people's pause lengths; nothing else changes."""
    from harness.scenarios.mark_pack import write_people_pauses

    if seed < 0:
        raise UserError(f"--seed {seed}: must be 0 or more")
    written = write_people_pauses(load_pack(pack), out, seed, law=law)
    marked = load_pack(written)
    turns = [turn for c in marked.contexts for turn in c.turns if turn.role == "seeker"]
    print(f"{sum(len(pauses_ms(turn.text)) for turn in turns)} pauses in {len(turns)} turns, in {written}")
    print(_law_in_words(law))


def _law_in_words(law: "PauseLaw") -> str:
    return f"their lengths follow {law.name}, {law.who}: {law.source}"


@app.command("build")
def build(
    source: Annotated[str, typer.Argument(help="esconv: the paper's set. pack: a copy of a pack, with pauses.")],
    path: Annotated[
        str,
        typer.Argument(help="ESConv.json or the folder with its JSON Lines splits; or a pack that ships, a file or a folder."),
    ],
    out: Annotated[
        Path,
        typer.Option(help="Folder for the pack, its report and the list of removed items; or the copy, which must not exist."),
    ],
    seed: Annotated[int, typer.Option(help="Seed of every choice.")] = 0,
    regular: Annotated[int, typer.Option(help="Number of regular items.")] = 280,
    pauses: Annotated[
        str | None,
        typer.Option(
            metavar="LAW",
            show_default="none; to-agents in a copy",
            help="Law of the pauses to mark in seekers' turns: none, to-agents or between-people.",
        ),
    ] = None,
    llm: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            show_default="no second screen",
            help="OpenAI-compatible endpoint for the second screen and rewriting.",
        ),
    ] = None,
    model: Annotated[str, typer.Option(help="The endpoint's model.")] = "default",
    key_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default="no key", help="Environment variable that holds the endpoint's key."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Build the paper's set from your copy of ESConv, or a copy of a pack with pauses of people's lengths."""
    from harness.scenarios.esconv import build_to
    from harness.scenarios.llm import endpoint
    from harness.scenarios.pause_law import law_named

    if source == "pack":
        _mark_pauses(path, out, seed, law_named(pauses or "to-agents", "--pauses"))
        return
    if source != "esconv":
        raise UserError(f"{source}: unknown data set; choose esconv or pack")
    law = None if pauses in (None, "none") else law_named(pauses, "--pauses", "none")
    if regular < 1:
        raise UserError(f"--regular {regular}: must be at least 1")
    key = os.environ.get(key_env) if key_env else "none"
    if key is None:
        raise UserError(f"--key-env: {not_set(key_env or '')}")
    learn([key])
    complete = endpoint(llm, model, api_key=key) if llm else None
    with RunProgress() as progress:
        written, report = build_to(
            Path(path),
            out,
            regular=regular,
            seed=seed,
            complete=complete,
            phase=progress.phase,
            step=progress.step,
            pauses=law,
        )
    if as_json:
        print(json.dumps(report, indent=2))
        return
    print(f"{report['items']} contexts: {report['regular']} regular, {report['adversarial']} adversarial, in {written}")
    if law is not None:
        print(_law_in_words(law))
    for reason, count in sorted(report["removed"].items()):
        print(f"removed {count}: {reason}")
    for problem in report["problems"]:
        print(problem)
