"""Faults of what a cascade's language model says, over many contexts, asked as the agent asks it and without a sound card.

    python -m benchmarks.agent_replies said.jsonl --packs heart-open heart-mini esconv/ [--agent polaris-like] [--half 1]

The agent's own language-model service answers (`CascadeLLM`: prompt, limits, end of loops), and it is given what the agent
would have heard: each last turn is spoken by a voice that is not the agent's and transcribed by the agent's recogniser.
Conversations fall into two halves by the hash of their names, so that a rule or a prompt can be chosen on one half and reported
on the other. A pack built from ESConv stays with you: the file holds its words.

The counts are of rules, not of meaning: a reply that contradicts its caller passes all of them.
"""

import argparse
import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from loguru import logger
from numpy.typing import NDArray
from pipecat.frames.frames import Frame, LLMTextFrame
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameDirection

from harness.agents.cascade.llm import CascadeLLM, Endpoint
from harness.agents.cascade.moonshine import Moonshine
from harness.agents.cascade.prompt import system_instruction
from harness.agents.cascade.recogniser import RATE_HZ, Recogniser
from harness.agents.cascade.session_marks import SessionMarks
from harness.agents.cascade.settings import CascadeSettings, StreamingMoonshine, StreamingStt
from harness.agents.cascade.short_context_whisper import ShortContextWhisper
from harness.agents.llm_server import LlmServer, ServerOptions
from harness.agents.profile import CascadeProfile, load_profile
from harness.audio.pcm import resample
from harness.figures.reply_flags import flags_of
from harness.models.store import resolve
from harness.scenarios.context import Context, Turn
from harness.scenarios.pack import load_pack
from harness.voices.choice import open_voices

STRETCH_SAMPLES: Final = 20 * RATE_HZ
"""The agent transcribes at most 24 s at once."""
TENTH_SAMPLES: Final = RATE_HZ // 10
LEAST_CLAUSE_WORDS: Final = 3
LEAST_PARROTED_WORDS: Final = 4
PARROTED_SHARE: Final = 0.8
"""Of a sentence in the first person, the share that the caller has just said in one stretch."""
_LOOP: Final = re.compile(r"\b((\w+(?: \w+)?) \2 \2|(\w+(?: \w+){2,11}) \3)\b")
"""In words joined by blanks: one or two of them three times, or three to twelve twice."""
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_CLAUSE: Final = re.compile(r"[^.!?…,;:—]+")
_SENTENCE: Final = re.compile(r"[^.!?…]+")
_WHOLE: Final = re.compile(r"[.!?…][\"')\]]*$")


@dataclass(frozen=True, slots=True)
class Said:
    """One reply: the caller's words as heard, all that the model said, what is spoken of it, and its faults."""

    pack: str
    id: str
    half: int
    heard: str
    raw: str
    spoken: str
    tokens: int
    faults: tuple[str, ...]


class ReplyingLLM(CascadeLLM):
    """The agent's service outside a pipeline: what it would pass on is collected."""

    def begin(self) -> None:
        """Forget the reply before."""
        self.raw: list[str] = []
        self.spoken: list[str] = []

    async def push_frame(self, frame: Frame, _direction: FrameDirection = FrameDirection.DOWNSTREAM) -> None:
        if isinstance(frame, LLMTextFrame):
            self.spoken.append(frame.text)

    async def _push_llm_text(self, text: str) -> None:
        self.raw.append(text)
        await super()._push_llm_text(text)

    async def reply(self, messages: list[Any]) -> tuple[str, str, int, str]:
        """All that the model said, what is spoken, the number of tokens, and what ended it."""
        self.begin()
        await self._process_context(LLMContext(messages=messages))
        most = self._cascade.llm.max_tokens
        ended = "model"
        if self._loops is not None and self._loops.looped:
            ended = "loop"
        elif self._limiter is not None and self._limiter.done:
            ended = "limit"
        elif most is not None and len(self.raw) >= most:
            ended = "tokens"
        return "".join(self.raw).strip(), "".join(self.spoken).strip(), len(self.raw), ended


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--packs", nargs="+", default=["heart-open", "heart-mini"])
    parser.add_argument("--agent", default="polaris-like")
    parser.add_argument("--half", type=int, choices=(0, 1))
    parser.add_argument("--heard", type=Path, help="Replies of an earlier run, whose callers need not be heard again.")
    asked = parser.parse_args()
    logger.remove()
    profile = load_profile(asked.agent)
    assert isinstance(profile, CascadeProfile)
    contexts = [(name, c) for name in asked.packs for c in load_pack(name).contexts]
    contexts = [(name, c) for name, c in contexts if asked.half is None or half_of(c) == asked.half]
    # In an order that mixes the packs, so that a run that is stopped has heard of all of them.
    contexts.sort(key=lambda one: hashlib.sha256(one[1].id.encode()).digest())
    said = asyncio.run(_said(contexts, _Ear(asked.packs, profile.cascade, asked.heard), profile.cascade, asked.out))
    for name, group in (*((name, [s for s in said if s.pack == name]) for name in asked.packs), ("all", said)):
        counts = Counter(fault for one in group for fault in one.faults)
        print(f"{name}: {len(group)} replies, " + ", ".join(f"{fault} {n}" for fault, n in sorted(counts.items())))


def half_of(context: Context) -> int:
    """0 or 1, from the hash of the context's name."""
    return hashlib.sha256(context.id.encode()).digest()[0] % 2


