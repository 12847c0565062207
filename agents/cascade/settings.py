"""The settings of a cascade, from a profile's `[cascade]` table.

One table per part, and where a part comes in kinds (speech recogniser, endpoint policy) the kind is named first and
decides which settings exist: a setting that the chosen kind would ignore is an error, so that no profile claims a
tuning which never took effect. Defaults are pipecat's own, so an almost empty `[cascade]` is pipecat as it comes.
"""

from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Milliseconds = Annotated[float, Field(ge=0, le=60_000)]
Probability = Annotated[float, Field(ge=0, le=1)]
Threads = Annotated[int, Field(ge=1, le=256)]

HIBARI: Final = "hibari"
"""The voice that is not a weight: it comes in its own package."""


class SettingsFailed(Exception):
    """A profile names something that does not exist. The message is one line for people."""


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class VadSettings(_Settings):
    """Silero voice activity. The defaults are pipecat's."""

    confidence: Probability = 0.7
    start_ms: Milliseconds = 200
    stop_ms: Milliseconds = 200
    min_volume: Probability = 0.6


class StockWhisper(_Settings):
    """pipecat's own Whisper service: it transcribes once the VAD has heard its stop, over a 30 s window."""

    service: Literal["pipecat-whisper"] = "pipecat-whisper"
    model: str = "whisper-tiny.en"
    """A name of the model store, a CTranslate2 folder, or a name that faster-whisper can fetch."""
    device: Literal["cpu", "cuda", "auto"] = "cpu"
    compute_type: str = "default"
    threads: Threads = 2
    trailing_silence_ms: Milliseconds = 500
    """Silence that the service appends to each segment before it transcribes."""


class ShortContext(_Settings):
    """Whisper with an encoder window only as long as the speech."""

    model: str = "whisper-tiny.en"
    device: Literal["cpu", "cuda", "auto"] = "cpu"
    compute_type: str = "int8"
    threads: Threads = 2
    least_window_frames: Annotated[int, Field(ge=300, le=3000)] = 800
    """Shortest encoder window in 10 ms feature frames; under 8 s the decoder falls into loops."""
    padding_frames: Annotated[int, Field(ge=0, le=3000)] = 200
    """Zero feature frames after the speech; under 2 s the decoder falls into loops."""


class FinalizingWhisper(ShortContext):
    """Whisper in the place of a vendor's streaming recogniser: each stretch is finalized when the VAD has heard its stop."""

    service: Literal["finalizing-whisper"]
    ttfs_p99_ms: Milliseconds = 1000
    """Time from the end of speech to its transcript, 99 of 100 times: pipecat asks every service for this, and releases a turn
    without a final transcript after it. The default is pipecat's own for services that it has not measured. A transcript that
    came later would be lost to its turn; one that comes sooner ends the turn at once, whatever is set here."""


class StreamingWhisper(ShortContext):
    """Whisper that transcribes at every first silence, and decides itself when the turn is over."""

    service: Literal["streaming-whisper"]
    speech_probability: Probability = 0.5
    """Silero's probability at which a 32 ms window counts as speech."""
    eager_silence_ms: Milliseconds = 0
    """Silence after which the words so far are transcribed and answered on speculation."""


class StreamingMoonshine(_Settings):
    """Moonshine on this machine's processor, which transcribes while the caller speaks."""

    service: Literal["streaming-moonshine"]
    model: str = "moonshine-tiny.en"
    """A name of the model store, or a folder with the model's .ort files."""
    threads: Threads = 1
    speech_probability: Probability = 0.5
    """Silero's probability at which a 32 ms window counts as speech."""
    eager_silence_ms: Milliseconds = 0
    """Silence after which the words so far are transcribed and answered on speculation."""
    partial_every_ms: Annotated[float, Field(ge=100, le=10_000)] = 300
    """Speech after which the words so far are transcribed, and prepared for the language model."""

    @property
    def device(self) -> Literal["cpu"]:
        return "cpu"


StreamingStt = StreamingWhisper | StreamingMoonshine


