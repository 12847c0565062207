"""The table and the chart of `harness scenarios check PACK --turn-taking`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import UserError
from harness.extras import require_pictures
from harness.progress import RunProgress
from harness.scenarios.pack import Pack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.scenarios.pause_law import LawName
    from harness.statistics.interval import Interval
    from harness.turn_taking.scores import TurnTaking
    from harness.turn_taking.speakers import Carries


def listen_for_ends(pack: Pack, every_turn: bool) -> "TurnTaking":
    """Render and measure a pack's callers, with progress."""
    from harness.turn_taking import packs as turn_taking
    from harness.voices.choice import open_voices

    ear = turn_taking.smart_turn()
    with RunProgress() as progress:
        return turn_taking.listen_for_ends(
            pack, open_voices(pack), ear, every_turn=every_turn, phase=progress.phase, step=progress.step
        )


def table(found: "TurnTaking") -> Iterator[str]:
    """The lines for the terminal: each figure with its interval, and people's figure if it is known."""
    from harness.reports.charts.pack_turn_taking import CUES
    from harness.scenarios.pause_law import PER_TURN
    from harness.statistics.interval import FEWEST_CLUSTERS

    yield f"turn-taking of {'every caller turn' if found.every_turn else 'the last turns'} ({found.turns})"
    if found.recordings:
        yield f"  {found.recordings} recorded turns are left out: their pauses are in the sound, not in a text"
    contexts_few = found.auc["words"].interval is None
    if contexts_few:
        yield f"  under {FEWEST_CLUSTERS} conversations: no interval is given, and every figure here is weak"
    yield "  AUC of ends against pauses (0.5 is chance)"
    for cue, one in found.auc.items():
        people = {"words": "people 0.47 to 0.55"}.get(cue, "")
        yield f"    {CUES[cue]:<22}{_number(one.auc)} {_within(one.interval):<16}{people}".rstrip()
    ear = found.smart_turn
    yield f"    {CUES['smart_turn']:<22}{_number(ear.auc)} {_within(ear.interval):<16}people 0.845"
    yield "  smart-turn v3.2 says finished"
    names = {"end": "at true ends", "mid_sentence": "at pauses in mid-sentence", "after_sentence": "at pauses after a sentence"}
    for kind, share in found.finished.items():
        yield f"    {names[kind]:<28}{_percent(share.value)} {_within(share.interval, True):<16}of {share.of}"
    per_turn = len(found.pauses_ms) / found.turns
    yield (
        f"  {len(found.pauses_ms)} marked pauses, {per_turn:.2f} a turn (people {PER_TURN}); {found.without_pause} turns "
        f"without; distance from people's lengths: {_distances(found.law_distance)}"
    )
    for limit, share in found.longer.items():
        yield (
            f"    longer than {limit:>5,} ms        {_percent(share.value)} {_within(share.interval, True):<16}{_people(limit)}"
        )
    said = " / ".join(f"{n:.0f}" for n in found.words)
    yield f"  words a turn at 10 / 25 / 50 / 75 / 90 %: {said}"
    yield "    (people at 25 / 50 / 75 / 90 %: counselling clients 2 / 8 / 20 / 38, patients 2 / 7 / 17 / 35)"


def table_of_speakers(found: "Carries") -> Iterator[str]:
    """The lines for the terminal on recordings of known speakers, and what follows from them."""
    from harness.scenarios.pause_law import PER_TURN

    kind = "automatic speakers, no people" if found.automatic else "speakers"
    fewest, most = min(found.speakers.values()), max(found.speakers.values())
    each = f"{fewest} each" if fewest == most else f"{fewest} to {most} each"
    yield f"recorded turns of {len(found.speakers)} {kind} ({found.turns} turns, {each})"
    yield (
        f"  {len(found.pauses_ms)} pauses, {len(found.pauses_ms) / found.turns:.2f} a turn (people {PER_TURN}); "
        f"{found.without_pause} turns without; distance from people's lengths: {_distances(found.law_distance)}"
    )
    for limit, share in found.longer.items() if found.pauses_ms else ():
        yield (
            f"    longer than {limit:>5,} ms        {_percent(share.value)} {_within(share.interval, True):<16}{_people(limit)}"
        )
    for said in found.follows():
        yield f"  {said}"


def _people(limit_ms: int) -> str:
    from harness.scenarios.pause_law import LAWS

    return ", ".join(f"{name} {law.longer_than(limit_ms):.0%}" for name, law in LAWS.items())


def _distances(found: "Mapping[LawName, float | None]") -> str:
    return ", ".join(f"{_number(distance)} {name}" for name, distance in found.items())


def refuse_picture(picture: Path) -> None:
    """Refuse a picture that cannot be drawn, before minutes are spent on its figures.

    Raises `UserError` for a file name that ends in neither .svg nor .png, and if the extra for pictures is not installed.
    """
    if picture.suffix not in (".svg", ".png"):
        raise UserError(f"--picture {picture}: give a name that ends in .svg or .png")
    require_pictures("--picture")


def draw(found: "TurnTaking", pack: str, picture: Path) -> None:
    """Write the picture as PNG or SVG, by the ending of its name.

    Raises `UserError` as `refuse_picture` does, and for a folder that cannot be written.
    """
    refuse_picture(picture)
    from harness.reports.charts.pack_turn_taking import chart
    from harness.reports.pictures import write_picture

    write_picture(chart(found, pack), f"{found.turns} turns, {len(found.pauses_ms)} marked pauses", picture)


def _number(value: float | None) -> str:
    return "   –" if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "   –" if value is None else f"{value:>4.0%}"


def _within(interval: "Interval | None", percent: bool = False) -> str:
    if interval is None:
        return ""
    low, high = interval
    ends = f"{low:.0%} to {high:.0%}" if percent else f"{low:.2f} to {high:.2f}"
    return f"(95 % interval {ends})"
