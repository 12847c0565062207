"""A pack of callers who say what patients said: turns of PriMock57, with pauses by people's law, for endpointing benchmarks.

    python -m benchmarks.primock_pack utterances.csv day4 day4.yaml --seed 1
    python -m benchmarks.primock_pack utterances.csv day5 day5.yaml --seed 0

Words of people, where the packs that ship have words of ours (Korfiatis et al. 2022,
https://github.com/babylonhealth/primock57, CC BY 4.0). The table has words and times and no sound, so pauses are placed by
people's law as anywhere. Utterances of one speaker that follow each other are one turn, a doctor's "OK" of one or two words
inside a patient's turn is left out, and every second patient's turn of 5 to 90 words is taken, nine a talk at most.
"""

import argparse
from pathlib import Path
from typing import Final

import yaml

from benchmarks.pause_places import Utterance, read
from harness.scenarios.context import Context, Turn
from harness.scenarios.people_pauses import paused_contexts

WORDS: Final = (5, 90)
A_TALK: Final = 9
HISTORY: Final = 4
"""Turns before the spoken one."""
BACKCHANNEL_WORDS: Final = 2


def turns_of(talk: list[Utterance]) -> list[tuple[str, list[str]]]:
    """A talk as turns: who speaks, and the words."""
    turns: list[tuple[str, list[str]]] = []
    for utterance in sorted((u for u in talk if u.words), key=lambda u: u.start_s):
        if utterance.speaker == "doctor" and len(utterance.words) <= BACKCHANNEL_WORDS:
            continue
        if turns and turns[-1][0] == utterance.speaker:
            turns[-1][1].extend(utterance.words)
        else:
            turns.append((utterance.speaker, list(utterance.words)))
    return turns


def contexts_of(name: str, talk: list[Utterance]) -> list[Context]:
    """The contexts made of one talk."""
    turns = turns_of(talk)
    spoken = [k for k, (who, words) in enumerate(turns) if who == "patient" and WORDS[0] <= len(words) <= WORDS[1] and k > 0]
    found = []
    for number, last in enumerate(spoken[::2][:A_TALK]):
        history = turns[max(0, last - HISTORY) : last + 1]
        while history[0][0] != "patient":
            history = history[1:]
        found.append(
            Context(
                id=f"{name.replace('_', '-')}-{number}",
                subset="regular",
                emotion="neutral",
                problem="consultation",
                turns=tuple(Turn(role="seeker" if w == "patient" else "supporter", text=" ".join(said)) for w, said in history),
                source="PriMock57 (Korfiatis et al. 2022)",
                licence="CC BY 4.0",
            )
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="A pack of turns made of PriMock57.")
    parser.add_argument("utterances", type=Path)
    parser.add_argument("day", help="how the names of its talks begin: day1 to day5")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0, help="of the pauses")
    given = parser.parse_args()
    talks: dict[str, list[Utterance]] = {}
    for utterance in read(given.utterances):
        if utterance.talk.startswith(f"{given.day}_"):
            talks.setdefault(utterance.talk, []).append(utterance)
    contexts = paused_contexts([c for name in sorted(talks) for c in contexts_of(name, talks[name])], given.seed)
    about = f"Made of PriMock57, {given.day} (Korfiatis et al. 2022, CC BY 4.0)"
    written = [c.model_dump(mode="json", exclude_defaults=True) for c in contexts]
    pack = {"pack": f"primock-{given.day}", "about": about, "contexts": written}
    given.out.write_text(yaml.safe_dump(pack, sort_keys=False, allow_unicode=True), encoding="utf-8")


if __name__ == "__main__":
    main()
