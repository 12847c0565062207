"""voice-evals' live probe, calling one agent: `python drive_voice_evals.py URL OUT.json SETTINGS WAV …`.

A scenario, a manifest of sound files and a map of OpenAI's Realtime protocol, as its command takes them. What it measured is
the manifest of its session: `e2e_ns` of each turn, or `e2e_overlap_ns` where the answer began before the caller's end.
"""

import asyncio
import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from voice_evals.probe import (
    CallerConfig,
    ProbeConfig,
    ScenarioScript,
    SessionRunner,
    TransportConfig,
    build_caller,
    build_transport,
)
from voice_evals.probe.audio import AudioFormat

URL, OUT, SETTINGS, *SOUNDS = sys.argv[1:]
PCM: dict[str, Any] = {
    "encoding": "pcm_s16le",
    "sample_rate": 24_000,
    "channels": 1,
    "sample_width": 2,
    "delivery": "streaming",
}
PROTOCOL = {
    "protocol_version": 1,
    "name": "openai-realtime",
    "audio": {"input": {**PCM, "frame_ms": 20}, "output": PCM},
    "handshake": {"ready_event": {"type": "session.created"}},
    "outbound": {
        "audio": {"media": "json_base64", "envelope": {"type": "input_audio_buffer.append", "audio": "{{audio_b64}}"}}
    },
    "inbound": {
        "discriminator": "type",
        "events": {
            "session.created": {"kind": "session_ready"},
            "response.created": {"kind": "response_start", "selectors": {"response_id": "$.response.id"}},
            "response.output_audio.delta": {
                "kind": "agent_audio",
                "selectors": {"data": "$.delta", "response_id": "$.response_id"},
            },
            "response.done": {"kind": "response_done", "selectors": {"response_id": "$.response.id"}},
        },
    },
    "capabilities": {"duplex": True, "incremental_output": True, "response_ids": True, "response_end_events": True},
}


def step(k: int) -> dict[str, Any]:
    cue = {"mode": "wait_agent_end", "response_to": f"turn-{k - 1}", "timeout_ms": 20_000} if k else {"mode": "speak_now"}
    return {"id": f"turn-{k}", "intent": "talk", "cue": cue, "utterance": {"text": SOUNDS[k]}}


def main() -> None:
    settings = json.loads(SETTINGS)
    steps = [step(k) for k in range(len(SOUNDS))]
    outcome = {"source": "final_agent_text", "after_step": steps[-1]["id"], "all_of": ["answer"], "value": "answered"}
    script = {"schema_version": 2, "name": "known", "expected_outcome": "answered", "seed": 1, "steps": steps}
    clips = [{"text": path, "file": path, "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest()} for path in SOUNDS]
    with tempfile.TemporaryDirectory() as scratch:
        fixtures, protocol, out = (Path(scratch) / name for name in ("fixtures.json", "protocol.json", "out"))
        protocol.write_text(json.dumps(PROTOCOL), encoding="utf-8")
        fixtures.write_text(json.dumps({"format": {"sample_rate": PCM["sample_rate"]}, "clips": clips}), encoding="utf-8")
        rate = AudioFormat(sample_rate=PCM["sample_rate"])
        config = ProbeConfig(
            input_format=rate,
            output_format=rate,
            response_timeout_ms=20_000,
            transport=TransportConfig(endpoint=URL, protocol_map_path=str(protocol), **settings),
            caller=CallerConfig(kind="fixture", fixture_manifest=str(fixtures)),
        )
        runner = SessionRunner(caller=build_caller(config), transport=build_transport(config), config=config)
        asyncio.run(runner.run(ScenarioScript.from_dict({**script, "outcome_rule": outcome}), output_dir=out))
        session = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    turns = []
    for number, turn in enumerate(session["turns"], start=1):
        timing = turn["timing"]
        ns = timing["e2e_ns"] if timing["e2e_ns"] is not None else timing["e2e_overlap_ns"]
        turns.append({"turn": number, "sound_ms": None if ns is None else ns / 1e6, "timing": timing})
    Path(OUT).write_text(json.dumps({"turns": turns}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