class _Ear:
    """The transcript of a last turn by the agent's recogniser; callers are rendered as in a run."""

    def __init__(self, packs: Sequence[str], settings: CascadeSettings, before: Path | None) -> None:
        """`before`: replies of an earlier run, whose callers are not heard again."""
        lines = before.read_text(encoding="utf-8").splitlines() if before else []
        self._before = {one["id"]: str(one["heard"]) for one in map(json.loads, lines)}
        self._voices = {name: open_voices(load_pack(name)) for name in packs}
        assert isinstance(settings.stt, StreamingStt)
        one_thread, weights = settings.stt.model_copy(update={"threads": 1}), str(resolve(settings.stt.model))
        self._recogniser: Recogniser = (
            Moonshine(weights) if isinstance(one_thread, StreamingMoonshine) else ShortContextWhisper(one_thread, weights)
        )

    def heard(self, pack: str, context: Context) -> str:
        """The words of the context's last turn as the agent would have them."""
        if context.id in self._before:
            return self._before[context.id]
        voices = self._voices[pack]
        rendered = voices.render(context.spoken, voices.wish_of(context))
        track = resample(rendered.samples, rendered.rate_hz, RATE_HZ).astype(np.float32) / np.float32(32768)
        return " ".join(self._recogniser.transcribe(stretch).text for stretch in stretches(track))


def stretches(track: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    """The track in pieces that the recogniser takes at once, cut at the quietest tenth of a second."""
    while len(track) > STRETCH_SAMPLES:
        tail = track[STRETCH_SAMPLES // 2 : STRETCH_SAMPLES]
        tenths = tail[: len(tail) // TENTH_SAMPLES * TENTH_SAMPLES].reshape(-1, TENTH_SAMPLES)
        quietest = int(np.argmin(np.square(tenths).mean(axis=1)))
        cut = STRETCH_SAMPLES // 2 + quietest * TENTH_SAMPLES + TENTH_SAMPLES // 2
        yield track[:cut]
        track = track[cut:]
    yield track


async def _said(contexts: Sequence[tuple[str, Context]], ear: _Ear, settings: CascadeSettings, out: Path) -> list[Said]:
    server = LlmServer(ServerOptions(str(resolve(settings.llm.model)), threads=1, prompt_threads=1))
    await server.start()
    found = []
    try:
        endpoint = Endpoint(server.base_url, settings.llm.model, native_url=server.url)
        llm = ReplyingLLM(endpoint, settings, SessionMarks(), system_instruction(settings.reply))
        with out.open("w", encoding="utf-8") as file:
            for name, context in contexts:
                words = ear.heard(name, context)
                messages = [{"role": ROLES[t.role], "content": t.plain} for t in context.history]
                raw, spoken, tokens, ended = await llm.reply([*messages, {"role": "user", "content": words}])
                turns = (*context.history, Turn(role="seeker", text=words or "."))
                faults = faults_of(turns, spoken, ended)
                found.append(Said(name, context.id, half_of(context), words, raw, spoken, tokens, faults))
                file.write(json.dumps(asdict(found[-1]), ensure_ascii=False) + "\n")
                file.flush()
    finally:
        await server.stop()
    return found


ROLES: Final = {"seeker": "user", "supporter": "assistant"}


def faults_of(turns: Sequence[Turn], spoken: str, ended: str) -> tuple[str, ...]:
    """The faults of a reply as spoken, by rules, and what ended it if that was not the model."""
    shown = {
        "ended by a loop": ended == "loop",
        "cut at words or sentences": ended == "limit",
        "cut at tokens": ended == "tokens",
        "empty": not any(c.isalnum() for c in spoken),
        "no whole sentence at the end": bool(spoken) and not _WHOLE.search(spoken),
        "loops as spoken": bool(_LOOP.search(" ".join(_words(spoken)).replace("'", ""))) or says_a_clause_twice(spoken),
        "says four words twice": says_four_words_twice(spoken),
        "parrots in the first person": parrots(turns[-1].text, spoken),
    }
    return (*(name for name, is_so in shown.items() if is_so), *(f"flag: {name}" for name in flags_of(turns, spoken)))


def says_a_clause_twice(reply: str) -> bool:
    """True if the words between two marks come twice."""
    clauses = [words for found in _CLAUSE.findall(reply.replace("’", "'")) if len(words := _words(found)) >= LEAST_CLAUSE_WORDS]
    return len(set(clauses)) < len(clauses)


def says_four_words_twice(reply: str) -> bool:
    """True if any four words in a row come twice: loops, and much that is none."""
    words = _words(reply)
    runs = [words[k : k + 4] for k in range(len(words) - 3)]
    return len(set(runs)) < len(runs)


def parrots(caller: str, reply: str) -> bool:
    """True if a sentence of the reply that says "I" is one that the caller has just said."""
    theirs = f" {' '.join(_words(caller))} "
    for sentence in _SENTENCE.findall(reply.replace("’", "'")):
        own = _words(sentence)
        if len(own) < LEAST_PARROTED_WORDS or not any(w == "i" or w.startswith("i'") or w == "my" for w in own):
            continue
        size = max(LEAST_PARROTED_WORDS, int(np.ceil(PARROTED_SHARE * len(own))))
        if any(f" {' '.join(own[k : k + size])} " in theirs for k in range(len(own) - size + 1)):
            return True
    return False


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower().replace("’", "'")))


if __name__ == "__main__":
    main()
