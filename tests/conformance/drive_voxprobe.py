"""voxprobe, reading one recording: `python drive_voxprobe.py CALL OUT.json SETTINGS`.

Its regions of speech and its metrics are its own functions; its transcriber is not asked, because times do not come from it, so
every region has a word. It reports percentiles of a call, so each exchange is given to its metrics alone.
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from voxprobe import retranscribe
from voxprobe.metrics import compute

CALL, OUT, SETTINGS = sys.argv[1:]
SAME_S = 1.0
"""Between the ends of a turn that are the same: less than any pause between turns."""


def exchanges(segments: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The segments, parted where the caller begins after the agent."""
    parts: list[list[dict[str, Any]]] = []
    for segment in segments:
        if not parts or (segment["speaker"] == "PATIENT" and any(each["speaker"] == "AGENT" for each in parts[-1])):
            parts.append([])
        parts[-1].append(segment)
    return [part for part in parts if any(each["speaker"] == "PATIENT" for each in part)]


def main() -> None:
    settings = json.loads(SETTINGS)
    retranscribe.MIN_SPEECH_S = settings.pop("min_speech_s", retranscribe.MIN_SPEECH_S)
    with tempfile.TemporaryDirectory() as scratch:
        swapped = Path(scratch) / "call.wav"  # ours has the caller left, theirs the agent
        swap = ("-filter_complex", "[0:a]pan=stereo|c0=c1|c1=c0")
        subprocess.run(["ffmpeg", "-v", "error", "-i", CALL, *swap, str(swapped)], check=True)
        agent, caller = retranscribe.split_stereo(swapped, Path(scratch))
        segments = [
            {"start": round(start, 2), "end": round(end, 2), "speaker": speaker, "text": "word"}
            for track, speaker in ((agent, "AGENT"), (caller, "PATIENT"))
            for start, end in retranscribe.speech_regions(track, **settings)
        ]
    segments.sort(key=lambda each: (each["start"], each["end"]))
    ends = [
        float(row["spoken_end_s"])
        for row in csv.DictReader((Path(CALL).parent / "truth.csv").open())
        if row["call"] == Path(CALL).stem
    ]
    turns = []
    for part in exchanges(segments):
        end = max(each["end"] for each in part if each["speaker"] == "PATIENT")
        turn = min(range(len(ends)), key=lambda k: abs(ends[k] - end))
        found = compute(part)["agent_response"]
        # A false turn of the caller is nobody's.
        if abs(ends[turn] - end) <= SAME_S and found["n"]:
            turns.append({"turn": turn + 1, "speech_ms": 1_000 * found["p50_s"], **found})
    Path(OUT).write_text(json.dumps({"segments": segments, "turns": turns}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