class PipecatDefaultEndpoint(_Settings):
    """pipecat's default turn strategies: VAD and transcription start a turn, smart-turn v3 ends it."""

    policy: Literal["pipecat-default"] = "pipecat-default"


class SpeechTimeoutEndpoint(_Settings):
    """pipecat's speech-timeout strategy: the turn ends this long after the VAD heard its stop."""

    policy: Literal["speech-timeout"]
    timeout_ms: Milliseconds = 600


ScorerName = Literal["llm", "smart-turn", "last-word", "length", "spoken", "holding-cues"]


class AdaptSettings(_Settings):
    """A longer wait for a caller with long pauses: `factor` times the `quantile` of them, at most `most_ms`."""

    quantile: Probability = 0.8
    factor: Annotated[float, Field(ge=0.5, le=3)] = 1.2
    most_ms: Milliseconds = 900


class _StreamingEndpoint(_Settings):
    adapt: AdaptSettings | None = None


class FixedEndpoint(_StreamingEndpoint):
    """The turn ends after this much silence."""

    policy: Literal["fixed"]
    silence_ms: Milliseconds


class LengthSettings(_Settings):
    """The prior on how much callers say before they hand over: even chances at `words_at_half`, growing over
    `spread_words`. It belongs to a kind of caller; set it from your own."""

    words_at_half: Annotated[float, Field(gt=0, le=1000)] = 44
    spread_words: Annotated[float, Field(gt=0, le=1000)] = 4


class _ScoredEndpoint(_StreamingEndpoint):
    short_ms: Milliseconds = 450
    long_ms: Milliseconds = 750
    complete_from: Probability = 0.4
    """Least score for the short silence."""
    scorers: dict[ScorerName, Annotated[float, Field(gt=0)]] = Field(default={"llm": 1.0}, min_length=1)
    """The scorers of complete words, with weights. If the model cannot be asked, `llm` falls back to
    the last word."""
    length: LengthSettings = LengthSettings()
    """Settings of the scorer of that name."""
    hesitation_veto: bool = False
    """Words that end in "um" are incomplete, whatever the scorers say."""

    @model_validator(mode="after")
    def _length_is_used(self) -> Self:
        if "length" in self.model_fields_set and "length" not in self.scorers:
            raise ValueError('length needs the scorer "length" in scorers')
        return self

    @model_validator(mode="after")
    def _voice_is_heard(self) -> Self:
        if "holding-cues" in self.scorers:
            raise ValueError('the scorer "holding-cues" needs the policy hazard, which listens into the silence')
        return self

    @model_validator(mode="after")
    def _short_is_shorter(self) -> Self:
        if self.short_ms > self.long_ms:
            raise ValueError("short_ms must not exceed long_ms")
        return self


class TwoSpeedEndpoint(_ScoredEndpoint):
    """Short silence when the words seem complete, else long silence."""

    policy: Literal["two-speed"]


class GradedEndpoint(_ScoredEndpoint):
    """As two-speed, with silences in between for scores from `incomplete_below` to `complete_from`."""

    policy: Literal["graded"]
    incomplete_below: Probability = 0.1

    @model_validator(mode="after")
    def _bounds_are_ordered(self) -> Self:
        if self.incomplete_below > self.complete_from:
            raise ValueError("incomplete_below must not exceed complete_from")
        return self


class HazardEndpoint(_Settings):
    """A wait that shrinks as words and voice make an end likelier (`harness.agents.cascade.hazard`)."""

    policy: Literal["hazard"]
    price: Annotated[float, Field(ge=-20, le=20)]
    """Log odds at which 200 ms are enough: a higher price waits longer and cuts fewer pauses."""
    least_ms: Milliseconds = 430
    longest_ms: Milliseconds = 2400
    sure_from: Annotated[float, Field(ge=-20, le=20)] | None = None
    """Log odds from which `least_ms` is enough."""
    without: Literal["smart-turn", "spoken", "holding-cues"] | None = None
    """A scorer to leave out: `holding-cues` where the recogniser is not Moonshine, the others so that their value can be
    measured."""

    @model_validator(mode="after")
    def _least_is_shorter(self) -> Self:
        if self.least_ms > self.longest_ms:
            raise ValueError("least_ms must not exceed longest_ms")
        return self


