"""The time that each stage of a cascade took for a reply, wherever its work lay.

A waterfall is the path to what was heard: work that was done behind a wait is beside it, so a stage that becomes slower need
not show there at first. Who slows whom is seen in the stages' own times for the reply whose sound was heard: transcription
begun (or the silence, where earlier words kept the recogniser busy until then) → words; request → first token; text → first
audio. Pure.
"""

from harness.agents import marks
from harness.timeline import NS_PER_MS
from harness.timing.chain import Stamp, Stamps, heard_reply
from harness.timing.waterfall import busy_since


def own_times(stamps: Stamps, onset_ns: int, turn_began_ns: int) -> dict[str, float]:
    """Stage (`asr`, `llm`, `tts`) → its time in ms, for the reply heard at `onset_ns`; without a stage that stamped nothing."""
    reply = heard_reply(stamps, onset_ns, turn_began_ns)
    if reply is None:
        return {}
    asked = reply.steps.get(marks.LLM_CALLED) or reply.steps.get(marks.LLM_REQUESTED)
    words = stamps.last(marks.ASR_DONE, asked.at_ns) if asked is not None else None
    begun = _asr_begun(stamps, words) if words is not None else None
    ends = {
        "asr": (begun if begun is not None and begun.at_ns >= turn_began_ns else None, words),
        "llm": (reply.steps.get(marks.LLM_REQUESTED), reply.steps.get(marks.LLM_FIRST_TOKEN)),
        "tts": (reply.steps.get(marks.TTS_STARTED), reply.steps.get(marks.TTS_FIRST_AUDIO)),
    }
    return {stage: ms for stage, (start, end) in ends.items() if (ms := _between(start, end)) is not None}


def _asr_begun(stamps: Stamps, words: Stamp) -> Stamp | None:
    """The beginning of a transcription: the caller's silence, where earlier words kept the recogniser busy until then."""
    begun = stamps.last(marks.ASR_STARTED, words.at_ns)
    if begun is None:
        return None
    silence, earlier = (stamps.last(name, begun.at_ns) for name in (marks.SILENCE_SEEN, marks.ASR_DONE))
    return busy_since(begun, silence, earlier) or begun


def _between(start: Stamp | None, end: Stamp | None) -> float | None:
    return (end.at_ns - start.at_ns) / NS_PER_MS if start is not None and end is not None else None
