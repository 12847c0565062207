"""A pipecat bot as its scaffold writes one (`pipecat init --eval`), on small models of this machine.

The harness calls it over pipecat's evaluation wire (`eval` below), which gives it the conversation so far.
"""

import xllamacpp
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.evals.transport import EvalTransportParams
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair, LLMUserAggregatorParams
from pipecat.runner.types import RunnerArguments
from pipecat.runner.utils import create_transport
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.services.piper.tts import PiperTTSService
from pipecat.services.whisper.stt import WhisperSTTService
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.workers.runner import WorkerRunner

from harness import models  # only to find the weights that the harness has fetched

WAIT_S = 3.0  # the silence that ends the caller's turn: the line to change
RULES = "You listen to somebody who is having a hard time. Answer in one or two short, warm sentences."


async def bot(arguments: RunnerArguments) -> None:
    eval_params = EvalTransportParams(audio_in_enabled=True, audio_out_enabled=True)
    transport = await create_transport(arguments, {"eval": lambda: eval_params})
    voice = models.resolve("piper-joe")
    stt = WhisperSTTService(
        device="cpu", compute_type="int8", settings=WhisperSTTService.Settings(model=str(models.resolve("whisper-tiny.en")))
    )
    tts = PiperTTSService(download_dir=voice.parent, settings=PiperTTSService.Settings(voice=voice.stem))
    answers = OpenAILLMService.Settings(model="smollm2", system_instruction=RULES, max_tokens=60)
    llm = OpenAILLMService(api_key="none", base_url=f"{model.listening_address}/v1", settings=answers)
    turn_ends = UserTurnStrategies(stop=[SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=WAIT_S)])
    params = LLMUserAggregatorParams(vad_analyzer=SileroVADAnalyzer(), user_turn_strategies=turn_ends)
    user, assistant = LLMContextAggregatorPair(LLMContext(), user_params=params)
    worker = PipelineWorker(
        Pipeline([transport.input(), stt, user, llm, tts, transport.output(), assistant]),
        params=PipelineParams(enable_metrics=True),
    )
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)

    async def hung_up(*_: object) -> None:
        await runner.cancel()

    transport.add_event_handler("on_client_disconnected", hung_up)
    await runner.run()


if __name__ == "__main__":
    from pipecat.runner.run import main

    settings = xllamacpp.CommonParams()
    settings.model.path = str(models.resolve("smollm2-135m"))
    settings.n_ctx = 4_096
    model = xllamacpp.Server(settings)
    main()
