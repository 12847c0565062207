"""A buffer for a speculative reply as *audio*, ready to play, until the caller's turn is decided.

pipecat's own gate sits in the language-model service: text waits there, and synthesis begins only once the turn is over.
Put after synthesis instead, the whole way to audio is hidden behind the wait for the endpoint (50–170 ms on two
CPU cores). The decision engine stays pipecat's; three parts move: the model's gate is opened, the synthesiser drops what was
withdrawn, and this processor does the holding.
"""

from typing import Final

from pipecat.frames.frames import Frame, LLMFullResponseStartFrame, SystemFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.turns.speculation_gate import GatedFrame, SpeculationGate

SPECULATIVE: Final = "speculative"
"""Metadata key of a response's first frame if its turn may not have ended."""


class OpenGate(SpeculationGate):
    """A gate that follows a speculation as pipecat's does, but passes everything: the buffer is further downstream."""

    def process(self, frame: Frame, direction: FrameDirection) -> list[GatedFrame]:
        if isinstance(frame, SystemFrame):
            emitted: list[GatedFrame] = super().process(frame, direction)
            return emitted
        return [(frame, direction)]


class HeldAudio(FrameProcessor):
    """A processor that buffers each response with `metadata["speculative"]` until the turn ends; drops it if withdrawn."""

    def __init__(self) -> None:
        super().__init__()
        self._gate = SpeculationGate(name="HeldAudio")

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMFullResponseStartFrame):
            self._gate.begin_speculation(bool(frame.metadata.get(SPECULATIVE, False)))
        for released, way in self._gate.process(frame, direction):
            await self.push_frame(released, way)
