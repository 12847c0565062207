"""Chat logs and transcripts as users have them become contexts, and what has no place in one is counted and said."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.scenarios import load_pack
from harness.scenarios.imports import Imported, ImportFault, import_chats, import_jsonl, import_transcript

HELLO, RAIN = ("supporter", "Hello."), ("seeker", "It's the rain.")
VTT = """WEBVTT

NOTE Ann: this is no cue

STYLE
::cue { color: red }

1
00:00:01.000 --> 00:00:02.000 align:start
<v Ann>Hello.</v>

00:00:02.000 --> 00:00:04.000
<v.loud Bob B>I can't <i>sleep</i>

00:00:04.000 --> 00:00:05.000
&amp; I don't know why.

00:00:05.000 --> 00:00:06.000
<v Ann>Since when?
<v Bob B>Since May.

00:00:07.000 --> 00:00:08.000
<v Ann>I see.
"""
SRT = (
    VTT.split("color: red }\n\n")[1]
    .replace("<v Ann>", "Ann: ")
    .replace("<v.loud Bob B>", "- Bob B: ")
    .replace("<v Bob B>", "Bob B: ")
)


def file(folder: Path, name: str, *rows: Any) -> Path:
    path = folder / name
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    return path


def said(imported: Imported) -> list[tuple[str, str]]:
    (context,) = imported.contexts
    return [(turn.role, turn.text) for turn in context.turns]


def messages(*pairs: tuple[str, Any]) -> list[dict[str, Any]]:
    return [{"role": role, "content": content} for role, content in pairs]


PART = {"type": "text", "text": "It's the rain."}
SHARED = [{"from": "gpt", "value": "Hello."}, {"from": "human", "value": "It's the rain."}]
TALK = messages(("assistant", "Hello."), ("user", "It's the rain."))


@pytest.mark.parametrize(
    ("kind", "name", "row"),
    [
        ("messages", "a.jsonl", {"messages": TALK}),
        ("messages", "a.jsonl", TALK),
        ("messages", "a.json", TALK),
        ("messages", "a.json", {"messages": TALK}),
        ("messages", "a.json", [{"messages": TALK}]),
        ("messages", "a.json", [TALK]),
        ("messages", "a.jsonl", {"messages": messages(("Bot", "Hello."), ("Human", "It's the rain."))}),
        ("messages", "a.jsonl", {"messages": messages(("AGENT", "Hello."), ("caller", [PART]))}),
        ("messages", "a.jsonl", {"messages": messages(("model", "Hello."), ("customer", "It's"), ("user", "the rain."))}),
        ("messages", "a.jsonl", {"model": "m", "messages": TALK, "choices": [{"message": TALK[0]}]}),
        ("messages", "a.jsonl", {"request": {"messages": TALK}, "response": {"choices": [{"message": TALK[0]}]}}),
        ("sharegpt", "a.json", [{"conversations": SHARED}]),
    ],
)  # fmt: skip
def test_every_form_of_a_chat_is_the_same_context(kind: str, name: str, row: Any, tmp_path: Path) -> None:
    assert said(import_chats(file(tmp_path, name, row), kind)) == [HELLO, RAIN]


def test_what_nobody_says_is_counted_and_said(tmp_path: Path) -> None:
    talk = messages(
        ("system", "Be kind."), ("tool", "{}"), ("user", [{"type": "text", "text": "Look."}, {"type": "image_url"}]),
        ("assistant", None), ("assistant", "I see."),
    )  # fmt: skip
    talk[3]["tool_calls"] = [{"id": "x"}]
    imported = import_chats(file(tmp_path, "a.jsonl", {"messages": talk}), "messages")
    assert said(imported) == [("seeker", "Look.")]
    left = "\n".join(imported.not_carried)
    for what in ("system or tool message (2 times)", "'image_url'", "'tool_calls'", "an empty message", "reply after the last"):
        assert what in left


def test_of_a_long_talk_the_last_turns_are_taken(tmp_path: Path) -> None:
    talk = messages(*((("user", "assistant")[n % 2], f"Turn {n}.") for n in range(101)))
    imported = import_chats(file(tmp_path, "a.jsonl", {"messages": talk}), "messages")
    assert (len(imported.contexts[0].turns), imported.contexts[0].turns[-1].text) == (60, "Turn 100.")
    assert "before the last" in imported.not_carried[0]


@pytest.mark.parametrize(
    ("kind", "row", "says"),
    [
        ("messages", {"messages": messages(("narrator", "It rained."))}, "'narrator' is unknown; write user or assistant"),
        ("messages", {"messages": messages(("assistant", "Hello."))}, "no user says anything"),
        ("messages", {"messages": []}, "no user says anything"),
        ("messages", {"talk": TALK}, "has no list 'messages'"),
        ("messages", {"messages": ["hello"]}, "has no 'role'"),
        ("messages", {"messages": messages(("user", 7))}, "content must be a text"),
        ("messages", "3", "has no list"),
        ("messages", '{"messages": [], "messages": []}', "twice"),
        ("sharegpt", {"messages": TALK}, "has no list 'conversations'"),
    ],
)
def test_a_chat_that_is_none_is_one_line_with_its_place(kind: str, row: Any, says: str, tmp_path: Path) -> None:
    path = file(tmp_path, "a.jsonl", "", row)
    with pytest.raises(ImportFault) as caught:
        import_chats(path, kind)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_jsonl_takes_the_same_roles_and_parts_and_separators_of_lines_in_texts(tmp_path: Path) -> None:
    row = {"messages": messages(("Assistant", "Hello."), ("human", [{"type": "text", "text": "It's the\u2028rain\x85."}]))}
    imported = import_jsonl(file(tmp_path, "a.jsonl", row, row | {"id": "b"}))
    assert [turn.text for turn in imported.contexts[1].turns] == ["Hello.", "It's the\u2028rain\x85."]


BOB = [
    ("supporter", "Hello."),
    ("seeker", "I can't sleep & I don't know why."),
    ("supporter", "Since when?"),
    ("seeker", "Since May."),
]


@pytest.mark.parametrize(("name", "text"), [("a.vtt", VTT), ("a.srt", SRT), ("w.vtt", "\ufeff" + VTT.replace("\n", "\r\n"))])
def test_a_transcript_is_one_context_of_its_caller(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8", newline="")
    imported = import_transcript(path, "bob b")
    assert said(imported) == BOB
    assert imported.not_carried[0].endswith("Bob B is the caller; Ann replies")
    assert [role for role, _ in said(import_transcript(path))] == ["seeker", "supporter", "seeker", "supporter", "seeker"]


@pytest.mark.parametrize(
    ("text", "caller", "says"),
    [
        (VTT, "Eve", "--caller must be one of Ann, Bob B"),
        ("1\n00:00:01,000 --> 00:00:02,000\nHello.\n", None, "names no speaker"),
        ("WEBVTT\n", None, "no cue"),
        ("", None, "no cue"),
    ],
)
def test_a_transcript_that_is_none_is_one_line(text: str, caller: str | None, says: str, tmp_path: Path) -> None:
    with pytest.raises(ImportFault, match=says):
        import_transcript(file(tmp_path, "a.vtt", text), caller)


def test_the_command_takes_each_format_by_name(tmp_path: Path) -> None:
    share = {"conversations": [{"from": "human", "value": "It's the rain."}]}
    for kind, path, more in (
        ("messages", file(tmp_path, "m.jsonl", {"messages": TALK}), ["--licence", "CC0"]),
        ("sharegpt", file(tmp_path, "s.jsonl", share), []),
        ("vtt", file(tmp_path, "v.vtt", VTT), ["--caller", "Bob B"]),
        ("srt", file(tmp_path, "r.srt", SRT), []),
    ):
        out = tmp_path / f"{kind}.yaml"
        done = CliRunner().invoke(app, ["scenarios", "import", kind, str(path), "--out", str(out), *more])
        assert done.exit_code == 0, done.output
        assert len(load_pack(out).contexts) == 1
    assert load_pack(tmp_path / "messages.yaml").contexts[0].licence == "CC0"
