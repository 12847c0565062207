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
from pipecat.audio.vad.vad_analyzer import VADParams
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair, LLMUserAggregatorParams
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.services.openai.stt import OpenAISTTService
from pipecat.services.openai.tts import OpenAITTSService
from pipecat.workers.runner import WorkerRunner

SOFT = 0.3
"""With pipecat's 0.6 it twice took the same soft turn of twenty, heard by telephone, for no speech."""

server = SipServerTransport(sip_server="127.0.0.1", sip_username="agent", sip_password="none", http_host="127.0.0.1")


@server.handler()  # type: ignore[untyped-decorator, unused-ignore]
async def run_bot(transport: Any, _: Any) -> None:
    key = os.environ["OPENAI_API_KEY"]
    vad = SileroVADAnalyzer(params=VADParams(min_volume=SOFT))
    heard, said = LLMContextAggregatorPair(LLMContext(), user_params=LLMUserAggregatorParams(vad_analyzer=vad))
    stt, llm = OpenAISTTService(api_key=key), OpenAILLMService(api_key=key)
    tts = OpenAITTSService(api_key=key, settings=OpenAITTSService.Settings(voice="alloy"))
    stages = [transport.input(), stt, heard, llm, tts, transport.output(), said]
    worker = PipelineWorker(Pipeline(stages), params=PipelineParams(enable_metrics=True))
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await runner.run()


sip_proxy.start(int(sys.argv[1]))
server.run()
