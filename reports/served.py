"""The waits of one turn for model servers, in the form that the page draws below the waterfall."""

from collections.abc import Iterator

from harness.figures.server_waits import SOURCES, WAITS
from harness.reports.session_view import ServedView, Span
from harness.servers.split import ServerSplit
from harness.timing.figures import TurnTiming
from harness.wording import milliseconds, share


def served(timing: TurnTiming) -> tuple[ServedView, ...]:
    """Each wait, with its parts end to end from where it began, and a sentence on them."""
    return tuple(
        ServedView(
            split.stage,
            WAITS.get(split.stage, split.stage),
            tuple(_parts(split, timing)),
            part_ms(split),
            split.source,
            _sentence(split),
        )
        for split in timing.servers
    )


def part_ms(split: ServerSplit) -> dict[str, float]:
    """The known parts of a wait, in the order in which they are drawn."""
    whole = {"compute": split.compute_ms} if split.prefill_ms is None else {}
    named = {
        "queue": split.queue_ms, "prefill": split.prefill_ms, "first_decode": split.first_decode_ms, **whole,
        "idle": split.idle_ms, "unexplained": split.unexplained_ms,
    }  # fmt: skip
    return {name: value for name, value in named.items() if value is not None}


def _parts(split: ServerSplit, timing: TurnTiming) -> Iterator[Span]:
    at_ms = _begin_ms(split, timing)
    for name, value_ms in part_ms(split).items():
        # Parts may overlap a little, and a bar has no negative length.
        yield Span(name, at_ms, at_ms + max(0.0, value_ms))
        at_ms += max(0.0, value_ms)


def _begin_ms(split: ServerSplit, timing: TurnTiming) -> float:
    """The begin of the wait after the spoken end. For a stage of the waterfall, that of its bar."""
    if split.stage == "llm" and timing.ttft_from_spoken_end_ms is not None:
        return timing.ttft_from_spoken_end_ms - split.whole_ms
    stages = timing.waterfall.stages if timing.waterfall is not None else ()
    return next((stage.start_ms for stage in stages if stage.name == split.stage), 0.0)


def _sentence(split: ServerSplit) -> str:
    parts = [
        f"{WAITS.get(split.stage, split.stage)} {milliseconds(split.whole_ms)}",
        f"{share(split.explained_share)} explained" if split.source != "none" else "not split",
    ]
    if split.source in SOURCES:
        parts.append(f"{split.server}, by {SOURCES[split.source]}")
    if split.late_ms >= 1:
        parts.append(f"at most {milliseconds(split.late_ms)} of the queue may be none")
    if split.running is not None or split.waiting is not None:
        parts.append(f"at most {split.running or 0:.0f} requests ran and {split.waiting or 0:.0f} waited meanwhile")
    if split.prefix_share is not None:
        parts.append(f"{share(split.prefix_share)} of all prompts until its end came from the prefix cache")
    if split.cache_use is not None:
        parts.append(f"cache used up to {share(split.cache_use)}")
    return "; ".join([*parts, *([split.note] if split.note else [])]) + "."
