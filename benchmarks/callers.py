"""Do callers end their turns, and hold them, as people do? Smart-turn as an independent ear, word errors, speed, measures.

    python -m benchmarks.callers --turns earlier --voices joe,ann,tom,eve     # development: what may be looked at
    python -m benchmarks.callers --turns last --listen --out seen.json        # held out: each look is put on file

Smart-turn v3.2 was taught on people and hears 200 ms of silence after each stretch, as an agent would. Nothing here was fitted
to it: shares and prosody come from the literature (`harness.audio.speech_floor`), and docs/decisions/audio-hibari.md says
when it was looked at, on what, and what was chosen then. Who speaks is drawn per context as in a run, or from `--voices`.
Intervals are bootstraps over contexts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from harness.audio.pcm import to_float
from harness.audio.prosody import f0_track
from harness.audio.speech import RATE_HZ, RenderedTurn
from harness.audio.speech_text import without_marks
from harness.scenarios.context import Context, Turn
from harness.scenarios.pack import load_pack
from harness.voices.choice import Voices, open_voices

INTO_SILENCE_S = 0.2
"""Silero has called speech ended by then; pipecat's default asks smart-turn here."""
LISTENED_S = 8
DRAWS = 400
DEVELOPED_ON = ("joe", "ann", "tom", "eve")
"""The speakers on whom anything was chosen, in the earlier turns of both packs."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One place where a speaker fell silent: in which context, by which voice, what kind of place, and what the ear said."""

    context: str
    voice: str
    kind: str
    holds: bool | None
    cues: tuple[str, ...]
    finished: float


@dataclass(frozen=True, slots=True)
class Said:
    """One seeker turn and who says it."""

    context: str
    voice: str
    turn: Turn
    rendered: RenderedTurn


def main() -> None:
    """Render, listen, print."""
    given = _arguments()
    names = given.voices.split(",") if given.voices else None
    said: list[Said] = []
    made_s = 0.0
    for name in given.packs.split(","):
        voices = open_voices(load_pack(name))
        wanted = [(c.id, _speaker(voices, c, names), turn) for c in voices.pack.contexts for turn in _turns(c, given.turns)]
        began = time.perf_counter()
        voices.prepare([(turn, speaker) for _, speaker, turn in wanted[: given.limit]], lambda: None)
        made_s += time.perf_counter() - began
        said += [Said(c, speaker, turn, voices.render(turn, speaker)) for c, speaker, turn in wanted[: given.limit]]
    sound_s = sum(each.rendered.duration_s for each in said)
    print(
        f"{given.packs}, {given.turns} turns: {len(said)} turns, {sound_s:.0f} s of sound, in the cache after {made_s:.1f} s:"
    )
    print(f"{sound_s / made_s:.1f} times real time (only where none was kept before)\n")
    ear = smart_turn()
    heard = [place for each in said for place in places(each.context, each.voice, each.rendered, ear)]
    spoken = sorted({each.voice for each in said})
    rows = {"all": summary(heard)}
    if not names:
        rows["not developed on"] = summary([h for h in heard if h.voice not in DEVELOPED_ON])
    rows |= {name: summary([h for h in heard if h.voice == name]) for name in spoken}
    _print_rows(rows)
    measures = {name: measured([each.rendered for each in said if each.voice == name]) for name in spoken}
    print("\nmeasures of the sound (F0 by Praat; its range from the 10th to the 90th percentile)")
    for name, found in measures.items():
        print(f"{name:6} " + "  ".join(f"{key} {value:.2f}" for key, value in found.items()))
    errors: dict[str, Any] = {}
    if given.listen:
        errors = word_error_rates(said)
        print("\nword errors: " + json.dumps(errors))
    if given.out:
        content = {"rows": rows, "measures": measures, "word_errors": errors, "heard": [asdict(h) for h in heard]}
        given.out.write_text(json.dumps(content, indent=1), encoding="utf-8")


def _turns(context: Context, which: str) -> list[Turn]:
    return [t for t in context.turns if t.role == "seeker" and (t is context.spoken) == (which == "last")]


def _speaker(voices: Voices, context: Context, names: Sequence[str] | None) -> str:
    if not names:
        return voices.wish_of(context)
    return names[int(hashlib.sha256(context.id.encode()).hexdigest(), 16) % len(names)]


def smart_turn() -> Callable[[NDArray[np.float32]], float]:
    """The probability that a speaker has finished, of the last eight seconds at 16 kHz."""
    from pipecat.audio.turn.smart_turn.local_smart_turn_v3 import LocalSmartTurnAnalyzerV3

    analyzer = LocalSmartTurnAnalyzerV3(cpu_count=1)
    return lambda audio: float(analyzer._predict_endpoint(audio[-LISTENED_S * RATE_HZ :])["probability"])


def places(context: str, voice: str, turn: RenderedTurn, ear: Callable[[NDArray[np.float32]], float]) -> list[Heard]:
    """What the ear says at each pause of at least `INTO_SILENCE_S` and at the end."""
    signal = to_float(turn.samples)
    silence = np.zeros(round(INTO_SILENCE_S * RATE_HZ), dtype=np.float32)
    lengths = [(end - start) / RATE_HZ for start, end in turn.pauses] + [np.inf]
    return [
        Heard(context, voice, end.kind, end.holds, end.cues, ear(np.concatenate([signal[: end.at_sample], silence])))
        for end, length in zip(turn.ends, lengths, strict=True)
        if length >= INTO_SILENCE_S
    ]


