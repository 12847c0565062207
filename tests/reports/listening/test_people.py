"""People's replies: words for what was spoken, references that judges read, and a run that still goes on."""

import base64
import io
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
import soundfile

from harness import models
from harness.audio.speech import RATE_HZ, render_turn
from harness.audio.synthesis import PiperSynthesiser
from harness.audio.transcribe import Transcriber
from harness.judging import reference_completions
from harness.measuring.transcribe import TRANSCRIBER
from harness.reports.listening.people import human_completions, take_in, untranscribed
from harness.reports.listening.serve import prepare
from harness.store.run_store import RunStore

Serve = Callable[..., Any]
SAID = "That sounds lonely. Who was there with you?"


def recorded(text: str, voice: PiperSynthesiser) -> str:
    """Speech as the page sends it."""
    out = io.BytesIO()
    soundfile.write(out, render_turn(text, None, voice, None).samples, RATE_HZ, format="WAV")
    return base64.b64encode(out.getvalue()).decode()


@pytest.fixture(scope="module")
def spoken() -> str:
    return recorded(SAID, PiperSynthesiser(models.resolve("piper-joe")))


@pytest.fixture(scope="module")
def transcriber() -> Transcriber:
    return Transcriber(models.resolve(TRANSCRIBER))


def give(person: httpx2.Client, **reply: str) -> str:
    due: str = person.get("/collect/next").json()["context"]
    assert person.post("/collect/reply", json={"context": due, "no_help": True, **reply}).status_code == 200
    return due


def test_what_was_spoken_gets_words_and_what_was_typed_keeps_its_own(
    serve: Serve, spoken: str, transcriber: Transcriber
) -> None:
    served = serve(contexts=3)
    person = served.begun("collect")
    first = give(person, audio=spoken)
    second = give(person, audio=spoken, text="I typed this instead.")
    third = give(person, text="I am here, go on.")
    assert untranscribed(served.store) == 1
    assert take_in(served.store, None) == 2
    assert take_in(served.store, transcriber.transcribe) == 3
    assert untranscribed(served.store) == 0
    texts = {row["context"]: row["text"] for row in human_completions(served.store)}
    assert "lonely" in texts[first].lower()
    assert "who was there" in texts[first].lower()
    assert texts[second] == "I typed this instead."
    assert texts[third] == "I am here, go on."


def test_replies_compete_as_human_references_and_a_stopped_run_still_agrees_with_its_pack(
    serve: Serve, spoken: str, transcriber: Transcriber
) -> None:
    served = serve(contexts=2)
    before = served.store.contexts()
    people = [served.begun("collect") for _ in range(2)]
    contexts = {give(people[0], audio=spoken), give(people[1], text="I am here, go on.")}
    take_in(served.store, transcriber.transcribe)
    take_in(served.store, transcriber.transcribe)
    store = RunStore.open(served.store.folder)
    human = [(c.id, r) for c in store.contexts() for r in c.references if r.author.startswith("human:")]
    assert {context for context, _ in human} == contexts
    assert len(human) == len({r.author for _, r in human}) == 2
    systems = {c.system for c in reference_completions(store.contexts())}
    assert {f"ref:{r.id}" for _, r in human} <= systems
    assert store.contexts_as_played() == before


def test_people_of_two_tests_are_not_one_person(serve: Serve) -> None:
    served = serve(contexts=2)
    give(served.begun("collect"), text="I am here, go on.")
    other, _ = prepare(served.store, served.design.model_copy(update={"kind": "acr"}))
    rater = other.begin("another secret", "contributor", served.design.model_dump_json(), ())
    other.add_completion(rater, "talk-0", "Tell me more.", None)
    other.close()
    systems = [row["system"] for row in human_completions(served.store)]
    assert len(systems) == len(set(systems)) == 2


def test_a_recording_without_words_stays_a_recording(serve: Serve, spoken: str) -> None:
    served = serve(contexts=1)
    give(served.begun("collect"), audio=spoken)

    class Deaf:
        text = ""
        words = ()

    def deaf(_: object, __: int) -> Deaf:
        return Deaf()

    assert take_in(served.store, deaf) == 0
    (row,) = human_completions(served.store)
    assert row["text"] == "(spoken)"
    assert (served.store.folder / row["audio"]).is_file()
