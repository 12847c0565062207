"""Escalation: target curves, the measure of hostility, the validator, and rewriting against a scripted server."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest

from harness.scenarios import Context, load_pack
from harness.scenarios.adversarial import PROFILES, Failure, Rewrite, faults, hostility, rewrite, rewrite_set, target_curve
from harness.scenarios.adversarial.rewrite import usable
from harness.scenarios.context import EscalationProfile
from harness.scenarios.llm import LlmError, LlmUnreachable, ask, endpoint
from harness.scenarios.screens.second import Verdict, second_screen
from tests.http_serving import Handler, serving

PACKS = [load_pack("heart-mini"), load_pack("heart-open")]
ADVERSARIAL = [c for pack in PACKS for c in pack.contexts if c.escalation]
REGULAR = [c for pack in PACKS for c in pack.contexts if not c.escalation]

CALM = "It was a long week, and my sister never rang me back."
WARM = "I'm so tired of explaining, you people never listen."
HOT = "Shut up, you useless idiot! You don't care, you're a liar, you make me sick!"


def base(turns: int = 8) -> Context:
    said = ["Hello, what brings you here?", CALM, "That sounds long.", "It was, and then the car broke down as well."]
    said += [
        "The car too.",
        "Yes, on the bridge, in the rain.",
        "On the bridge, in the rain.",
        "And nobody stopped to help me.",
    ]
    roles = ["supporter", "seeker"] * 4
    return Context.model_validate(
        {
            "id": "base",
            "subset": "regular",
            "emotion": "anger",
            "problem": "family",
            "turns": [{"role": r, "text": t} for r, t in zip(roles[:turns], said[:turns], strict=True)],
            "source": "written for the tests",
            "licence": "Apache-2.0",
        }
    )


def rewritten(profile: EscalationProfile) -> Context:
    done = rewrite(base(), profile, lambda *_: turns_json(seeker_turns(profile)))
    assert isinstance(done, Rewrite)
    return done.context


def seeker_turns(profile: str) -> list[str]:
    return {
        "always-10": [HOT] * 4,
        "linear-ramp": [CALM, WARM, HOT, HOT],
        "mid-spike": [CALM, CALM, CALM, HOT],
        "mid-ramp": [CALM, CALM, WARM, HOT],
    }[profile]


class Scripted(Handler):
    """Answers chat completions from a list; keeps what it was asked. An int is an HTTP status, a float seconds of silence,
    bytes are a whole body, with `status`."""

    answers: ClassVar[list[int | float | str | bytes]]
    status: ClassVar[int]
    requests: ClassVar[list[dict[str, Any]]]

    def do_POST(self) -> None:
        self.requests.append(self.asked())
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, float):
            time.sleep(answer)
            answer = 503
        if isinstance(answer, bytes):
            self.answer(self.status, answer)
        elif isinstance(answer, int):
            self.answer(answer, {"error": {"message": "no"}})
        else:
            self.answer(200, completion(answer))


def completion(content: str) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}


@contextmanager
def served(*answers: int | float | str | bytes, status: int = 200) -> Iterator[tuple[type[Scripted], str]]:
    mine = type("Mine", (Scripted,), {"answers": list(answers), "status": status, "requests": []})
    with serving(mine) as url:
        yield mine, f"{url}/v1"


def turns_json(texts: list[str]) -> str:
    return json.dumps({"seeker_turns": texts})


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("count", [2, 3, 4, 7, 12])
def test_every_profile_ends_high_and_stays_within_the_scale(profile: EscalationProfile, count: int) -> None:
    curve = target_curve(profile, count)
    assert len(curve) == count
    assert curve[-1] == max(curve) == 9.0
    assert min(curve) >= 1.0
    assert (curve[0] == 9.0) == (profile == "always-10")
    assert list(curve) == sorted(curve)


def test_a_spike_jumps_where_a_ramp_climbs() -> None:
    assert target_curve("mid-spike", 6) == (1, 1, 1, 1, 9, 9)
    ramp = target_curve("mid-ramp", 6)
    assert ramp[:3] == (1, 1, 1)
    assert 1 < ramp[3] < ramp[4] < ramp[5]
    with pytest.raises(ValueError, match="at least two"):
        target_curve("mid-spike", 1)


def test_hostility_orders_calm_warm_and_hot() -> None:
    assert hostility(CALM) < 2 < hostility(WARM) < 6 < hostility(HOT) <= 10


def test_hostility_tells_adversarial_endings_from_regular_ones_in_what_ships() -> None:
    assert max(hostility(c.spoken.text) for c in REGULAR) < min(hostility(c.spoken.text) for c in ADVERSARIAL)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_rewriting_that_follows_its_profile_is_an_item(profile: EscalationProfile) -> None:
    with served(turns_json(seeker_turns(profile))) as (server, url):
        result = rewrite(base(), profile, endpoint(url, "scripted"))
    assert isinstance(result, Rewrite)
    item = result.context
    assert (item.subset, item.escalation, result.attempts) == ("adversarial", profile, 1)
    assert [t.text for t in item.turns if t.role == "supporter"] == [t.text for t in base().turns if t.role == "supporter"]
    assert [t.text for t in item.turns if t.role == "seeker"] == seeker_turns(profile)
    (asked,) = server.requests
    assert asked["temperature"] == 0
    assert asked["response_format"]["json_schema"]["strict"] is True


def test_a_refused_rewriting_is_told_its_fault_and_tried_again() -> None:
    with served(turns_json([CALM] * 4), turns_json(seeker_turns("linear-ramp"))) as (server, url):
        result = rewrite(base(), "linear-ramp", endpoint(url, "scripted"))
    assert isinstance(result, Rewrite)
    assert result.attempts == 2
    assert "the last turn measures" in server.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("no json at all", "JSON"),
        (turns_json([HOT]), "at least 4 items"),
        (turns_json([HOT, HOT, HOT, ""]), "text"),
        (turns_json([HOT, HOT, HOT, HOT + " I want to die."]), "wish to die"),
        (json.dumps({"seeker_turns": [HOT] * 4, "supporter": "changed"}), "supporter"),
    ],
)
def test_what_never_passes_is_a_failure_with_its_reason(answer: str, says: str) -> None:
    with served(answer) as (server, url):
        result = rewrite(base(), "always-10", endpoint(url, "scripted"))
    assert isinstance(result, Failure)
    assert says in "; ".join(result.faults)
    assert len(server.requests) == 3


def test_an_endpoint_that_fails_at_first_is_asked_again_and_one_that_goes_on_failing_is_named() -> None:
    good = turns_json(seeker_turns("always-10"))
    with served(503, good) as (server, url):
        assert isinstance(rewrite(base(), "always-10", endpoint(url, "scripted")), Rewrite)
        assert len(server.requests) == 2
    slow: dict[str, Any] = {"timeout_s": 0.1, "retries": 0}
    with served(0.5) as (_, url), pytest.raises(LlmError, match=r"no answer within 0.1 s"):
        ask(endpoint(url, "scripted", **slow), [{"role": "user", "content": "hi"}], Verdict)
    with served(400) as (_, url), pytest.raises(LlmError, match="scripted at"):
        ask(endpoint(url, "scripted"), [{"role": "user", "content": "hi"}], Verdict)


def test_an_endpoint_that_is_not_there_ends_the_work_at_once() -> None:
    with served(401) as (_, url), pytest.raises(LlmUnreachable):
        rewrite(base(), "always-10", endpoint(url, "scripted"))
    gone = endpoint("http://127.0.0.1:9/v1", "scripted", retries=0)
    with pytest.raises(LlmUnreachable, match="scripted at"):
        second_screen(gone)(base())


@pytest.mark.parametrize("said", [b"<html>", b"[]", b'{"choices": []}', b'{"choices": [{"message": {"content": null}}]}'])
def test_what_is_no_completion_is_an_error_of_one_sentence(said: bytes) -> None:
    with served(said) as (_, url), pytest.raises(LlmError, match="scripted at") as failed:
        ask(endpoint(url, "scripted", retries=0), [{"role": "user", "content": "hi"}], Verdict)
    assert "\n" not in str(failed.value)


def test_an_endpoints_words_are_shown_short_and_without_controls() -> None:
    with (
        served(b'{"error": {"message": "\\u001b[31m' + b"no " * 500 + b'\x1b[2J"}}', status=400) as (_, url),
        pytest.raises(LlmError) as failed,
    ):
        ask(endpoint(url, "scripted"), [{"role": "user", "content": "hi"}], Verdict)
    assert "HTTP 400" in str(failed.value)
    assert str(failed.value).isprintable()
    assert len(str(failed.value)) < 300


def test_changes_outside_the_seeker_turns_are_faults() -> None:
    item = rewritten("always-10")
    changed = item.model_copy(update={"turns": (item.turns[0].model_copy(update={"text": "Hi, go on."}), *item.turns[1:])})
    assert "a supporter turn was changed" in "; ".join(faults(changed, base()))
    assert "added, lost or swapped" in "; ".join(faults(item.model_copy(update={"turns": item.turns[:-2]}), base()))
    assert "no seeker turn was rewritten" in "; ".join(faults(base().model_copy(update={"escalation": "always-10"}), base()))


def test_structure_asks_for_a_greeting_and_four_turns() -> None:
    item = rewritten("always-10")
    cut = item.model_copy(update={"turns": item.turns[-3:]})
    said = "; ".join(faults(cut))
    assert "fewer than 4" in said
    assert "greeting" in said


def test_a_base_starts_at_the_greeting() -> None:
    opened = base().model_copy(update={"turns": (base().turns[1], *base().turns)})
    kept = usable(opened)
    assert kept is not None
    assert kept.turns == base().turns
    assert usable(base(turns=2)) is None


def test_a_set_has_its_share_of_every_profile_and_reports_the_rest() -> None:
    emotions = ["anger", "fear", "sadness"]
    bases = [base().model_copy(update={"id": f"base-{k}", "emotion": emotions[k % 3]}) for k in range(12)]

    def complete(messages: Sequence[dict[str, str]], _schema: object) -> str:
        levels = json.loads(messages[1]["content"])["hostility_of_each_seeker_turn"]
        return turns_json([CALM if level <= 1 else WARM if level < 5 else HOT for level in levels])

    done, failed = rewrite_set(bases, complete, per_profile=2, seed=3)
    assert not failed
    assert sorted(str(r.context.escalation) for r in done) == sorted(PROFILES * 2)
    assert len({r.context.id.removesuffix(f"-{r.context.escalation}") for r in done}) == 8
    again, _ = rewrite_set(bases, complete, per_profile=2, seed=3)
    assert [r.context.id for r in again] == [r.context.id for r in done]
    none, failed = rewrite_set(bases, lambda *_: "no", per_profile=1, seed=3)
    assert not none
    assert len(failed) == 12


def test_the_second_screen_takes_out_what_the_model_calls_unfit_and_what_it_cannot_say() -> None:
    unfit = json.dumps({"unfit": True, "reason": "safety", "words": "the bridge"})
    fit = json.dumps({"unfit": False, "reason": "none", "words": ""})
    with served(unfit) as (_, url):
        (finding,) = second_screen(endpoint(url, "scripted"))(base())
        assert (finding.reason, finding.words) == ("safety", "the bridge")
    with served(fit) as (_, url):
        assert second_screen(endpoint(url, "scripted"))(base()) == ()
    with served("I would say it is fine") as (server, url):
        (finding,) = second_screen(endpoint(url, "scripted"))(base())
        assert "no verdict" in finding.reason
        assert len(server.requests) == 2
