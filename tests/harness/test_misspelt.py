"""A misspelt name in a file is named with its line and the nearest known one, in every kind of file that people write."""

import doctest
import re
import socket
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from harness import nearest as nearest_module
from harness.agents.profile import load_profile
from harness.audio.conditions import ConditionError, parse_condition
from harness.audio.synthesis_service import load_service_voices
from harness.audio.voice_error import VoiceError
from harness.cli import _run
from harness.errors import UserError
from harness.experiment import Experiment
from harness.gate.budgets import limits_for, read_budgets
from harness.imported.columns import fields_of, mapped
from harness.judging.settings import load_judge_settings
from harness.models.catalogue import catalogue, find
from harness.nearest import nearest
from harness.run.plan import load_events, make_plan, new_manifest
from harness.scenarios.pack import load_pack
from harness.scenarios.pause_law import law_named
from harness.study.read import read_study
from harness.votes.vote import read_votes

PROFILE = 'kind = "text"\nbase_url = "http://a/v1"\n\nmodle = "x"\n'
JUDGE = 'id = "mine"\nfamily = "f"\nversion = "1"\nbase_url = "http://a/v1"\n\nmodle = "x"\n'
LIMIT = "schema: 1\nlimits:\n  - figure: {}\n    {}: 0.5\n"
PACK = (
    "source: s\nlicence: l\ncontexts:\n  - id: one\n    subset: regular\n    emotion: grief\n    problem: p\n"
    "    trns:\n      - {role: seeker, text: Hello}\n"
)


def of_judge(path: Path) -> object:
    return load_judge_settings(str(path))


def of_events(path: Path) -> object:
    return load_events(str(path))


def of_pack(path: Path) -> object:
    return load_pack(str(path))


