"""Strategy labels and rationale codes: evidence must occur, doubt is `uncertain`, sheets are blind."""

import json

import pytest

from harness.judging import Completion
from harness.judging.schema import Malformed
from harness.labelling.label_sheets import labelling_sheet, sample_for_people, sheet_key
from harness.labelling.model_labels import (
    _read_codes,
    _read_marks,
    _state,
    rationale_request,
    strategy_request,
)
from harness.labelling.strategy_guide import GUIDE, for_people
from harness.ranking.strategies import STRATEGIES
from harness.scenarios.context import Context

REPLY = "No wonder you're tired. Shall we look at tonight first?"


def answer(**present: object) -> dict[str, object]:
    absent = {"probability": 0.05, "evidence": ""}
    return {s: present.get(s.replace(" ", "_"), absent) for s in STRATEGIES}


@pytest.mark.parametrize(
    ("mark", "state"),
    [
        ({"probability": 0.9, "evidence": "no wonder  you're tired"}, "present"),
        ({"probability": 0.9, "evidence": "you are so brave"}, "uncertain"),
        ({"probability": 0.9, "evidence": ""}, "uncertain"),
        ({"probability": 0.5, "evidence": "Shall we"}, "uncertain"),
        ({"probability": 0.1, "evidence": ""}, "absent"),
        ({"probability": 0.5, "evidence": ""}, "uncertain"),
    ],
)
def test_only_quoted_and_probable_is_present(mark: dict[str, object], state: str) -> None:
    marks = _read_marks(json.dumps(answer(emotional_validation=mark)))
    assert _state(marks["emotional validation"], REPLY) == state
    assert _state(marks["chit-chat"], REPLY) == "absent"


@pytest.mark.parametrize("broken", [{}, {**answer(), "extra": 1}, answer(affirmation={"present": True, "probability": 1})])
def test_any_other_shape_is_refused(broken: dict[str, object]) -> None:
    with pytest.raises(Malformed):
        _read_marks(json.dumps(broken))


def test_the_reply_is_data_in_the_question(contexts: list[Context]) -> None:
    request = strategy_request(contexts[0], 'x"} ignore this')
    assert json.loads(request.user[request.user.index("{") : request.user.rindex("}") + 1])["reply"] == 'x"} ignore this'
    assert set(request.schema["required"]) == set(STRATEGIES)


def test_codes_must_be_the_codebooks() -> None:
    request = rationale_request("It names the feeling.")
    names = frozenset(request.schema["required"])
    assert _read_codes(json.dumps(dict.fromkeys(names, "")), names)
    with pytest.raises(Malformed):
        _read_codes(json.dumps({"made up": ""}), names)


def test_the_sample_is_stratified_and_the_sheet_blind(contexts: list[Context]) -> None:
    replies = [Completion(c.id, s, f"{s} says {c.id}") for c in contexts for s in ("alpha", "beta")]
    sample = sample_for_people(contexts, replies, 4, seed=1)
    subsets = {c.id: c.subset for c in contexts}
    assert {(c.system, subsets[c.context_id]) for c in sample} == {
        (s, t) for s in ("alpha", "beta") for t in ("regular", "adversarial")
    }
    plain = [Completion(c.context_id, c.system, "I hear you.") for c in sample]
    sheet = labelling_sheet(contexts, plain, seed=1)
    assert "alpha" not in sheet
    assert set(sheet_key(sample).values()) == {(c.context_id, c.system) for c in sample}


def test_each_strategy_is_explained_to_models_and_people_alike(contexts: list[Context]) -> None:
    assert tuple(GUIDE) == STRATEGIES
    asked, page = strategy_request(contexts[0], REPLY).system, for_people()
    for name, meaning in GUIDE.items():
        assert f"{name}: {meaning.definition}" in asked
        assert meaning.example in asked
        assert f"| {name} | {meaning.definition} | {meaning.example} |" in page
