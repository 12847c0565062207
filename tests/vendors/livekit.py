"""A room server of the few messages that a caller needs, in livekit-protocol's own types, with one agent that answers.

It is no forwarding unit: the agent's sound and ear are the server's own WebRTC peer (aiortc), on one peer connection as servers
from 1.9 on have it (`/rtc/v1`). A call's number is the name of its room, which may begin with a behaviour (`slow.1`).
"""

import argparse
import asyncio
import base64
import contextlib
import gzip
import json
import time
from datetime import timedelta
from fractions import Fraction
from typing import Any, Final

import numpy as np
from aiohttp import web
from aiortc import RTCBundlePolicy, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamTrack
from aiortc.sdp import candidate_from_sdp
from av import AudioFrame
from livekit import api
from livekit.protocol import models, rtc

from harness.agents.connections.aiortc_media import tap
from harness.agents.connections.opus import OpusDecoder
from harness.caller.pacer import precise_loop
from tests.vendors.answering import Answer, Calls

RATE_HZ: Final = 48_000
FRAME: Final = RATE_HZ // 50
KEY, SECRET = "APIoftheroom", "the-secret-of-the-room-server-4711-0815"
AGENT: Final = "agent-AJ_1"
NAME: Final = "companion"
"""The name under which the agent of `named` is registered."""
LOST_AFTER_S: Final = 0.7
"""An agent that drops or leaves has said this much of its reply of 0.9 s: a busy machine may bring it some tenths late."""
ASKED, SAID = "Can you hear me?", "Yes, I am listening."
REFUSALS: Final = {"quota": (429, "participant minutes exceeded"), "busy": (503, "no nodes available")}
BEHAVIOURS: Final = (
    "answers", "named", "no-agent", "silent-agent", "unstarted", "slow", "drops", "leaves", "no-media", "late", *REFUSALS,
)  # fmt: skip


