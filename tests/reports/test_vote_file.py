"""The vote file: three programmed voters on phones, from disk and from a host of files; and what must not be in it."""

import base64
import io
import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import soundfile

from harness.cli import _run
from harness.figures.summarise import summarise
from harness.figures.summary import RunSummary
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.material import Material
from harness.reports.quick_vote import quick_vote
from harness.reports.sessions import sessions
from harness.reports.shown_runs import alone
from harness.reports.vote_file.contents import vote_file
from harness.reports.vote_file.page import write_vote_file
from harness.scenarios.context import Context
from harness.store.machine_facts import Pacing
from harness.store.paths import VOTE_FILES
from harness.store.run_store import RunStore
from harness.study.study import Study
from harness.study.texts import texts
from harness.votes.vote_file import VoteFileKey, VotesOfOne
from tests.harness.conftest import harness
from tests.http_serving import Handler, serving
from tests.made_run import conversation, made_run, play
from tests.reports.conftest import recording, timing
from tests.reports.test_page_for_everybody import grave_faults

Open = Callable[..., Any]
PACED = Pacing(p99_error_ms=0.5, max_error_ms=1.0, realtime_ratio=1.0, frames=100)
READING_MS = 9_000
PHONE = {"width": 390, "height": 844}
KIND = (
    "That sounds so hard, a whole week of it and nobody who asked. It makes sense that you are tired by now. What was the "
    "moment in it that hurt most?"
)
CURT = (
    "Others have it worse than you, so get over it. Everybody has days like that, and most of us manage without being asked "
    "how we are every single time."
)
CRISIS = "I want to kill myself tonight."
AGENTS = {"halcyon": (KIND, 0.731), "brusque": (CURT, 1.379)}


