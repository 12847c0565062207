"""The waits for model servers as one table of text, the same in the terminal and on the page.

A cell may have a second line: the 95 % interval of the figure in its first.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from harness.figures.server_waits import MeanMs, ServerWaits
from harness.wording import UNKNOWN_TEXT, counted, milliseconds, share, share_band, with_band

TITLE: Final = "Waits for model servers"
HEAD: Final = ("Agent", "Wait", "Server", "Turns", "Whole", "Queue", "Computing", "Idle", "Unexplained", "Explained")
WAITS: Final = {"llm": "TTFT", "asr": "last transcription", "tts": "first sound of the voice"}
SOURCES: Final = {"request": "the server's own timings of each request", "counters": "its counters, while a request was alone"}
MEANING: Final = (
    "Means over turns, which sum to the whole; explained: median share of a turn. Queue: until the server computes (where it "
    "only says when it begins, until those words arrive, which is at most that). Computing: prefill and the first decode. "
    "Idle: measured, while the server did nothing. Unexplained: the rest, as the way there and back and the agent's own loop."
)
Named = tuple[str, Sequence[ServerWaits]]


def waits_rows(agents: Iterable[Named]) -> tuple[tuple[str, ...], ...]:
    """One row per agent and stage, under `HEAD`."""
    return tuple(
        (
            name,
            WAITS.get(row.stage, row.stage),
            row.server or UNKNOWN_TEXT,
            f"{row.split}/{row.turns}",
            *(mean_ms(part) for part in (row.wait_ms, row.queue_ms, row.compute_ms, row.idle_ms, row.unexplained_ms)),
            with_band(share(row.explained), share_band(row.explained_interval)),
        )
        for name, rows in agents
        for row in rows
    )


def waits_notes(agents: Iterable[Named], clusters: str = "conversations") -> tuple[str, ...]:
    """One sentence per agent and stage on sources, the server's state, turns without parts, and too few turns.

    `clusters`: what intervals are drawn from.
    """
    return tuple(_note(name, row, clusters) for name, rows in agents for row in rows)


def _note(name: str, row: ServerWaits, clusters: str) -> str:
    parts = [f"{counted(n, 'turn')} by {SOURCES.get(source, source)}" for source, n in row.sources.items()]
    if row.first_decode_ms.mean is not None and row.prefill_ms.mean is not None:
        parts.append(f"prefill {milliseconds(row.prefill_ms.mean)}, first decode {milliseconds(row.first_decode_ms.mean)}")
    if row.split and row.idle_measured < row.split:
        parts.append(f"idle time was measured in {row.idle_measured} of {row.split}")
    if row.most_running is not None or row.most_waiting is not None:
        parts.append(f"at most {row.most_running or 0:.0f} requests ran and {row.most_waiting or 0:.0f} waited at once")
    if row.prefix_share is not None:
        parts.append(f"{share(row.prefix_share)} of the prompts' tokens came from the prefix cache")
    if row.most_cache_use is not None:
        parts.append(f"cache used up to {share(row.most_cache_use)}")
    if row.left_out:
        parts.append(f"{counted(row.left_out, 'turn')} left out, as from TTFT")
    parts += [f"{counted(n, 'turn')}: {note}" for note, n in row.notes.items()]
    if row.split and row.wait_ms.interval is None:
        parts.append(f"too few {clusters} for intervals")
    return f"{name}, {WAITS.get(row.stage, row.stage)}: {'; '.join(parts) or 'no wait could be split'}."


def mean_ms(mean: MeanMs) -> str:
    """A mean, with its interval in a second line."""
    band = f"{mean.interval[0]:,.0f}–{mean.interval[1]:,.0f} ms".replace("-", "−") if mean.interval else ""
    return with_band(milliseconds(mean.mean), band)
