"""voicecheck's WebSocket transport, calling one agent: `python drive_voicecheck.py URL OUT.json SETTINGS WAV …`.

The transport is a subclass of its base for raw PCM, as its documentation asks of a platform that it does not know; each turn
is sent, received and measured with the calls that its scenario runner makes. Setting `paced`: it sends at the pace of speech.
"""

import asyncio
import json
import sys
import time
import wave
from pathlib import Path
from typing import Any

from voicecheck.core.types import AudioFrame
from voicecheck.transports.websocket_base import WebSocketTransport

URL, OUT, SETTINGS, *SOUNDS = sys.argv[1:]
RATE_HZ, FRAME_MS, LONGEST_S = 24_000, 20, 15.0


class RawPcm(WebSocketTransport):
    async def _get_ws_url(self, config: dict[str, Any]) -> str:
        return str(config["url"])

    async def _on_ws_connected(self, ws: Any, config: dict[str, Any]) -> None:
        await ws.send(json.dumps({"type": "start", "sample_rate": config["sample_rate"]}))

    def _encode_outbound_frame(self, frame: AudioFrame) -> bytes:
        return frame.data

    def _decode_inbound_message(self, message: bytes | str) -> bytes | None:
        return message if isinstance(message, bytes) else None

    async def _on_ws_disconnecting(self, ws: Any, config: dict[str, Any]) -> None:
        pass


class Paced(RawPcm):
    async def send_audio(self, frames: list[AudioFrame]) -> None:
        began = time.monotonic()
        for k, frame in enumerate(frames, start=1):
            await asyncio.sleep(max(0.0, began + k * FRAME_MS / 1_000 - time.monotonic()))
            await super().send_audio([frame])
        self._metrics.send_start_ts = began


def frames(path: str) -> list[AudioFrame]:
    with wave.open(path) as file:
        assert file.getframerate() == RATE_HZ
        size = RATE_HZ * FRAME_MS // 1_000
        return [AudioFrame(file.readframes(size), RATE_HZ) for _ in range(0, file.getnframes(), size)]


async def main() -> dict[str, Any]:
    settings = json.loads(SETTINGS)
    transport = Paced() if settings.pop("paced", False) else RawPcm()
    await transport.connect({"url": URL, "sample_rate": RATE_HZ, **settings})
    turns: list[dict[str, Any]] = []
    for number, path in enumerate(SOUNDS, start=1):
        transport.reset_metrics()
        await transport.send_audio(frames(path))
        await transport.receive_audio(timeout=LONGEST_S, silence_threshold=1.5)
        found = transport.metrics
        # Its figure is of "the first sustained speech", and 0 where nothing came.
        speech_ms = found.first_byte_ms if found.first_byte_ts else None
        turns.append({"turn": number, "speech_ms": speech_ms, "first_byte_ms": found.first_byte_ms, "total_ms": found.total_ms})
    await transport.disconnect()
    return {"turns": turns}


if __name__ == "__main__":
    Path(OUT).write_text(json.dumps(asyncio.run(main()), indent=1), encoding="utf-8")