@pytest.mark.parametrize(
    ("read", "name", "text", "said"),
    [
        (load_profile, "bot.toml", PROFILE, "bot.toml, line 4: modle is no setting of a text agent; did you mean model?"),
        (
            load_profile, "bot.toml", 'knd = "text"\nmodel = "x"\n',
            "bot.toml, line 1: knd is no setting of an agent; did you mean kind?",
        ),
        (load_profile, "bot.toml", 'kind = "txt"\nmodel = "x"\n', "line 1: 'txt' is not a kind of agent; did you mean text?"),
        (
            load_profile, "bot.toml", 'kind = "pipecat"\n[process]\ncommand = ["a"]\nredy_timeout_s = 3\n',
            "line 4: process.redy_timeout_s is no setting of a pipecat agent; did you mean ready_timeout_s?",
        ),
        (of_judge, "judge.toml", JUDGE, "judge.toml, line 6: modle is no setting of a judge; did you mean model?"),
        (read_budgets, "b.yaml", LIMIT.format("ttfa.p50", "at_mots"), "b.yaml, line 4: limits[0].at_mots is no setting"),
        (
            read_budgets, "b.yaml", LIMIT.format("ttfa_ms.p05", "at_most"),
            "figure 'ttfa_ms.p05': there is none of this name; did you mean",
        ),
        (read_budgets, "b.yaml", "schma: 1\nlimits: []\n", "b.yaml, line 1: schma is no setting; did you mean schema?"),
        (
            read_budgets, "b.yaml", "schema: 1\nlimts: []\n",
            "b.yaml, line 2: limts is no setting of a budgets file; did you mean limits?",
        ),
        (
            of_events, "e.yaml", "events:\n  - {sound: cough, at_m: 900}\n",
            "e.yaml, line 2: events[0].at_m is no setting of events; did you mean at_ms?",
        ),
        (
            of_events, "e.yaml", "evnts:\n  - {sound: cough, at_ms: 900}\n",
            "line 1: evnts is no setting of events; did you mean events?",
        ),
        (of_pack, "p.yaml", PACK, "p.yaml:8: item 'one', trns is no setting of a context; did you mean turns?"),
        (of_pack, "p.yaml", "contxts: []\n", "p.yaml:1: contxts is no setting of a pack; did you mean contexts?"),
        (
            load_service_voices, "v.toml", '[anna]\nservice = "a.B"\n[tom]\nservice = "a.B"\nsetings = {}\n',
            "v.toml, line 5: [tom] setings is no setting of a voice; did you mean settings?",
        ),
        (
            read_study, "s.toml", 'name = "x"\ncontct = "a@b"\n',
            "s.toml, line 2: contct is no setting of a study; did you mean contact?",
        ),
    ],
)  # fmt: skip
def test_a_misspelt_setting_is_named_with_its_line_and_the_nearest(
    read: Callable[[Path], object], name: str, text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises((UserError, VoiceError)) as caught:
        read(path)
    assert said in str(caught.value)
    assert "missing" not in str(caught.value), "the missing setting is the misspelt one"


def test_all_problems_of_a_file_are_sentences_and_the_cause_is_first(tmp_path: Path) -> None:
    path = tmp_path / "bot.toml"
    path.write_text(PROFILE + 'tries = 99\ntemperature = "hot"\nprompt = "spokn"\n', encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_profile(path)
    said = str(caught.value)
    assert re.findall(r"line (\d)", said, re.IGNORECASE)[0] == "4"
    assert sorted(re.findall(r"line (\d)", said, re.IGNORECASE)) == ["4", "5", "6", "7"]
    assert said.count("temperature") == 1, "both members of a union are one problem"
    assert "did you mean spoken?" in said
    path.write_text(PROFILE + "".join(f"nothing_like_it_{k} = 1\n" for k in range(9)), encoding="utf-8")
    with pytest.raises(UserError, match=r"and 5 more$") as caught:
        load_profile(path)
    assert len(re.findall("is no setting", str(caught.value))) == 5


def test_what_is_like_nothing_is_answered_with_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "b.yaml"
    path.write_text("schema: 1\nlimits: [{figure: no_reply_rate, at_most: 0.5}]\nxyzzy: 1\n", encoding="utf-8")
    with pytest.raises(
        UserError, match=r"line 3: xyzzy is no setting of a budgets file; its settings are schema, budgets_ms, limits"
    ):
        read_budgets(path)


def test_a_value_that_may_be_a_secret_is_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "bot.toml"
    path.write_text('kind = "text"\nmodel = 7\napi_ky_env = "sk-secret-thing"\n', encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_profile(path)
    assert "api_key_env" in str(caught.value)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("agent: baselin", "the run has no agent 'baselin'; did you mean baseline?"),
        ("condition: clen", "the run has no condition 'clen'; did you mean clean?"),
    ],
)
def test_a_limit_names_an_agent_or_a_condition_of_the_run(limit: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "b.yaml"
    path.write_text(f"schema: 1\nlimits:\n  - {{figure: no_reply_rate, at_most: 0.5, {limit}}}\n", encoding="utf-8")
    played = make_plan(Experiment(agents=("baseline",)))
    with pytest.raises(UserError, match=re.escape(said)):
        limits_for(read_budgets(path), new_manifest(played), played.contexts, judged=False)


def test_columns_of_a_table_are_named_too(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("contxt,vote\nc,a\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"column 'contxt' is unknown .*; did you mean context\?"):
        read_votes(path)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        (lambda: load_profile("polaris-lik"), "polaris-like"),
        (lambda: load_pack("heart-min"), "heart-mini"),
        (lambda: load_judge_settings("embeded"), "embedded"),
        (lambda: law_named("to-agent", "--law"), "to-agents"),
        (lambda: parse_condition("bable5"), "babble"),
        (lambda: Experiment.of({"mode": "seded"}), "seeded"),
        (lambda: Experiment.of({"budget_ttfa": 5}), "budget_ttfa_ms"),
        (lambda: find("whisper-bas", catalogue()), "whisper-base"),
        (lambda: mapped(["response=txt"]), "text"),
        (lambda: fields_of(["respons", "context"], {"response": "text"}, "f.csv"), "respons"),
        (lambda: make_plan(Experiment(agents=("baseline",), contexts=("mini-night-shft-exam",))), "mini-night-shift-exam"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(name: Callable[[], object], near: str) -> None:
    with pytest.raises((UserError, ConditionError), match=f"did you mean {near}"):
        name()


def test_a_name_is_near_by_its_letters_and_not_by_its_case_or_dashes() -> None:
    assert nearest("Base-URL", ["base_url", "model"]) == "base_url"
    assert nearest("xyz", ["base_url", "model"]) is None
    assert doctest.testmod(nearest_module).failed == 0


def said_twice(text: str) -> list[str]:
    """The parts of a message between colons that come again at once, and names within themselves."""
    parts = [part.strip() for part in text.split(": ")]
    doubled = [one for one, two in pairwise(parts) if one and one == two]
    return doubled + re.findall(r"('[^']+') in \1", text)


@pytest.mark.parametrize(
    "words",
    [
        ["try", "keyed.toml"],
        ["agents", "try", "keyed.toml"],
        ["run", "--agent", "keyed.toml", "--limit", "1", "--judge", "none", "--out", "out"],
        ["run", "--agent", "baseline", "--condition", "foo"],
        ["run", "--agent", "baseline", "--condition", "babble5+foo"],
        ["run", "--agent", "baseline", "--condition", "file:none.wav@10"],
        ["judge", "check", "--judge", "embeded"],
        ["scenarios", "show", "heart-mini", "--voice", "nobody", "--out", "x"],
    ],
)
def test_no_message_says_its_words_twice(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        keyed = f'kind = "text"\nname = "keyed"\nmodel = "x"\nbase_url = "{url}"\napi_key_env = "NO_SUCH_KEY_IS_SET"\n'
        (tmp_path / "keyed.toml").write_text(keyed, encoding="utf-8")
        assert _run(words) in (2, 3)
    said = capsys.readouterr().err
    assert [found for line in said.splitlines() for found in said_twice(line)] == []
    if "keyed.toml" in words:
        assert "NO_SUCH_KEY_IS_SET" in said


def test_words_said_twice_would_be_seen() -> None:
    assert said_twice('agent "keyed": agent "keyed": no key') == ['agent "keyed"']
    assert said_twice("unknown 'foo' in 'foo'") == ["'foo'"]
