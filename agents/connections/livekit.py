"""A LiveKit room, joined by the official SDK: the caller is a participant like any other, and the agent is dispatched to it.

Each call has a room of its own, so that the dispatch in the caller's token (`room_config`) is carried out as the room is made.
The caller's frames go past the SDK's queue (`queue_size_ms=0`): of 800, half had reached the far end 1.7 ms after they were
due, against 23 ms with the queue. The SDK plays the agent's track through a jitter buffer and says of no sound when it came;
`BufferDelay` takes the buffer's delay off again, so that arrivals are those of packets, as on every other wire. Opus itself
looks ahead 6.5 ms, which stays in every figure.

A room that is lost in a call ends it: what the SDK's reconnecting would bring is no answer that anybody waited for.

A join is never stopped halfway. Ten seconds after a room was joined whose `connect` nobody awaits, the SDK ends its process by
SIGTERM, and every other call in it. So the failure of a call is reported, its late join is awaited all the same, and the room
is left.

Source: livekit 1.2.1 (`livekit.rtc`).
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Final

from harness.agents.connection import AudioChunk, Capabilities, Connection, ConnectionFailed, Event, LineReport, MediaStamp
from harness.agents.connections.diagnosis import serves, timed_out
from harness.agents.connections.inbox import Inbox, Limits, dialled
from harness.agents.connections.livekit_invitation import ABOUT, PROFILE, Invitation
from harness.agents.connections.livekit_room import (
    BEHIND_THE_AGENT,
    FINAL,
    RATE_HZ,
    STATE,
    TICK,
    UNREADY,
    WORDS,
    BufferDelay,
    States,
    Words,
    missing,
    refusal,
)
from harness.agents.connections.websocket import place_of
from harness.agents.connections.wire import refuse_history, shown
from harness.agents.message import Message
from harness.installation import install_command

__all__ = ["ABOUT", "PROFILE", "LiveKitConnection", "connect"]

LATE_JOIN_S: Final = 5.0
"""The longest time for which a failed call waits for its late join. Chosen; no figure depends on it. A room that is joined
later still is left too, as long as the process lives."""
POLL_S: Final = 0.05
"""Between looks at the buffer's statistics, which the SDK makes anew after 57 ms, no sooner. Asking takes hardly any CPU."""


