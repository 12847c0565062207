"""A LiveKit agent as its users write it, behind Plivo's audio stream by agent-transport: `python livekit_bot.py PORT`.

Its services are OpenAI's plugin, at the address that the environment gives (OPENAI_BASE_URL).
"""

import socket
import sys

from agent_transport.audio_stream.livekit import AudioStreamServer, JobContext, JobProcess
from livekit.agents import Agent, AgentSession
from livekit.plugins import openai, silero


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


server = AudioStreamServer(
    listen_addr=f"127.0.0.1:{sys.argv[1]}", plivo_auth_id="dummy", plivo_auth_token="dummy", host="127.0.0.1", port=free_port()
)


def prewarm(process: JobProcess) -> None:
    process.userdata["vad"] = silero.VAD.load()


server.setup_fnc = prewarm


@server.audio_stream_session()
async def entrypoint(context: JobContext) -> None:
    session = AgentSession(
        vad=context.proc.userdata["vad"],
        stt=openai.STT(),
        llm=openai.LLM(),
        tts=openai.TTS(response_format="pcm"),
    )
    context.session = session
    await session.start(agent=Agent(instructions="Be kind and brief."), room=context.room)


sys.argv = [sys.argv[0], "start"]
server.run()
