"""voicebench, calling one agent: `python drive_voicebench.py URL OUT.json SETTINGS WAV …`.

A scenario as its documentation has it: each sound file is a turn that starts after the agent's speech. What it measured is its
report. Settings: `frame_ms` of what it sends, `vad_frame_ms` and `min_speech_ms` of the detectors on both sides.
"""

import asyncio
import json
import sys
from pathlib import Path

from voicebench.bench import run_benchmark
from voicebench.scenario import parse_scenario

URL, OUT, SETTINGS, *SOUNDS = sys.argv[1:]
RATE_HZ = 24_000


def main() -> None:
    settings = json.loads(SETTINGS)
    detector = {name.removeprefix("vad_"): settings.pop(name) for name in ("vad_frame_ms", "min_speech_ms") if name in settings}
    starts = [{"after": "agent_speech_end", "delay_ms": 800 if k else 500} for k in range(len(SOUNDS))]
    starts[0]["after"] = "session_start"
    scenario = parse_scenario(
        {
            "name": "known",
            "sample_rate": RATE_HZ,
            "adapter": {"type": "websocket", "options": {"url": URL, "start_message": {"type": "start"}}},
            "turns": [{"audio": {"file": path}, "start": start} for path, start in zip(SOUNDS, starts, strict=True)],
            "vad": {"user": detector, "agent": detector},
            **settings,
        }
    )
    result = asyncio.run(run_benchmark(scenario))
    Path(OUT).write_text(json.dumps(result.report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
