"""`harness judge run --reads audio`: both sounds reach the judge without their delay, in both orders, and stay an opinion."""

import importlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from harness.audio.prosody import f0_track
from harness.audio.speech import render_turn
from harness.audio.synthesis import Voice
from harness.commands.check import _judges_of
from harness.judging.settings import load_judge_settings
from harness.recording import playout
from harness.store.judgment import Judgment
from harness.store.reply_sound import LEAD_MS, RATE_HZ, cut, part_of
from harness.store.run_store import RunStore
from harness.verdicts.deliveries import CONVERSATIONS, SPOILT, delivery_pairs
from harness.voices.rendering import Hibari, open_voice
from tests.harness.conftest import Finished
from tests.harness.judging.conftest import told
from tests.harness.judging.hearing_server import HearingServer, read
from tests.judged import put
from tests.made_run import agent, conversation, made_run, play
from tests.reports.conftest import recording, timing

Command = Callable[..., Finished]


def shorter(one: bytes, other: bytes) -> Any:
    """A judge by ear whose answer is known, and which no text tells."""
    return "A" if len(one) < len(other) else "B"


def ear(tmp_path: Path, url: str, audio: str = "", name: str = "ear") -> Path:
    path = tmp_path / f"{name}.toml"
    path.write_text(
        f'id = "{name}"\nfamily = "none"\nversion = "1"\nbase_url = "{url}/v1"\nmodel = "m"\nattempts = 1\n'
        f"price_in = 1.0\nprice_out = 2.0\n[audio]\ntokens_per_s = 10\nprice_in = 30.0\n{audio}"
    )
    return path


@pytest.fixture(scope="module")
def hibari() -> Voice:
    return open_voice(Hibari())


@pytest.fixture
def run(tmp_path: Path) -> RunStore:
    """Ten conversations: `long` speaks for a second, `short` for half of one and is silent once, `text` only writes."""
    talks = [conversation(f"c{n}", f"Nobody rang. {n}", references={"good": "All week?"}) for n in range(10)]
    agents = [agent("long"), agent("short"), agent("text", "text")]
    store = made_run(tmp_path / "run", talks, agents=agents)
    for talk in talks:
        for name, unit_s in (("long", 1.0), ("short", 0.5)):
            silent = name == "short" and talk.id == "c9"
            figures = timing(400.0, unit_s)
            play(
                store, talk.id, name, recording=recording(0.4, unit_s), heard="" if silent else f"{name} heard",
                timing=type(figures)("m", 900.0 + 2_000 * unit_s, None, no_reply=True) if silent else figures,
            )  # fmt: skip
        play(store, talk.id, "text", written_text="Written, not spoken.")
    store.close()
    return store


