"""The text format of metrics pages, and pages that are none."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.servers.page import MOST_ROW_CHARACTERS, MOST_ROWS, NotMetrics, read_page


def values(text: str, *names: str) -> list[tuple[str, dict[str, str], float]]:
    return [(s.name, dict(s.labels), s.value) for s in read_page(text, names).series]


def test_labels_values_stamps_and_exemplars_are_read() -> None:
    text = (
        "# HELP a anything\n# TYPE a counter\n"
        'a{x="1",y="say \\"hi\\", \\\\ and\\n{more}"} 1.5e3 1700000000000\n'
        "b\t+Inf\nc NaN\nd -2\n"
        'e_bucket{le="+Inf"} 4 # {trace_id="abc"} 0.2 1.7\n# EOF\n'
    )
    assert values(text, "a", "d", "e_bucket", "b", "c") == [
        ("a", {"x": "1", "y": 'say "hi", \\ and\n{more}'}, 1_500.0),
        ("d", {}, -2.0),
        ("e_bucket", {"le": "+Inf"}, 4.0),
    ]
    assert read_page(text, ()).names == {"a", "b", "c", "d", "e_bucket"}


def test_a_row_that_is_no_sample_is_skipped() -> None:
    assert values("a 1\na 2 3 4 5 words\na 5\n", "a") == [("a", {}, 1.0), ("a", {}, 5.0)]


def test_a_page_of_as_many_samples_as_strange_rows_is_still_read() -> None:
    assert values("a 1\nno sample at all\n", "a") == [("a", {}, 1.0)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<!doctype html>\n<title>Service</title>\n<p>502</p>", "no Prometheus text: it begins with '<!doctype html>"),
        ('{"status": "ok"}', "no Prometheus text"),
        ("Service Unavailable", "no Prometheus text: it begins with 'Service Unavailable'"),
        ("", "has no series"),
        ("# HELP only comments\n\n", "has no series"),
    ],
)
def test_a_page_that_is_not_prometheus_text_is_refused_in_one_sentence(text: str, words: str) -> None:
    with pytest.raises(NotMetrics) as caught:
        read_page(text, ("a",))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@given(st.text(max_size=300) | st.text('ab{}=",. 1e+-\\\n#', max_size=300))
def test_no_page_fails_in_another_way(text: str) -> None:
    try:
        found = read_page(text, ("a", "b"))
    except NotMetrics:
        return
    assert all(series.name in ("a", "b") for series in found.series)


@pytest.mark.parametrize("unit", ["a", '\\"', "\\\\", 'a="', 'a="b",', "} ", "{", " # {", "1 "])
def test_no_row_of_the_longest_length_takes_long(unit: str) -> None:
    began_s = time.process_time()
    for shape in ("{}", '{}="x",', '="{}"', 'x="{}"', 'x="{}'):
        row = "a{" + shape.format(unit * ((MOST_ROW_CHARACTERS - 20) // len(unit))) + "} 1"
        with contextlib.suppress(NotMetrics):
            read_page(row, ("a",))
    # Six times what the slowest took on a busy machine; without the bound, rows of a megabyte take minutes.
    assert time.process_time() - began_s < 1


def test_a_row_or_a_page_that_no_server_serves_is_refused() -> None:
    long = 'a{x="' + "y" * MOST_ROW_CHARACTERS + '"} 1\n'
    assert values("a 1\n" + long, "a") == [("a", {}, 1.0)]
    with pytest.raises(NotMetrics, match="more than 200,000 rows"):
        read_page("a 1\n" * (MOST_ROWS + 1), ())
    with pytest.raises(NotMetrics, match="no Prometheus text"):
        read_page(long * 100, ("a",))


def test_a_number_of_any_length_is_a_number_or_none() -> None:
    assert values("a " + "9" * 5_000 + "\nb 1\na 1." + "0" * 5_000 + "\n", "a") == [("a", {}, 1.0)]