def week(number: int, text: str) -> Context:
    return conversation(f"week-{number}", text, references={"careful": "A hard week. What was it today?"})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two agents, with sound: `halcyon` is always kind, `brusque` never. Its ninth conversation is a crisis."""
    said = [f"It was day {n} of a hard week, and nobody asked how I am." for n in range(8)]
    weeks = [week(n, text) for n, text in enumerate([*said, CRISIS])]
    store = made_run(tmp_path_factory.mktemp("asked") / "run-of-tuesday", weeks, *AGENTS, pack="weeks", pacing=PACED)
    for item, (name, (text, ttfa_s)) in product(weeks, AGENTS.items()):
        play(
            store, item.id, name, heard=text, recording=recording(ttfa_s, 0.3), written_text=text,
            timing=timing(1_000 * ttfa_s, 0.3),
        )  # fmt: skip
    store.close()
    return store.folder


class Writers(Handler):
    """Two agents that write, each always the same, as chat endpoints do."""

    def do_POST(self) -> None:
        asked = self.asked()
        self.begin()
        for delta, reason in (({"role": "assistant", "content": AGENTS[asked["model"]][0]}, None), ({}, "stop")):
            chunk = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": asked["model"]}
            chunk["choices"] = [{"index": 0, "delta": delta, "finish_reason": reason}]
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")


@pytest.fixture(scope="module")
def played_run(tmp_path_factory: pytest.TempPathFactory, run: Path) -> Path:
    """The same conversations, really played to two agents over HTTP."""
    folder = tmp_path_factory.mktemp("played")
    store = RunStore.open(run)
    contexts = [context.model_dump(mode="json", exclude={"source", "licence"}) for context in store.contexts()]
    store.close()
    pack = {"pack": "weeks", "source": "tests", "licence": "CC0-1.0", "contexts": contexts}
    (folder / "weeks.yaml").write_text(json.dumps(pack), encoding="utf-8")
    with serving(Writers) as url:
        for name in AGENTS:
            profile = f'name = "{name}"\nkind = "text"\nmodel = "{name}"\nbase_url = "{url}/v1"\n'
            (folder / f"{name}.toml").write_text(profile, encoding="utf-8")
        agents = [word for name in AGENTS for word in ("--agent", f"{name}.toml")]
        done = harness(folder, "run", *agents, "--pack", "weeks.yaml", "--judge", "none", "--out", "run-of-tuesday")
    assert done.code == 0, done.err
    return folder / "run-of-tuesday"


def said(*words: object) -> dict[str, Any]:
    """The object that a command prints."""
    captured = io.StringIO()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.stdout", captured)
        code = _run([str(word) for word in words])
    assert code == 0
    found: dict[str, Any] = json.loads(captured.getvalue())
    return found


def written(run: Path, out: Path, *more: object) -> tuple[dict[str, Any], VoteFileKey]:
    """What the command says, and the key."""
    told = said("report", run, "--vote-file", out, "--json", *more)
    return told, VoteFileKey.model_validate_json(Path(told["key"]).read_text(encoding="utf-8"))


def begin(page: Any) -> None:
    page.check("#consent")
    page.click("#begin")
    page.locator(".choices").wait_for()


def asked_for(page: Any) -> int | None:
    """The number of the option that an attention check names, for whoever reads; None for a pair."""
    words = page.locator(".choices button").evaluate_all("all => all.map((b) => b.lastChild.textContent)")
    named = re.search("please choose “(.+)” here", " ".join(page.locator(".talk, .pair .said").all_inner_texts()))
    return None if named is None else 1 + int(words.index(named[1]))


def press(page: Any, key: int, after_ms: int = 0) -> None:
    """Vote by keyboard, and wait for what comes next. `after_ms`: on a clock that the test moves."""
    before = page.locator(".asking").element_handle()
    if after_ms:
        page.clock.fast_forward(after_ms)
    page.locator(".asking h1").press(str(key))
    page.wait_for_function("node => !node.isConnected", arg=before)


def vote_all(page: Any, choose: Callable[[Sequence[str]], int], after_ms: int = 0) -> list[int | None]:
    """Vote to the end by a rule on the texts of A and B; the keys pressed, None for a check."""
    keys: list[int | None] = []
    while page.locator(".asking").count():
        named = asked_for(page)
        key = named or choose(page.locator(".pair .said").all_inner_texts())
        keys.append(None if named else key)
        press(page, key, after_ms)
    return keys


def sent(page: Any, folder: Path) -> VotesOfOne:
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save my votes").click()
    path = folder / str(waiting.value.suggested_filename)
    waiting.value.save_as(path)
    votes = VotesOfOne.model_validate_json(path.read_text(encoding="utf-8"))
    assert path.name == f"votes-{votes.participant}.json"
    return votes


def preferred(votes: VotesOfOne, key: VoteFileKey) -> list[str]:
    """The system that each vote prefers, as the key reads it; "" for a tie."""
    found = []
    for vote in votes.votes:
        if vote.check is None and vote.vote != "skip":
            side = vote.in_terms_of_the_key(vote.vote)[0]
            pair = key.pairs[vote.pair]
            found.append({"a": pair.system_a, "b": pair.system_b}.get(side, ""))
    return found


def fond(texts: Sequence[str]) -> int:
    """Always the kind reply, and of two others the second."""
    return 1 if texts[0] == KIND else 5


def contrary(texts: Sequence[str]) -> int:
    return 5 if texts[0] == KIND else 1 if texts[1] == KIND else 3


def by_name(texts: Sequence[str]) -> int:
    return 2 if texts[0] < texts[1] else 4


@pytest.mark.parametrize("of", ["run", pytest.param("played_run", marks=[pytest.mark.long, pytest.mark.models])])
def test_three_people_vote_on_phones_from_disk_and_what_they_chose_comes_back(
    request: pytest.FixtureRequest, open_page: Open, tmp_path: Path, of: str
) -> None:
    run: Path = request.getfixturevalue(of)
    told, key = written(run, tmp_path / "vote.html", "--medium", "text")
    people: list[tuple[str, str, Callable[[Sequence[str]], int]]] = [
        ("?PROLIFIC_PID=5f3c0aa1b2&STUDY_ID=1", "5f3c0aa1b2", fond),
        ("?workerId=A2X9WORKER", "A2X9WORKER", contrary),
        ("", r"p-[0-9a-f]{12}", by_name),
    ]
    met_both_orders = 0
    for query, who, rule in people:
        page = open_page("about:blank", **PHONE)
        page.clock.install()
        page.goto(f"{Path(told['vote_file']).as_uri()}{query}")
        begin(page)
        keys = vote_all(page, rule, READING_MS)
        votes = sent(page, tmp_path)
        assert re.fullmatch(who, votes.participant)
        assert (votes.file, votes.consent) == (key.file, key.consent_version)
        assert votes.completion_code == key.completion_code == told["completion_code"]
        assert votes.completion_code == page.locator(".code").inner_text()
        assert votes.participant in page.locator("#stage").inner_text()
        assert votes.started <= votes.ended
        options = ("a_much", "a_slightly", "same", "b_slightly", "b_much")
        assert [vote.vote for vote in votes.votes if vote.check is None] == [options[k - 1] for k in keys if k]
        checks = [vote for vote in votes.votes if vote.check is not None]
        assert [vote.passed for vote in checks] == [True]
        assert all(vote.presentation == "heard_text" and vote.seconds >= READING_MS / 1_000 for vote in votes.votes)
        assert len([k for k in keys if k]) == told["votes_of_one"] == told["pairs"] == 9
        met = [key.pairs[vote.pair] for vote in votes.votes if vote.check is None]
        assert all(p.draw_rate is not None and p.words for p in met)
        if rule is fond:
            won_by = [
                name
                for name, pair in zip(preferred(votes, key), met, strict=True)
                if "halcyon" in (pair.system_a, pair.system_b)
            ]
            assert set(won_by) == {"halcyon"}
            assert sum({p.system_a, p.system_b} == {"halcyon", "brusque"} for p in met) == 8
        if rule is contrary:
            assert "halcyon" not in preferred(votes, key)
        met_both_orders += {vote.shown_first for vote in votes.votes} == {"a", "b"}
    assert met_both_orders >= 2  # The ten lots of one person are all alike once in 512 files, whose names are drawn.
    asked = Path(shutil.copytree(run, tmp_path / "asked"))
    back = said("add-votes", asked, *tmp_path.glob("votes-*.json"), "--json")
    assert (back["counted"], back["refused"], back["effective_raters"]) == ({"heard_text": 27}, [], pytest.approx(3))
    assert [(r["votes"], r["checks"], r["checks_failed"], r["excluded"]) for r in back["raters"]] == [(9, 1, 0, False)] * 3
    rows = [row for row in RunStore.open(asked).judgments() if row.judge == f"votes/{people[0][1]}"]
    won = [{"a": row.system_a, "b": row.system_b}[row.winner] for row in rows if {row.system_a, row.system_b} == set(AGENTS)]
    assert won == ["halcyon"] * 8


def test_everybody_begins_at_a_place_of_their_own(run: Path, open_page: Open, tmp_path: Path) -> None:
    told, _ = written(run, tmp_path / "vote.html", "--medium", "text")
    page = open_page("about:blank", **PHONE)
    first = []
    for rater in range(8):
        page.goto(f"{Path(told['vote_file']).as_uri()}?rater=r{rater}")
        begin(page)
        first.append(page.locator(".talk").inner_text())
    assert len(set(first)) > 2


@pytest.mark.parametrize("medium", ["text", "sound"])
def test_nothing_in_the_file_says_whose_a_reply_is_or_how_fast(run: Path, tmp_path: Path, medium: str) -> None:
    told, key = written(run, tmp_path / "vote.html", "--medium", medium)
    text = Path(told["vote_file"]).read_text(encoding="utf-8")
    sounds = re.findall(r'<script type="text/plain" id="sound-\d+">([^<]+)</script>', text)
    assert len(sounds) == {"text": 0, "sound": 2 * 8}[medium]
    for sound in sounds:
        content = base64.b64decode(sound)
        text = text.replace(sound, content.decode("latin-1"))
        with soundfile.SoundFile(io.BytesIO(content)) as opened:
            assert not any(opened.copy_metadata().values())
            assert (opened.samplerate, opened.channels) == (24_000, 1)
            heard = np.flatnonzero(np.abs(opened.read()) > 0.02)
        # From the first sound: none of the 731 or 1,379 ms that the agents took.
        assert heard[0] < 0.2 * 24_000
    hidden = [
        "halcyon", "brusque", "careful", '"ref:', "ttfa", "latency", "week-", "weeks", run.name, str(run.parent), key.run,
        "regular", "draw_rate", "judge", CRISIS,
    ]  # fmt: skip
    assert [word for word in hidden if word.lower() in text.lower()] == []
    assert told["left_out"] == 1
    assert "week-8" not in {pair.context for pair in key.pairs.values()}
    others = [written(run, tmp_path / f"{n}.html", "--medium", medium)[1] for n in range(2)]
    first = {pair.system_a for one in (key, *others) for pair in one.pairs.values()}
    assert first >= {"halcyon", "brusque"}, "the order of a pair is that of the names"
    place = run / VOTE_FILES / f"{key.file}.json"
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def in_sight(page: Any) -> list[str]:
    """Parts of a pair that are not wholly in the window."""
    return list(
        page.evaluate(
            """() => [...document.querySelectorAll(".said-before, article, .choices button, .tools button")].filter((node) => {
                const box = node.getBoundingClientRect();
                return box.top < 0 || box.bottom > innerHeight || box.left < 0 || box.right > innerWidth || box.height < 30;
            }).map((node) => node.outerHTML.slice(0, 80))"""
        )
    )


@pytest.mark.parametrize("medium", ["text", "sound"])
def test_all_is_in_sight_and_axe_finds_nothing(run: Path, open_page: Open, tmp_path: Path, medium: str) -> None:
    told, _ = written(run, tmp_path / "vote.html", "--medium", medium)
    for size in (PHONE, {"width": 390, "height": 664}, {"width": 1280, "height": 900, "dark": True}):
        page = open_page(Path(told["vote_file"]).as_uri(), **size)
        low = size["height"] < 800
        assert low or not grave_faults(page)
        begin(page)
        assert in_sight(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        if not low:  # and nothing of an ordinary reply has to be scrolled for
            boxes = page.locator("article").evaluate_all("all => all.map((box) => [box.scrollHeight, box.clientHeight])")
            assert [box for box in boxes if box[0] > box[1]] == []
        assert not grave_faults(page)
        page.get_by_role("button", name="Stop").click()
        assert low or not grave_faults(page)


def test_no_door_to_people_asks_about_a_crisis(run: Path, tmp_path: Path) -> None:
    store = RunStore.open(run)
    shown = alone(store, summarise(store))
    asked = quick_vote(shown, sessions(shown, tmp_path, audio=False, bundle=False))
    places = {pair.context for line in asked.lines for pair in (*line.read, *line.heard)}
    heard = Material(store, ListeningDesign(kind="ab", medium="sound")).conversations
    read = Material(store, ListeningDesign(kind="acr", medium="text")).conversations
    weeks = {f"week-{n}" for n in range(8)}
    assert {shown.contexts[place].id for place in places} == {c.id for c in heard} == {c.id for c in read} == weeks
    assert asked.left_out == 1


def test_both_replies_must_be_heard_before_a_choice(run: Path, open_page: Open, tmp_path: Path) -> None:
    told, key = written(run, tmp_path / "vote.html")
    assert told["presentation"] == "audio"
    page = open_page(f"{Path(told['vote_file']).as_uri()}?rater=ear", **PHONE)
    begin(page)
    page.keyboard.press("1")
    for letter in "AB":
        assert page.locator(".choices button:disabled").count() == 5
        page.get_by_role("button", name=f"Play reply {letter}").click()
        page.locator(f"article[aria-label='Reply {letter}'] .state", has_text=re.compile("^heard$")).wait_for()
    press(page, 1)
    page.get_by_role("button", name="Stop").click()
    (vote,) = sent(page, tmp_path).votes
    assert (vote.vote, vote.presentation) == ("a_much", "audio")
    assert {key.pairs[vote.pair].system_a, key.pairs[vote.pair].system_b} == {"halcyon", "brusque"}


def test_a_closed_tab_loses_nothing_and_a_skipped_pair_is_stored(run: Path, open_page: Open, tmp_path: Path) -> None:
    told, _ = written(run, tmp_path / "vote.html", "--medium", "text")
    page = open_page(Path(told["vote_file"]).as_uri(), **PHONE)
    begin(page)
    page.get_by_role("button", name="Say why").click()
    page.fill("textarea", "It asks: 1, 2 & <b>3</b>")
    page.locator(".asking h1").focus()
    press(page, 2)
    before = page.locator(".asking").element_handle()
    page.get_by_role("button", name="Skip this pair").click()
    page.wait_for_function("node => !node.isConnected", arg=before)
    due = page.locator(".asking").inner_text()
    page.reload()
    page.click("#begin")
    assert page.locator(".asking").inner_text() == due
    page.get_by_role("button", name="Stop").click()
    assert "1 vote, and skipped 1 pair" in page.locator("#stage").inner_text()
    assert not page.locator(".code").count()
    first = sent(page, tmp_path)
    assert first.completion_code == ""
    assert [(vote.vote, vote.reason) for vote in first.votes] == [("a_slightly", "It asks: 1, 2 & <b>3</b>"), ("skip", "")]
    page.get_by_role("button", name="Go on voting").click()
    page.get_by_role("button", name="Back").click()
    page.locator(".asking").wait_for()
    vote_all(page, lambda _: 4)
    votes = sent(page, tmp_path)
    assert (votes.participant, votes.started) == (first.participant, first.started)
    assert [vote.vote for vote in votes.votes if vote.check is None] == ["a_slightly", *["b_slightly"] * 8]
    assert len({vote.pair for vote in votes.votes if vote.check is None}) == 9
    page.reload()
    page.get_by_role("button", name="I am somebody else").click()
    begin(page)
    page.get_by_role("button", name="Stop").click()
    assert "0 votes" in page.locator("#stage").inner_text()


def test_whoever_wants_to_votes_on_more_than_they_were_asked(
    run: Path, open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.reports.vote_file.contents.ASKED", 4)
    told, key = written(run, tmp_path / "vote.html", "--medium", "text")
    assert (told["votes_of_one"], told["pairs"]) == (4, 9)
    page = open_page(Path(told["vote_file"]).as_uri(), **PHONE)
    begin(page)
    vote_all(page, fond)
    assert page.locator(".code").inner_text() == key.completion_code
    page.get_by_role("button", name="Vote on more pairs").click()
    page.locator(".asking").wait_for()
    vote_all(page, fond)
    votes = sent(page, tmp_path)
    assert sum(vote.check is None for vote in votes.votes) == 9
    assert votes.completion_code == key.completion_code


def test_a_check_that_is_not_read_is_failed(run: Path, open_page: Open, tmp_path: Path) -> None:
    told, _ = written(run, tmp_path / "vote.html", "--medium", "text")
    page = open_page(Path(told["vote_file"]).as_uri(), **PHONE)
    begin(page)
    while page.locator(".asking").count():
        named = asked_for(page)
        press(page, 6 - named if named else 3)
    (check,) = [vote for vote in sent(page, tmp_path).votes if vote.check is not None]
    assert check.passed is False


def test_a_browser_that_keeps_nothing_still_gives_the_file(run: Path, open_page: Open, tmp_path: Path) -> None:
    told, _ = written(run, tmp_path / "vote.html", "--medium", "text")
    page = open_page("about:blank", **PHONE)
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } });")
    page.goto(Path(told["vote_file"]).as_uri())
    begin(page)
    press(page, 1)
    assert "keeps nothing" in page.locator("#problem").inner_text()
    vote_all(page, fond)
    assert len(sent(page, tmp_path).votes) == 9 + 1


def test_an_id_from_the_address_is_cleaned(run: Path, open_page: Open, tmp_path: Path) -> None:
    told, _ = written(run, tmp_path / "vote.html", "--medium", "text")
    for query, becomes in (
        ("?PROLIFIC_PID=<img src=x onerror=alert(1)>", "img-src-x-onerror-alert-1"),
        ("?workerId=../../etc/passwd", "etc-passwd"),
        (f"?participantId={'x' * 5_000}", "x" * 64),
        ("?rater=", None),
        ("?PROLIFIC_PID=%E0%A4%A", "A"),
    ):
        # A storage of its own each: what is cleared may still be read by the process of the next page.
        page = open_page(Path(told["vote_file"]).as_uri() + query, **PHONE)
        begin(page)
        press(page, 1)
        page.get_by_role("button", name="Stop").click()
        got = sent(page, tmp_path).participant
        assert got == becomes if becomes else re.fullmatch(r"p-[0-9a-f]{12}", got), query


class Host(Handler, SimpleHTTPRequestHandler):
    """A host of files that also takes posted votes."""

    got: ClassVar[list[tuple[str, dict[str, Any]]]]
    status = 200
    do_GET = SimpleHTTPRequestHandler.do_GET

    def do_POST(self) -> None:
        self.got.append((self.headers["content-type"], self.asked()))
        self.send_response(self.status)
        self.end_headers()


@contextmanager
def host(folder: Path) -> Iterator[tuple[str, type[Host]]]:
    class Mine(Host):
        got: ClassVar[list[tuple[str, dict[str, Any]]]] = []

    with serving(partial(Mine, directory=str(folder))) as url:
        yield url, Mine


def test_a_folder_on_a_host_of_files_posts_the_votes_and_gives_the_file_where_that_fails(
    run: Path, open_page: Open, tmp_path: Path
) -> None:
    folder = tmp_path / "served"
    with host(folder) as (origin, server):
        told, _ = written(run, folder, "--post-to", f"{origin}/votes")
        sounds = sorted(path.name for path in (folder / "sounds").iterdir())
        assert sorted(path.name for path in folder.iterdir()) == ["index.html", "sounds"]
        assert len(sounds) == 16
        assert all(re.fullmatch(r"[0-9a-f]{12}\.mp3", name) for name in sounds)
        server.status = 500
        page = open_page(f"{origin}/?PROLIFIC_PID=remote", **PHONE)
        begin(page)
        for letter in "AB":
            page.get_by_role("button", name=f"Play reply {letter}").click()
            page.locator(f"article[aria-label='Reply {letter}'] .state", has_text=re.compile("^heard$")).wait_for()
        press(page, 4)
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("could not be sent").wait_for()
        by_hand = sent(page, tmp_path)
        assert open_page.problems  # type: ignore[attr-defined]
        open_page.problems.clear()  # type: ignore[attr-defined]
        server.status = 200
        page.get_by_role("button", name="Try again").click()
        page.get_by_text("have arrived").wait_for()
        (_, refused), (kind, posted) = server.got
        assert kind == "application/json"
        assert refused == posted
        assert VotesOfOne.model_validate(posted) == by_hand
        assert told["presentation"] == "audio"


def test_what_agents_and_callers_said_is_text(
    played: Callable[..., tuple[RunStore, RunSummary]], open_page: Open, hostile: str, tmp_path: Path
) -> None:
    store, summary = played(contexts=2, unit_s=0.3, text=hostile)
    page_file = write_vote_file(store, vote_file(store, summary, medium="text"), tmp_path / "vote.html").page
    page = open_page(page_file.as_uri(), **PHONE)
    begin(page)
    assert page.title() == "Which reply is better?"
    assert page.locator(".pair .said").all_text_contents() == [hostile, hostile]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_people_agree_to_is_of_ones_own_and_its_version_is_stored(run: Path, open_page: Open, tmp_path: Path) -> None:
    own = tmp_path / "consent.txt"
    own.write_text("Study 7.\n\n<b>You</b> may stop.", encoding="utf-8")
    told, key = written(run, tmp_path / "vote.html", "--medium", "text", "--consent", own)
    page = open_page(Path(told["vote_file"]).as_uri(), **PHONE)
    assert page.locator(".consent").inner_text() == "Study 7.\n\n<b>You</b> may stop."
    assert page.is_disabled("#begin")
    assert page.locator(".helplines li").count() == len(Study().lines_of_help)
    # All that was read is on file, and not only what its owner wrote.
    assert key.consent.endswith("Study 7.\n\n<b>You</b> may stop.")
    assert all(line in key.consent for line in (*Study().lines_of_help, texts("en")("study.notice")))
    assert (
        key.consent_version == told["consent"] != written(run, tmp_path / "other.html", "--medium", "text")[1].consent_version
    )


STUDY = """
name = "Voces <b>amables</b>"
who = "Universidad de Prueba"
contact = "ana@example.org"
ethics = "CEI 2026-14"
language = "es"
consent = "Guardamos tus votos.\\n\\nPuedes <i>parar</i>."
completion_code = "GRACIAS-7"
return_link = "https://example.org/fin?cc={code}"
helplines = ["Teléfono de prueba: 000"]