def test_each_pair_of_sounds_is_heard_in_both_orders_and_the_rest_is_counted(
    tmp_path: Path, run: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    with HearingServer(shorter) as server:
        path = ear(tmp_path, server.url)
        line = ("judge", "run", run.folder, "--judge", path, "--reads", "audio")
        _, plan = told(capsys, *line, "--dry-run")
        asked = len(server.bodies)
        code, done = told(capsys, *line)
        calls = len(server.bodies)
        _, again = told(capsys, *line)
    assert asked == 0
    assert server.faults == []
    assert code == 0
    with closing(RunStore.open(run.folder)) as store:
        rows = [row for row in store.judgments() if row.judge == "ear@1"]
        (check,) = store.judge_checks()
        by_rule = [row for row in store.judgments() if row.judge == "rule:no-reply (ear@1)"]
    main = [row for row in rows if row.purpose == "main"]
    assert {(row.system_a, row.system_b, row.winner, row.presentation) for row in main} == {("long", "short", "b", "audio")}
    assert sorted((row.context, row.shown_first) for row in main) == sorted((f"c{n}", s) for n in range(9) for s in "ab")
    assert {(row.context, row.winner, row.presentation) for row in by_rule} == {("c9", "a", "audio")}
    # Of each conversation's six pairs of three agents and a reference, one has two sounds.
    assert done["without_sound"] == 10 * (6 - 1)
    assert (again["calls"], calls) == (0, len(server.bodies)), "a second judging pays for nothing"
    assert done["judges"][0]["deliveries"]["n"] == check.deliveries.n == CONVERSATIONS * len(SPOILT)  # type: ignore[union-attr]
    (estimate,) = plan["dry_run"]
    assert (estimate["calls"], estimate["check_calls"]) == (calls, 2 * CONVERSATIONS * len(SPOILT))
    assert estimate["tokens_heard"] == pytest.approx(10 * estimate["seconds_heard"], abs=2)
    assert estimate["cost_usd"] > 30e-6 * estimate["tokens_heard"]


def test_a_clip_begins_with_the_reply_however_late_that_is(run: RunStore) -> None:
    with closing(RunStore.open(run.folder)) as store:
        session = next(s for s in store.sessions() if s.key.agent == "long")
        part = part_of(session.timing)
        assert part is not None
        sound = cut(store.recording(session), *part)
        heard = playout.heard(store.recording(session)).samples
    first_ms = np.flatnonzero(np.abs(sound) > 1e-3)[0] / 24
    assert np.flatnonzero(np.abs(heard) > 1e-3)[0] / 48 > 3_000, "the reply itself comes seconds into the call"
    assert first_ms == pytest.approx(LEAD_MS, abs=2)
    assert len(sound) / 24_000 == pytest.approx(1.0 + LEAD_MS / 1_000, abs=0.01)


@pytest.mark.parametrize(("judge", "reads"), [("ear", "heard"), ("ear", "written"), ("eye", "audio")])
def test_a_judge_is_refused_what_it_does_not_take(
    tmp_path: Path, run: RunStore, capsys: pytest.CaptureFixture[str], judge: str, reads: str
) -> None:
    path = ear(tmp_path, "http://127.0.0.1:9")
    eye = tmp_path / "eye.toml"
    eye.write_text(path.read_text().split("[audio]")[0].replace('"ear"', '"eye"'))
    for line in ((), ("--dry-run",)):
        code, said = told(capsys, "judge", "run", run.folder, "--judge", tmp_path / f"{judge}.toml", "--reads", reads, *line)
        assert code == 2
        assert "hears" in said["error"]["message"]


def test_a_judge_of_words_alone_is_right_on_half_of_the_deliveries_and_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hibari: Voice
) -> None:
    plain = {pair.plain.sha256 for pair in delivery_pairs(hibari)}
    by_hash = {pair.plain.wav(): True for pair in delivery_pairs(hibari)}
    assert len(plain) == CONVERSATIONS
    with HearingServer(lambda *_: "A") as deaf:
        code, said = told(capsys, "judge", "check", "--judge", ear(tmp_path, deaf.url))
    with HearingServer(lambda one, _: "A" if one in by_hash else "B") as keen:
        _, of_keen = told(capsys, "judge", "check", "--judge", ear(tmp_path, keen.url, "joined = false\n", "keen"))
    with HearingServer(lambda one, _: "B" if one in by_hash else "A") as odd:
        _, of_odd = told(capsys, "judge", "check", "--judge", ear(tmp_path, odd.url, "", "odd"))
    assert "prefers the spoilt one: right on 0 %" in of_odd["judges"][0]["standing"]
    (found,), (keenly,) = said["judges"], of_keen["judges"]
    assert code == 0
    assert found["deliveries"]["accuracy"] == 0.5
    assert found["standing"].startswith("a judge's opinion: hears no difference between deliveries (50 %")
    assert keenly["deliveries"]["accuracy"] == 1.0
    assert keenly["deliveries"]["interval"][0] > 0.5
    assert keenly["standing"].startswith("a judge's opinion: hears deliveries: right on 100 %")
    assert set(keenly["deliveries"]["by_delivery"]) == set(SPOILT)
    assert not found["excluded"]
    assert not keenly["trusted"]


def semitones(sound: Any) -> Any:
    track = f0_track((sound / 32_768).astype(np.float32), RATE_HZ)
    return 12 * np.log2(track[track > 0])


def test_the_spoilt_deliveries_are_what_they_are_called(hibari: Voice) -> None:
    sounds = {pair.spoilt: (read(pair.plain.wav())[0], read(pair.worse.wav())[0]) for pair in delivery_pairs(hibari)[:5]}
    assert set(sounds) == set(SPOILT)
    plain, rushed = sounds["rushed"]
    assert len(rushed) == pytest.approx(len(plain) / 1.5, rel=0.1)
    own, flat, harsh = (semitones(sound) for sound in (plain, sounds["flat"][1], sounds["harsh"][1]))
    assert np.std(flat) < 0.6 * np.std(own)
    assert np.median(harsh) > np.median(own) + 2
    plain, broken = sounds["broken"]
    assert len(broken) == pytest.approx(len(plain), rel=0.05)
    assert np.mean(broken == 0) > np.mean(plain == 0) + 0.25
    plain, clipped = sounds["clipped"]
    peaks = [np.mean(np.abs(sound) > 0.95 * np.abs(sound).max()) for sound in (plain, clipped)]
    assert peaks[1] > 10 * peaks[0]
    levels = [10 * np.log10(np.mean(sound[np.abs(sound) > 100].astype(float) ** 2)) for sound in (plain, clipped)]
    assert abs(levels[0] - levels[1]) < 3, "loudness tells nothing"