class Voice(MediaStreamTrack):
    """The agent's track: silence without pause, and the answer when it is due."""

    kind = "audio"

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self._answer = answer
        self._begun_s, self._count = 0.0, 0
        self._at: int | None = None
        self.over = asyncio.Event()
        self.speaks = asyncio.Event()

    def stamp(self, sender: Any) -> None:
        """Stamp the first packet of the answer as it leaves: aiortc codes it in a thread before, for some milliseconds."""
        send = sender.transport._send_rtp

        async def stamped(data: bytes) -> None:
            # A report (RTCP) has a type of 200 to 207 in that place.
            if self._at is not None and not self._answer.truth.sent_ns and not 200 <= data[1] <= 207:
                self._answer.truth.sent_ns = time.monotonic_ns()
            await send(data)

        sender.transport._send_rtp = stamped

    async def recv(self) -> AudioFrame:
        """The next 20 ms."""
        loop = asyncio.get_running_loop()
        self._begun_s = self._begun_s or loop.time()
        await asyncio.sleep(self._begun_s + self._count * 0.02 - loop.time())
        due_s = self._answer.due_s
        if self._at is None and due_s is not None and loop.time() >= due_s:
            self._at = 0
            self.speaks.set()
        pcm = b"" if self._at is None else self._answer.pcm[self._at : self._at + FRAME * 2]
        if self._at is not None:
            self._at += FRAME * 2
            if self._at >= len(self._answer.pcm):
                self.over.set()
        samples = np.frombuffer(pcm.ljust(FRAME * 2, b"\0"), "<i2")
        frame = AudioFrame.from_ndarray(samples[None, :], format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = RATE_HZ, self._count * FRAME, Fraction(1, RATE_HZ)
        self._count += 1
        return frame


class Room:
    """One call."""

    def __init__(self, socket: web.WebSocketResponse, grants: api.access_token.Claims, answer: Answer, behaviour: str) -> None:
        self._socket, self._caller, self._behaviour = socket, grants.identity, behaviour
        self._room = grants.video.room if grants.video else ""
        jobs = list(grants.room_config.agents) if grants.room_config else []
        self._comes = behaviour != "no-agent" and (behaviour != "named" or any(job.agent_name == NAME for job in jobs))
        self._answer, self._decoder, self._voice = answer, OpusDecoder(), Voice(answer)
        self._peer = RTCPeerConnection(RTCConfiguration(iceServers=[], bundlePolicy=RTCBundlePolicy.MAX_BUNDLE))
        self._peer.on("track", self._on_track)
        self._peer.on("datachannel", self._on_channel)
        self._channel: Any = None
        self._sequence = 0
        self._heard = asyncio.Event()
        self._present = self._comes and behaviour != "slow"
        self._tasks: list[asyncio.Task[None]] = []

    async def play(self, join: rtc.JoinRequest) -> None:
        """Answer the caller until it leaves."""
        room = models.Room(sid="RM_1", name=self._room)
        info = models.ServerInfo(version="1.9.0", protocol=16)
        me = models.ParticipantInfo(
            sid="PA_caller", identity=self._caller, state=models.ParticipantInfo.JOINED,
            permission=models.ParticipantPermission(can_publish=True, can_subscribe=True, can_publish_data=True),
        )  # fmt: skip
        others = [self._agent("initializing" if self._behaviour == "unstarted" else "listening")] if self._present else []
        await self._say(
            join=rtc.JoinResponse(
                room=room, participant=me, other_participants=others, server_version="1.9.0", server_info=info,
                ping_timeout=15, ping_interval=5, fast_publish=True,
            )
        )  # fmt: skip
        if join.HasField("publisher_offer"):
            await self._take_offer(join.publisher_offer)
        self._tasks.append(asyncio.create_task(self._live()))
        async for message in self._socket:
            await self._take(rtc.SignalRequest.FromString(message.data))
        print(json.dumps({"note": "left"}), flush=True)
        await self.close()

    async def close(self) -> None:
        """End what runs."""
        for task in self._tasks:
            task.cancel()
        await self._peer.close()

    @property
    def _audible(self) -> bool:
        return self._present and self._behaviour != "silent-agent"

    def _agent(self, state: str, leaves: bool = False) -> models.ParticipantInfo:
        track = models.TrackInfo(
            sid="TR_agent", type=models.AUDIO, name="roomio_audio", source=models.MICROPHONE, mime_type="audio/opus"
        )
        return models.ParticipantInfo(
            sid="PA_agent", identity=AGENT, kind=models.ParticipantInfo.AGENT, attributes={"lk.agent.state": state},
            state=models.ParticipantInfo.DISCONNECTED if leaves else models.ParticipantInfo.ACTIVE,
            tracks=[track] if self._audible else [], is_publisher=self._audible,
        )  # fmt: skip

    async def _live(self) -> None:
        if not self._comes:
            return
        if self._behaviour == "slow":
            await asyncio.sleep(1.0)
            self._present = True
            await self._state("initializing")
            # The caller is asked for an offer with room for one more track.
            await self._say(media_sections_requirement=rtc.MediaSectionsRequirement(num_audios=1))
            await asyncio.sleep(0.5)
            await self._state("listening")
        await self._heard.wait()
        self._stream(ASKED, self._caller, "SG_1", final="true")
        self._old_words(ASKED, self._caller)
        await self._state("thinking")
        await self._voice.speaks.wait()
        await self._state("speaking")
        if self._behaviour == "drops":
            await asyncio.sleep(LOST_AFTER_S)
            await self._peer.close()
            assert self._socket._req is not None
            assert self._socket._req.transport is not None
            self._socket._req.transport.abort()
        elif self._behaviour == "leaves":
            await asyncio.sleep(LOST_AFTER_S)
            await self._say(update=rtc.ParticipantUpdate(participants=[self._agent("speaking", leaves=True)]))
        await self._voice.over.wait()
        self._stream(SAID, AGENT, "SG_2", final="true")
        self._old_words(SAID, AGENT)
        await self._state("listening")

    async def _take(self, asked: rtc.SignalRequest) -> None:
        match asked.WhichOneof("message"):
            case "trickle":
                init = json.loads(asked.trickle.candidateInit)
                if init.get("candidate"):
                    candidate = candidate_from_sdp(init["candidate"].split(":", 1)[1])
                    candidate.sdpMid, candidate.sdpMLineIndex = init.get("sdpMid"), init.get("sdpMLineIndex")
                    await self._peer.addIceCandidate(candidate)
            case "offer":
                await self._take_offer(asked.offer)
            case "add_track":
                track = models.TrackInfo(sid="TR_caller", type=asked.add_track.type, source=asked.add_track.source)
                await self._say(track_published=rtc.TrackPublishedResponse(cid=asked.add_track.cid, track=track))
            case "ping_req":
                pong = rtc.Pong(last_ping_timestamp=asked.ping_req.timestamp, timestamp=int(time.time() * 1000))
                await self._say(pong_resp=pong)

    async def _take_offer(self, offer: rtc.SessionDescription) -> None:
        if self._behaviour == "no-media":
            return
        if self._behaviour == "late":
            await asyncio.sleep(3.0)
        await self._peer.setRemoteDescription(RTCSessionDescription(offer.sdp, "offer"))
        if self._audible and not any(sender.track is self._voice for sender in self._peer.getSenders()):
            sender: Any = self._peer.addTrack(self._voice)
            sender._stream_id, sender._track_id = "PA_agent|TR_agent", "TR_agent"
            self._voice.stamp(sender)
        await self._peer.setLocalDescription(await self._peer.createAnswer())
        mids = {str(one.mid): "TR_agent" for one in self._peer.getTransceivers() if one.sender.track is self._voice}
        sdp = self._peer.localDescription.sdp
        await self._say(answer=rtc.SessionDescription(type="answer", sdp=sdp, id=offer.id, mid_to_track_id=mids))

    def _on_track(self, track: MediaStreamTrack) -> None:
        receiver = next(one for one in self._peer.getReceivers() if one.track is track)
        # Past aiortc's jitter buffer, which would have the caller heard 80 ms late.
        tap(receiver, self._on_packet)

    def _on_packet(self, packet: Any) -> None:
        pcm = self._decoder.decode(packet.payload) if packet.payload else None
        if pcm and self._answer.hears(pcm):
            self._heard.set()

    def _on_channel(self, channel: Any) -> None:
        if channel.label == "_reliable":
            self._channel = channel

    async def _state(self, state: str) -> None:
        await self._say(update=rtc.ParticipantUpdate(participants=[self._agent(state)]))

    async def _say(self, **message: Any) -> None:
        with contextlib.suppress(ConnectionResetError):
            await self._socket.send_bytes(rtc.SignalResponse(**message).SerializeToString())

    def _stream(self, text: str, identity: str, segment: str, final: str) -> None:
        attributes = {"lk.transcription_final": final, "lk.segment_id": segment}
        header = models.DataStream.Header(
            stream_id=segment, timestamp=int(time.time() * 1000), topic="lk.transcription", mime_type="text/plain",
            attributes=attributes, text_header=models.DataStream.TextHeader(),
        )  # fmt: skip
        chunk = models.DataStream.Chunk(stream_id=segment, chunk_index=0, content=text.encode())
        trailer = models.DataStream.Trailer(stream_id=segment, attributes=attributes)
        for part in ({"stream_header": header}, {"stream_chunk": chunk}, {"stream_trailer": trailer}):
            self._packet(identity, **part)

    def _old_words(self, text: str, identity: str) -> None:
        segment = models.TranscriptionSegment(id="SG_9", text=text, final=True, language="en")
        track = "TR_agent" if identity == AGENT else "TR_caller"
        said = models.Transcription(transcribed_participant_identity=identity, track_id=track, segments=[segment])
        self._packet(AGENT, transcription=said)

    def _packet(self, identity: str, **part: Any) -> None:
        self._sequence += 1
        packet = models.DataPacket(participant_identity=identity, sequence=self._sequence, **part)
        self._channel.send(packet.SerializeToString())


class Server:
    """The room server of a test."""

    def __init__(self, calls: Calls, behaviour: str) -> None:
        self._calls, self._behaviour = calls, behaviour

    async def join(self, request: web.Request) -> web.StreamResponse:
        """A participant's way in."""
        try:
            claims = api.TokenVerifier(KEY, SECRET).verify(request.headers.get("Authorization", "").removeprefix("Bearer "))
        except Exception as error:
            return web.Response(status=401, text=f"invalid token, error: {error}")
        if claims.video is None or not claims.video.room_join:
            return web.Response(status=401, text="permissions denied")
        named = claims.video.room.partition(".")[0]
        behaviour = named if named in BEHAVIOURS else self._behaviour
        if behaviour in REFUSALS:
            status, words = REFUSALS[behaviour]
            return web.Response(status=status, text=words)
        if not request.path.endswith("/v1"):
            return web.Response(text="success")
        wrapped = rtc.WrappedJoinRequest.FromString(base64.urlsafe_b64decode(request.query["join_request"] + "==="))
        packed = wrapped.compression == rtc.WrappedJoinRequest.GZIP
        join = rtc.JoinRequest.FromString(gzip.decompress(wrapped.join_request) if packed else wrapped.join_request)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        room = Room(socket, claims, self._calls.answer(claims.video.room), behaviour)
        try:
            await room.play(join)
        finally:
            await room.close()
        return socket

    async def invite(self, request: web.Request) -> web.Response:
        """A token for whom asks, as LiveKit's page on token endpoints has it; by its path an expired one, or a useless one."""
        asked = await request.json()
        what = request.match_info["what"]
        config = api.RoomConfiguration(agents=[api.RoomAgentDispatch(**one) for one in asked["room_config"]["agents"]])
        grants = api.VideoGrants(room_join=None if what == "useless" else True, room=asked["room_name"])
        token = api.AccessToken(KEY, SECRET).with_identity(asked["participant_identity"]).with_grants(grants)
        token = token.with_room_config(config).with_ttl(timedelta(hours=-1 if what == "expired" else 1))
        url = str(request.url.origin().with_scheme("ws"))
        return web.json_response({"server_url": url, "participant_token": token.to_jwt()}, status=201)


async def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--behaviour", choices=BEHAVIOURS, default="answers")
    behaviour = parser.parse_args().behaviour
    calls = Calls(1, RATE_HZ)
    server, app = Server(calls, behaviour), web.Application()
    app.router.add_get("/rtc{rest:.*}", server.join)
    app.router.add_post("/token/{what}", server.invite)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    await calls.serve(f"ws://127.0.0.1:{runner.addresses[0][1]}")


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=precise_loop) as runner:
        runner.run(main())
