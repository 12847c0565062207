"""An independent check of the onset by code from elsewhere: ffmpeg's silence detector on the exported FLAC.

It uses no windows, models or noise floors: it reports the first sample over a level. On a clean reply it must find the
onset where the analyser does. ffmpeg's own code is used through PyAV, which the extra `local` brings (faster-whisper needs
it), so that no program has to be installed.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

DETECTOR_DB_BELOW = 40.0
_FRAME = 480


def available() -> bool:
    """True if PyAV is installed."""
    return find_spec("av") is not None


def sound_starts_s(path: Path, threshold_db: float, channel: int = 1, shortest_silence_s: float = 0.05) -> list[float]:
    """Times at which the silences of one channel of a file end, in seconds, by ffmpeg's `silencedetect`."""
    import av
    import av.logging
    import soundfile

    samples, rate_hz = soundfile.read(path, dtype="float32", always_2d=True)
    graph = av.filter.Graph()
    source = graph.add_abuffer(sample_rate=rate_hz, format="fltp", layout="mono")
    detector = graph.add("silencedetect", f"noise={threshold_db:.2f}dB:d={shortest_silence_s}")
    sink = graph.add("abuffersink")
    source.link_to(detector)
    detector.link_to(sink)
    graph.configure()
    before = av.logging.get_level()
    av.logging.set_level(av.logging.INFO)
    try:
        with av.logging.Capture() as lines:
            for at in range(0, len(samples), _FRAME):
                part = np.ascontiguousarray(samples[None, at : at + _FRAME, channel])
                frame = av.AudioFrame.from_ndarray(part, format="fltp", layout="mono")
                frame.sample_rate, frame.pts = rate_hz, at
                source.push(frame)
                while True:
                    try:
                        sink.pull()
                    except (av.BlockingIOError, EOFError):
                        break
    finally:
        av.logging.set_level(before)
    return [float(text.split("silence_end:")[1].split("|")[0]) for _, _, text in lines if "silence_end" in text]