def test_a_judge_that_never_answers_about_deliveries_is_left_out(
    tmp_path: Path, run: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    with HearingServer(shorter, refuses=True) as server:
        code, done = told(capsys, "judge", "run", run.folder, "--judge", ear(tmp_path, server.url), "--reads", "audio")
    assert done["comparisons"] == 0
    assert done["judges"][0]["excluded"]
    assert done["judges"][0]["deliveries"]["missing"] > 0
    assert code in (0, 3)


def test_nothing_that_reads_takes_a_judge_that_hears(tmp_path: Path, run: RunStore, capsys: pytest.CaptureFixture[str]) -> None:
    path = ear(tmp_path, "http://127.0.0.1:9")
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"context": "x", "system": "a", "text": "b"}\n')
    for line in (("judge", "run", texts), ("label", "strategies", run.folder), ("run", "--agent", "baseline")):
        code, said = told(capsys, *line, "--judge", path)
        assert code == 2
        assert "hears" in said["error"]["message"] or "cannot label" in said["error"]["message"]
    settings = load_judge_settings("openai-audio")
    row = {"context": "c0", "subset": "regular", "system_a": "long", "system_b": "short", "source": "judge", "winner": "a"}
    with closing(RunStore.open(run.folder)) as store, store.lock():
        put(store, [Judgment.model_validate(row | {"judge": settings.judge_id, "presentation": "audio"})])
        assert _judges_of(store) == ("none",), "a check that plays more asks who read the replies"
        put(store, [Judgment.model_validate(row | {"judge": "embedded@5", "presentation": "heard_text"})])
        assert _judges_of(store) == ("embedded",)


def test_a_judge_of_another_package_hears_too(
    tmp_path: Path, run: RunStore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    info = site / "long_ears-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: long-ears\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[heart_voice_harness.judges]\nlong-ears = long_ears:LongEars\n")
    (site / "long_ears.py").write_text(
        "from harness.judging import Verdict\n"
        "class LongEars:\n"
        "    id, fingerprint, family, concurrency, orders_itself, hears = 'long-ears@1', 'l', 'rule', 1, False, True\n"
        "    def __init__(self, options): pass\n"
        "    async def __aenter__(self): return self\n"
        "    async def __aexit__(self, *exc): return None\n"
        "    async def compare(self, question):\n"
        "        first, second = (len(clip.wav()) for clip in question.sounds)\n"
        "        return Verdict('first' if first > second else 'second', 3)\n"
    )
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    code, said = told(capsys, "judge", "run", run.folder, "--judge", "long-ears")
    assert code == 2
    assert "hears" in said["error"]["message"]
    code, said = told(capsys, "judge", "run", run.folder, "--judge", "long-ears", "--reads", "audio")
    assert (code, said["judges"][0]["hears"], said["missing"]) == (0, True, 0)
    with closing(RunStore.open(run.folder)) as store:
        assert {row.winner for row in store.judgments() if row.judge == "long-ears@1"} == {"a"}


@pytest.mark.long
def test_two_scripted_agents_are_called_and_heard(tmp_path: Path, harness_virtual: Command, pack: Path, hibari: Voice) -> None:
    said = {"kind": "You left people you love behind. Who do you think of first?", "curt": "Get over it."}
    for name, text in said.items():
        spoken = render_turn(text, None, hibari, None)
        soundfile.write(tmp_path / f"{name}.wav", spoken.samples, spoken.rate_hz)
        (tmp_path / f"{name}.toml").write_text(
            'kind = "plugin"\ngreets = false\nconnection = "scripted"\naccepts_history = true\n[[options.replies]]\n'
            f'delay_ms = {700 + len(text) * 5}\ntext = "{text}"\n'
            f'sound = [{{ kind = "file", path = "{tmp_path / name}.wav" }}]\n'
        )
    agents = [word for name in said for word in ("--agent", tmp_path / f"{name}.toml")]
    done = harness_virtual("run", "--pack", pack, *agents, "--out", tmp_path / "r", "--judge", "none")
    assert done.code == 0, done.err
    with HearingServer(shorter) as server:
        path = ear(tmp_path, server.url, "joined = true\n")
        judged = harness_virtual("judge", "run", tmp_path / "r", "--judge", path, "--reads", "audio", "--json")
        ranked = harness_virtual("rank", tmp_path / "r", "--presentation", "audio", "--json")
    assert judged.code == 0, judged.err
    assert server.faults == []
    assert judged.json["comparisons"] == 4
    lengths = {len(reply) / 2 / 24_000 for pair in server.heard[-4:] for reply in pair}
    spoken_s = sorted(len(soundfile.read(tmp_path / f"{name}.wav")[0]) / 16_000 for name in said)
    assert min(lengths) == pytest.approx(spoken_s[0], abs=0.3)
    assert max(lengths) == pytest.approx(spoken_s[1], abs=0.3)
    assert ranked.code == 0, ranked.err
    assert ranked.json["quality_state"] == "opinion"