StockEndpoint = PipecatDefaultEndpoint | SpeechTimeoutEndpoint
StreamingEndpoint = FixedEndpoint | TwoSpeedEndpoint | GradedEndpoint | HazardEndpoint
Endpoint = Annotated[StockEndpoint | StreamingEndpoint, Field(discriminator="policy")]


class LlmSettings(_Settings):
    """The language model: a llama.cpp server that the agent starts itself, or any OpenAI-compatible endpoint."""

    model: str = "smollm2-135m"
    """Without `base_url` a name of the model store or the path of a GGUF file; with it, the endpoint's model name."""
    base_url: str | None = None
    """An OpenAI-compatible endpoint (`http://host:8000/v1`): vLLM, Ollama, a vendor. No server is started then."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the endpoint's key. A profile never contains keys."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=32_768)] | None = None
    repeat_penalty: Annotated[float, Field(ge=0.5, le=2)] | None = None
    """A llama.cpp setting; only sent to a server that the agent started itself."""
    context_tokens: Annotated[int, Field(ge=256, le=1_048_576)] = 4096
    threads: Threads = 2
    """Threads of the embedded server for decoding. On two idle cores two take 14 ms a token, one 25; beside one busy program
    41 and 25: with other work on the machine, one is the safe choice."""
    prompt_threads: Threads = 2
    """Threads of the embedded server for evaluating prompts."""
    gpu_layers: Annotated[int, Field(ge=0)] = 0
    slots: Annotated[int, Field(ge=1, le=64)] = 1
    """Separate conversations of the embedded server; they share `context_tokens`."""
    pause_for_first_audio: bool = False
    """Stop decoding while the first piece is synthesised, so that both do not share the cores."""
    warm_prefix: bool = False
    """Send the system prompt and the history to the model as soon as they are known, so that its cache is warm."""

    @model_validator(mode="after")
    def _server_settings_need_a_server(self) -> Self:
        if self.base_url is not None and self.pause_for_first_audio:
            raise ValueError("pause_for_first_audio needs the embedded server: base_url must be left out")
        if self.base_url is None and self.api_key_env is not None:
            raise ValueError("api_key_env needs base_url: the embedded server takes no key")
        return self

    @property
    def local_threads(self) -> dict[str, int]:
        """Threads of the embedded server, by task; empty if the model runs elsewhere."""
        return {"model": self.threads, "prompts": self.prompt_threads} if self.base_url is None else {}


class TtsSettings(_Settings):
    """The voice, and how the reply's text is cut before it is synthesised."""

    voice: str = "piper-joe"
    """`hibari`, a Piper voice of the model store, or the path of a Piper .onnx file with its .json beside it."""
    cut: Literal["sentence", "clause"] = "sentence"
    """`sentence` is pipecat's way; `clause` hands over each breath group as soon as it is complete."""
    least_words: Annotated[int, Field(ge=1, le=20)] = 3
    """With `clause`: a piece shorter than this waits for the next boundary."""
    most_first_words: Annotated[int, Field(ge=1, le=20)] | None = None
    """With `clause`: from this length a reply's first piece ends before any word that does not lean on the one before."""
    threads: Threads = 2
    trim_silence: bool = False
    """Drop the near-silence with which the voice begins."""
    native_rate: bool = False
    """Send audio at the voice's own rate instead of pipecat's 24 kHz."""
    in_parts: bool = False
    """Give out the beginning of a piece while the rest of it is decoded, all at one loudness."""
    send_ahead_ms: Milliseconds = 0
    """Time by which sent audio may be ahead of heard audio, to hide a stall; 0 leaves the clock to pipecat."""
    use_cuda: bool = False

    @model_validator(mode="after")
    def _has_effect(self) -> Self:
        if self.most_first_words is not None and self.cut != "clause":
            raise ValueError('most_first_words needs cut = "clause"')
        if self.most_first_words is not None and self.most_first_words < self.least_words:
            raise ValueError("most_first_words must not be less than least_words")
        if self.use_cuda and self.voice == HIBARI:
            raise ValueError("use_cuda needs a Piper voice: hibari runs on the processor")
        return self


