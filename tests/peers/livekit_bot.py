"""A LiveKit agent as its users write it, behind a telephone by agent-transport: `python livekit_bot.py PORT plivo|sip`.

`plivo`: it serves Plivo's audio stream at the port. `sip`: kamailio listens at the port, and the agent registers there as
`agent`. Its services are OpenAI's plugin, at the address that the environment gives
(OPENAI_BASE_URL).
"""

import socket
import sys
from typing import Any

import sip_proxy
from livekit.agents import Agent, AgentSession
from livekit.plugins import openai, silero

PORT, WAY = sys.argv[1:3]


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


def serve() -> Any:
    if WAY == "plivo":
        from agent_transport.audio_stream.livekit import AudioStreamServer

        keys = {"plivo_auth_id": "dummy", "plivo_auth_token": "dummy"}
        return AudioStreamServer(listen_addr=f"127.0.0.1:{PORT}", host="127.0.0.1", port=free_port(), **keys)
    from agent_transport.sip.livekit import AgentServer

    sip_proxy.start(int(PORT))
    who = {"sip_username": "agent", "sip_password": "none"}
    return AgentServer(sip_server="127.0.0.1", host="127.0.0.1", port=free_port(), **who)


server = serve()


def prewarm(process: Any) -> None:
    process.userdata["vad"] = silero.VAD.load()


server.setup_fnc = prewarm


@(server.audio_stream_session() if WAY == "plivo" else server.sip_session())  # type: ignore[untyped-decorator, unused-ignore]
async def entrypoint(context: Any) -> None:
    session: Any = AgentSession(
        vad=context.proc.userdata["vad"],
        stt=openai.STT(),
        llm=openai.LLM(),
        tts=openai.TTS(response_format="pcm"),
    )
    context.session = session
    await session.start(agent=Agent(instructions="Be kind and brief."), room=context.room)


sys.argv = [sys.argv[0], "start"]
server.run()
