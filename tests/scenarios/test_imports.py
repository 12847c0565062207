"""Imports: what others have becomes contexts, and what has no place in one is named."""

import json
from pathlib import Path

import pytest

from harness.scenarios import load_pack
from harness.scenarios.imports import ImportFault, import_jsonl, import_pipecat_eval, line_schema, write_imported

SHORT = {"messages": [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "It's the <pause 400> rain."}]}
PIPECAT = """\
name: support
user:
  modality: audio
  speech: {service: kokoro}
context:
  - {role: system, content: "Be kind."}
  - {role: assistant, content: "Hello, what's up?"}
scenarios:
  - name: late
    turns:
      - user: ["It's the train,", {pause_ms: 700}, "it's always late."]
        expect: [{event: response, eval: "kind"}]
      - user: "And I am tired."
        send_after: {delay_ms: 200}
  - name: diner
    context: []
    turns:
      - user: "Hello?"
"""


def lines(tmp_path: Path, *rows: object) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_short_line_needs_its_messages_alone(tmp_path: Path) -> None:
    imported = import_jsonl(lines(tmp_path, SHORT))
    (context,) = imported.contexts
    assert [(t.role, t.text) for t in context.turns] == [
        ("supporter", "Hello."),
        ("seeker", "It's the <pause 400> rain."),
    ]
    assert (context.id, context.emotion, context.licence) == ("mine-1", "neutral", "not stated")
    assert imported.not_carried == ()


def test_a_full_line_is_a_context_as_packs_hold_it(tmp_path: Path) -> None:
    context = load_pack("heart-mini").contexts[0]
    imported = import_jsonl(lines(tmp_path, context.model_dump(mode="json", exclude_defaults=True)))
    assert imported.contexts == (context,)
    assert set(context.model_dump(exclude_defaults=True)) <= set(line_schema()["properties"])


def test_what_a_line_cannot_keep_is_named(tmp_path: Path) -> None:
    row = {
        "mood": "low",
        "turns": [
            {"role": "system", "text": "Be kind."},
            {"role": "user", "text": "It rained.", "audio": "/etc/passwd", "cost": 3},
            {"role": "assistant", "text": "It did."},
        ],
    }
    imported = import_jsonl(lines(tmp_path, row))
    assert [t.text for t in imported.contexts[0].turns] == ["It rained."]
    said = "\n".join(imported.not_carried)
    for what in ("'mood'", "role 'system'", "turns[1].audio", "turns[1].cost", "last supporter turn"):
        assert what in said


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("[1]", "no object"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"id": "a"}', "neither 'turns' nor 'messages'"),
        ('{"turns": ["hello"]}', "turns[0] has no 'role'"),
        ('{"turns": [{"role": "user"}]}', "turns.0.text"),
        ('{"turns": []}', "turns"),
        ('{"turns": [{"role": "user", "text": "a <pause> b"}]}', "no pause mark"),
        ('{"emotion": "angre", "turns": [{"role": "user", "text": "no"}]}', "anger"),
        ('{"turns": [{"role": "user", "text": "a"}, {"role": "user", "text": "b"}]}', "both seeker"),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, row: str, says: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(SHORT) + "\n\n" + row + "\n", encoding="utf-8")
    with pytest.raises(ImportFault) as caught:
        import_jsonl(path)
    assert f"{path}:3: " in str(caught.value)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_doubled_ids_empty_files_and_odd_bytes(tmp_path: Path) -> None:
    with pytest.raises(ImportFault, match="already used on line 1"):
        import_jsonl(lines(tmp_path, {**SHORT, "id": "a"}, {**SHORT, "id": "a"}))
    with pytest.raises(ImportFault, match="no conversation"):
        import_jsonl(lines(tmp_path))
    (tmp_path / "odd.jsonl").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(ImportFault, match="not UTF-8"):
        import_jsonl(tmp_path / "odd.jsonl")


def test_an_imported_set_is_written_as_a_pack_and_never_over_another(tmp_path: Path) -> None:
    imported = import_jsonl(lines(tmp_path, SHORT))
    pack = load_pack(write_imported(imported, tmp_path / "mine.yaml"))
    assert pack.contexts == imported.contexts
    with pytest.raises(ImportFault, match="exists already"):
        write_imported(imported, tmp_path / "mine.yaml")


def test_a_pipecat_scenario_gives_its_first_user_turn_with_its_pauses(tmp_path: Path) -> None:
    path = tmp_path / "support.yaml"
    path.write_text(PIPECAT)
    imported = import_pipecat_eval(path)
    assert [c.id for c in imported.contexts] == ["support-late", "support-diner"]
    late = imported.contexts[0]
    assert [(t.role, t.text) for t in late.turns] == [
        ("supporter", "Hello, what's up?"),
        ("seeker", "It's the train, <pause 700> it's always late."),
    ]
    said = "\n".join(imported.not_carried)
    for what in ("turns[0].expect", "turns[1].user follows", "turns[1].send_after", "context[0] (system)"):
        assert what in said


@pytest.mark.parametrize(
    "text", ["- a list", "name: x\nscenarios: []", "name: [", "name: x\nscenarios:\n  - name: a\n", "a: " + "[" * 9_000]
)
def test_what_is_no_pipecat_scenario_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(ImportFault) as caught:
        import_pipecat_eval(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ImportFault, match="cannot be read"):
        import_pipecat_eval(tmp_path / "absent.yaml")