class ReplySettings(_Settings):
    """The rules of a reply (HEART, section 9.4: one to three sentences, about forty words, like speech)."""

    max_words: Annotated[int, Field(ge=5, le=400)] = 40
    max_sentences: Annotated[int, Field(ge=1, le=12)] = 3
    enforce: bool = False
    """Stop the reply at the last sentence that keeps both limits, rather than trusting the model to keep them."""
    end_loops: bool = False
    """End a reply at its first repetition."""
    revisions: Annotated[int, Field(ge=0, le=4)] = 0
    """Number of revisions of a draft; only the last version is spoken."""


class TestDelays(_Settings):
    """Known delays put into one stage, so that a waterfall can be tested against the truth. Never set in a shipped profile."""

    __test__ = False

    asr_ms: Milliseconds = 0
    llm_ms: Milliseconds = 0
    tts_ms: Milliseconds = 0


class CascadeSettings(_Settings):
    """A whole cascade. `speculate` answers at the first silence and buffers the audio until the turn is decided."""

    vad: VadSettings = VadSettings()
    stt: Annotated[StockWhisper | FinalizingWhisper | StreamingWhisper | StreamingMoonshine, Field(discriminator="service")] = (
        StockWhisper()
    )
    endpoint: Endpoint = PipecatDefaultEndpoint()
    llm: LlmSettings = LlmSettings()
    tts: TtsSettings = TtsSettings()
    reply: ReplySettings = ReplySettings()
    delays: TestDelays = TestDelays()
    speculate: bool = False
    nice: Annotated[int, Field(ge=0, le=19)] = 0
    """Niceness of the agent and its language-model server, so that a caller on the same machine keeps its pace."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        streaming = isinstance(self.stt, StreamingStt)
        if streaming != isinstance(self.endpoint, StreamingEndpoint):
            needed = "fixed, two-speed, graded or hazard" if streaming else "pipecat-default or speech-timeout"
            raise ValueError(f'stt service "{self.stt.service}" needs the endpoint policy {needed}')
        hears_cues = isinstance(self.endpoint, HazardEndpoint) and self.endpoint.without != "holding-cues"
        if hears_cues and not isinstance(self.stt, StreamingMoonshine):
            raise ValueError(
                'the policy hazard listens with Moonshine\'s encoder: with another recogniser, set without = "holding-cues"'
            )
        if self.speculate and not streaming:
            raise ValueError('speculate needs an stt service that streams: "streaming-whisper" or "streaming-moonshine"')
        if self.speculate and self.reply.revisions:
            raise ValueError("speculate and reply.revisions cannot be combined")
        return self

    @property
    def threads(self) -> dict[str, int]:
        """Threads of each part that computes on this machine's processor."""
        recogniser = {"recogniser": self.stt.threads} if self.stt.device != "cuda" else {}
        voice = {"voice": self.tts.threads} if not self.tts.use_cuda else {}
        return recogniser | self.llm.local_threads | voice

    @property
    def cuda_settings(self) -> tuple[str, ...]:
        """The settings that need CUDA, by their names in a profile."""
        whisper = ('cascade.stt.device = "cuda"',) if self.stt.device == "cuda" else ()
        return (*whisper, *(("cascade.tts.use_cuda",) if self.tts.use_cuda else ()))

    @property
    def weight_names(self) -> tuple[str, ...]:
        """Names that the model store must resolve before the cascade starts (paths and remote models are left out)."""
        wanted = [self.stt.model]
        if self.tts.voice != HIBARI:
            wanted.append(self.tts.voice)
        if self.llm.base_url is None:
            wanted.append(self.llm.model)
        return tuple(name for name in wanted if "/" not in name and not name.endswith((".gguf", ".onnx")))
