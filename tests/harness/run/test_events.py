"""Events before any call: how they are dealt, who speaks them, and what is refused with one line."""

from collections import Counter
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from harness.audio.caller_voices import CALLER_VOICES, bystander
from harness.errors import UserError
from harness.experiment import Experiment
from harness.progress import RunProgress
from harness.run.caller_turns import render_turns
from harness.run.plan import load_events, make_plan, new_manifest
from harness.run.resuming import asked_of, refuse_changes
from harness.store.events import ASKS, EventName, everyday
from tests.harness.conftest import peer

CONTEXTS = [f"c{k}" for k in range(15)]


def test_each_event_meets_as_many_contexts_as_any_other_and_repeats_pass_them_on() -> None:
    settings = everyday()
    dealt = [settings.dealt(CONTEXTS, c, 0, seed=3).sound for c in CONTEXTS]
    assert set(Counter(dealt[:14]).values()) == {2}
    assert dealt == [settings.dealt(CONTEXTS, c, 0, seed=3).sound for c in CONTEXTS]
    assert dealt != [settings.dealt(CONTEXTS, c, 0, seed=4).sound for c in CONTEXTS]
    for context in CONTEXTS:
        assert {settings.dealt(CONTEXTS, context, repeat, seed=3).sound for repeat in range(7)} == set(ASKS)


def test_every_event_says_what_it_asks_for() -> None:
    assert set(ASKS) == set(get_args(EventName))
    assert [name for name, asks in ASKS.items() if asks == "stop"] == ["interruption"]


@pytest.mark.parametrize("caller", [*CALLER_VOICES, "somebody of a service"])
@pytest.mark.parametrize("taken", [(), ("piper-joe",), ("hibari",), ("piper-joe", "hibari")])
def test_the_second_voice_is_neither_the_callers_nor_an_agents(caller: str, taken: tuple[str, ...]) -> None:
    for context in CONTEXTS:
        other = CALLER_VOICES[bystander(caller, context, 1, taken)]
        assert other.name != caller
        assert caller not in CALLER_VOICES or CALLER_VOICES[caller].sex != other.sex
        assert not (other.unmoved and other.weight in taken)
        assert len(taken) != 1 or other.weight not in taken


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("events: [{sound: cough, at_ms: 61000}]", "cough at 61000 ms is after the call's end"),
        ("events: [{sound: sneeze, at_ms: 1}]", "events[0].sound"),
        ("events: [{sound: cough, at_ms: -1}]", "events[0].at_ms"),
        ("events: [{sound: cough, at_ms: .nan}]", "events[0].at_ms"),
        ("events: [{sound: cough}]", "events[0].at_ms"),
        ("events: []", "events:"),
        ("sounds: []", "events"),
        ("[1, 2]", "begin with `events:`"),
        ("events: [", "is not a YAML file"),
        ("", "begin with `events:`"),
    ],
)
def test_a_bad_file_is_refused_in_one_line_that_names_it(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as refused:
        load_events(str(path))
    assert str(path) in str(refused.value)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match=r"--events none\.yaml: cannot be read"):
        load_events("none.yaml")


def test_one_thing_at_a_time(pack: Path) -> None:
    with pytest.raises(UserError, match="leave out --barge-in"):
        make_plan(_options(pack, barge_in_ms=500.0))


def test_a_resumed_run_keeps_its_events(pack: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("events: [{sound: door, at_ms: 900}]", encoding="utf-8")
    plan = make_plan(_options(pack, events=str(path)))
    manifest = new_manifest(plan)
    assert make_plan(asked_of(manifest)[0]).events == plan.events
    refuse_changes(plan, manifest, plan.contexts)
    path.write_text("events: [{sound: door, at_ms: 1900}]", encoding="utf-8")
    with pytest.raises(UserError, match="events was door at 900 ms, is now door at 1900 ms"):
        refuse_changes(make_plan(asked_of(manifest)[0]), manifest, plan.contexts)


@pytest.mark.models
def test_every_sound_is_made_again_to_the_byte_and_the_control_is_silent(pack: Path) -> None:
    plan = make_plan(_options(pack))
    made, again = (render_turns(plan, RunProgress(quiet=True)).events for _ in range(2))
    assert set(made.rendered) == {(c.id, name) for c in plan.contexts for name in ASKS}
    for key, sound in made.rendered.items():
        assert np.array_equal(sound.samples, again.rendered[key].samples), key
        assert bool(sound.samples.any()) == (key[1] != "nothing"), key
    assert set(made.voices) == {c.id for c in plan.contexts}


def _options(pack: Path, events: str = "everyday", barge_in_ms: float | None = None) -> Experiment:
    return Experiment(agents=(str(peer("raw-pcm-echo")),), pack=str(pack), events=events, barge_in_ms=barge_in_ms)