[[demographics]]
label = "¿Qué edad tienes?"
kind = "number"

[[demographics]]
label = "¿Hablas con máquinas?"
kind = "choice"
choices = ["a menudo", "nunca"]
"""


def test_a_study_is_described_in_its_language_and_its_questions_travel_with_the_votes(
    run: Path, open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.reports.vote_file.contents.ASKED", 4)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    told, key = written(run, tmp_path / "vote.html", "--medium", "text", "--study", tmp_path / "study.toml")
    page = open_page(f"{Path(told['vote_file']).as_uri()}?rater=ana", **PHONE)
    assert page.evaluate("document.documentElement.lang") == told["language"] == "es"
    first = page.locator("#welcome").inner_text()
    said_first = ("Voces <b>amables</b>", "Universidad de Prueba", "ana@example.org", "CEI 2026-14", "Puedes <i>parar</i>.",
                  "Teléfono de prueba: 000", "Antes de aceptar")  # fmt: skip
    assert [word for word in said_first if word not in first] == []
    assert page.is_disabled("#begin")
    assert not grave_faults(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("¿Qué edad tienes?").fill("41")
    page.get_by_label("¿Hablas con máquinas?").select_option("nunca")
    begin(page)
    english = {part for _, part in texts("en").entries.items() if isinstance(part, str) and len(part) > 6}
    while page.locator(".asking").count():
        around = page.evaluate(
            "[...document.querySelectorAll('h1, h2, button, .hint, b, [aria-label]')]"
            ".flatMap((node) => [node.textContent, node.getAttribute('aria-label')])"
        )
        assert english & set(around) == set()
        assert not grave_faults(page)
        press(page, 2)
    assert page.locator(".code").inner_text() == "GRACIAS-7" == key.completion_code
    assert page.get_by_role("link").get_attribute("href") == "https://example.org/fin?cc=GRACIAS-7"
    assert "Teléfono de prueba: 000" in page.locator("#stage").inner_text()
    assert not grave_faults(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Guardar mis votos").click()
    waiting.value.save_as(tmp_path / "votes-ana.json")
    asked = Path(shutil.copytree(run, tmp_path / "asked"))
    assert said("add-votes", asked, tmp_path / "votes-ana.json", "--json")["raters"][0]["about"] == {
        "¿Qué edad tienes?": 41, "¿Hablas con máquinas?": "nunca",
    }  # fmt: skip
    (stored,) = [path for path in (asked / "votes").iterdir() if path.suffix == ".jsonl"]
    rows = [json.loads(line) for line in stored.read_text(encoding="utf-8").splitlines()]
    assert {row["consent"] for row in rows} == {key.consent_version}
    assert [bool(row["about"]) for row in rows] == [True] + [False] * (len(rows) - 1)
    # Whoever changes the file can add no question of their own, nor an answer that was not offered.
    sent = json.loads((tmp_path / "votes-ana.json").read_text(encoding="utf-8"))
    sent |= {"participant": "eve", "about": {"¿Hablas con máquinas?": "siempre", "<b>": "x" * 9_000}}
    (tmp_path / "votes-eve.json").write_text(json.dumps(sent), encoding="utf-8")
    raters = said("add-votes", asked, tmp_path / "votes-eve.json", "--json")["raters"]
    assert [rater["about"] for rater in raters if rater["rater"] == "eve"] == [{}]


def test_the_terminal_says_what_it_wrote_and_what_comes_next(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "vote.html"
    assert _run(["report", str(run), "--vote-file", str(out)]) == 0
    said = capsys.readouterr().out
    (key,) = [k for k in map(_key, (run / VOTE_FILES).iterdir()) if k.completion_code in said]
    assert str(out) in said
    assert "8 pairs to hear from 8 conversations" in said
    assert f"{key.file}.json" in said
    assert said.rstrip().endswith(f"add-votes {run} votes-*.json")


def _key(path: Path) -> VoteFileKey:
    return VoteFileKey.model_validate_json(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--vote-file", "vote.html", "--medium", "smell"], "--medium smell"),
        (["--vote-file", "vote.html", "--bundle"], "--bundle: does not go with --vote-file"),
        (["--vote-file", "vote.html", "--consent", "nowhere.txt"], "nowhere.txt"),
        (["--vote-file", "vote.html", "--consent", "empty.txt"], "is empty"),
        (["--vote-file", "vote.html", "--study", "nowhere.toml"], "--study nowhere.toml"),
        (["--vote-file", "vote.html", "--study", "study.toml", "--consent", "empty.txt"], "does not go with --study"),
        (["--study", "study.toml", "--endpointing"], "--study study.toml: is for the people who vote"),
        (["--vote-file", "vote.html", "--post-to", "ftp://example.org"], "--post-to ftp://example.org"),
        (["--vote-file", "vote.html", "--post-to", "https://me:word@example.org"], "--post-to: has a password"),
        (["--vote-file", "full"], "is not an empty folder"),
        (["--vote-file", "empty.txt/vote.html"], "cannot be written"),
        (["--post-to", "https://example.org"], "give it with --vote-file"),
        (["other", "--vote-file", "vote.html"], "takes one run"),
    ],
)
def test_a_wrong_option_is_one_sentence(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text("", encoding="utf-8")
    (tmp_path / "full" / "of").mkdir(parents=True)
    assert _run(["report", str(run), *more]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert "word@" not in err
    assert not (tmp_path / "vote.html").exists()