def summary(heard: Sequence[Heard]) -> dict[str, Any]:
    """Shares called finished by kind, and areas under the curve of ends against pauses, with 95 % intervals."""
    contexts = sorted({h.context for h in heard})
    rng = np.random.default_rng(0)
    by = {c: [h for h in heard if h.context == c] for c in contexts}
    draws = [[h for c in rng.choice(contexts, len(contexts)) for h in by[str(c)]] for _ in range(DRAWS)]
    figures: dict[str, Callable[[Sequence[Heard]], float]] = {
        "ends": lambda hs: _share(hs, lambda h: h.kind == "turn_end"),
        "mid_sentence": lambda hs: _share(hs, lambda h: h.kind == "mid_sentence"),
        "after_sentence": lambda hs: _share(hs, lambda h: h.kind == "after_sentence"),
        "after_held": lambda hs: _share(hs, lambda h: h.kind == "after_sentence" and h.holds is True),
        "after_not_held": lambda hs: _share(hs, lambda h: h.kind == "after_sentence" and h.holds is False),
        "auc": lambda hs: _auc(hs, ("mid_sentence", "after_sentence")),
        "auc_mid": lambda hs: _auc(hs, ("mid_sentence",)),
        "auc_after": lambda hs: _auc(hs, ("after_sentence",)),
    }
    kinds = ("turn_end", "mid_sentence", "after_sentence")
    out: dict[str, Any] = {"n": {kind: sum(h.kind == kind for h in heard) for kind in kinds}}
    for name, figure in figures.items():
        drawn = [figure(draw) for draw in draws]
        known = [value for value in drawn if np.isfinite(value)]
        interval = [float(v) for v in np.percentile(known, [2.5, 97.5])] if len(contexts) >= 8 and known else None
        out[name] = {"value": figure(heard), "interval": interval}
    return out


def _share(heard: Sequence[Heard], of: Callable[[Heard], bool]) -> float:
    found = [h.finished >= 0.5 for h in heard if of(h)]
    return float(np.mean(found)) if found else float("nan")


def _auc(heard: Sequence[Heard], kinds: tuple[str, ...]) -> float:
    ends = [h.finished for h in heard if h.kind == "turn_end"]
    pauses = [h.finished for h in heard if h.kind in kinds]
    if not ends or not pauses:
        return float("nan")
    ranks = rankdata(ends + pauses)
    return float((ranks[: len(ends)].sum() - len(ends) * (len(ends) + 1) / 2) / (len(ends) * len(pauses)))


def measured(turns: Sequence[RenderedTurn]) -> dict[str, float]:
    """What tells voices apart: median F0, its spread, pace, and how bright the long-term spectrum is."""
    f0, words, seconds, high, low = [], 0, 0.0, 0.0, 0.0
    for turn in turns:
        signal = to_float(turn.samples)
        track = f0_track(signal, turn.rate_hz)
        f0.append(track[track > 0])
        words += len(turn.text.split())
        seconds += turn.duration_s - sum(end - start for start, end in turn.pauses) / turn.rate_hz
        power = np.abs(np.fft.rfft(signal)) ** 2
        split = round(1_000 * signal.size / turn.rate_hz)
        low, high = low + float(power[:split].sum()), high + float(power[split:].sum())
    all_f0 = np.concatenate(f0)
    return {
        "f0_hz": float(np.median(all_f0)),
        "f0_range_st": float(12 * np.subtract(*np.log2(np.percentile(all_f0, [90, 10])))),
        "words_per_s": words / seconds,
        "above_1khz_db": float(10 * np.log10(high / low)),
    }


def word_error_rates(said: Sequence[Said]) -> dict[str, Any]:
    """Pooled word errors by transcriber, over all and by voice."""
    from harness import models
    from harness.audio.transcribe import Transcriber
    from harness.voices.pack_acoustics import spoken_words, word_errors

    found: dict[str, Any] = {}
    for weight in ("whisper-tiny.en", "whisper-base"):
        transcriber = Transcriber(models.resolve(weight))
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for each in said:
            meant = spoken_words(without_marks(each.turn.text))
            text = transcriber.transcribe(each.rendered.samples, each.rendered.rate_hz).text
            for name in ("all", each.voice):
                counts[name][0] += word_errors(meant, spoken_words(text))
                counts[name][1] += len(meant)
        found[weight] = {n: {"errors": e, "words": w, "share": round(e / w, 4)} for n, (e, w) in counts.items()}
    return found


def _print_rows(rows: dict[str, dict[str, Any]]) -> None:
    names = [key for key in next(iter(rows.values())) if key != "n"]
    print("voice   n(end/mid/after)  " + "  ".join(f"{name:>20}" for name in names))
    for voice, row in rows.items():
        cells = []
        for name in names:
            interval = row[name]["interval"]
            shown = f" [{interval[0]:.2f} {interval[1]:.2f}]" if interval else ""
            cells.append(f"{row[name]['value']:.2f}{shown}".rjust(20))
        print(f"{voice:7} {'/'.join(str(v) for v in row['n'].values()):16}  " + "  ".join(cells), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packs", default="heart-mini,heart-open")
    parser.add_argument("--turns", choices=("earlier", "last"), default="earlier")
    parser.add_argument("--voices", help="one of these for each context; drawn as in a run when left out")
    parser.add_argument("--limit", type=int, help="turns of each pack")
    parser.add_argument("--listen", action="store_true", help="also count word errors with two transcribers")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
