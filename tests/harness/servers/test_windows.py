"""Differences of counters over windows, and the times at which there is none."""

import random

from harness.servers.samples import ServerSample
from harness.servers.windows import idle_ns, trusted, window
from harness.timeline import NS_PER_MS

MS = NS_PER_MS


def sample(at_ms: float, error: str = "", took_ms: float = 2, **columns: float) -> ServerSample:
    at_ns = round(at_ms * MS)
    return ServerSample(at_ns, at_ns + round(took_ms * MS), 0, "bot", "llm", "vllm", columns, error)


def test_a_window_is_the_narrowest_pair_of_samples_around_an_interval() -> None:
    trust = trusted([sample(t, finished=t, queue_ms=2 * t, running=t / 100) for t in (0, 100, 200, 300, 400)])
    found = window(trust, 150 * MS, 290 * MS)
    assert found is not None
    assert (found.first.at_ns, found.last.at_ns) == (100 * MS, 300 * MS)
    assert (found.grown("finished"), found.grown("queue_ms"), found.grown("prefill_ms")) == (200, 400, None)
    assert found.largest("running") == 3
    assert window(trust, 101 * MS, 290 * MS) == window(trust, 3 * MS, 290 * MS), "answered after the interval had begun"
    assert window(trust, -5 * MS, 290 * MS) is None
    assert window(trust, 150 * MS, 401 * MS) is None


def test_counters_that_go_back_are_a_restart_and_windows_across_it_have_no_difference() -> None:
    trust = trusted([sample(100 * k, finished=v) for k, v in enumerate((50, 51, 52, 0, 1, 2, 3, 4))])
    assert not trust.two
    assert trust.words is not None
    assert trust.words.startswith("its counters went back once: it began again")
    assert window(trust, 150 * MS, 350 * MS) is None
    before, after = window(trust, 10 * MS, 150 * MS), window(trust, 350 * MS, 550 * MS)
    assert before is not None
    assert after is not None
    assert (before.grown("finished"), after.grown("finished")) == (2, 3)


def test_a_restart_is_seen_by_the_start_of_the_process_where_a_page_has_it() -> None:
    trust = trusted([sample(0, finished=5, started=1), sample(100, finished=6, started=2), sample(200, finished=7, started=2)])
    assert trust.began_again == {1}
    assert not trust.two


def test_a_page_without_the_start_of_its_process_is_judged_by_its_counters() -> None:
    assert not trusted([sample(0, finished=5, started=1), sample(100, finished=6)]).began_again
    assert trusted([sample(0, finished=5, started=1), sample(100, finished=2)]).began_again == {1}


def test_two_servers_behind_one_address_give_no_difference_at_all() -> None:
    by_start = trusted([sample(100 * k, finished=k, started=s) for k, s in enumerate((1, 2, 1, 1, 2))])
    draw = random.Random(4)
    counts, series = {"a": 900.0, "b": 20.0}, []
    for k in range(40):
        which = draw.choice("ab")
        counts["a"] += 1
        counts["b"] += 1
        series.append(sample(100 * k, finished=counts[which]))
    by_counters = trusted(series)
    for trust in (by_start, by_counters):
        assert trust.two
        assert trust.words is not None
        assert trust.words.startswith("two servers answer at this address")
        assert window(trust, 50 * MS, 150 * MS) is None
        assert idle_ns(trust, 50 * MS, 150 * MS) is None


def test_a_server_that_began_again_and_then_works_long_is_not_two() -> None:
    trust = trusted([sample(100 * k, work=v) for k, v in enumerate([*range(100, 130), *range(0, 400, 4)])])
    assert len(trust.began_again) == 1
    assert not trust.two


def test_pages_that_were_not_read_are_counted_with_the_most_frequent_reason() -> None:
    trust = trusted(
        [sample(0, finished=1), sample(100, "did not answer"), sample(200, "is gone"), sample(300, "did not answer")]
    )
    assert len(trust.samples) == 1
    assert trust.words == "3 of 4 pages were not read: it did not answer"


def test_idle_time_is_between_two_free_samples_without_work() -> None:
    states = [(0, 5), (0, 5), (1, 5), (0, 9), (0, 9), (0, 12), (0, 12)]
    trust = trusted([sample(100 * k, running=r, waiting=0, work=w, took_ms=10) for k, (r, w) in enumerate(states)])
    # Between samples 0–1, 3–4 and 5–6; not 4–5, where work was done and over before anybody looked.
    assert idle_ns(trust, 0, 600 * MS) == 3 * 90 * MS
    assert idle_ns(trust, 50 * MS, 350 * MS) == (50 + 40) * MS
    assert idle_ns(trust, 420 * MS, 480 * MS) == 0
    assert idle_ns(trust, 700 * MS, 800 * MS) is None, "nobody looked"


def test_a_server_in_which_a_request_waits_is_neither_idle_nor_alone() -> None:
    trust = trusted([sample(t, running=0, waiting=t // 100, work=5) for t in (0, 100, 200)])
    assert idle_ns(trust, 10 * MS, 190 * MS) == 0
    found = window(trust, 10 * MS, 190 * MS)
    assert found is not None
    assert found.most_at_once == 2


def test_no_idle_time_is_known_across_a_restart_and_samples_may_come_in_any_order() -> None:
    samples = [sample(at, started=start, running=0, waiting=0, work=5) for at, start in ((0, 1), (100, 2), (200, 2))]
    assert idle_ns(trusted(samples), 10 * MS, 90 * MS) is None
    assert idle_ns(trusted(samples[::-1]), 110 * MS, 190 * MS) == 80 * MS


def test_without_a_count_of_work_idle_time_is_not_known() -> None:
    assert idle_ns(trusted([sample(0, running=0), sample(100, running=0)]), 10 * MS, 90 * MS) is None
