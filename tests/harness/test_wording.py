"""Figures as text: a range between two ends, with the programs that ran beside the agent."""

from datetime import UTC, datetime

import pytest

from harness.wording import (
    cannot_tell,
    counted,
    day,
    had_it_been_its_own,
    milliseconds,
    of_it_others,
    programs,
    share_had_it_been_its_own,
    when,
)

OTHERS = [("chromium", 0.41), ("python3", 0.2), ("cron", 0.01)]


def test_a_range_names_both_ends_and_the_programs() -> None:
    assert (
        had_it_been_its_own((430.2, 461.0), OTHERS)
        == "430–461 had the machine been its own (others: chromium .4 cores, python3 .2)"
    )
    assert had_it_been_its_own((430.2, 461.0)) == "430–461 had the machine been its own"


@pytest.mark.parametrize(
    ("ends_ms", "said"),
    [
        ((1_104.0, 1_263.0), "1.10–1.26 s"),
        ((930.0, 1_104.0), "0.93–1.10 s"),
        ((0.0, 5_731.0), "0.00–5.73 s"),
        ((-40.0, 12.0), "−40–12"),
    ],
)
def test_both_ends_have_the_unit_of_the_larger_one(ends_ms: tuple[float, float], said: str) -> None:
    assert had_it_been_its_own(ends_ms).startswith(f"{said} had")


def test_a_range_under_a_millisecond_and_an_unknown_one_are_not_shown() -> None:
    assert had_it_been_its_own((460.1, 461.0), OTHERS) == ""
    assert had_it_been_its_own(None, OTHERS) == ""
    assert share_had_it_been_its_own((0.531, 0.534)) == ""


def test_a_share_has_its_two_ends_in_per_cent() -> None:
    assert (
        share_had_it_been_its_own((0.53, 0.61), OTHERS[:1])
        == "53–61 % had the machine been its own (others: chromium .4 cores)"
    )


def test_a_budget_between_the_ends_is_not_decided() -> None:
    assert cannot_tell("38 ms") == "this machine cannot tell: 38 ms others'"


def test_a_whole_core_is_written_in_full() -> None:
    assert programs([("stress", 1.96), ("cron", 0.04)]) == "stress 2.0 cores"


@pytest.mark.parametrize(
    ("owed_ms", "said"),
    [(None, ""), (0.9, ""), (1.0, "at most 1 ms of it others'"), (22.0, "at most 22 ms of it others'")],
)
def test_what_others_owe_is_said_from_a_millisecond_on(owed_ms: float | None, said: str) -> None:
    assert of_it_others(owed_ms) == said
    assert of_it_others(owed_ms, OTHERS[:1]) == (f"{said} (chromium .4 cores)" if said else "")


@pytest.mark.parametrize(("value", "said"), [(None, "—"), (999.4, "999 ms"), (1_000.0, "1.00 s"), (-90.0, "−90 ms")])
def test_a_second_and_more_is_in_seconds(value: float | None, said: str) -> None:
    assert milliseconds(value) == said


def test_a_count_has_its_noun() -> None:
    assert [counted(1, "turn"), counted(12_000, "turn"), counted(2, "stretch", "stretches")] == [
        "1 turn", "12,000 turns", "2 stretches",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        ("2026-11-28T09:31:39+00:00", "28 November 2026, 09:31 UTC"),
        ("2030-01-01T00:00:00Z", "1 January 2030, 00:00 UTC"),
        ("2030-01-01T00:00:00.123456", "1 January 2030, 00:00 UTC"),
        (datetime(2030, 2, 3, 4, 5, tzinfo=UTC), "3 February 2030, 04:05 UTC"),
        ("yesterday <b>", "yesterday <b>"),
    ],
)
def test_a_moment_is_written_as_people_write_it(moment: str | datetime, said: str) -> None:
    assert when(moment) == said
    assert day(moment) == said.partition(",")[0]
