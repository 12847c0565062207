"""The scraper against real servers on this machine: good ones, and those that must not stop or fill a run."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path

import pytest

from harness.clock import now_ns
from harness.servers import scraper
from harness.servers.page import MOST_BYTES
from harness.servers.samples import ServerSample, load_samples
from harness.servers.scraper import ANSWER_S, MetricsScraper, Target, next_in_s
from harness.timeline import NS_PER_MS
from tests.http_serving import Handler
from tests.http_serving import serving as served

Answer = Callable[[Handler, int], None]
PAGE = "vllm:num_requests_running 1\nvllm:request_success_total {}\n"


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """The address of a server that answers its n-th request by `answer(handler, n)`."""
    asked = iter(range(10**6))

    class Numbered(Handler):
        def do_GET(self) -> None:
            answer(self, next(asked))

    with served(Numbered) as url:
        yield f"{url}/metrics"


def page(handler: Handler, text: str, **headers: str) -> None:
    body = text.encode()
    handler.send_response_only(200)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def read_once(folder: Path, answer: Answer, server: str | None = "vllm") -> tuple[MetricsScraper, str]:
    """A scraper after its first sample, and the error of that."""
    with (
        serving(answer) as url,
        MetricsScraper(folder / "servers.jsonl", [Target("bot", "llm", lambda: url, server)]) as scraper,
    ):
        until_s = time.monotonic() + 20
        while not (found := scraper.between("bot", 0, now_ns())) and time.monotonic() < until_s:
            time.sleep(0.02)
    assert found
    return scraper, found[0].error


def test_samples_grow_with_the_server_and_are_on_disk_as_in_memory(tmp_path: Path) -> None:
    with serving(lambda handler, n: page(handler, PAGE.format(n))) as url:
        began_ns = now_ns()
        with MetricsScraper(tmp_path / "servers.jsonl", [Target("bot", "llm", lambda: url)]) as scraper:
            while len(scraper.between("bot", 0, now_ns())) < 4:
                time.sleep(0.02)
            found = scraper.between("bot", began_ns, now_ns())
            assert scraper.between("other", 0, now_ns()) == ()
            assert scraper.between("bot", 0, began_ns) == ()
    counts = [sample.columns["finished"] for sample in found]
    assert counts == sorted(set(counts))
    assert {sample.server for sample in found} == {"vllm"}
    assert all(began_ns < sample.at_ns < sample.answered_ns for sample in found)
    assert all(abs(sample.wall_ns - sample.at_ns - (time.time_ns() - now_ns())) < 10**9 for sample in found)
    assert load_samples(tmp_path)[: len(found)] == found
    assert "error" not in (tmp_path / "servers.jsonl").read_text(), "a row has nothing that is empty"
    assert scraper.complaints() == []


def test_an_address_that_hangs_is_asked_again_and_stops_nothing(tmp_path: Path) -> None:
    over = threading.Event()

    def hang(_: Handler, __: int) -> None:
        over.wait(30)

    began_s = time.monotonic()
    scraper, error = read_once(tmp_path, hang)
    over.set()
    assert error == "did not answer within 1 s"
    assert time.monotonic() - began_s < 10 * ANSWER_S
    assert scraper.complaints() == ['metrics of "bot" (llm): the page did not answer within 1 s; waits are not split by them']


def test_a_page_that_drips_without_end_is_given_up(tmp_path: Path) -> None:
    def drip(handler: Handler, _: int) -> None:
        handler.send_response_only(200)
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b"vllm:num_requests_running 1\n")
            time.sleep(0.1)

    assert read_once(tmp_path, drip)[1] == "did not end within 1 s"


def test_a_page_that_grows_to_50_mb_is_not_read_into_memory(tmp_path: Path) -> None:
    sent = []

    def grow(handler: Handler, _: int) -> None:
        handler.send_response_only(200)
        handler.end_headers()
        piece = b'vllm:request_success_total{model_name="m"} 1\n' * 2_000
        for _ in range(50_000_000 // len(piece)):
            handler.wfile.write(piece)
            sent.append(len(piece))

    assert read_once(tmp_path, grow)[1] in ("is larger than 8 MiB, and was not read", "did not end within 1 s")
    assert sum(sent) < 50_000_000
    assert (tmp_path / "servers.jsonl").stat().st_size < MOST_BYTES / 100


@pytest.mark.parametrize(
    ("text", "headers", "words"),
    [
        ("<html><body>Bad gateway</body></html>", {}, "is no Prometheus text: it begins with '<html>"),
        ("ollama_requests_total 3\n", {}, "is not of vllm: it has no series vllm:…"),
        ("", {}, "has no series"),
        ("No key: Bearer abcdefghijklmnopqrstuvwxyz0123456789", {}, "it begins with 'No key: Bearer ***'"),
        (PAGE, {"Content-Encoding": "gzip"}, "comes packed, which was not asked for, and was not read"),
    ],
)
def test_a_page_that_cannot_be_used_is_one_sentence(text: str, headers: dict[str, str], words: str, tmp_path: Path) -> None:
    scraper, error = read_once(tmp_path, lambda handler, _: page(handler, text, **headers))
    assert words in error
    (complaint,) = scraper.complaints()
    assert error in complaint
    assert "\n" not in complaint


def test_a_status_and_a_closed_port_are_named(tmp_path: Path) -> None:
    assert read_once(tmp_path, lambda handler, _: handler.send_error(404))[1] == "is not there: HTTP status 404"
    with serving(lambda handler, _: page(handler, PAGE)) as url:
        pass
    with MetricsScraper(tmp_path / "closed.jsonl", [Target("bot", "llm", lambda: url)]) as scraper:
        while not scraper.between("bot", 0, now_ns()):
            time.sleep(0.02)
    assert scraper.complaints() == [
        'metrics of "bot" (llm): the page is not there: nothing listens at its address; waits are not split by them'
    ]


def test_a_server_whose_clock_is_apart_is_said_so_and_its_samples_have_this_machines_time(tmp_path: Path) -> None:
    scraper, error = read_once(tmp_path, lambda handler, _: page(handler, PAGE.format(1), Date="Thu, 01 Jan 2026 00:00:00 GMT"))
    assert not error
    (complaint,) = scraper.complaints()
    assert "its server's clock is" in complaint
    assert "behind this machine's; samples have this machine's time, and its traces are not joined" in complaint


@pytest.mark.parametrize(
    ("starts", "words"),
    [((1, 2, 2, 2), "it began again"), ((1, 2, 1, 2), "two servers answer at this address"), ((1, 1, 1, 1), None)],
)
def test_a_server_that_began_again_or_is_two_is_said_at_the_end(
    starts: tuple[int, ...], words: str | None, tmp_path: Path
) -> None:
    def start(handler: Handler, n: int) -> None:
        page(handler, PAGE.format(n) + f"process_start_time_seconds {starts[min(n, 3)]}\n")

    with (
        serving(start) as url,
        MetricsScraper(tmp_path / "servers.jsonl", [Target("bot", "llm", lambda: url)]) as scraper,
    ):
        while len(scraper.between("bot", 0, now_ns())) < 4:
            time.sleep(0.02)
    complaints = scraper.complaints()
    assert len(complaints) == (words is not None)
    for complaint in complaints:
        assert complaint.startswith('metrics of "bot" (llm): ')
        assert words is not None
        assert words in complaint
        assert "\n" not in complaint


def test_a_server_on_this_machines_clock_is_no_complaint(tmp_path: Path) -> None:
    scraper, error = read_once(tmp_path, lambda handler, _: page(handler, PAGE.format(1), Date=formatdate(usegmt=True)))
    assert (error, scraper.complaints()) == ("", [])
    (found, *_) = load_samples(tmp_path)
    assert found.apart_s is not None


def test_a_page_of_this_machine_is_read_past_the_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert read_once(tmp_path, lambda handler, _: page(handler, PAGE.format(1)))[1] == ""


@pytest.mark.parametrize(
    ("answered_ms", "read_ms", "error", "wait_ms"),
    [(10, 15, "", 85), (10, 110, "", 400), (300, 305, "", 20), (10, 15, "is gone", 1_000)],
)
def test_reading_takes_a_fifth_of_the_time_at_most_and_a_failing_server_is_left_alone_for_a_second(
    answered_ms: int, read_ms: int, error: str, wait_ms: int
) -> None:
    found = ServerSample(0, answered_ms * NS_PER_MS, 0, "bot", "llm", error=error)
    assert next_in_s(found, read_ms * NS_PER_MS) == pytest.approx(wait_ms / 1_000)


def test_of_a_page_with_several_models_only_the_named_one_is_read(tmp_path: Path) -> None:
    text = 'vllm:num_requests_running{model_name="one"} 1\nvllm:num_requests_running{model_name="two"} 5\n'
    with (
        serving(lambda handler, _: page(handler, text)) as url,
        MetricsScraper(tmp_path / "servers.jsonl", [Target("bot", "llm", lambda: url, model="two")]) as scraper,
    ):
        while not (found := scraper.between("bot", 0, now_ns())):
            time.sleep(0.02)
    assert found[0].columns == {"running": 5}


def test_the_number_of_a_process_comes_from_its_header(tmp_path: Path) -> None:
    text = "llamacpp:requests_processing 0\n"
    read_once(tmp_path, lambda handler, _: page(handler, text, **{"Process-Start-Time-Unix": "4711"}), server=None)
    assert load_samples(tmp_path)[0].columns == {"running": 0, "started": 4711}


def test_an_agent_without_an_address_is_asked_for_one(tmp_path: Path) -> None:
    with MetricsScraper(tmp_path / "servers.jsonl", [Target("bot", "tts", lambda: None)]) as scraper:
        pass
    assert scraper.complaints() == ['metrics of "bot" (tts): the agent printed no address of them; give `url` in [metrics]']
    with MetricsScraper(tmp_path / "none.jsonl", []) as nothing:
        pass
    assert nothing.complaints() == []
    assert not (tmp_path / "none.jsonl").exists()


def test_a_damaged_row_of_samples_is_left_out(tmp_path: Path) -> None:
    row = {"at_ns": 1, "answered_ns": 2, "wall_ns": 3, "agent": "bot", "stage": "llm", "columns": {"running": 1, "other": 2}}
    rows = [
        json.dumps(row),
        '{"at_ns": 1',
        "NaN",
        json.dumps({**row, "stage": "heart"}),
        json.dumps({**row, "columns": {"running": float("inf")}}),
        json.dumps(row)[:-4],
    ]
    (tmp_path / "servers.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (found,) = load_samples(tmp_path)
    assert found.columns == {"running": 1}
    assert load_samples(tmp_path / "nowhere") == ()


def test_an_error_is_said_in_its_own_words_and_one_without_words_by_its_name() -> None:
    assert scraper._in_words(OSError("odd\n thing")) == "cannot be read: odd thing"
    assert scraper._in_words(OSError()) == "cannot be read: OSError"