class LiveKitConnection:
    """A call in one room. `options`: see `connect`."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self._invitation = Invitation.of(url, options)
        self._limits = Limits(open_timeout_s=self._invitation.place.timeout_s)
        self.capabilities = Capabilities(bool(options.get("accepts_history")), RATE_HZ, RATE_HZ)
        self._inbox = Inbox(self._limits)
        self._sdk = _NO_SDK
        self._room: Any = None
        self._joining: asyncio.Task[None] | None = None
        self._source: Any = None
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue()
        self._states, self._words, self._delay = States(), Words(), BufferDelay()
        self._agent: str | None = None
        self._track: Any = None
        self._published = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, history: Sequence[Message]) -> None:
        refuse_history(history, self.capabilities.accepts_history, "set accepts_history = true once its job reads metadata")
        async with dialled(self._limits.open_timeout_s, self._too_late, self._abandon, self.close):
            self._sdk = _sdk()
            url, token = await self._invitation.opened(self._sdk.api, history)
            await self._join(url, token)
            while (self._track is None or self._states.now == UNREADY) and self._inbox.ended is None:
                await self._inbox.changed.wait()
                self._inbox.changed.clear()
        if (ended := self._inbox.ended) is not None:
            await self._abandon(ConnectionFailed(ended.error or "closed at once", ended.kind or "refused"))

    async def _too_late(self) -> ConnectionFailed | None:
        if self._room is None or not self._room.isconnected():
            if not await serves(self._invitation.shown_url):
                return await timed_out(self._invitation.shown_url, self._invitation.place)
            words = "check the server's own log, and that UDP gets through (ICE)"
            return ConnectionFailed(
                f"the room was not joined within {self._limits.open_timeout_s:g} s: {words}", "open_timeout"
            )
        joined = self._agent is not None or bool(self._room.remote_participants)
        words, kind = missing(
            self._invitation.agent_name, joined=joined, published=self._published, heard=self._track is not None
        )
        return ConnectionFailed(f"within {self._limits.open_timeout_s:g} s {words}", kind)

    def send(self, frame: bytes) -> None:
        if self._inbox.ended is None and self._outgoing.qsize() >= self._limits.unsent_frames:
            self._inbox.end("the caller's sound cannot be sent: 5 s of it wait", "overflow")
        self._outgoing.put_nowait(frame)

    def events(self) -> AsyncIterator[Event]:
        return self._inbox.events()

    async def close(self) -> None:
        self._inbox.end(None, None)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        room, self._room = self._room, None
        if room is not None and self._joining is not None and not self._joining.done():
            await asyncio.wait({asyncio.create_task(_left_when_joined(room, self._joining))}, timeout=LATE_JOIN_S)
            return
        with contextlib.suppress(TimeoutError, Exception):
            async with asyncio.timeout(self._limits.close_timeout_s):
                if room is not None:
                    await room.disconnect()
                if self._source is not None:
                    await self._source.aclose()

    async def _join(self, url: str, token: str) -> None:
        rtc = self._sdk.rtc
        self._room = room = rtc.Room()
        for name, take in (
            ("track_subscribed", self._on_track),
            ("track_published", self._on_published),
            ("participant_connected", self._on_participant),
            ("participant_attributes_changed", lambda changed, who: self._on_state(who, changed)),
            ("participant_disconnected", lambda who: self._on_gone("the agent") if who.identity == self._agent else None),
            ("transcription_received", self._on_old_words),
            ("reconnecting", lambda: self._on_gone("the room's server", "dropped the line")),
            ("disconnected", lambda why: self._on_gone("the room's server", f"ended the call ({_reason(why)})")),
        ):
            room.on(name, self._ours(take))
        room.register_text_stream_handler(WORDS, self._ours(lambda reader, who: self._start(self._read(reader, who))))
        try:
            join = room.connect(url, token, rtc.RoomOptions(connect_timeout=self._limits.open_timeout_s))
            self._joining = asyncio.create_task(join)
            await asyncio.shield(self._joining)
        except rtc.ConnectError as error:
            raise refusal(str(error.message), self._invitation.place) from error
        for participant in room.remote_participants.values():
            self._on_participant(participant)
        self._source = rtc.AudioSource(RATE_HZ, 1, queue_size_ms=0)
        track = rtc.LocalAudioTrack.create_audio_track("caller", self._source)
        options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE, dtx=False, red=False)
        try:
            await room.local_participant.publish_track(track, options)
        except Exception as error:
            said = shown(str(error), 100)
            raise ConnectionFailed(f"the caller may not speak in the room ({said}): can_publish?", "unauthorised") from error
        self._start(self._speak())

    def _ours(self, take: Callable[..., None]) -> Callable[..., None]:
        def taken(*what: Any) -> None:
            # A room that was joined too late speaks to nobody: its tracks may be gone before they are heard.
            if self._inbox.ended is not None:
                return
            with self._inbox.ours("on an event of the room"):
                take(*what)

        return taken

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _speak(self) -> None:
        with self._inbox.ours("on the caller's sound"):
            while True:
                frame = await self._outgoing.get()
                for at in range(0, len(frame), TICK * 2):
                    piece = frame[at : at + TICK * 2]
                    await self._source.capture_frame(self._sdk.rtc.AudioFrame(piece, RATE_HZ, 1, len(piece) // 2))

    def _on_participant(self, participant: Any) -> None:
        self._on_state(participant, participant.attributes)
        for publication in participant.track_publications.values():
            self._on_published(publication, participant)

    def _on_published(self, publication: Any, _: Any) -> None:
        self._published = self._published or publication.kind == self._sdk.rtc.TrackKind.KIND_AUDIO

    def _on_state(self, participant: Any, attributes: Mapping[str, str]) -> None:
        if STATE in attributes and participant.identity != self._room.local_participant.identity:
            self._agent = self._agent or participant.identity
            if self._takes(len(attributes[STATE])):
                for mark in self._states.take(attributes[STATE], time.monotonic_ns()):
                    self._inbox.put(mark)
        self._inbox.changed.set()

    def _on_track(self, track: Any, publication: Any, participant: Any) -> None:
        if self._track is not None or publication.name == BEHIND_THE_AGENT or track.kind != self._sdk.rtc.TrackKind.KIND_AUDIO:
            return
        # A face that speaks for an agent (an avatar) publishes in its place, and has no state.
        self._track, self._agent = track, self._agent or participant.identity
        self._start(self._hear(track))
        self._start(self._watch(track))
        self._inbox.changed.set()

    async def _hear(self, track: Any) -> None:
        stream = self._sdk.rtc.AudioStream(track, sample_rate=RATE_HZ, num_channels=1)
        samples = lost = latest_ns = 0
        with self._inbox.ours("on the agent's sound"):
            async for event in stream:
                # A wait that grows between two pieces turns nothing round.
                latest_ns = max(latest_ns, time.monotonic_ns() - self._delay.ns)
                pcm = bytes(event.frame.data)
                if self._inbox.takes(len(pcm)):
                    stamp = MediaStamp(samples * 1_000_000_000 // RATE_HZ, max(0, self._delay.lost - lost))
                    self._inbox.put(AudioChunk(latest_ns, pcm, RATE_HZ, stamp))
                samples, lost = samples + len(pcm) // 2, self._delay.lost
        if self._track is track:
            self._track = None

    async def _watch(self, track: Any) -> None:
        """Follow the jitter buffer, and once a second the line."""
        with self._inbox.ours("beside the call"):
            for count in range(1 << 30):
                if self._inbox.ended is not None or self._track is not track:
                    return
                for row in await track.get_stats():
                    if row.HasField("inbound_rtp"):
                        self._delay.take(row.inbound_rtp)
                await asyncio.sleep(POLL_S)
                if count % 10 == 9 and (report := await self._report()) is not None:
                    self._inbox.put(report)

    async def _report(self) -> LineReport | None:
        stats = await self._room.get_rtc_stats()
        for row in (*stats.publisher_stats, *stats.subscriber_stats):
            if row.HasField("remote_inbound_rtp"):
                far = row.remote_inbound_rtp
                trip_ms, jitter_ms = far.remote_inbound.round_trip_time * 1000, far.received.jitter * 1000
                return LineReport(time.monotonic_ns(), trip_ms, max(0, int(far.received.packets_lost)), jitter_ms)
        return None

    def _takes(self, size: int) -> bool:
        self._inbox.count_text(size)
        return self._inbox.takes(size)

    async def _read(self, reader: Any, identity: str) -> None:
        text = ""
        with contextlib.suppress(self._sdk.rtc.StreamError):
            async for piece in reader:
                text += piece
                if not self._takes(len(piece)):
                    reader.close()
                    return
        final = (reader.info.attributes or {}).get(FINAL, "true") == "true"
        self._say(text, identity, final=final, streamed=True)

    def _on_old_words(self, segments: Sequence[Any], participant: Any, _: Any) -> None:
        for segment in segments:
            if participant is not None and self._takes(len(segment.text)):
                self._say(segment.text, participant.identity, final=segment.final, streamed=False)

    def _say(self, text: str, identity: str, *, final: bool, streamed: bool) -> None:
        by_caller = self._room is not None and identity == self._room.local_participant.identity
        for event in self._words.take(text, time.monotonic_ns(), by_caller=by_caller, final=final, streamed=streamed):
            self._inbox.put(event)

    def _on_gone(self, who: str, did: str = "left the room") -> None:
        if not self._inbox.heard_audio or (self._states.now and not self._states.ever_spoke):
            self._inbox.end(f"{who} {did} before the agent said anything", "closed_early")
        elif who == "the agent" and self._states.now != "speaking":
            self._inbox.end(None, None)
        else:
            self._inbox.end(f"{who} {did} in the middle of the call", "hung_up")

    async def _abandon(self, error: ConnectionFailed) -> None:
        self._inbox.end(str(error), error.kind)
        await self.close()
        raise ConnectionFailed(f"{place_of(self._invitation.shown_url)}: {error}", error.kind, error.fault)


async def _left_when_joined(room: Any, joining: asyncio.Task[None]) -> None:
    with contextlib.suppress(Exception):
        await joining
        await room.disconnect()


_NO_SDK: Final = SimpleNamespace(rtc=None, api=None)


def _sdk() -> SimpleNamespace:
    """The SDK, whose own log is silenced: it writes addresses, and every fault of it becomes one sentence here."""
    try:
        from livekit import api, rtc
    except ImportError as error:
        raise ConnectionFailed(f"a LiveKit room needs the extra 'livekit': {install_command('livekit')}", "defect") from error
    logging.getLogger("livekit").setLevel(logging.CRITICAL)
    return SimpleNamespace(rtc=rtc, api=api)


def _reason(why: Any) -> str:
    from livekit.rtc import DisconnectReason

    return str(DisconnectReason.Name(why)).lower().replace("_", " ")


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A call in a room; options: those of `LiveKitProfile`."""
    return LiveKitConnection(url, options)
