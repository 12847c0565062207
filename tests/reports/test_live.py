"""`harness view`: a real run watched in a real browser while it plays, is killed and goes on; and what else a folder can be."""

import http.client
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.figures.summary import RunSummary
from harness.reports.live.progress import Watched, latest_run
from harness.reports.write import write_joint_report
from harness.store.run_store import RunStore
from tests.harness.conftest import PEERS
from tests.reports.test_page_for_everybody import grave_faults

Played = Callable[..., tuple[RunStore, RunSummary]]
CALLS = 4
MARKUP = "<img src=x onerror=\"document.title='owned'\">"


@contextmanager
def process(words: Sequence[object], folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    quiet = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")}
    started = subprocess.Popen(
        [sys.executable, *map(str, words)], cwd=folder, env={**quiet, "PYTHONUNBUFFERED": "1", **environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        yield started
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()


@contextmanager
def viewed(folder: Path, *words: object, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address at which `harness view` shows a run, and its process."""
    with process(("-m", "harness", "view", *words), folder, **environment) as server:
        assert server.stdout is not None
        said = server.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/", said)
        assert found is not None, said + server.stdout.read()
        yield found[0], server


def asked(url: str, path: str, **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    line = http.client.HTTPConnection(url.split("/")[2], timeout=20)
    line.request("GET", path, headers=headers)
    answer = line.getresponse()
    return answer.status, answer.headers, answer.read()


def until(holds: Callable[[], Any], within_s: float = 60) -> None:
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def calls_over(run: Path) -> int:
    """The calls that are stored, as any other program can see them."""
    if not (run / "run.sqlite").exists():
        return 0
    with closing(sqlite3.connect(run / "run.sqlite")) as database:
        return int(database.execute("SELECT count(*) FROM sessions").fetchone()[0])


def test_a_run_is_watched_while_it_plays_is_killed_and_goes_on(open_page: Callable[..., Any], tmp_path: Path) -> None:
    run = ("-m", "harness", "run", "--out", MARKUP)
    with process((PEERS / "endpoint.py", tmp_path / "log", "--delay-s", "1"), tmp_path) as endpoint:
        assert endpoint.stdout is not None
        url = f"{endpoint.stdout.readline().strip()}/one/v1?model=some"
        with process((*run, "--url", url, "--kind", "text", "--limit", CALLS), tmp_path) as playing:
            until(lambda: calls_over(tmp_path / MARKUP))
            os.killpg(playing.pid, signal.SIGSTOP)  # while a browser starts, which takes longer than the run on a busy machine
            with viewed(tmp_path, MARKUP, "--port", "0") as (address, server):
                page = open_page(address)
                page.locator("#state", has_text=f"of {CALLS} calls").wait_for()
                page.locator("#agents tbody tr").wait_for()
                assert page.locator("#agents tbody th").inner_text().startswith("some")
                assert "TTFT" in page.locator("#agents tbody").inner_text()
                assert page.locator(".lede").inner_text() == MARKUP
                os.killpg(playing.pid, signal.SIGKILL)
                page.locator("#state", has_text="was stopped").wait_for()
                assert 0 < page.locator("#bar").evaluate("bar => bar.value") < CALLS
                assert "run --resume --out" in page.locator("#next").inner_text()
                with process((*run, "--resume"), tmp_path) as resumed:
                    page.locator("#verdict").wait_for(timeout=60_000)
                    assert resumed.wait(20) == 0
                page.reload()
                assert page.locator("#verdict").is_visible()
                server.send_signal(signal.SIGINT)
                assert server.wait(20) == 0
                assert server.stdout is not None
                assert "Traceback" not in server.stdout.read()


def test_the_page_is_read_by_everybody_and_says_when_its_server_has_ended(
    open_page: Callable[..., Any], played: Played
) -> None:
    folder = played(contexts=2)[0].folder
    with viewed(folder.parent, folder, "--port", "0") as (address, server):
        page = open_page(address, width=390, dark=True)
        assert not grave_faults(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        server.kill()
        page.locator("#lost").wait_for()
    open_page.problems.clear()  # type: ignore[attr-defined]  # a browser calls a server that is gone an error


def test_a_finished_run_is_shown_with_its_sounds_to_this_machine_alone(played: Played) -> None:
    store, summary = played(contexts=2)
    write_joint_report([(store, summary)], store.folder)
    (store.folder / "report-audio" / "out.flac").symlink_to(store.folder / "run.sqlite")
    with viewed(store.folder.parent, store.folder, "--port", "0") as (url, _):
        status, headers, body = asked(url, "/")
        assert (status, body) == (200, (store.folder / "report.html").read_bytes())
        assert headers["x-frame-options"] == "DENY"
        sound = next(path for path in (store.folder / "report-audio").glob("*.flac") if not path.is_symlink())
        assert asked(url, f"/report-audio/{sound.name}")[2] == sound.read_bytes()
        assert asked(url, f"/report-audio/{sound.name}", Range="bytes=0-9")[0] == 206
        for path in ("/report-audio/../run.sqlite", "/report-audio/%2e%2e/run.sqlite", "/run.sqlite", "/report-audio/out.flac"):
            assert asked(url, path)[0] == 404, path
        for host in ("evil.example", "127.0.0.1.evil.example", ""):
            assert asked(url, "/", Host=host)[0] == 400, host
        assert asked(url, "/", Host="localhost:1")[0] == 200


def test_a_reply_is_heard_in_the_browser(open_page: Callable[..., Any], played: Played) -> None:
    store, summary = played(contexts=2)
    write_joint_report([(store, summary)], store.folder)
    with viewed(store.folder.parent, store.folder, "--port", "0") as (address, _):
        page = open_page(address)
        sound = next((store.folder / "report-audio").glob("*.flac")).name
        length_s = page.evaluate(
            """(name) => new Promise((heard) => { const sound = new Audio(`report-audio/${name}`);
            sound.oncanplaythrough = () => heard(sound.duration); sound.onerror = () => heard(-1); })""",
            sound,
        )
    assert length_s > 3


def test_it_opens_where_there_is_a_browser(played: Played, tmp_path: Path) -> None:
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f"#!{sys.executable}\nimport sys\nopen({str(opened)!r}, 'w').write(sys.argv[1])\n")
    browser.chmod(0o755)
    with viewed(tmp_path, played()[0].folder, "--port", "0", BROWSER=str(browser)) as (url, _):
        until(lambda: opened.exists() and opened.read_text())
    assert opened.read_text() == url


def test_the_last_figures_before_the_report_are_the_reports_own(played: Played) -> None:
    store, _ = played(contexts=2)
    found = Watched(store.folder).now()
    assert (found.state, found.done, found.planned) == ("unreported", 4, 4)
    assert found.next_step.endswith(str(store.folder))
    assert len(found.agents) == 2
    with store.lock():
        assert Watched(store.folder).now().state == "after_the_calls"


def test_a_report_from_before_a_resumption_is_not_taken_for_the_new_one(played: Played) -> None:
    store, summary = played(contexts=2)
    (store.folder / "report.html").write_text("old")
    (store.folder / "summary.json").write_text(summary.to_json())
    watched = Watched(store.folder)
    assert watched.now().state == "reported"
    manifest = store.manifest
    store.set_manifest(manifest.model_copy(update={"repeats": 2}))
    assert watched.now().done < (watched.now().planned or 0)
    with store.lock():
        assert watched.now().state == "playing"
    assert watched.now().state == "stopped", "the page there is of the time before"
    (store.folder / "report.html").write_text("new")
    os.utime(store.folder / "report.html", (time.time() + 5, time.time() + 5))
    assert watched.now().state == "reported", "calls that were given up are no reason to wait for"


@pytest.mark.parametrize(
    ("words", "said"), [(("empty",), "holds no run"), ((), "no run is in it"), (("none",), "holds no run")]
)
def test_a_folder_without_a_run_is_one_sentence(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with process(("-m", "harness", "view", *words), tmp_path) as done:
        out, _ = done.communicate(timeout=60)
    assert done.returncode == 2
    assert said in out
    assert out.count("\n") == 1


def test_the_latest_run_is_the_one_written_last(tmp_path: Path) -> None:
    for name, age_s in (("b", 30), ("a", 10), ("c", 20)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.sqlite").touch()
        os.utime(tmp_path / name / "run.sqlite", (time.time() - age_s, time.time() - age_s))
    assert latest_run(tmp_path).name == "a"
