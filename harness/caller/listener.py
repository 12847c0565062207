"""The agent's side as the caller follows it during a call: when its speech begins and ends, and what the wire says of it.

The same detector as timing's decides what is speech, on sound that has been played: a caller that took noise for a reply would
wait for ever, and one that took a ringing tone for a greeting would speak into it. Sound that the agent takes back before it
could be understood is ignored. Timing is measured afterwards, from the recording.
"""

from itertools import count
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.agents.connection import Mark
from harness.agents.reply_signs import sign_of
from harness.caller.due_sound import DueSound
from harness.caller.speech_gate import PAUSE_NS, Speech, SpeechGate
from harness.recording.withdrawn import is_withdrawn
from harness.replies.ending import Sign, floor_end_ns, is_murmur
from harness.timeline import NS_PER_MS

WINDOWS_A_TICK: Final = 2
"""A frame lasts less than a window, so one a tick is enough; the second is for what a late tick left."""
_STILL_NS: Final = 160 * NS_PER_MS
"""A window of a voice that is followed, a tick, and the closure of a plosive."""
_AT_CLOSE: Final = 64
"""Windows of sound that is still to be heard when the agent hangs up, about 2 s: enough to find any word."""


class Listener:
    """Follows the playout of arriving audio at depth 0."""

    def __init__(self) -> None:
        self.speech: list[Speech] = []
        """Every utterance so far that was not withdrawn, in order; the last one may go on."""
        self.signs: list[Sign] = []
        """Everything that the wire has said about replies."""
        self._due = DueSound()
        self._gate = SpeechGate()
        self._marked_ns = 0
        self._owed_to_the_caller = False
        """True if the caller has spoken or coughed into the latest utterance."""
        self._broke_off = False

    def hear(self, arrival_ns: int, samples: NDArray[np.int16], rate_hz: int) -> None:
        """Take one message of agent audio; `advance` examines it once it has been played."""
        self._due.put(arrival_ns, samples, rate_hz)

    def note(self, mark: Mark) -> None:
        """Take a mark of the wire."""
        sign = sign_of(mark)
        if sign is not None:
            self.signs.append(Sign(sign, mark.arrival_ns, max(mark.arrival_ns, self._due.end_ns)))

    def advance(self, now_ns: int, windows: int | None = WINDOWS_A_TICK) -> None:
        """Examine what has been played until now, at most so many windows of it (None: all)."""
        for _ in count() if windows is None else range(windows):
            window = self._due.next(now_ns, self._gate.wants_ms)
            if window is None:
                return
            found = self._gate.hear(window)
            if found is not None:
                self._add(found)

    def clear(self, at_ns: int) -> None:
        """Remove the audio that the agent dropped before it was heard."""
        speaking = self.speaking(at_ns)
        sounded_until_ns = min(at_ns, self._due.end_ns)
        self._due.drop(at_ns)
        self._gate.close()
        self._broke_off = True
        if not self.speech:
            return
        last = self.speech[-1]
        # What was still to be examined of an utterance was heard until it was cleared.
        end_ns = max(last.end_ns, sounded_until_ns) if speaking else last.end_ns
        last = self.speech[-1] = Speech(last.start_ns, min(end_ns, at_ns))
        if not self._owed_to_the_caller and (last.start_ns >= at_ns or is_withdrawn(last.start_ns, last.end_ns, (at_ns,))):
            self.speech.pop()
            self._owed_to_the_caller = True

    def finish(self) -> None:
        """Examine what is still to be played, for the agent has hung up."""
        self.advance(1 << 62, _AT_CLOSE)

    @property
    def speech_end_ns(self) -> int | None:
        """Time at which the last speech that was heard ended; None if there was none."""
        return self.speech[-1].end_ns if self.speech else None

    @property
    def floor_end_ns(self) -> int | None:
        """The same for the last speech that was no murmur."""
        return floor_end_ns(self.speech) if self.speech else None

    @property
    def begun_ns(self) -> int | None:
        """Time at which the first speech since the last `mark` began, past murmurs that it follows; None if there was none."""
        since = [s for s in self.speech if s.end_ns > self._marked_ns]
        if not since:
            return None
        first = next((s for s in since if not is_murmur(s)), since[-1])
        return max(first.start_ns, self._marked_ns)

    @property
    def rang_ns(self) -> int | None:
        """Time at which a ringing tone, or music, was last heard; None if there was none."""
        return self._gate.rang_ns

    def heard_after(self, at_ns: int) -> bool:
        """True if any speech was heard after the time given."""
        return bool(self.speech) and self.speech[-1].end_ns > at_ns

    def speaking(self, now_ns: int) -> bool:
        """True if the agent is in the middle of speech."""
        return self._due.behind(now_ns) or (bool(self.speech) and now_ns - self.speech[-1].end_ns < _STILL_NS)

    def mark(self, at_ns: int) -> None:
        """Forget when the reply began: the next speech begins a new one."""
        self._marked_ns = at_ns
        self._owed_to_the_caller = True

    def _add(self, found: Speech) -> None:
        last = self.speech[-1] if self.speech else None
        if last is None or self._broke_off or found.start_ns - last.end_ns >= PAUSE_NS:
            self.speech.append(found)
            self._broke_off = self._owed_to_the_caller = False
        elif found.end_ns > last.end_ns:
            self.speech[-1] = Speech(last.start_ns, found.end_ns)
