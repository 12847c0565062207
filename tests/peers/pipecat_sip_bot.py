"""A pipecat bot behind a telephone number, by agent-transport: `python pipecat_sip_bot.py PORT`.

kamailio listens at the port, and the bot registers there as `agent`. The pipeline is that of pipecat's scaffold, with OpenAI's
services at the address that the environment gives (OPENAI_BASE_URL).
"""

import os
import sys
from typing import Any

import sip_proxy
from agent_transport.sip.pipecat import SipServerTransport
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair, LLMUserAggregatorParams
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.services.openai.stt import OpenAISTTService
from pipecat.services.openai.tts import OpenAITTSService
from pipecat.workers.runner import WorkerRunner

TELEPHONE_HZ = 8_000
"""Left out, the detector of speech takes what it hears for 16 kHz, and misses one short turn of twenty."""

server = SipServerTransport(sip_server="127.0.0.1", sip_username="agent", sip_password="none", http_host="127.0.0.1")


@server.handler()  # type: ignore[untyped-decorator, unused-ignore]
async def run_bot(transport: Any, _: Any) -> None:
    key = os.environ["OPENAI_API_KEY"]
    vad = SileroVADAnalyzer()
    heard, said = LLMContextAggregatorPair(LLMContext(), user_params=LLMUserAggregatorParams(vad_analyzer=vad))
    stt, llm = OpenAISTTService(api_key=key), OpenAILLMService(api_key=key)
    tts = OpenAITTSService(api_key=key, settings=OpenAITTSService.Settings(voice="alloy"))
    stages = [transport.input(), stt, heard, llm, tts, transport.output(), said]
    worker = PipelineWorker(Pipeline(stages), params=PipelineParams(audio_in_sample_rate=TELEPHONE_HZ))
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await runner.run()


sip_proxy.start(int(sys.argv[1]))
server.run()
